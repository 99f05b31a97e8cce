import { useQuery } from '@tanstack/react-query'
import {
  type KeyboardEvent,
  type ReactNode,
  Suspense,
  useEffect,
  useId,
  useRef,
  useState,
} from 'react'
import { useLocationProperty } from 'wouter/use-browser-location'
import type { Usage } from '../../../api/fields.js'
import type { MerchantEndpoint } from '../../../api/listings.js'
import { healthQuery, pricesQuery, settingsQuery } from '../../api/queries.js'
import { Badge, MethodChip, StatusDot } from '../../components/badge.js'
import { Button, CopyButton } from '../../components/button.js'
import { CodeBlock } from '../../components/code-block.js'
import { AskedPrice, UsedBy } from '../../components/figures.js'
import { Icon } from '../../components/icons.js'
import { Skeleton } from '../../components/loaded.js'
import { When } from '../../components/moment.js'
import { lazyPage } from '../../components/page.js'
import { EndpointLine, UntrustedText, UrlText } from '../../components/untrusted-text.js'
import { words as shared } from '../../components/words.js'
import { duration, percent } from '../../format/amounts.js'
import { ProbeReport } from './probe-report.js'
import { Ratings } from './ratings.js'
import { curlSnippet, fetchSnippet, toolCallSnippet, toolPaySnippet } from './snippets.js'
import { words } from './words.js'

/** Loaded on demand, because most readers need no wallet. */
const TryPanel = lazyPage(() => import('./try/try-panel.js'), 'TryPanel')

/** Shows one endpoint: a line that opens into its status, code to call it, and its schema. The fragment `#endpoint-7` opens it. */
export function EndpointCard({
  endpoint,
  merchantId,
  payTo,
  isOpenAtFirst,
}: EndpointProps & { isOpenAtFirst: boolean }) {
  const { state, title, method, url, price } = endpoint
  const isAsListed = state.livePrice === null || state.livePrice === price
  const anchor = `endpoint-${state.id}`
  const isTarget = useLocationProperty(() => location.hash) === `#${anchor}`
  const [isOpen, setIsOpen] = useState(isOpenAtFirst || isTarget)
  const card = useRef<HTMLLIElement>(null)

  useEffect(() => {
    if (!isTarget) return
    setIsOpen(true)
    card.current?.scrollIntoView({ block: 'start' })
  }, [isTarget])

  return (
    <li id={anchor} ref={card} className="scroll-mt-20">
      <h3>
        <button
          type="button"
          aria-expanded={isOpen}
          onClick={() => setIsOpen(!isOpen)}
          className="flex w-full items-start gap-3 px-4 py-4 text-left hover:bg-sunken/60 sm:px-5"
        >
          <span className={`mt-1 text-faint transition-transform ${isOpen ? 'rotate-90' : ''}`}>
            <Icon name="right" size={14} />
          </span>
          <span className="min-w-0 flex-1">
            <span className="block font-medium">
              <UntrustedText text={title} />
            </span>
            {!isOpen && <EndpointLine method={method} url={url} />}
          </span>
          <span className="flex flex-col items-end gap-1">
            <span className="font-medium">
              <AskedPrice {...endpoint} {...state} />
            </span>
            {!isOpen && (
              <StatusDot status={state.status} probe={state.probe} isAsListed={isAsListed} />
            )}
          </span>
        </button>
      </h3>
      {isOpen && <EndpointDetails {...{ endpoint, merchantId, payTo }} />}
    </li>
  )
}

interface EndpointProps {
  endpoint: MerchantEndpoint
  merchantId: string
  payTo: string
}

function EndpointDetails({ endpoint, merchantId, payTo }: EndpointProps) {
  const { state, description, method, url, tags } = endpoint
  return (
    <div className="arriving space-y-4 px-4 pb-6 sm:pr-5 sm:pl-12">
      {description !== '' && (
        <div className="max-w-prose text-sm text-pretty text-muted">
          <UntrustedText text={description} max={1_000} lines />
        </div>
      )}
      <div className="flex flex-wrap items-center gap-2">
        <MethodChip method={method} />
        <span className="inline-flex min-w-0 items-center gap-1 rounded-md bg-sunken py-0.5 pr-0.5 pl-2 break-all">
          <UrlText url={url} max={400} />
          <CopyButton text={url} name={words.copy.url} />
        </span>
        {state.hosted && <Badge tone="accent">{words.endpoint.hosted}</Badge>}
        {tags.map((tag) => (
          <Badge key={tag}>
            <UntrustedText text={tag} max={32} />
          </Badge>
        ))}
      </div>
      <ProbeReport {...state} />
      {state.usage !== null && <UsageFigures usage={state.usage} />}
      {state.rating !== null && (
        <Ratings merchantId={merchantId} id={state.id} rating={state.rating} />
      )}
      <History merchantId={merchantId} id={state.id} />
      <TryIt endpoint={endpoint} merchantId={merchantId} payTo={payTo} />
      <CallCode endpoint={endpoint} />
      {endpoint.inputSchema !== null && (
        <details className="text-sm">
          <summary className="w-fit font-medium text-muted hover:text-ink">
            {words.endpoint.inputSchema}
          </summary>
          <div className="mt-2">
            <CodeBlock
              name={words.copy.inputSchema}
              code={JSON.stringify(endpoint.inputSchema, null, 2)}
            />
          </div>
        </details>
      )}
    </div>
  )
}

function UsageFigures({ usage }: { usage: Usage }) {
  const { topPayerShare, settleP50Ms, lastPaid, payers } = usage
  return (
    <p className="flex flex-wrap gap-x-3 gap-y-1 text-sm text-muted">
      <UsedBy usage={usage} />
      {topPayerShare !== null && payers['30d'] > 1 && (
        <span>{shared.figures.busiest(percent(topPayerShare))}</span>
      )}
      {settleP50Ms !== null && <span>{words.endpoint.settled(duration(settleP50Ms))}</span>}
      <span>
        <When text={words.endpoint.lastPaid} at={lastPaid * 1000} />
      </span>
    </p>
  )
}

const MAX_CHANGES_SHOWN = 5

/** Shows how an endpoint did in 30 days, and how its price changed. */
function History({ merchantId, id }: { merchantId: string; id: number }) {
  const { data: health } = useQuery(healthQuery(merchantId, id))
  const { data } = useQuery(pricesQuery(merchantId, id))
  const changes = data?.prices.flatMap(({ sentence }) => sentence ?? []) ?? []
  const month = health?.uptime['30d']
  return (
    <div className="space-y-1 text-sm text-muted">
      {month !== undefined && month.share !== null && (
        <p>
          {words.endpoint.uptime(percent(month.share), month.probes)}{' '}
          {health?.latency.p50Ms != null && words.endpoint.latency(duration(health.latency.p50Ms))}
        </p>
      )}
      {changes.slice(-MAX_CHANGES_SHOWN).map((sentence) => (
        <p key={sentence}>{sentence}</p>
      ))}
    </div>
  )
}

/** Opens the panel that calls the endpoint and pays for it, or leads to the code where a wallet cannot pay it here. */
function TryIt(props: EndpointProps) {
  const { data: settings } = useQuery(settingsQuery)
  const [isOpen, setIsOpen] = useState(false)
  // The place of the button is kept, so that nothing moves when it is known whether there is one.
  if (settings === undefined) return <div className="h-8" />
  if (!settings.tryIt) return null
  const { method, pricing } = props.endpoint
  if (method === 'MCP' || pricing === 'metered') {
    return <p className="text-sm text-muted">{words.endpoint.paidByCode}</p>
  }
  if (!isOpen) {
    return (
      <Button variant="primary" size="sm" onClick={() => setIsOpen(true)}>
        {words.endpoint.tryIt}
      </Button>
    )
  }
  return (
    <Suspense fallback={<Skeleton className="h-112 w-full !rounded-xl" />}>
      <TryPanel {...props} />
    </Suspense>
  )
}

/** Shows code to call an endpoint. */
function CallCode({ endpoint }: { endpoint: MerchantEndpoint }) {
  const { data: settings } = useQuery(settingsQuery)
  const network = settings?.networks.find(({ listed }) => listed)
  const { copy, code } = words
  const block = (name: string, text: string) => <CodeBlock name={name} code={text} />
  const payCode = (write: typeof fetchSnippet) => () =>
    network === undefined ? (
      <Skeleton className="h-40" />
    ) : (
      block(copy.fetch, write(endpoint, network))
    )
  const tabs: Tab[] =
    endpoint.method === 'MCP'
      ? [
          [code.toolCall, () => block(copy.toolCall, toolCallSnippet(endpoint))],
          [code.fetch, payCode(toolPaySnippet)],
        ]
      : [
          [code.curl, () => block(copy.curl, curlSnippet(endpoint))],
          [code.fetch, payCode(fetchSnippet)],
        ]
  return <Tabs label={code.label} tabs={tabs} />
}

type Tab = readonly [name: string, content: () => ReactNode]

/** Tabs after the ARIA practices: arrow keys move, and one panel is shown. */
function Tabs({ tabs, label }: { tabs: readonly Tab[]; label: string }) {
  const id = useId()
  const list = useRef<HTMLDivElement>(null)
  const [chosen, setChosen] = useState(0)

  const move = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
    if (step === undefined) return
    event.preventDefault()
    const next = (chosen + step + tabs.length) % tabs.length
    setChosen(next)
    list.current?.querySelectorAll<HTMLElement>('[role=tab]')[next]?.focus()
  }

  return (
    <div>
      <div
        ref={list}
        role="tablist"
        aria-label={label}
        onKeyDown={move}
        className="mb-3 flex gap-1 overflow-x-auto border-b border-line"
      >
        {tabs.map(([name], index) => (
          <button
            key={name}
            type="button"
            role="tab"
            id={`${id}-${index}`}
            aria-selected={index === chosen}
            aria-controls={`${id}-panel`}
            tabIndex={index === chosen ? 0 : -1}
            onClick={() => setChosen(index)}
            className="-mb-px h-9 shrink-0 border-b-2 border-transparent px-3 text-sm font-medium text-muted hover:text-ink aria-selected:border-accent aria-selected:text-ink"
          >
            {name}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${chosen}`}>
        {tabs[chosen]?.[1]()}
      </div>
    </div>
  )
}
