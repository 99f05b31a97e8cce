import { Link } from 'wouter'
import type { EndpointCard } from '../../../api/discovery.js'
import { Badge, MerchantBadges, StatusDot } from '../../components/badge.js'
import { AskedPrice, UsedBy } from '../../components/figures.js'
import { Glyph } from '../../components/icons.js'
import { When } from '../../components/moment.js'
import { Sentence } from '../../components/sentence.js'
import { TrendOf } from '../../components/trend.js'
import { EndpointLine, UntrustedText } from '../../components/untrusted-text.js'
import { oneLine } from '../../format/untrusted-text.js'
import { words } from './words.js'

const MAX_TAGS = 4

export function EndpointRow({
  endpoint,
  onTag,
}: {
  endpoint: EndpointCard
  onTag: (tag: string) => void
}) {
  const { merchant, title, description, method, url, status, probe, tags } = endpoint
  const { price, livePrice } = endpoint
  return (
    <li className="relative flex gap-3 px-4 sm:gap-4 py-3.5 transition-colors hover:bg-sunken/60 sm:px-5">
      <Glyph of={merchant.id} />
      <div className="min-w-0 flex-1">
        {/* On a phone title and price share a line, and the merchant has the next one. */}
        <div className="grid grid-cols-[1fr_auto] items-start gap-x-2 gap-y-1 sm:flex sm:flex-wrap sm:items-center">
          <h3 className="min-w-0 font-medium">
            <Link
              href={`/merchants/${encodeURIComponent(merchant.id)}#endpoint-${endpoint.id}`}
              className="after:absolute after:inset-0"
            >
              <UntrustedText text={title} />
            </Link>
          </h3>
          <div className="flex min-w-0 flex-wrap items-center gap-x-1.5 gap-y-1 max-sm:order-last max-sm:col-span-2 sm:gap-x-2">
            <span className="min-w-0 text-sm text-muted">
              <Sentence
                text={words.row.by}
                parts={{ merchant: <UntrustedText text={merchant.name} max={60} /> }}
              />
            </span>
            <MerchantBadges {...merchant} checks={merchant.identity?.checks} />
          </div>
          <span className="relative font-medium sm:ml-auto">
            <AskedPrice {...endpoint} />
          </span>
        </div>
        {description !== '' && (
          <p className="mt-1 line-clamp-2 max-w-3xl text-sm text-pretty text-muted">
            <UntrustedText text={description} max={300} />
          </p>
        )}
        <div className="mt-1.5 flex flex-wrap items-center gap-x-3 gap-y-1.5">
          <EndpointLine method={method} url={url} />
          {tags.slice(0, MAX_TAGS).map((tag) => (
            <button
              key={tag}
              type="button"
              onClick={() => onTag(tag)}
              title={words.row.tag}
              className="relative inline-flex min-h-6 items-center rounded px-1 text-xs text-faint hover:text-accent"
            >
              #<bdi>{oneLine(tag, 32)}</bdi>
            </button>
          ))}
          <span className="relative flex flex-wrap items-center gap-2 text-xs text-faint sm:ml-auto">
            {probe?.warnings.includes('foreign_pay_to') === true && (
              <Badge tone="warn">{words.row.alsoPays}</Badge>
            )}
            <StatusDot
              status={status}
              probe={probe}
              isAsListed={livePrice === null || livePrice === price}
            />
            <UsedBy usage={endpoint.usage} />
            <TrendOf trend={endpoint.trend} />
            {probe !== null && (
              <span>
                <When text={words.row.checked} at={probe.checkedAt * 1000} />
              </span>
            )}
          </span>
        </div>
      </div>
    </li>
  )
}
