import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useRef, useState } from 'react'
import { Button } from '../../../components/button.js'
import { Failure, Notice } from '../../../components/card.js'
import { Select, TextField } from '../../../components/field.js'
import { UntrustedText } from '../../../components/untrusted-text.js'
import { safeHref } from '../../../format/untrusted-text.js'
import { verdictName, warningText } from '../../../format/verdicts.js'
import type { Method } from './draft.js'
import { methodOptions } from './endpoint-fields.js'
import { type Quote, readQuote } from './quote.js'
import { words as all } from './words.js'

const words = all.paste

interface PasteUrlProps {
  isFirst: boolean
  /** `takesFocus`: nobody went on to something else while it was checked. */
  onFound: (quote: Quote, takesFocus: boolean) => void
  onByHand: (url: string, method: Method, toolName?: string) => void
}

type Tool = NonNullable<Quote['tools']>[number]

/** Takes a URL and checks it, or says why it cannot be listed. */
export function PasteUrl({ isFirst, onFound, onByHand }: PasteUrlProps) {
  const { form, url, type, method, setMethod, tools, setTools, probe } = usePaste(onFound)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (url.trim() !== '') probe.mutate({ address: url })
  }
  const follow = (address: string) => {
    type(address)
    probe.mutate({ address })
  }
  const answer = probe.data
  const refused = answer?.listing === null && answer.tools === undefined ? answer : undefined
  return (
    <form ref={form} onSubmit={submit} className="space-y-3">
      <TextField
        label={isFirst ? words.first : words.another}
        hint={words.note}
        inputMode="url"
        value={url}
        onChange={(text) => {
          type(text)
          setTools([])
          probe.reset()
        }}
        placeholder={words.example}
        isCode
        maxLength={2_048}
        className="!min-w-48"
        beside={
          <>
            <Select
              aria-label={words.method}
              value={method}
              options={[['', words.anyMethod], ...methodOptions]}
              onChange={setMethod}
              className="!w-32 shrink-0"
            />
            <Button
              type="submit"
              variant="primary"
              isBusy={probe.isPending}
              why={url.trim() === '' ? words.urlFirst : undefined}
              className="max-sm:flex-1"
            >
              {words.check}
            </Button>
          </>
        }
      />
      {probe.isPending && (
        <p role="status" className="text-sm text-muted">
          {words.checking}
        </p>
      )}
      <Failure title={words.notChecked} of={probe.error} />
      {tools.length > 0 && (
        <Tools
          tools={tools}
          isBusy={probe.isPending}
          onChoose={(toolName) => probe.mutate({ address: url, toolName })}
        />
      )}
      {answer?.listing != null && answer.warnings.includes('amount_zero') && (
        <Notice tone="warn" title={words.unpayable}>
          {warningText('amount_zero')}
        </Notice>
      )}
      {refused !== undefined && (
        <Refused
          answer={refused}
          onFollow={follow}
          onByHand={() => onByHand(withScheme(url), refused.method, probe.variables?.toolName)}
        />
      )}
    </form>
  )
}

/** Keeps what is pasted, and has it checked. */
function usePaste(onFound: PasteUrlProps['onFound']) {
  const [url, setUrl] = useState('')
  const form = useRef<HTMLFormElement>(null)
  /** The text of the field now, for an answer that comes later. */
  const typed = useRef('')
  const type = (text: string) => {
    typed.current = text
    setUrl(text)
  }
  const [method, setMethod] = useState<Method | ''>('')
  /** The tools of the MCP server at the URL, to be added one by one. */
  const [tools, setTools] = useState<readonly Tool[]>([])
  const probe = useMutation({
    mutationFn: ({ address, toolName }: { address: string; toolName?: string }) =>
      readQuote(withScheme(address), {
        ...(method === '' ? {} : { method }),
        ...(toolName === undefined ? {} : { toolName }),
      }),
    onSuccess: (quote, { address }) => {
      // Somebody who went on to another URL, or to another field, is left alone.
      const isSame = typed.current === address
      if (quote.tools !== undefined && isSame) setTools(quote.tools)
      if (quote.listing === null) return
      const { activeElement } = document
      const isHere = activeElement === document.body || form.current?.contains(activeElement)
      onFound(quote, isSame && isHere === true)
      if (quote.method !== 'MCP' && isSame) type('')
    },
  })
  return { form, url, type, method, setMethod, tools, setTools, probe }
}

/** Says why an endpoint cannot be listed as it answers, and what can be done about that. */
function Refused({
  answer: { verdict, message, seen },
  onFollow,
  onByHand,
}: {
  answer: Quote
  onFollow: (url: string) => void
  onByHand: () => void
}) {
  const leadsTo = verdict === 'redirect' ? safeHref(String(seen.location)) : undefined
  return (
    <Notice
      tone="warn"
      title={verdictName(verdict)}
      action={
        <Button size="sm" onClick={() => (leadsTo === undefined ? onByHand() : onFollow(leadsTo))}>
          {leadsTo === undefined ? words.byHand : words.follow}
        </Button>
      }
    >
      <UntrustedText text={message} max={600} />
      <p className="mt-1">{verdict === 'unreachable' ? words.listable : words.notListable}</p>
    </Notice>
  )
}

interface ToolsProps {
  tools: readonly Tool[]
  isBusy: boolean
  onChoose: (toolName: string) => void
}

/** Lists the tools of an MCP server. Arcus calls the one that is chosen, without payment, before it is added. */
function Tools({ tools, isBusy, onChoose }: ToolsProps) {
  return (
    <ul
      aria-label={words.tools}
      className="max-h-80 divide-y divide-line overflow-y-auto rounded-lg border border-line"
    >
      {tools.map(({ name, description = '' }) => (
        <li key={name} className="flex items-start justify-between gap-3 px-3 py-2.5 text-sm">
          <span className="min-w-0">
            <span className="block font-mono text-xs font-medium">
              <UntrustedText text={name} max={128} />
            </span>
            <UntrustedText text={description} max={200} />
          </span>
          <Button
            size="sm"
            isBusy={isBusy}
            onClick={() => onChoose(name)}
            aria-label={words.addNamed(name)}
          >
            {words.addTool}
          </Button>
        </li>
      ))}
    </ul>
  )
}

const THIS_MACHINE = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])(?=[:/]|$)/i

/** Adds the scheme that people leave out: http for this machine, https for all others. */
function withScheme(text: string): string {
  const url = text.trim()
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(url)) return url
  return `${THIS_MACHINE.test(url) ? 'http' : 'https'}://${url}`
}
