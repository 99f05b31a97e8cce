import { useEffect, useRef, useState } from 'react'
import type { MerchantEndpoint } from '../api/types.js'
import { Badge, MethodChip, StatusDot } from '../components/badge.js'
import { CodeBlock } from '../components/code-block.js'
import { CopyButton } from '../components/copy-button.js'
import { AskedPrice } from '../components/figures.js'
import { Icon } from '../components/icons.js'
import { StrangerText, UrlText } from '../components/stranger-text.js'
import { useHash } from '../components/use-hash.js'
import { ProbeReport } from './probe-report.js'
import { TryIt } from './try-it.js'

/** One endpoint: a line that opens into how it is, how it is called, and what it takes. The address can point at it. */
export function EndpointCard({
  endpoint,
  merchantId,
  isOpenAtFirst,
}: {
  endpoint: MerchantEndpoint
  merchantId: string
  isOpenAtFirst: boolean
}) {
  const { state, title, description, method, url, price, pricing, tags } = endpoint
  const isAsListed = state.livePrice === null || state.livePrice === price
  const anchor = `endpoint-${state.id}`
  const isMeant = useHash() === `#${anchor}`
  const [isOpen, setIsOpen] = useState(isOpenAtFirst || isMeant)
  const card = useRef<HTMLLIElement>(null)

  useEffect(() => {
    if (!isMeant) return
    setIsOpen(true)
    card.current?.scrollIntoView({ block: 'start' })
  }, [isMeant])

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
              <StrangerText text={title} />
            </span>
            {!isOpen && (
              <span className="mt-1 flex min-w-0 items-center gap-2">
                <MethodChip method={method} />
                <span className="min-w-0 truncate">
                  <UrlText url={url} />
                </span>
              </span>
            )}
          </span>
          <span className="flex flex-col items-end gap-1">
            <span className="font-medium">
              <AskedPrice price={price} livePrice={state.livePrice} pricing={pricing} />
            </span>
            {!isOpen && (
              <StatusDot status={state.status} look={state.probe} isAsListed={isAsListed} />
            )}
          </span>
        </button>
      </h3>
      {isOpen && (
        <div className="arriving space-y-4 px-4 pb-6 sm:pr-5 sm:pl-12">
          {description !== '' && (
            <div className="max-w-prose text-sm text-pretty text-muted">
              <StrangerText text={description} max={1_000} lines />
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
                <StrangerText text={tag} max={32} />
              </Badge>
            ))}
          </div>
          <ProbeReport {...state} />
          <TryIt endpoint={endpoint} merchantId={merchantId} />
          {endpoint.inputSchema !== null && (
            <details className="text-sm">
              <summary className="w-fit font-medium text-muted hover:text-ink">
                Input schema
              </summary>
              <div className="mt-2">
                <CodeBlock
                  name="input schema"
                  code={JSON.stringify(endpoint.inputSchema, null, 2)}
                />
              </div>
            </details>
          )}
        </div>
      )}
    </li>
  )
}
