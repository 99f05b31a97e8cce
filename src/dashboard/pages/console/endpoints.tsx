import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import type { MerchantEndpoint, MerchantView, ProbeAnswer } from '../../../api/listings.js'
import { sendJson } from '../../api/http.js'
import { breakdownQuery } from '../../api/queries.js'
import { Button, TextLink } from '../../components/button.js'
import { Card, Failure, Section } from '../../components/card.js'
import { Price, Usd } from '../../components/figures.js'
import { Icon } from '../../components/icons.js'
import { EndpointLine, UntrustedText } from '../../components/untrusted-text.js'
import { atomicToUsd, exactCount } from '../../format/amounts.js'
import { sameAddress } from '../../format/untrusted-text.js'
import { useSession } from '../../wallet/session.js'
import { ProbeReport } from '../merchant/probe-report.js'
import { words as all } from './words.js'

const words = all.endpoints

/** Shows the last check of each endpoint and its prices, and checks on request. */
export function Endpoints({ merchant }: { merchant: MerchantView }) {
  return (
    <Section title={words.title} note={words.note}>
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
          {words.check}
        </Button>
      </div>
      <PriceComparison endpoint={endpoint} merchant={merchant} />
      <div aria-live="polite">
        <ProbeReport {...(answer ?? state)} forOwner />
        {state.failures > 1 && answer === undefined && (
          <p className="mt-1 text-xs text-faint">{words.failures(state.failures)}</p>
        )}
      </div>
      <Failure title={words.notChecked} of={probe.error} />
    </li>
  )
}

/** Compares the listed price, the price that was asked for at the last check and the mean of the payments. */
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
      <Figure name={words.listed} title={words.listedNote}>
        <Price {...endpoint} symbol={symbol} />
      </Figure>
      <Figure name={words.asked} title={words.askedNote} isOff={differs}>
        {livePrice === null ? '–' : <Price {...endpoint} price={livePrice} symbol={symbol} />}
      </Figure>
      <Figure name={words.paid} title={words.paidNote}>
        {endpoint.currency === 'USD' ? <Settled merchant={merchant} endpointId={state.id} /> : '–'}
      </Figure>
    </dl>
  )
}

/**
 * Shows the mean of the payments. It needs the session of the owner and a confirmed payout address. All endpoints share one
 * answer.
 */
function Settled({ merchant, endpointId }: { merchant: MerchantView; endpointId: number }) {
  const session = useSession()
  const isOwner = sameAddress(session.data?.address, merchant.owner)
  const { data } = useQuery({
    ...breakdownQuery(merchant.id, { range: '30d' }),
    enabled: isOwner && merchant.payToProof !== null,
  })
  if (!isOwner) {
    return (
      <span className="text-xs font-normal">
        <TextLink href={`/console/${encodeURIComponent(merchant.id)}`}>{words.signIn}</TextLink>
      </span>
    )
  }
  const paid = data?.endpoints.find((row) => row.endpointId === endpointId)
  if (paid === undefined || paid.settled === 0) return '–'
  const mean = BigInt(paid.revenue.amount) / BigInt(paid.settled)
  return (
    <span title={words.average(paid.settled, exactCount(paid.settled))}>
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
