import { type FormEvent, lazy, Suspense, useEffect, useRef } from 'react'
import type { Method } from '../../../api/types.js'
import { Button } from '../../../components/button.js'
import { Card, Section } from '../../../components/card.js'
import { areaLook, Field, inputLook } from '../../../components/field.js'
import { Skeleton } from '../../../components/loaded.js'
import { Notice } from '../../../components/notice.js'
import type { Problems } from './compose-listing.js'
import { emptyEndpoint, fillEndpoint, idFromName, type ListingDraft } from './draft.js'
import { EndpointFields } from './endpoint-fields.js'
import type { Imported } from './import-openapi.js'
import { PasteUrl } from './paste-url.js'
import type { Quote } from './quote.js'

const ImportOpenApi = lazy(async () => ({
  default: (await import('./openapi/import-openapi.js')).ImportOpenApi,
}))

interface ListingFormProps {
  draft: ListingDraft
  problems: Problems
  /** Whether the id can still be chosen. */
  isNew: boolean
  /** Of the connected wallet, offered as the payout address. */
  wallet: string | undefined
  onChange: (draft: ListingDraft) => void
  onReview: () => void
}

/** The whole listing as its owner edits it. */
export function ListingForm(props: ListingFormProps) {
  const { draft, problems, isNew, wallet, onChange, onReview } = props
  const form = useRef<HTMLFormElement>(null)
  /** Keys of what was added one by one: the rest, but for the first, folds to a line each. */
  const opened = useRef(new Set<string>())
  const isAdding = useRef(false)
  const count = draft.endpoints.length

  // To the title of what was just added: the first thing in it that a person has to judge.
  useEffect(() => {
    if (!isAdding.current || count === 0) return
    isAdding.current = false
    const titles = form.current?.querySelectorAll<HTMLElement>('input[name="title"]') ?? []
    titles[titles.length - 1]?.focus()
  }, [count])
  const set = (part: Partial<ListingDraft>) => onChange({ ...draft, ...part })

  const add = (quote: Quote) => {
    if (quote.listing === null) return
    const endpoint = fillEndpoint(emptyEndpoint(), quote.listing)
    opened.current.add(endpoint.key)
    const name = draft.name || hostName(quote.listing.url)
    isAdding.current = true
    set({
      endpoints: [...draft.endpoints, endpoint],
      name,
      id: draft.id || (isNew ? idFromName(name) : draft.id),
      payTo: draft.payTo || quote.listing.payTo,
    })
  }
  const addImported = ({ name, description, payTo, endpoints }: Imported) =>
    set({
      endpoints: [...draft.endpoints, ...endpoints],
      name: draft.name || name,
      id: draft.id || (isNew ? idFromName(name) : draft.id),
      description: draft.description || description,
      payTo: draft.payTo || payTo,
    })
  const addByHand = (url: string, method: Method) => {
    const endpoint = { ...emptyEndpoint(), url, method }
    opened.current.add(endpoint.key)
    isAdding.current = true
    set({
      endpoints: [...draft.endpoints, endpoint],
      payTo: draft.payTo || (wallet ?? ''),
    })
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    onReview()
    // After the problems are drawn.
    setTimeout(() => form.current?.querySelector<HTMLElement>('[aria-invalid]')?.focus())
  }

  return (
    <div className="space-y-10">
      <Section
        title="Endpoints"
        note="What is called, what it costs, and how. Most of it is read from the live 402."
      >
        {problems.endpoints !== undefined && <Notice tone="bad">{problems.endpoints}</Notice>}
        <Card className="p-4 sm:p-5">
          <PasteUrl isFirst={draft.endpoints.length === 0} onFound={add} onByHand={addByHand} />
          <details className="mt-4 border-t border-line pt-3">
            <summary className="w-fit text-sm font-medium text-muted hover:text-ink">
              Import from an OpenAPI file
            </summary>
            <div className="pt-4">
              <Suspense fallback={<Skeleton className="h-16 w-full" />}>
                <ImportOpenApi onImport={addImported} />
              </Suspense>
            </div>
          </details>
        </Card>
      </Section>
      <form ref={form} onSubmit={submit} noValidate className="space-y-10">
        {draft.endpoints.length > 0 && (
          <Card className="divide-y divide-line overflow-hidden">
            {draft.endpoints.map((endpoint, index) => (
              <EndpointFields
                key={endpoint.key}
                endpoint={endpoint}
                path={`endpoints[${index}]`}
                problems={problems}
                isOpenAtFirst={index === 0 || opened.current.has(endpoint.key)}
                onChange={(next) => set({ endpoints: draft.endpoints.with(index, next) })}
                onRemove={() => set({ endpoints: draft.endpoints.toSpliced(index, 1) })}
              />
            ))}
          </Card>
        )}
        <Section title="Merchant" note="Who stands behind the endpoints, and where the money goes.">
          <Card className="grid gap-5 p-4 sm:grid-cols-2 sm:p-5">
            <Field label="Name" error={problems.name}>
              {(field) => (
                <input
                  {...field}
                  value={draft.name}
                  onChange={(event) => {
                    const name = event.target.value
                    const follows = isNew && draft.id === idFromName(draft.name)
                    set({ name, ...(follows ? { id: idFromName(name) } : {}) })
                  }}
                  maxLength={60}
                  className={inputLook}
                />
              )}
            </Field>
            <Field
              label="Id"
              error={problems.id}
              hint={isNew ? 'Part of its address, and yours for good.' : 'An id never changes.'}
            >
              {(field) => (
                <input
                  {...field}
                  value={draft.id}
                  disabled={!isNew}
                  onChange={(event) => set({ id: event.target.value.toLowerCase() })}
                  spellCheck={false}
                  maxLength={50}
                  className={`${inputLook} font-mono`}
                />
              )}
            </Field>
            <div className="sm:col-span-2">
              <Field
                label="Payout address"
                error={problems.payTo}
                hint="Every endpoint’s 402 must ask for payment to this address."
                aside={
                  wallet !== undefined &&
                  wallet.toLowerCase() !== draft.payTo.toLowerCase() && (
                    <button
                      type="button"
                      onClick={() => set({ payTo: wallet })}
                      className="text-xs text-accent hover:underline"
                    >
                      Use my wallet
                    </button>
                  )
                }
              >
                {(field) => (
                  <input
                    {...field}
                    value={draft.payTo}
                    onChange={(event) => set({ payTo: event.target.value })}
                    placeholder="0x…"
                    spellCheck={false}
                    maxLength={60}
                    className={`${inputLook} font-mono`}
                  />
                )}
              </Field>
            </div>
            <div className="sm:col-span-2">
              <Field label="Description" error={problems.description}>
                {(field) => (
                  <textarea
                    {...field}
                    value={draft.description}
                    onChange={(event) => set({ description: event.target.value })}
                    rows={3}
                    className={areaLook}
                  />
                )}
              </Field>
            </div>
          </Card>
        </Section>
        <div className="flex flex-wrap items-center gap-4">
          <Button type="submit" look="primary">
            Review changes
          </Button>
          <p className="text-xs text-muted">
            Nothing is sent yet. Your draft is kept on this device.
          </p>
        </div>
        {Object.keys(problems).length > 0 && (
          <p role="alert" className="text-sm text-bad">
            {Object.keys(problems).length === 1
              ? 'One field needs your attention.'
              : `${Object.keys(problems).length} fields need your attention.`}
          </p>
        )}
      </form>
    </div>
  )
}

function hostName(url: string): string {
  return URL.canParse(url) ? new URL(url).hostname.replace(/^(www|api)\./, '') : ''
}
