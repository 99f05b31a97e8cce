import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import type { Method, Pricing } from '../../../api/types.js'
import { MethodChip } from '../../../components/badge.js'
import { Button } from '../../../components/button.js'
import { areaLook, Field, inputLook } from '../../../components/field.js'
import { Icon } from '../../../components/icons.js'
import { Notice } from '../../../components/notice.js'
import { UntrustedText, UrlText } from '../../../components/untrusted-text.js'
import { oneLine } from '../../../format/untrusted-text.js'
import { verdictName, warningText } from '../../../format/verdicts.js'
import type { Problems } from './compose-listing.js'
import { type EndpointDraft, fillEndpoint } from './draft.js'
import { lookUpQuote } from './quote.js'

interface EndpointFieldsProps {
  endpoint: EndpointDraft
  /** `endpoints[0]`, as problems name it. */
  path: string
  problems: Problems
  /** Whether its fields show before anybody asks for them. */
  isOpenAtFirst: boolean
  onChange: (endpoint: EndpointDraft) => void
  onRemove: () => void
}

/** One endpoint of the form. */
export function EndpointFields({
  endpoint,
  path,
  problems,
  isOpenAtFirst,
  onChange,
  onRemove,
}: EndpointFieldsProps) {
  const set = (part: Partial<EndpointDraft>) => onChange({ ...endpoint, ...part })
  const problem = (name: string) => problems[`${path}.${name}`]
  const hasProblem = Object.keys(problems).some((key) => key.startsWith(path))
  const [isOpened, setIsOpened] = useState(isOpenAtFirst)
  const isOpen = isOpened || hasProblem
  const { url, method, title } = endpoint
  return (
    <fieldset className="min-w-0">
      <legend className="sr-only">Endpoint {title || url}</legend>
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
              <span className="text-sm text-muted">New endpoint</span>
            ) : (
              <UrlText url={url} />
            )}
          </span>
          {!isOpen && (
            <span className="ml-auto hidden shrink-0 text-sm text-muted sm:inline">
              {oneLine(title, 40)}
              {endpoint.price !== '' && `, ${endpoint.price} USDC`}
            </span>
          )}
        </button>
        <Button
          size="sm"
          look="quiet"
          onClick={onRemove}
          aria-label={`Remove ${title || url || 'endpoint'}`}
        >
          Remove
        </Button>
      </div>
      {isOpen && (
        <div className="grid gap-5 px-4 pb-6 sm:grid-cols-6 sm:px-5">
          <div className="sm:col-span-4">
            <Field label="URL" error={problem('url')}>
              {(field) => (
                <input
                  {...field}
                  value={url}
                  onChange={(event) => set({ url: event.target.value })}
                  spellCheck={false}
                  maxLength={2_048}
                  className={`${inputLook} font-mono`}
                />
              )}
            </Field>
          </div>
          <div className="sm:col-span-2">
            <Field label="Method">
              {(field) => (
                <select
                  {...field}
                  value={method}
                  onChange={(event) => set({ method: event.target.value as Method })}
                  className={inputLook}
                >
                  <option>GET</option>
                  <option>POST</option>
                </select>
              )}
            </Field>
          </div>
          <div className="sm:col-span-6">
            <Recheck endpoint={endpoint} onChange={onChange} />
          </div>
          <div className="sm:col-span-6">
            <Field label="Title" error={problem('title')}>
              {(field) => (
                <input
                  {...field}
                  name="title"
                  value={title}
                  onChange={(event) => set({ title: event.target.value })}
                  maxLength={100}
                  className={inputLook}
                />
              )}
            </Field>
          </div>
          <div className="sm:col-span-2">
            <Field
              label="Price in USDC"
              error={problem('price')}
              hint={endpoint.pricing === 'metered' ? 'The most a call may cost.' : undefined}
            >
              {(field) => (
                <input
                  {...field}
                  value={endpoint.price}
                  onChange={(event) => set({ price: event.target.value })}
                  inputMode="decimal"
                  placeholder="0.01"
                  maxLength={20}
                  className={`${inputLook} tabular`}
                />
              )}
            </Field>
          </div>
          <div className="sm:col-span-2">
            <Field label="Pricing">
              {(field) => (
                <select
                  {...field}
                  value={endpoint.pricing}
                  onChange={(event) => set({ pricing: event.target.value as Pricing })}
                  className={inputLook}
                >
                  <option value="fixed">Fixed</option>
                  <option value="metered">Metered, up to the price</option>
                </select>
              )}
            </Field>
          </div>
          <div className="sm:col-span-2">
            <Field label="Tags" error={problem('tags')} hint="Separated by commas.">
              {(field) => (
                <input
                  {...field}
                  value={endpoint.tags}
                  onChange={(event) => set({ tags: event.target.value })}
                  maxLength={400}
                  className={inputLook}
                />
              )}
            </Field>
          </div>
          <div className="sm:col-span-6">
            <Field label="Description" error={problem('description')}>
              {(field) => (
                <textarea
                  {...field}
                  value={endpoint.description}
                  onChange={(event) => set({ description: event.target.value })}
                  rows={3}
                  className={areaLook}
                />
              )}
            </Field>
          </div>
          <Json
            label={method === 'GET' ? 'Example parameters (JSON)' : 'Example body (JSON)'}
            hint="The service calls the endpoint with these, without paying."
            value={endpoint.example}
            error={problem('example')}
            onChange={(example) => set({ example })}
          />
          <Json
            label="Input schema (JSON Schema)"
            hint="Lets agents use the endpoint as a tool."
            value={endpoint.inputSchema}
            error={problem('inputSchema')}
            onChange={(inputSchema) => set({ inputSchema })}
          />
        </div>
      )}
    </fieldset>
  )
}

function Json(props: {
  label: string
  hint: string
  value: string
  error: string | undefined
  onChange: (value: string) => void
}) {
  return (
    <div className="sm:col-span-3">
      <Field label={props.label} hint={props.hint} error={props.error}>
        {(field) => (
          <textarea
            {...field}
            value={props.value}
            onChange={(event) => props.onChange(event.target.value)}
            rows={5}
            spellCheck={false}
            placeholder="{ }"
            className={`${areaLook} font-mono text-xs`}
          />
        )}
      </Field>
    </div>
  )
}

/** Asks the live 402 again and takes over what it says. */
function Recheck({
  endpoint,
  onChange,
}: {
  endpoint: EndpointDraft
  onChange: (endpoint: EndpointDraft) => void
}) {
  const { url, method, example } = endpoint
  const look = useMutation({
    mutationFn: () => lookUpQuote(url, { method, example }),
    onSuccess: ({ listing }) => {
      if (listing !== null) onChange(fillEndpoint(endpoint, listing))
    },
  })
  const found = look.data
  return (
    <div className="space-y-2">
      <Button size="sm" isBusy={look.isPending} disabled={url === ''} onClick={() => look.mutate()}>
        <Icon name="again" size={13} />
        Read the live 402 again
      </Button>
      {look.error !== null && <Notice tone="bad">{look.error.message}</Notice>}
      {found !== undefined && !look.isPending && (
        <Notice
          tone={found.listing === null ? 'warn' : 'ok'}
          title={
            found.listing === null
              ? verdictName(found.verdict)
              : 'Live: price and parameters are as quoted'
          }
        >
          {found.listing === null && <UntrustedText text={found.message} max={600} />}
          {found.warnings.map((code) => (
            <p key={code}>{warningText(code)}</p>
          ))}
        </Notice>
      )}
    </div>
  )
}
