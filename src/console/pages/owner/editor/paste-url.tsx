import { withQuery } from '@arcus/client/calls'
import type { ListingStatus } from '@arcus/protocol/answers/discovery'
import { useMutation, useQuery } from '@tanstack/react-query'
import { type KeyboardEvent, useRef, useState } from 'react'
import { requestJson } from '../../../api/http.js'
import { Button } from '../../../components/button.js'
import { Failure, Note, Notice } from '../../../components/card.js'
import { TextField } from '../../../components/field.js'
import { UntrustedText } from '../../../components/untrusted-text.js'
import { atomicToUsd, exactAmount } from '../../../format/amounts.js'
import { safeHref } from '../../../format/untrusted-text.js'
import { verdictName, warningLevel, warningText } from '../../../format/verdicts.js'
import {
  type EndpointValues,
  emptyEndpoint,
  fillEndpoint,
  hostProblem,
  withScheme,
} from './form.js'
import { type ApiQuote, isLive, readQuote } from './quote.js'

interface PasteUrlProps {
  isFirst: boolean
  /** `payTo` is empty where nothing was read. `takesFocus`: nobody went on to another field while it was checked. */
  onAdd: (endpoint: EndpointValues, payTo: string, takesFocus: boolean) => void
}

type Tool = NonNullable<ApiQuote['tools']>[number]

/** Takes the URL of an API and says what a buyer sees there. It needs no wallet. */
export function PasteUrl({ isFirst, onAdd }: PasteUrlProps) {
  const { box, url, type, problem, tools, probe, check } = usePaste(onAdd)
  // It lies in the form of the listing, which Enter must not send from here.
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Enter') return
    event.preventDefault()
    if (url.trim() !== '') check(url)
  }
  const answer = probe.data
  return (
    <div ref={box} className="flex flex-col gap-3">
      <TextField
        label={isFirst ? 'URL of your API' : 'URL of another API'}
        hint="Arcus calls it once, without paying, and reads what it asks for."
        error={problem}
        inputMode="url"
        value={url}
        onChange={type}
        onKeyDown={onKeyDown}
        placeholder="https://api.example.com/quote"
        isCode
        maxLength={2_048}
        beside={
          <Button
            variant={isFirst ? 'primary' : 'secondary'}
            isBusy={probe.isPending}
            why={url.trim() === '' ? 'Paste a URL first.' : undefined}
            onClick={() => check(url)}
            className="max-sm:w-full"
          >
            Check
          </Button>
        }
      />
      <div aria-live="polite" className="space-y-3 empty:hidden">
        {probe.isPending && (
          <p className="text-sm text-muted">
            Arcus calls it now. A slow server may take five seconds.
          </p>
        )}
        <Failure title="It could not be checked" of={probe.error} />
        {answer !== undefined && isLive(answer) && <Answers answer={answer} />}
        {answer?.listing === null && answer.tools === undefined && (
          <Refused
            answer={answer}
            onFollow={(target) => {
              type(target)
              check(target)
            }}
            onByHand={() => {
              const { address = '', toolName = '' } = probe.variables ?? {}
              const url = withScheme(address)
              onAdd({ ...emptyEndpoint(), url, method: answer.method, toolName }, '', true)
            }}
          />
        )}
        {answer !== undefined && answer.tools === undefined && (
          <Listed url={answer.listing?.url ?? withScheme(probe.variables?.address ?? '')} />
        )}
      </div>
      {tools.length > 0 && (
        <Tools
          tools={tools}
          isBusy={probe.isPending}
          onChoose={(toolName) => probe.mutate({ address: url, toolName })}
        />
      )}
    </div>
  )
}

/** Keeps what is pasted, and has it checked. */
function usePaste(onAdd: PasteUrlProps['onAdd']) {
  const [url, setUrl] = useState('')
  const [problem, setProblem] = useState<string>()
  const box = useRef<HTMLDivElement>(null)
  /** The text of the field now, for an answer that comes later. */
  const typed = useRef('')
  /** The tools of the MCP server at the URL, to be added one by one. */
  const [tools, setTools] = useState<readonly Tool[]>([])
  const probe = useMutation({
    mutationFn: ({ address, toolName }: { address: string; toolName?: string }) =>
      readQuote(
        withScheme(address),
        toolName === undefined ? {} : { method: 'MCP' as const, toolName },
      ),
    onSuccess(quote, { address }) {
      // Somebody who went on to another URL, or to another field, is left alone.
      const isSame = typed.current === address
      if (quote.tools !== undefined && isSame) setTools(quote.tools)
      if (!isLive(quote)) return
      const { activeElement } = document
      const isHere =
        activeElement === document.body || box.current?.contains(activeElement) === true
      onAdd(fillEndpoint(emptyEndpoint(), quote), quote.listing.payTo, isSame && isHere)
      if (quote.method === 'MCP' || !isSame) return
      typed.current = ''
      setUrl('')
    },
  })
  const type = (text: string) => {
    typed.current = text
    setUrl(text)
    setProblem(undefined)
    setTools([])
    probe.reset()
  }
  const check = (address: string) => {
    const found = hostProblem(address)
    setProblem(found)
    if (found === undefined) probe.mutate({ address })
  }
  return { box, url, type, problem, tools, probe, check }
}

/** Says what a buyer sees at an API that answers: it works, unless nobody can pay it as it asks. */
function Answers({ answer: { listing, warnings } }: { answer: ApiQuote & { listing: object } }) {
  const problems = warnings.filter((code) => warningLevel(code) === 'bad')
  const asks = exactAmount(atomicToUsd(listing.price), listing.symbol)
  const isFine = problems.length === 0
  return (
    <>
      <Notice
        tone={isFine ? 'ok' : 'warn'}
        title={isFine ? `It works: a call costs ${asks}` : `It answers and asks for ${asks}`}
      >
        {isFine
          ? 'What it says about itself is filled in below. Check that, and sign.'
          : 'Nobody can pay it like this. What it says about itself is filled in below.'}
      </Notice>
      {problems.map((code) => (
        <Note key={code} level="bad">
          {warningText(code)}
        </Note>
      ))}
    </>
  )
}

/** Says why an API cannot be listed as it answers, and what can be done about that. */
function Refused({
  answer: { verdict, message, seen },
  onFollow,
  onByHand,
}: {
  answer: ApiQuote
  onFollow: (url: string) => void
  onByHand: () => void
}) {
  const leadsTo = verdict === 'redirect' ? safeHref(String(seen.location)) : undefined
  const isAway = verdict === 'unreachable'
  return (
    <Notice
      tone="bad"
      title={verdictName(verdict)}
      action={
        leadsTo !== undefined ? (
          <Button size="sm" onClick={() => onFollow(leadsTo)}>
            Check that address
          </Button>
        ) : (
          isAway && (
            <Button size="sm" onClick={onByHand}>
              Fill in by hand
            </Button>
          )
        )
      }
    >
      <UntrustedText text={message} max={600} />
      <p className="mt-1">
        {isAway
          ? 'Nothing was saved. You can list it all the same: it is in the directory once it answers.'
          : 'It cannot be listed like this. Correct it and check again.'}
      </p>
    </Notice>
  )
}

/** Says whether the URL is in the directory already, and what gets it there. */
function Listed({ url }: { url: string }) {
  const { data } = useQuery({
    queryKey: ['listed', url],
    queryFn: ({ signal }) =>
      requestJson<ListingStatus>(withQuery('/discovery/status', { resource: url }), { signal }),
    retry: false,
  })
  // Its place is kept, so that nothing moves when it comes.
  if (data === undefined) return <p className="h-5" />
  const isUnknown = data.entries.length + data.refusals.length === 0
  return (
    <p className="text-sm text-muted">
      {isUnknown ? (
        'It is not in the directory yet.'
      ) : data.entries.some(({ isListed }) => isListed) ? (
        'It is in the directory.'
      ) : (
        <UntrustedText text={data.message} max={600} />
      )}
      {data.entries.map(({ merchant, toolName, mend }) =>
        mend === null ? null : (
          <span key={`${merchant} ${toolName}`} className="block">
            <UntrustedText text={mend} max={600} />
          </span>
        ),
      )}
    </p>
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
      aria-label="Tools of the MCP server"
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
            aria-label={`Check and add ${name}`}
          >
            Check and add
          </Button>
        </li>
      ))}
    </ul>
  )
}
