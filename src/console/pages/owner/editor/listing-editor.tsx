import { ArcusError } from '@arcus/client/calls'
import type { MerchantView } from '@arcus/protocol/answers/listings'
import { zodResolver } from '@hookform/resolvers/zod'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useEffect, useMemo, useRef, useState } from 'react'
import { FormProvider, useForm } from 'react-hook-form'
import { useLocation } from 'wouter'
import { merchantQuery, settingsQuery } from '../../../api/queries.js'
import { Button } from '../../../components/button.js'
import { Notice } from '../../../components/card.js'
import { Moment } from '../../../components/moment.js'
import { verdictName } from '../../../format/verdicts.js'
import { useSigning } from '../../../wallet/signing.js'
import { type Draft, dropDraft, readDraft, writeDraft } from './drafts.js'
import {
  emptyForm,
  type FormValues,
  formOf,
  formSchema,
  formValues,
  listedTokens,
  type Ready,
} from './form.js'
import { ListingForm } from './listing-form.js'
import { Review } from './review.js'

/** Edits a new or present listing, shows the changes and has them signed. Nothing typed is lost on the way. */
export function ListingEditor({ merchant }: { merchant?: MerchantView }) {
  const tokens = listedTokens(useQuery(settingsQuery).data)
  const schema = useMemo(() => formSchema(tokens), [tokens])
  const start = merchant === undefined ? emptyForm : formOf(merchant)
  const draft = useDraft(merchant?.id ?? 'new', merchant?.revision ?? 0)
  const form = useForm<FormValues, unknown, Ready>({
    defaultValues: draft.kept?.values ?? start,
    resolver: zodResolver(schema),
    // The form looks for the first invalid field by itself, because a closed row has to open before.
    shouldFocusError: false,
  })
  const { subscribe } = form
  useEffect(
    () => subscribe({ formState: { values: true }, callback: ({ values }) => draft.write(values) }),
    [subscribe, draft.write],
  )
  const [ready, setReady] = useState<Ready>()
  const save = useSave((error) => {
    const problems = problemsOf(error)
    for (const [path, message] of problems) form.setError(path, { message })
    // A problem of a field is shown next to it, in the form.
    if (problems.length > 0) setReady(undefined)
  })

  if (ready !== undefined) {
    const before = merchant && schema.safeParse(formOf(merchant)).data?.listing
    return (
      <Step>
        <Review
          ready={ready}
          before={before}
          tokens={tokens}
          merchant={merchant}
          values={form.getValues()}
          isSigning={save.isPending}
          error={save.error}
          onSign={() => save.mutate(ready)}
          onBack={() => {
            save.reset()
            setReady(undefined)
          }}
        />
      </Step>
    )
  }
  return (
    <FormProvider {...form}>
      <div className="space-y-8">
        <DraftNotice
          draft={draft}
          onDiscard={() => {
            form.reset(start)
            draft.drop()
          }}
        />
        {save.error !== null && (
          <Notice tone="bad" title="Not saved: Arcus refused it">
            See the fields marked below. Nothing you wrote is lost.
          </Notice>
        )}
        <ListingForm merchant={merchant} onReady={setReady} refused={save.error} />
      </div>
    </FormProvider>
  )
}

/** Signs and sends the listing, then shows it where its payments arrive. */
function useSave(onRefused: (error: Error) => void) {
  const { write } = useSigning()
  const client = useQueryClient()
  const [, navigate] = useLocation()
  return useMutation({
    mutationFn: ({ id, listing }: Ready) => write((directory) => directory.save(id, listing)),
    onSuccess(saved) {
      dropDraft('new')
      dropDraft(saved.id)
      client.setQueryData(merchantQuery(saved.id).queryKey, saved)
      void client.invalidateQueries({ queryKey: ['owned'] })
      navigate(`/console/${encodeURIComponent(saved.id)}?saved`)
    },
    onError: onRefused,
  })
}

/** Keeps the form on this device as it is typed. `revision` is that of the listing now. */
function useDraft(id: string, revision: number) {
  /** The draft that was on this device when the form opened, until it is dropped. */
  const [kept, setKept] = useState(() => {
    const draft = readDraft(id)
    return draft && formValues.safeParse(draft.values).success ? draft : undefined
  })
  const base = kept?.revision ?? revision
  return useMemo(
    () => ({
      kept,
      isStale: kept !== undefined && base < revision,
      write: (values: FormValues) =>
        writeDraft(id, { values, revision: base, savedAt: Date.now() }),
      drop() {
        dropDraft(id)
        setKept(undefined)
      },
      /** Bases the draft on the present revision of the listing. */
      rebase() {
        const draft: Draft | undefined = kept && { ...kept, revision }
        if (draft === undefined) return
        writeDraft(id, draft)
        setKept(draft)
      },
    }),
    [id, revision, kept, base],
  )
}

/** Says that the form shows a draft of this device, and whether the listing has changed since. */
function DraftNotice({
  draft: { kept, isStale, rebase },
  onDiscard,
}: {
  draft: ReturnType<typeof useDraft>
  onDiscard: () => void
}) {
  if (kept === undefined) return null
  const discard = (
    <Button size="sm" onClick={onDiscard}>
      Discard draft
    </Button>
  )
  if (!isStale) {
    return (
      <Notice title="This device kept your draft" action={discard}>
        Last changed <Moment at={kept.savedAt} />.
      </Notice>
    )
  }
  return (
    <Notice
      tone="warn"
      title="The listing has changed since you began this draft"
      action={
        <span className="flex gap-2">
          <Button size="sm" onClick={rebase}>
            Keep draft
          </Button>
          {discard}
        </span>
      }
    >
      Saving your draft would undo that change.
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
    <div ref={step} tabIndex={-1} className="outline-none">
      {children}
    </div>
  )
}

type FieldProblem = readonly [
  path: 'id' | 'name' | 'payTo' | `endpoints.${number}.url`,
  message: string,
]

/** Assigns the reasons for which the service refused a save to the fields of the form. */
function problemsOf(error: Error): FieldProblem[] {
  if (!(error instanceof ArcusError)) return []
  const { code, message, details } = error
  if (code === 'not_owner') return [['id', 'This id belongs to another owner. Choose another id.']]
  if (code === 'invalid_merchant_id') return [['id', message]]
  const { endpoints = [], issues = [] } = (details ?? {}) as {
    endpoints?: { path: string; reason: string; message: string }[]
    issues?: { path: string; message: string }[]
  }
  const dotted = (path: string) => path.replace(/\[(\d+)\]/g, '.$1') as FieldProblem[0]
  return [
    ...endpoints.map(
      ({ path, reason, message: why }) =>
        [dotted(`${path}.url`), `${verdictName(reason)}. ${why}`] as const,
    ),
    ...issues.map(({ path, message: why }) => [dotted(path), `It ${why}.`] as const),
  ]
}
