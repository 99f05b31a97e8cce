import type { Usage } from '@arcus/protocol/answers/fields'
import type { EndpointState, MerchantEndpoint } from '@arcus/protocol/answers/listings'
import { uncalledMethods } from '@arcus/protocol/x402/calls'
import { useQuery } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { useLocationProperty } from 'wouter/use-browser-location'
import { healthQuery, listedNetwork, pricesQuery, settingsQuery } from '../../api/queries.js'
import { Badge, HealthDot, MethodChip } from '../../components/badge.js'
import { CopyButton } from '../../components/button.js'
import { CodeBlock } from '../../components/code-block.js'
import { Segmented } from '../../components/field.js'
import { AskedPrice, busiestPayer, UsedBy } from '../../components/figures.js'
import { Icon } from '../../components/icons.js'
import { Skeleton } from '../../components/loaded.js'
import { Moment } from '../../components/moment.js'
import { EndpointLine, UntrustedText, UrlText } from '../../components/untrusted-text.js'
import { counted, duration, percent } from '../../format/amounts.js'
import { DeliveryReport, ProbeReport } from './reports.js'
import { curlSnippet, fetchSnippet, toolCallSnippet, toolPaySnippet } from './snippets.js'
import { TryIt } from './try/try-it.js'

/** Shows one endpoint: a line that opens into its status, code to call it, and its schema. The fragment `#endpoint-7` opens it. */
export function EndpointCard({
  endpoint,
  merchantId,
  payTo,
  isOpenAtFirst,
}: EndpointProps & { isOpenAtFirst: boolean }) {
  const { state, title, method, url, price } = endpoint
  const anchor = `endpoint-${state.id}`
  const isTarget = useLocationProperty(() => location.hash) === `#${anchor}`
  const [isOpen, setIsOpen] = useState(isOpenAtFirst || isTarget)
  const card = useRef<HTMLLIElement>(null)
  const isPressed = useRef(false)

  useEffect(() => {
    if (!isTarget || isPressed.current) return
    setIsOpen(true)
    card.current?.scrollIntoView({ block: 'start' })
  }, [isTarget])
  const toggle = () => {
    isPressed.current = true
    setIsOpen(!isOpen)
    if (!isOpen) history.replaceState(history.state, '', `#${anchor}`)
  }

  return (
    <li id={anchor} ref={card} className="scroll-mt-20">
      <h3>
        <button
          type="button"
          aria-expanded={isOpen}
          onClick={toggle}
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
            {!isOpen && <HealthDot api={{ ...state, price }} />}
          </span>
        </button>
      </h3>
      {isOpen && <EndpointDetails endpoint={endpoint} merchantId={merchantId} payTo={payTo} />}
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
          <CopyButton text={url} name="URL" />
        </span>
        {state.hosted && <Badge tone="accent">Hosted by the operator</Badge>}
        {tags.map((tag) => (
          <Badge key={tag}>
            <UntrustedText text={tag} max={32} />
          </Badge>
        ))}
      </div>
      <ProbeReport api={{ ...state, price: endpoint.price }} />
      {state.delivery !== null && <DeliveryReport delivery={state.delivery} />}
      {state.usage !== null && <UsageFigures usage={state.usage} />}
      <History merchantId={merchantId} state={state} />
      <Trial endpoint={endpoint} merchantId={merchantId} payTo={payTo} />
      <CallCode endpoint={endpoint} />
      {endpoint.inputSchema !== null && (
        <details className="text-sm">
          <summary className="w-fit font-medium text-muted hover:text-ink">Input schema</summary>
          <div className="mt-2">
            <CodeBlock name="input schema" code={JSON.stringify(endpoint.inputSchema, null, 2)} />
          </div>
        </details>
      )}
    </div>
  )
}

function UsageFigures({ usage }: { usage: Usage }) {
  const { topPayerShare, settleP50Ms, lastPaid, payers, onlyHere } = usage
  return (
    <p className="flex flex-wrap gap-x-3 gap-y-1 text-sm text-muted">
      <UsedBy usage={usage} />
      {topPayerShare !== null && payers['30d'] + onlyHere['30d'] > 1 && (
        <span>{busiestPayer(topPayerShare)}</span>
      )}
      {settleP50Ms !== null && (
        <span>Half of the payments settled within {duration(settleP50Ms)}</span>
      )}
      <span>
        Last paid <Moment at={lastPaid * 1000} />
      </span>
    </p>
  )
}

const MAX_CHANGES_SHOWN = 5

/** Checks from which on their share says something. */
const TELLING_CHECKS = 20
const DAY_SECONDS = 86_400

/** Shows how an endpoint did in at most 30 days, and how its price changed. */
function History({ merchantId, state }: { merchantId: string; state: EndpointState }) {
  const { data: health } = useQuery(healthQuery(merchantId, state.id))
  const { data } = useQuery(pricesQuery(merchantId, state.id))
  const changes = data?.prices.flatMap(({ sentence }) => sentence ?? []) ?? []
  const month = health?.uptime['30d']
  return (
    <div className="space-y-1 text-sm text-muted">
      {month !== undefined && month.share !== null && (
        <p>
          {month.probes < TELLING_CHECKS
            ? counted(month.probes, { one: '# check so far', other: '# checks so far' })
            : `Up ${percent(month.share)} in ${daysSince(state.createdAt)}`}
          {health?.latency.p50Ms != null && ` · ${duration(health.latency.p50Ms)}`}
        </p>
      )}
      {changes.slice(-MAX_CHANGES_SHOWN).map((sentence) => (
        <p key={sentence}>{sentence}</p>
      ))}
    </div>
  )
}

/** Writes the days since a time in Unix seconds, of the last 30. */
function daysSince(at: number): string {
  const days = Math.ceil((Date.now() / 1_000 - at) / DAY_SECONDS)
  return counted(Math.min(30, Math.max(1, days)), { one: '# day', other: '# days' })
}

/** Offers to call the endpoint and pay for it, or leads to the code where a wallet cannot pay it here. */
function Trial(props: EndpointProps) {
  const { data: settings } = useQuery(settingsQuery)
  // The place of the button is kept, so that nothing moves when it is known whether there is one.
  if (settings === undefined) return <div className="h-8" />
  if (!settings.tryIt) return null
  const { method, pricing } = props.endpoint
  if (method === 'MCP' || pricing === 'metered' || uncalledMethods.includes(method)) {
    return <p className="text-sm text-muted">A program pays for this one. Copy the code below.</p>
  }
  return <TryIt {...props}>Try it</TryIt>
}

/** Shows code to call an endpoint. */
function CallCode({ endpoint }: { endpoint: MerchantEndpoint }) {
  const { data: settings } = useQuery(settingsQuery)
  const [shown, setShown] = useState<'look' | 'pay'>('look')
  const network = listedNetwork(settings)
  const block = (name: string, text: string) => <CodeBlock name={name} code={text} />
  const payCode = (write: typeof fetchSnippet) => () =>
    network === undefined ? (
      <Skeleton className="h-40" />
    ) : (
      block('TypeScript client', write(endpoint, network))
    )
  const isTool = endpoint.method === 'MCP'
  const codes = {
    look: () =>
      isTool
        ? block('tools/call', toolCallSnippet(endpoint))
        : block('curl command', curlSnippet(endpoint)),
    pay: payCode(isTool ? toolPaySnippet : fetchSnippet),
  }
  return (
    <div className="space-y-3">
      <Segmented
        legend="Ways to call it"
        value={shown}
        options={[
          ['look', isTool ? 'Call the tool' : 'See the price'],
          ['pay', 'Pay with @x402/fetch'],
        ]}
        onChange={setShown}
      />
      {codes[shown]()}
    </div>
  )
}
