import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { activityQuery } from '../api/queries.js'
import type { MerchantEndpoint, MerchantView } from '../api/types.js'
import { Price, Usd } from '../components/figures.js'
import { atomicToUsd, exactCount } from '../format/amounts.js'
import { sameAddress } from '../format/hostile-text.js'
import { useSession } from '../wallet/session.js'

/** What a call costs by the listing, by the live 402, and by what was really paid, side by side, for the owner. */
export function PriceComparison({
  endpoint,
  merchant,
}: {
  endpoint: MerchantEndpoint
  merchant: MerchantView
}) {
  const { price, pricing, state } = endpoint
  const { livePrice } = state
  const differs = livePrice !== null && livePrice !== price
  return (
    <dl className="grid max-w-xl grid-cols-3 gap-4">
      <Figure name="Listed" title="What the listing says">
        <Price price={price} pricing={pricing} />
      </Figure>
      <Figure name="Quoted" title="By the live 402, when it was last looked at" isOff={differs}>
        {livePrice === null ? '–' : <Price price={livePrice} pricing={pricing} />}
      </Figure>
      <Figure name="Settled, 30 days" title="The mean of what was paid">
        <Settled merchant={merchant} endpointId={state.id} />
      </Figure>
    </dl>
  )
}

/** The mean of what was paid; figures are the owner's, so they need his session, and an address that stands behind him. */
function Settled({ merchant, endpointId }: { merchant: MerchantView; endpointId: number }) {
  const session = useSession()
  const isOwner = sameAddress(session.data?.address, merchant.owner)
  const { data } = useQuery({
    ...activityQuery(merchant.id, { range: '30d', endpoint: endpointId }),
    enabled: isOwner && merchant.payToProof !== null,
  })
  if (!isOwner) return <span className="text-xs font-normal text-faint">for who is signed in</span>
  if (data === undefined || data.summary.settle.settled === 0) return '–'
  const { settle, revenue } = data.summary
  const mean = BigInt(revenue.amount) / BigInt(settle.settled)
  return (
    <span title={`The mean of ${exactCount(settle.settled)} payments`}>
      <Usd usd={atomicToUsd(String(mean))} />
    </span>
  )
}

function Figure({
  name,
  title,
  isOff = false,
  children,
}: {
  name: string
  title: string
  isOff?: boolean
  children: ReactNode
}) {
  return (
    <div className="min-w-0" title={title}>
      <dt className="text-xs text-faint">{name}</dt>
      <dd className={`text-sm font-medium tabular ${isOff ? 'text-warn' : ''}`}>{children}</dd>
    </div>
  )
}
