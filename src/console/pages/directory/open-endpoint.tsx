import type { EndpointCard } from '@arcus/protocol/answers/discovery'
import { Badge, MerchantBadges } from '../../components/badge.js'
import { ButtonLink, CopyButton } from '../../components/button.js'
import { AskedPrice, UsedBy } from '../../components/figures.js'
import { EndpointLine, UntrustedText } from '../../components/untrusted-text.js'
import { DeliveryReport, Findings } from '../merchant/reports.js'

/** Shows an opened row of the directory: what the API does, where it is, and why it is in its state. */
export function OpenEndpoint({ endpoint }: { endpoint: EndpointCard }) {
  const { id, merchant, description, method, url, tags, probe, delivery, usage } = endpoint
  const { price, livePrice } = endpoint
  const page = `/merchants/${encodeURIComponent(merchant.id)}`
  return (
    <div className="arriving max-w-3xl space-y-3 text-sm">
      {description !== '' && (
        <p className="text-pretty text-muted">
          <UntrustedText text={description} max={300} />
        </p>
      )}
      <div className="flex min-w-0 items-center gap-2">
        <EndpointLine method={method} url={url} />
        <CopyButton text={url} name="URL" />
      </div>
      <div className="flex flex-wrap items-center gap-1.5 empty:hidden">
        <MerchantBadges {...merchant} checks={merchant.identity?.checks} />
        {tags.map((tag) => (
          <Badge key={tag}>
            <UntrustedText text={tag} max={32} />
          </Badge>
        ))}
      </div>
      {livePrice !== null && livePrice !== price && (
        <div className="flex">
          <AskedPrice {...endpoint} />
        </div>
      )}
      <Findings probe={probe} />
      {delivery !== null && <DeliveryReport delivery={delivery} />}
      {usage !== null && (
        <p className="text-muted">
          <UsedBy usage={usage} />
        </p>
      )}
      <div className="flex flex-wrap gap-2 pt-1">
        <ButtonLink size="sm" href={`${page}#endpoint-${id}`}>
          Try it, and see the code
        </ButtonLink>
        <ButtonLink size="sm" variant="quiet" href={page}>
          All APIs of this seller
        </ButtonLink>
      </div>
    </div>
  )
}
