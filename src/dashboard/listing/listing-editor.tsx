import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { useConnection } from 'wagmi'
import type { SavedListing } from '../../listing-client/client.js'
import type { MerchantView } from '../api/types.js'
import { Button } from '../components/button.js'
import { Moment } from '../components/moment.js'
import { Notice } from '../components/notice.js'
import { useSigning } from '../wallet/use-signing.js'
import { type Composed, composeListing, type Problems } from './compose-listing.js'
import { diffListings } from './diff.js'
import { draftOf, emptyDraft, isBlank } from './draft.js'
import { ListingForm } from './listing-form.js'
import { problemsOf } from './refusal.js'
import { Review } from './review.js'
import { Saved } from './saved.js'
import { useDraft } from './use-draft.js'

type Ready = Extract<Composed, { ok: true }>

/** Edits, shows the difference, and signs: a new listing, or one that is there. Nothing typed is lost on the way. */
export function ListingEditor({ merchant }: { merchant?: MerchantView }) {
  const start = merchant === undefined ? emptyDraft() : draftOf(merchant)
  const form = useDraft(merchant?.id ?? 'new', start, merchant?.revision ?? 0)
  const { address } = useConnection()
  const { write } = useSigning()
  const client = useQueryClient()
  const [problems, setProblems] = useState<Problems>({})
  const [ready, setReady] = useState<Ready>()

  const save = useMutation({
    mutationFn: ({ id, listing }: Ready): Promise<SavedListing> =>
      write((directory) => directory.save(id, listing)),
    onSuccess: async (saved) => {
      const shown = saved as unknown as MerchantView
      client.setQueryData(['merchant', saved.id], shown)
      form.drop(merchant === undefined ? emptyDraft() : draftOf(shown))
      setReady(undefined)
      await client.invalidateQueries()
    },
    onError: (error) => {
      const found = problemsOf(error)
      setProblems(found)
      // What the form can show is shown there, beside its field.
      if (Object.keys(found).length > 0) setReady(undefined)
    },
  })

  const review = () => {
    const composed = composeListing(form.draft)
    setProblems(composed.ok ? {} : composed.problems)
    save.reset()
    if (composed.ok) {
      setReady(composed)
    }
  }

  if (save.data !== undefined) {
    return (
      <Step key="saved">
        <Saved listing={save.data} isNew={merchant === undefined} onAgain={() => save.reset()} />
      </Step>
    )
  }
  if (ready !== undefined) {
    const before = merchant === undefined ? undefined : composeListing(draftOf(merchant))
    const listed = before?.ok === true ? before.listing : undefined
    return (
      <Step key="review">
        <Review
          id={ready.id}
          listing={ready.listing}
          diff={diffListings(listed, ready.listing)}
          isNew={merchant === undefined}
          owner={merchant?.owner ?? undefined}
          isSigning={save.isPending}
          error={save.error}
          onSign={() => save.mutate(ready)}
          onBack={() => setReady(undefined)}
        />
      </Step>
    )
  }
  return (
    <div className="space-y-8">
      {form.isStale && (
        <Notice
          tone="warn"
          title="The listing has changed since this draft was begun"
          action={
            <span className="flex gap-2">
              <Button size="sm" onClick={form.rebase}>
                Keep my draft
              </Button>
              <Button size="sm" onClick={() => form.drop()}>
                Take what is listed
              </Button>
            </span>
          }
        >
          Saving your draft would undo that change.
        </Notice>
      )}
      {form.kept !== undefined && !form.isStale && !isBlank(form.draft) && (
        <Notice
          title="Your draft was kept on this device"
          action={
            <Button
              size="sm"
              onClick={() => {
                setProblems({})
                form.drop()
              }}
            >
              Discard it
            </Button>
          }
        >
          Last changed <Moment at={form.kept.savedAt} />.
        </Notice>
      )}
      {save.error !== null && (
        <Notice tone="bad" title="Not saved: the service refused it">
          See the fields marked below. Nothing you wrote is lost.
        </Notice>
      )}
      <ListingForm
        draft={form.draft}
        problems={problems}
        isNew={merchant === undefined}
        wallet={address}
        onChange={form.change}
        onReview={review}
      />
    </div>
  )
}

/** What follows on a click that takes its button away: the focus goes to its beginning, and readers read on from there. */
function Step({ children }: { children: ReactNode }) {
  const step = useRef<HTMLDivElement>(null)
  useEffect(() => {
    scrollTo(0, 0)
    step.current?.focus({ preventScroll: true })
  }, [])
  return (
    <div ref={step} tabIndex={-1} className="!outline-none">
      {children}
    </div>
  )
}
