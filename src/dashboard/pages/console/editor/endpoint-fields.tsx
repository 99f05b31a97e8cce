import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { callMethods, parametersIn, uncalledMethods } from '../../../../x402/calls.js'
import { settingsQuery } from '../../../api/queries.js'
import { Badge, MethodChip } from '../../../components/badge.js'
import { Button } from '../../../components/button.js'
import { Failure, Notice } from '../../../components/card.js'
import { Field, Select, TextArea, TextField } from '../../../components/field.js'
import { Icon } from '../../../components/icons.js'
import { UntrustedText, UrlText } from '../../../components/untrusted-text.js'
import { oneLine } from '../../../format/untrusted-text.js'
import { verdictName } from '../../../format/verdicts.js'
import type { Problems } from './compose-listing.js'
import { type EndpointDraft, fillEndpoint, listedTokens, tokenOf } from './draft.js'
import { differences, FoundPanel } from './found.js'
import { isLive, readQuote } from './quote.js'
import { words as all } from './words.js'

const words = all.endpoint

interface EndpointFieldsProps {
  endpoint: EndpointDraft
  /** `endpoints[0]`, as problems name it. */
  path: string
  problems: Problems
  /** The payout address in the form. */
  payTo: string
  /** True if the fields show before anybody opens them. */
  isOpenAtFirst: boolean
  onChange: (endpoint: EndpointDraft) => void
  onRemove: () => void
}

export const methodOptions = callMethods.map(
  (method) => [method, method === 'MCP' ? all.paste.tool : method] as const,
)

/** With another of these it is another endpoint, about which nothing is known. */
const addresses = new Set<keyof EndpointDraft>(['url', 'method', 'toolName'])

/** Edits one endpoint: a line that opens into its fields. */
export function EndpointFields(props: EndpointFieldsProps) {
  const { endpoint, path, problems, payTo, isOpenAtFirst, onChange, onRemove } = props
  const hasProblem = Object.keys(problems).some((key) => key.startsWith(path))
  const [isOpened, setIsOpened] = useState(isOpenAtFirst)
  const isOpen = isOpened || hasProblem
  const { url, method, title, price } = endpoint
  const differs = differences(endpoint, payTo).length > 0
  const { symbol } = tokenOf(endpoint, listedTokens(useQuery(settingsQuery).data))
  return (
    <fieldset className="min-w-0">
      <legend className="sr-only">{title || url ? words.legend(title || url) : words.new}</legend>
      <div className="flex items-center gap-2 px-4 py-3 sm:px-5">
        <button
          type="button"
          aria-expanded={isOpen}
          onClick={() => setIsOpened(!isOpen)}
          className="flex min-w-0 flex-1 items-center gap-3 py-1 text-left"
        >
          <span className={`text-faint transition-transform ${isOpen ? 'rotate-90' : ''}`}>
            <Icon name="right" size={14} />
          </span>
          <MethodChip method={method} />
          <span className="min-w-0 truncate">
            {url === '' ? (
              <span className="text-sm text-muted">{words.new}</span>
            ) : (
              <UrlText url={url} />
            )}
          </span>
          {!isOpen && differs && <Badge tone="warn">{words.differs}</Badge>}
          {!isOpen && (
            <span className="ml-auto hidden shrink-0 text-sm text-muted sm:inline">
              {oneLine(title, 40)}
              {price !== '' && `, ${price} ${symbol}`}
            </span>
          )}
        </button>
        <Button
          size="sm"
          variant="quiet"
          onClick={onRemove}
          aria-label={title || url ? words.removeNamed(title || url) : words.removeThis}
        >
          {words.remove}
        </Button>
      </div>
      {isOpen && <Fields {...{ endpoint, path, problems, payTo, onChange }} />}
    </fieldset>
  )
}

/** Binds a control to a field of the draft and to its problem. */
type Bind = <Name extends keyof EndpointDraft>(
  name: Name,
) => {
  value: EndpointDraft[Name]
  error: string | undefined
  onChange: (value: EndpointDraft[Name]) => void
}

type FieldsProps = Omit<EndpointFieldsProps, 'isOpenAtFirst' | 'onRemove'>

function Fields({ endpoint, path, problems, payTo, onChange }: FieldsProps) {
  const { method } = endpoint
  const bind: Bind = (name) => ({
    value: endpoint[name],
    error: problems[`${path}.${name}`],
    onChange: (value) =>
      onChange({ ...endpoint, ...(addresses.has(name) && { found: null }), [name]: value }),
  })
  return (
    <div className="grid gap-5 px-4 pb-6 sm:grid-cols-6 sm:px-5">
      <TextField
        place="sm:col-span-4"
        label={words.url}
        isCode
        maxLength={2_048}
        {...bind('url')}
      />
      <Field place="sm:col-span-2" label={all.paste.method}>
        {(field) => (
          <Select
            {...field}
            value={method}
            options={methodOptions}
            onChange={bind('method').onChange}
          />
        )}
      </Field>
      {method === 'MCP' && (
        <TextField
          place="sm:col-span-6"
          label={words.toolName}
          hint={words.toolNote}
          isCode
          maxLength={128}
          {...bind('toolName')}
        />
      )}
      <div className="sm:col-span-6">
        <div className="space-y-3">
          <ReadAgain endpoint={endpoint} onChange={onChange} />
          <FoundPanel endpoint={endpoint} payTo={payTo} />
        </div>
      </div>
      <TextField
        place="sm:col-span-6"
        label={words.title}
        name="title"
        maxLength={100}
        {...bind('title')}
      />
      <PriceFields endpoint={endpoint} bind={bind} />
      <TextArea
        place="sm:col-span-6"
        label={all.form.description}
        rows={3}
        {...bind('description')}
      />
      <TextArea
        place="sm:col-span-3"
        label={words[parametersIn(method)]}
        hint={uncalledMethods.includes(method) ? words.notCalled(method) : words.called}
        rows={5}
        isCode
        {...bind('example')}
      />
      <TextArea
        place="sm:col-span-3"
        label={words.inputSchema}
        hint={words.inputSchemaNote}
        rows={5}
        isCode
        {...bind('inputSchema')}
      />
    </div>
  )
}

/** Edits what a call costs, and the tags, which share its line. */
function PriceFields({ endpoint, bind }: { endpoint: EndpointDraft; bind: Bind }) {
  const { pricing } = endpoint
  const tokens = listedTokens(useQuery(settingsQuery).data)
  const token = tokenOf(endpoint, tokens)
  return (
    <>
      <TextField
        place="sm:col-span-2"
        label={words.price(token.symbol)}
        hint={pricing === 'metered' ? words.maximum : undefined}
        inputMode="decimal"
        placeholder={words.priceExample}
        maxLength={20}
        className="tabular"
        {...bind('price')}
        beside={
          tokens.length > 1 && (
            <Select
              aria-label={words.token}
              value={token.address}
              options={tokens.map(({ address, symbol }) => [address, symbol] as const)}
              onChange={bind('asset').onChange}
              className="!w-24 shrink-0"
            />
          )
        }
      />
      <Field place="sm:col-span-2" label={words.pricing}>
        {(field) => (
          <Select
            {...field}
            value={pricing}
            options={[
              ['fixed', words.fixed],
              ['metered', words.metered],
            ]}
            onChange={bind('pricing').onChange}
          />
        )}
      </Field>
      <TextField
        place="sm:col-span-2"
        label={words.tags}
        hint={words.tagsNote}
        maxLength={400}
        {...bind('tags')}
      />
    </>
  )
}

/** Checks the endpoint again and takes over its price and parameters. */
function ReadAgain({ endpoint, onChange }: Pick<FieldsProps, 'endpoint' | 'onChange'>) {
  const { url } = endpoint
  const read = useMutation({
    mutationFn: () => readQuote(url, endpoint),
    onSuccess: (quote) => {
      if (isLive(quote)) onChange(fillEndpoint(endpoint, quote))
    },
  })
  const quote = read.data
  return (
    <div className="space-y-2">
      <Button
        size="sm"
        isBusy={read.isPending}
        why={url === '' ? words.urlFirst : undefined}
        onClick={() => read.mutate()}
      >
        <Icon name="again" size={13} />
        {words.checkAgain}
      </Button>
      <Failure of={read.error} />
      {quote !== undefined && !read.isPending && (
        <Notice
          tone={quote.listing === null ? 'warn' : 'ok'}
          title={quote.listing === null ? verdictName(quote.verdict) : words.live}
        >
          {quote.listing === null && <UntrustedText text={quote.message} max={600} />}
        </Notice>
      )}
    </div>
  )
}
