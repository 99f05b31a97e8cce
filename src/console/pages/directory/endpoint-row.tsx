import type { EndpointCard } from '@arcus/protocol/answers/discovery'
import { Link } from 'wouter'
import { Badge, MerchantBadges, StatusDot } from '../../components/badge.js'
import { AskedPrice, UsedBy } from '../../components/figures.js'
import { Glyph } from '../../components/icons.js'
import { EndpointLine, UntrustedText } from '../../components/untrusted-text.js'

/** Shows one API: title and price, seller and state, then what it does and where it is. */
export function EndpointRow({ endpoint }: { endpoint: EndpointCard }) {
  const { merchant, title, description, method, url, status, probe } = endpoint
  const { price, livePrice } = endpoint
  return (
    <li className="relative flex gap-3 px-4 py-4 transition-colors hover:bg-sunken/60 sm:gap-4 sm:px-5">
      <Glyph of={merchant.id} />
      <div className="min-w-0 flex-1">
        <div className="flex items-start justify-between gap-x-4">
          <h3 className="min-w-0 font-medium">
            <Link
              href={`/merchants/${encodeURIComponent(merchant.id)}#endpoint-${endpoint.id}`}
              className="after:absolute after:inset-0"
            >
              <UntrustedText text={title} />
            </Link>
          </h3>
          <span className="relative text-right font-medium">
            <AskedPrice {...endpoint} />
          </span>
        </div>
        <div className="flex flex-wrap items-center gap-x-2 gap-y-1">
          <span className="min-w-0 text-sm text-muted">
            by <UntrustedText text={merchant.name} max={60} />
          </span>
          <MerchantBadges {...merchant} checks={merchant.identity?.checks} />
          {probe?.warnings.includes('foreign_pay_to') === true && (
            <Badge tone="warn">Also asks to pay another address</Badge>
          )}
          <span className="ml-auto">
            <StatusDot
              status={status}
              probe={probe}
              isAsListed={livePrice === null || livePrice === price}
            />
          </span>
        </div>
        {description !== '' && (
          <p className="mt-1.5 line-clamp-2 max-w-3xl text-sm text-pretty text-muted">
            <UntrustedText text={description} max={300} />
          </p>
        )}
        <div className="mt-2 flex flex-wrap items-center justify-between gap-x-4 gap-y-1">
          <EndpointLine method={method} url={url} />
          <span className="relative text-xs text-faint">
            <UsedBy usage={endpoint.usage} />
          </span>
        </div>
      </div>
    </li>
  )
}
