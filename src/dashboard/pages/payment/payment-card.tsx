import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import type { PaymentStatus } from '../../../api/payments.js'
import { paymentPath, receiptQuery } from '../../api/queries.js'
import { Badge, type Tone } from '../../components/badge.js'
import { quietLink, TextLink } from '../../components/button.js'
import { Card, Section } from '../../components/card.js'
import { Fact, Money, Usd } from '../../components/figures.js'
import { Moment } from '../../components/moment.js'
import { Hex, UntrustedText } from '../../components/untrusted-text.js'
import { duration } from '../../format/amounts.js'
import { failureText } from '../../format/failures.js'
import { OwnAttestation } from './attestation.js'

const states: Record<PaymentStatus['state'], { tone: Tone; name: string; meaning: string }> = {
  queued: { tone: 'warn', name: 'Queued', meaning: 'Accepted, and waiting for its transaction.' },
  submitted: {
    tone: 'warn',
    name: 'Submitted',
    meaning: 'Sent to the network. This page follows it.',
  },
  confirmed: {
    tone: 'ok',
    name: 'Confirmed',
    meaning: 'The merchant has the money. This is final.',
  },
  failed: { tone: 'bad', name: 'Failed', meaning: 'No money was moved.' },
}

/** A payment in a list of those of its transaction. */
export function PaymentLine({ payment }: { payment: PaymentStatus }) {
  const { tone, name } = states[payment.state]
  return (
    <li className="relative flex flex-wrap items-center gap-x-4 gap-y-1 px-5 py-3 text-sm hover:bg-sunken/60">
      <Link href={paymentPath(payment)} className="font-medium after:absolute after:inset-0">
        <Money {...payment} />
      </Link>
      <span className="min-w-0 flex-1 basis-64 font-mono text-xs break-all text-muted">
        {payment.payer} → {payment.payTo}
      </span>
      <Badge tone={tone}>{name}</Badge>
    </li>
  )
}

/** Everything that is known about a payment: from whom, for what, when, and its proofs. */
export function PaymentCard({ payment }: { payment: PaymentStatus }) {
  const { tone, name, meaning } = states[payment.state]
  const { network, transaction, errorReason, errorMessage } = payment
  return (
    <div className="grid items-start gap-8 lg:grid-cols-[minmax(0,5fr)_minmax(0,3fr)]">
      <Card>
        <div className="flex flex-wrap items-start justify-between gap-4 border-b border-line px-5 py-4">
          <div>
            <p className="text-3xl font-semibold tracking-tight">
              <Money {...payment} />
            </p>
            <p className="text-sm text-muted">{meaning}</p>
          </div>
          <Badge tone={tone}>{name}</Badge>
        </div>
        <dl className="divide-y divide-line px-5 text-sm">
          <Fact name="From">
            <Hex hex={payment.payer} kind="address" network={network} isFull />
          </Fact>
          <Fact name="To">
            <Hex hex={payment.payTo} kind="address" network={network} isFull />
            <p className="text-xs">
              <Link
                href={`/directory?payTo=${payment.payTo}`}
                className={`text-muted ${quietLink}`}
              >
                Endpoints that are paid at this address
              </Link>
            </p>
          </Fact>
          {payment.state === 'confirmed' && <PaidFor payment={payment} />}
          <Fact name="Transaction">
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
          </Fact>
          <Fact name="Nonce">
            <span className="font-mono text-xs break-all">{payment.nonce}</span>
          </Fact>
          {errorReason !== null && (
            <Fact name="Reason">
              <span title={errorReason}>{failureText(errorReason)}</span>
              {errorMessage !== null && (
                <p className="text-muted">
                  <UntrustedText text={errorMessage} max={400} />
                </p>
              )}
            </Fact>
          )}
          {payment.gasUsd !== null && (
            <Fact name="Gas, paid by Arcus">
              <Usd usd={payment.gasUsd} />
            </Fact>
          )}
          <Fact name="Network">
            <span className="font-mono text-xs">{network}</span>
          </Fact>
        </dl>
        <div className="flex gap-4 border-t border-line px-5 py-3 text-xs text-muted">
          {payment.state === 'confirmed' && (
            <a href={paymentPath(payment, '/receipt')} className={quietLink}>
              Receipt
            </a>
          )}
          <Link href={paymentPath(payment)} className={quietLink}>
            Link to this payment
          </Link>
        </div>
      </Card>
      <div className="space-y-8">
        <Section title="Timeline">
          <Timeline payment={payment} />
        </Section>
        {payment.state === 'confirmed' && (
          <Section title="Attestation">
            <OwnAttestation payment={payment} />
          </Section>
        )}
      </div>
    </div>
  )
}

/**
 * Names the merchant whose listing speaks for the recipient, and the resource as the payer stated it. Without such a
 * listing nothing is shown: the resource is only the payer's word.
 */
function PaidFor({ payment }: { payment: PaymentStatus }) {
  const { data } = useQuery(receiptQuery(paymentPath(payment, '/receipt')))
  if (data === undefined) return <Fact name="For">…</Fact>
  const { merchant, merchantId, resource } = data
  if (merchant === null || merchantId === null) {
    return <Fact name="For">No listed merchant is proven to be paid at this address.</Fact>
  }
  return (
    <Fact name="For">
      <TextLink href={`/merchants/${encodeURIComponent(merchantId)}`}>
        <UntrustedText text={merchant} max={60} />
      </TextLink>
      {resource !== null && (
        <p className="text-xs text-muted">
          <span className="font-mono break-all">
            <UntrustedText text={resource.split(/[?#]/, 1)[0] ?? ''} max={256} />
          </span>
          , as the payer stated it
        </p>
      )}
    </Fact>
  )
}

interface Step {
  name: string
  /** ISO 8601; `null` where it did not happen yet, or is not known. */
  at: string | null
  note: ReactNode
  tone?: Tone
}

function stepsOf(payment: PaymentStatus): Step[] {
  const { state, createdAt, sentAt, updatedAt, deliveredAt, transaction, delivered } = payment
  const accepted: Step = {
    name: 'Verified and accepted',
    at: createdAt,
    note: 'Signature, funds and terms were checked, and the payment was written down.',
  }
  const sent: Step = {
    name: 'Sent',
    at: sentAt,
    note:
      sentAt === null && transaction !== null
        ? 'Somebody else sent the transaction, or the time is not known any more.'
        : 'A relayer sent its transaction.',
  }
  if (state === 'failed') {
    const failed: Step = { name: 'Failed', at: updatedAt, note: 'No money was moved.', tone: 'bad' }
    return sentAt === null ? [accepted, failed] : [accepted, sent, failed]
  }
  const isConfirmed = state === 'confirmed'
  return [
    accepted,
    sent,
    {
      name: 'Confirmed',
      at: isConfirmed ? updatedAt : null,
      note: isConfirmed ? 'Arcus found the transfer in a block.' : 'Waiting for a block.',
      tone: 'ok',
    },
    {
      name: 'Answered',
      at: deliveredAt,
      note: delivered
        ? 'The merchant’s server was told of the success, once.'
        : 'Nobody was told yet: the next request to settle it is.',
      tone: 'ok',
    },
  ]
}

/** Shows when each thing happened, with the time since the step before. */
function Timeline({ payment }: { payment: PaymentStatus }) {
  const steps = stepsOf(payment)
  let before: number | undefined
  return (
    <ol className="space-y-4">
      {steps.map(({ name, at, note, tone = 'accent' }) => {
        const since = at === null || before === undefined ? undefined : Date.parse(at) - before
        if (at !== null) before = Date.parse(at)
        return (
          <li key={name} className="relative border-l border-line-strong pb-1 pl-5">
            <span
              className={`absolute top-1.5 -left-[5px] size-2.5 rounded-full border ${at === null ? 'border-line-strong bg-paper' : dots[tone]}`}
              aria-hidden="true"
            />
            <p className="flex flex-wrap items-baseline gap-x-2 text-sm font-medium">
              {name}
              <span className="text-xs font-normal text-muted tabular">
                {at === null ? 'no time' : <Moment at={at} />}
                {since !== undefined && since >= 0 && ` · ${duration(since)} later`}
              </span>
            </p>
            <p className="text-xs text-pretty text-muted">{note}</p>
          </li>
        )
      })}
    </ol>
  )
}

const dots: Record<Tone, string> = {
  accent: 'border-accent bg-accent',
  ok: 'border-ok bg-ok',
  bad: 'border-bad bg-bad',
  warn: 'border-warn bg-warn',
  plain: 'border-faint bg-faint',
}
