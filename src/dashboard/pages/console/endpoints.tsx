import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import type { MerchantEndpoint, MerchantView, ProbeAnswer } from '../../../api/listings.js'
import { sendJson } from '../../api/http.js'
import { activityQuery } from '../../api/queries.js'
import { Button } from '../../components/button.js'
import { Card, Section } from '../../components/card.js'
import { Price, Usd } from '../../components/figures.js'
import { Icon } from '../../components/icons.js'
import { Notice } from '../../components/notice.js'
import { EndpointLine, UntrustedText } from '../../components/untrusted-text.js'
import { atomicToUsd, exactCount } from '../../format/amounts.js'
import { sameAddress } from '../../format/untrusted-text.js'
import { useSession } from '../../wallet/session.js'
import { ProbeReport } from '../merchant/probe-report.js'

/** Shows the last probe of each endpoint and its prices, and probes on request. */
export function Endpoints({ merchant }: { merchant: MerchantView }) {
  return (
    <Section
      title="Endpoints"
      note="Arcus probes each endpoint every six hours, and sooner after a failure. After three failures an endpoint leaves the default order of the directory, but never the directory itself."
    >
      <Card>
        <ul className="divide-y divide-line">
          {merchant.endpoints.map((endpoint) => (
            <Row key={endpoint.state.id} merchant={merchant} endpoint={endpoint} />
          ))}
        </ul>
      </Card>
    </Section>
  )
}

function Row({ merchant, endpoint }: { merchant: MerchantView; endpoint: MerchantEndpoint }) {
  const { title, method, url, state } = endpoint
  const client = useQueryClient()
  const probe = useMutation({
    mutationFn: () =>
      sendJson<ProbeAnswer>('POST', `/api/merchants/${encodeURIComponent(merchant.id)}/probe`, {
        endpointId: state.id,
      }),
    onSuccess: () => client.invalidateQueries({ queryKey: ['merchant', merchant.id] }),
  })
  const answer = probe.data?.endpoints[0]
  return (
    <li className="space-y-3 px-4 py-5 sm:px-5">
      <div className="flex flex-wrap items-start justify-between gap-3">
        <div className="min-w-0">
          <h3 className="font-medium">
            <UntrustedText text={title} />
          </h3>
          <EndpointLine method={method} url={url} />
        </div>
        <Button size="sm" isBusy={probe.isPending} onClick={() => probe.mutate()}>
          <Icon name="again" size={13} />
          Probe now
        </Button>
      </div>
      <PriceComparison endpoint={endpoint} merchant={merchant} />
      <div aria-live="polite">
        <ProbeReport {...(answer ?? state)} forOwner />
        {state.failures > 1 && answer === undefined && (
          <p className="mt-1 text-xs text-faint">{state.failures} failed probes in a row</p>
        )}
      </div>
      {probe.error !== null && (
        <Notice tone="bad" title="The endpoint could not be probed now">
          {probe.error.message}
        </Notice>
      )}
    </li>
  )
}

/** Compares the listed price, the price of the live 402 and the mean of the payments. */
function PriceComparison({
  endpoint,
  merchant,
}: {
  endpoint: MerchantEndpoint
  merchant: MerchantView
}) {
  const { price, state } = endpoint
  const { livePrice, symbol } = state
  const differs = livePrice !== null && livePrice !== price
  return (
    <dl className="grid max-w-xl grid-cols-3 gap-4">
      <Figure name="Listed" title="The price in the listing">
        <Price {...endpoint} symbol={symbol} />
      </Figure>
      <Figure name="Quoted" title="The price of the live 402 at the last probe" isOff={differs}>
        {livePrice === null ? '–' : <Price {...endpoint} price={livePrice} symbol={symbol} />}
      </Figure>
      <Figure name="Settled, 30 days" title="The mean of the payments; known for prices in dollars">
        {endpoint.currency === 'USD' ? <Settled merchant={merchant} endpointId={state.id} /> : '–'}
      </Figure>
    </dl>
  )
}

/** Shows the mean of the payments. It needs the session of the owner and a confirmed payout address. */
function Settled({ merchant, endpointId }: { merchant: MerchantView; endpointId: number }) {
  const session = useSession()
  const isOwner = sameAddress(session.data?.address, merchant.owner)
  const { data } = useQuery({
    ...activityQuery(merchant.id, { range: '30d', endpoint: endpointId }),
    enabled: isOwner && merchant.payToProof !== null,
  })
  if (!isOwner) return <span className="text-xs font-normal text-faint">sign in to see it</span>
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
