import type { ReactNode } from 'react'
import { Link } from 'wouter'
import type { Payment } from '../api/types.js'
import { Badge, type Tone } from '../components/badge.js'
import { Card } from '../components/card.js'
import { Usd } from '../components/figures.js'
import { Hex } from '../components/hex.js'
import { Moment } from '../components/moment.js'
import { StrangerText } from '../components/stranger-text.js'
import { atomicToUsd } from '../format/amounts.js'
import { reasonName } from '../format/verdicts.js'

const states: Record<Payment['state'], { tone: Tone; name: string; meaning: string }> = {
  queued: { tone: 'warn', name: 'Queued', meaning: 'Claimed, and waiting for its transaction.' },
  submitted: { tone: 'warn', name: 'Submitted', meaning: 'On its way; this page follows it.' },
  confirmed: {
    tone: 'ok',
    name: 'Confirmed',
    meaning: 'The money is with the merchant. This is final.',
  },
  failed: { tone: 'bad', name: 'Failed', meaning: 'Nothing was moved.' },
}

export function PaymentCard({ payment }: { payment: Payment }) {
  const { tone, name, meaning } = states[payment.state]
  const { network, transaction, errorReason, errorMessage } = payment
  return (
    <Card className="max-w-3xl">
      <div className="flex flex-wrap items-start justify-between gap-4 border-b border-line px-5 py-4">
        <div>
          <p className="text-3xl font-semibold tracking-tight">
            <Usd usd={atomicToUsd(payment.amount)} />
          </p>
          <p className="text-sm text-muted">{meaning}</p>
        </div>
        <Badge tone={tone}>{name}</Badge>
      </div>
      <dl className="divide-y divide-line px-5 text-sm">
        <Row name="From">
          <Hex hex={payment.payer} kind="address" network={network} isFull />
        </Row>
        <Row name="To">
          <Hex hex={payment.payTo} kind="address" network={network} isFull />
        </Row>
        <Row name="Transaction">
          {transaction === null ? (
            'none yet'
          ) : (
            <>
              <Hex hex={transaction} kind="tx" network={network} isFull />
              {payment.blockNumber !== null && (
                <p className="text-xs text-muted">block {payment.blockNumber}</p>
              )}
            </>
          )}
        </Row>
        <Row name="Nonce">
          <span className="font-mono text-xs break-all">{payment.nonce}</span>
        </Row>
        {errorReason !== null && (
          <Row name="Reason">
            <span title={errorReason}>{reasonName(errorReason)}</span>
            {errorMessage !== null && (
              <p className="text-muted">
                <StrangerText text={errorMessage} max={400} />
              </p>
            )}
          </Row>
        )}
        <Row name="Told the merchant">{payment.delivered ? 'yes, once' : 'not yet'}</Row>
        {payment.gasUsd !== null && (
          <Row name="Gas, paid by the relayer">
            <Usd usd={payment.gasUsd} />
          </Row>
        )}
        <Row name="Network">
          <span className="font-mono text-xs">{network}</span>
        </Row>
        <Row name="First seen">
          <Moment at={payment.createdAt} />
        </Row>
        <Row name="Last change">
          <Moment at={payment.updatedAt} />
        </Row>
      </dl>
      <div className="border-t border-line px-5 py-3 text-xs text-muted">
        <Link
          href={`/lookup?${new URLSearchParams({ network, payer: payment.payer, nonce: payment.nonce })}`}
          className="underline decoration-line-strong underline-offset-4 hover:text-accent"
        >
          Link to this payment
        </Link>
      </div>
    </Card>
  )
}

function Row({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="flex flex-wrap items-baseline gap-x-4 py-2.5">
      <dt className="w-44 shrink-0 text-muted">{name}</dt>
      <dd className="min-w-0 flex-1 basis-56 break-words">{children}</dd>
    </div>
  )
}
