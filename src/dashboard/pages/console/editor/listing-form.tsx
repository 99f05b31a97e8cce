import { type FormEvent, Suspense, useEffect, useRef } from 'react'
import { Button } from '../../../components/button.js'
import { Card, Notice, Section } from '../../../components/card.js'
import { TextArea, TextField } from '../../../components/field.js'
import { Skeleton } from '../../../components/loaded.js'
import { lazyPage } from '../../../components/page.js'
import { sameAddress } from '../../../format/untrusted-text.js'
import type { Problems } from './compose-listing.js'
import {
  type EndpointDraft,
  emptyEndpoint,
  fillEndpoint,
  idFromName,
  type ListingDraft,
  type Method,
} from './draft.js'
import { EndpointFields } from './endpoint-fields.js'
import type { Imported } from './import-openapi.js'
import { PasteUrl } from './paste-url.js'
import { isLive, type Quote } from './quote.js'
import { words as all } from './words.js'

const words = all.form

const ImportOpenApi = lazyPage(() => import('./import-openapi.js'), 'ImportOpenApi')

interface ListingFormProps {
  draft: ListingDraft
  problems: Problems
  /** True while the id can still be chosen. */
  isNew: boolean
  /** The address of the connected wallet, offered as the payout address. */
  wallet: string | undefined
  onChange: (draft: ListingDraft) => void
  onReview: () => void
}

/** Edits the whole listing. */
export function ListingForm(props: ListingFormProps) {
  const { draft, problems, isNew, wallet, onChange, onReview } = props
  const form = useRef<HTMLFormElement>(null)
  /** Keys of the endpoints that were added one by one. The others, except for the first, show one line each. */
  const opened = useRef(new Set<string>())
  const isAdding = useRef(false)
  const count = draft.endpoints.length

  // The focus goes to the title of a new endpoint: the first field that needs a decision.
  useEffect(() => {
    if (!isAdding.current || count === 0) return
    isAdding.current = false
    const titles = form.current?.querySelectorAll<HTMLElement>('input[name="title"]') ?? []
    titles[titles.length - 1]?.focus()
  }, [count])
  const set = (part: Partial<ListingDraft>) => onChange({ ...draft, ...part })

  const add = (endpoint: EndpointDraft, found: Partial<Imported>, takesFocus: boolean) => {
    opened.current.add(endpoint.key)
    isAdding.current = takesFocus
    onChange(withAdded(draft, { ...found, endpoints: [endpoint] }, isNew))
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    onReview()
    // The problems must be drawn first.
    setTimeout(() => form.current?.querySelector<HTMLElement>('[aria-invalid]')?.focus())
  }

  return (
    <div className="space-y-10">
      <Section title={words.endpoints} note={words.endpointsNote}>
        {problems.endpoints !== undefined && <Notice tone="bad">{problems.endpoints}</Notice>}
        <AddEndpoints
          isFirst={count === 0}
          wallet={wallet}
          onAdd={add}
          onImport={(imported) => onChange(withAdded(draft, imported, isNew))}
        />
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
                payTo={draft.payTo}
                isOpenAtFirst={
                  index === 0 || endpoint.price === '' || opened.current.has(endpoint.key)
                }
                onChange={(next) => set({ endpoints: draft.endpoints.with(index, next) })}
                onRemove={() => set({ endpoints: draft.endpoints.toSpliced(index, 1) })}
              />
            ))}
          </Card>
        )}
        <MerchantFields {...{ draft, problems, isNew, wallet, set }} />
        <div className="flex flex-wrap items-center gap-4">
          <Button type="submit" variant="primary">
            {words.review}
          </Button>
          <p className="text-xs text-muted">{words.nothingSent}</p>
        </div>
        {Object.keys(problems).length > 0 && (
          <p role="alert" className="text-sm text-bad">
            {words.problems(Object.keys(problems).length)}
          </p>
        )}
      </form>
    </div>
  )
}

/** Takes a URL, or a file with many. */
function AddEndpoints({
  isFirst,
  wallet = '',
  onAdd,
  onImport,
}: {
  isFirst: boolean
  wallet: string | undefined
  onAdd: (endpoint: EndpointDraft, found: Partial<Imported>, takesFocus: boolean) => void
  onImport: (imported: Imported) => void
}) {
  const addFound = (quote: Quote, takesFocus: boolean) => {
    if (!isLive(quote)) return
    const { url, payTo } = quote.listing
    onAdd(fillEndpoint(emptyEndpoint(), quote), { name: hostName(url), payTo }, takesFocus)
  }
  const addByHand = (url: string, method: Method, toolName = '') =>
    onAdd({ ...emptyEndpoint(), url, method, toolName }, { payTo: wallet }, true)
  return (
    <Card className="p-4 sm:p-5">
      <PasteUrl isFirst={isFirst} onFound={addFound} onByHand={addByHand} />
      <details className="mt-4 border-t border-line pt-3">
        <summary className="w-fit text-sm font-medium text-muted hover:text-ink">
          {words.openImport}
        </summary>
        <div className="pt-4">
          <Suspense fallback={<Skeleton className="h-16 w-full" />}>
            <ImportOpenApi onImport={onImport} />
          </Suspense>
        </div>
      </details>
    </Card>
  )
}

/** Edits what a listing says of its merchant. */
function MerchantFields({
  draft,
  problems,
  isNew,
  wallet,
  set,
}: Pick<ListingFormProps, 'draft' | 'problems' | 'isNew' | 'wallet'> & {
  set: (part: Partial<ListingDraft>) => void
}) {
  return (
    <Section title={words.merchant} note={words.merchantNote}>
      <Card className="grid gap-5 p-4 sm:grid-cols-2 sm:p-5">
        <TextField
          label={words.name}
          error={problems.name}
          value={draft.name}
          onChange={(name) => {
            const follows = isNew && draft.id === idFromName(draft.name)
            set({ name, ...(follows ? { id: idFromName(name) } : {}) })
          }}
          maxLength={60}
        />
        <TextField
          label={words.id}
          error={problems.id}
          hint={isNew ? words.idNew : words.idKept}
          value={draft.id}
          onChange={(id) => set({ id: id.toLowerCase() })}
          disabled={!isNew}
          isCode
          maxLength={50}
        />
        <TextField
          place="sm:col-span-2"
          label={words.payTo}
          error={problems.payTo}
          hint={words.payToNote}
          aside={
            wallet !== undefined &&
            !sameAddress(wallet, draft.payTo) && (
              <button
                type="button"
                onClick={() => set({ payTo: wallet })}
                className="text-xs text-accent hover:underline"
              >
                {words.useWallet}
              </button>
            )
          }
          value={draft.payTo}
          onChange={(payTo) => set({ payTo })}
          placeholder={words.payToExample}
          isCode
          maxLength={60}
        />
        <TextArea
          place="sm:col-span-2"
          label={words.description}
          error={problems.description}
          value={draft.description}
          onChange={(description) => set({ description })}
          rows={3}
        />
      </Card>
    </Section>
  )
}

/** Adds endpoints, and fills what is empty yet with what was found beside them. */
function withAdded(
  draft: ListingDraft,
  { name = '', description = '', payTo = '', endpoints = [] }: Partial<Imported>,
  isNew: boolean,
): ListingDraft {
  const named = draft.name || name
  return {
    endpoints: [...draft.endpoints, ...endpoints],
    name: named,
    id: draft.id || (isNew ? idFromName(named) : ''),
    description: draft.description || description,
    payTo: draft.payTo || payTo,
  }
}

function hostName(url: string): string {
  return URL.canParse(url) ? new URL(url).hostname.replace(/^(www|api)\./, '') : ''
}
