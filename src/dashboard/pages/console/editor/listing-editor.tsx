import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { ArcusError } from 'arcus-client/calls'
import type { SavedListing } from 'arcus-client/listing-client'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { useConnection } from 'wagmi'
import type { MerchantView } from '../../../../api/listings.js'
import { settingsQuery } from '../../../api/queries.js'
import { Button } from '../../../components/button.js'
import { Notice } from '../../../components/card.js'
import { When } from '../../../components/moment.js'
import { verdictName } from '../../../format/verdicts.js'
import { useSigning } from '../../../wallet/signing.js'
import { type Composed, composeListing, type Problems } from './compose-listing.js'
import { diffListings } from './diff.js'
import { draftOf, emptyDraft, isBlank, listedTokens } from './draft.js'
import { ListingForm } from './listing-form.js'
import { Review } from './review.js'
import { Saved } from './saved.js'
import { useDraft } from './use-draft.js'
import { words as all } from './words.js'

const words = all.draft

type Ready = Extract<Composed, { ok: true }>

/** Edits a new or present listing, shows the changes and has them signed. Nothing typed is lost on the way. */
export function ListingEditor({ merchant }: { merchant?: MerchantView }) {
  const start = merchant === undefined ? emptyDraft() : draftOf(merchant)
  const form = useDraft(merchant?.id ?? 'new', start, merchant?.revision ?? 0)
  const { address } = useConnection()
  const { write } = useSigning()
  const client = useQueryClient()
  const tokens = listedTokens(useQuery(settingsQuery).data)
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
      // A problem of a field is shown beside it, in the form.
      if (Object.keys(found).length > 0) setReady(undefined)
    },
  })

  const review = () => {
    const composed = composeListing(form.draft, tokens)
    setProblems(composed.ok ? {} : composed.problems)
    save.reset()
    if (composed.ok) setReady(composed)
  }

  if (save.data !== undefined) {
    return (
      <Step key="saved">
        <Saved listing={save.data} isNew={merchant === undefined} onAgain={() => save.reset()} />
      </Step>
    )
  }
  if (ready !== undefined) {
    const before = merchant && composeListing(draftOf(merchant), tokens)
    return (
      <Step key="review">
        <Review
          id={ready.id}
          listing={ready.listing}
          draft={form.draft}
          diff={diffListings(before?.ok ? before.listing : undefined, ready.listing, tokens)}
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
      <DraftNotice form={form} onDiscard={() => setProblems({})} />
      {save.error !== null && (
        <Notice tone="bad" title={words.refused}>
          {words.refusedNote}
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

/** Says that the form shows a draft of this device, and whether the listing has changed meanwhile. */
function DraftNotice({
  form,
  onDiscard,
}: {
  form: ReturnType<typeof useDraft>
  onDiscard: () => void
}) {
  const discard = () => {
    onDiscard()
    form.drop()
  }
  if (form.isStale) {
    return (
      <Notice
        tone="warn"
        title={words.stale}
        action={
          <span className="flex gap-2">
            <Button size="sm" onClick={form.rebase}>
              {words.keepMine}
            </Button>
            <Button size="sm" onClick={discard}>
              {words.discardMine}
            </Button>
          </span>
        }
      >
        {words.staleNote}
      </Notice>
    )
  }
  if (form.kept === undefined || isBlank(form.draft)) return null
  return (
    <Notice
      title={words.kept}
      action={
        <Button size="sm" onClick={discard}>
          {words.discard}
        </Button>
      }
    >
      <When text={words.keptNote} at={form.kept.savedAt} />
    </Notice>
  )
}

/** Takes the focus to its beginning, because the button that led here is gone. */
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

/** Assigns the reasons for which the service refused a save to the fields of the form. */
function problemsOf(error: unknown): Problems {
  if (!(error instanceof ArcusError)) return {}
  const { code, message, details } = error
  if (code === 'not_owner') return { id: all.problem.otherOwner }
  if (code === 'invalid_merchant_id') return { id: message }
  const { endpoints, issues } = (details ?? {}) as {
    endpoints?: { path: string; reason: string; message: string }[]
    issues?: { path: string; message: string }[]
  }
  if (code === 'endpoint_refused' && endpoints !== undefined) {
    return Object.fromEntries(
      endpoints.map(({ path, reason, message }) => [
        `${path}.url`,
        all.problem.ofEndpoint(verdictName(reason), message),
      ]),
    )
  }
  if (code === 'invalid_listing' && issues !== undefined) {
    return Object.fromEntries(
      issues.map(({ path, message }) => [path, all.problem.ofField(message)]),
    )
  }
  return {}
}
