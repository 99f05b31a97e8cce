import { ArcusError } from '@arcus/client/calls'
import type { PaymentStatus } from '@arcus/protocol/answers/payments'
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Link, Redirect, useSearch } from 'wouter'
import { paymentPath, paymentsQuery, receiptQuery } from '../../api/payment-queries.js'
import { settingsQuery } from '../../api/queries.js'
import { Badge, type Tone } from '../../components/badge.js'
import { ButtonLink, CopyButton, quietLink, TextLink } from '../../components/button.js'
import { Card, Empty, Section } from '../../components/card.js'
import { Fact } from '../../components/facts.js'
import { Money, Usd } from '../../components/figures.js'
import { Loaded, Skeleton } from '../../components/loaded.js'
import { Moment } from '../../components/moment.js'
import { PageTitle, useTitle } from '../../components/page.js'
import { Hex, UntrustedText } from '../../components/untrusted-text.js'
import { atomicToUsd, duration, exactCount, shortMoney } from '../../format/amounts.js'
import { failureText } from '../../format/failures.js'
import { absoluteTime } from '../../format/moments.js'
import { paymentStates } from '../../format/payment-states.js'
import { readSearch } from '../../format/search-target.js'
import { OwnAttestation } from './attestation.js'
import { GivenBack } from './table/payment-cells.js'

/** Shows the payment of a payer and nonce; the query distinguishes several of them. */
export function PaymentPage(place: { network: string; payer: string; nonce: string }) {
  const { network, payer, nonce } = place
  const query = useSearch()
  const path = ['/payments', ...[network, payer, nonce].map(encodeURIComponent)].join('/')
  return <FoundPayments path={query === '' ? path : `${path}?${query}`} />
}

/** Shows the payment of a transaction, or the list of its payments. The address of a buyer leads to what they paid. */
export function TransactionPage({ transaction }: { transaction: string }) {
  const target = readSearch(transaction)
  if (target.kind === 'address') return <Redirect to={`/buyers/${target.address}`} replace />
  const hash = target.kind === 'hash' ? target.hash : transaction
  return <FoundPayments path={`/payments/${encodeURIComponent(hash)}`} />
}

function FoundPayments({ path }: { path: string }) {
  const query = useQuery(paymentsQuery(path))
  const isBad = query.error instanceof ArcusError && query.error.status === 400
  const missing = (
    <Empty
      title="No such payment here"
      action={<ButtonLink href="/payments">Find another payment</ButtonLink>}
    >
      {isBad ? (
        'The address of a payment names a transaction, or a network, a payer and a nonce.'
      ) : (
        <>
          Arcus has not settled this payment. It was refused before anything was sent, or another
          facilitator settled it, which an explorer of the chain shows.
          <OtherNetworks path={path} />
        </>
      )}
    </Empty>
  )
  return (
    <>
      <PageTitle title="Payment" />
      <div aria-live="polite">
        {isBad ? (
          missing
        ) : (
          <Loaded
            query={query}
            skeleton={<Skeleton isCard className="h-144 w-full" />}
            missing={missing}
          >
            {(payments) => <Payments payments={payments} />}
          </Loaded>
        )}
      </div>
    </>
  )
}

/** Leads to the same payer and nonce on the other networks of this service. */
function OtherNetworks({ path }: { path: string }) {
  const { data: settings } = useQuery(settingsQuery)
  const [, , network, payer, nonce] = path.split(/[/?]/)
  if (payer === undefined || nonce === undefined) return null
  const others = settings?.networks.filter((it) => it.network !== decodeURIComponent(network ?? ''))
  return others?.map((it) => (
    <p key={it.network} className="mt-2">
      <TextLink href={`/payments/${it.network}/${payer}/${nonce}`}>Look on {it.name}</TextLink>
    </p>
  ))
}

function Payments({ payments }: { payments: readonly PaymentStatus[] }) {
  const [only] = payments
  if (payments.length === 1 && only !== undefined) return <PaymentCard payment={only} />
  return (
    <>
      <p className="mb-3 text-sm text-muted">
        This transaction carried {exactCount(payments.length)} payments. Choose one.
      </p>
      <Card>
        <ul className="divide-y divide-line">
          {payments.map((payment) => (
            <PaymentLine key={payment.settlementId} payment={payment} />
          ))}
        </ul>
      </Card>
    </>
  )
}

/** A payment in a list of those of its transaction. */
function PaymentLine({ payment }: { payment: PaymentStatus }) {
  return (
    <li className="relative flex flex-wrap items-center gap-x-4 gap-y-1 px-5 py-3 text-sm hover:bg-sunken/60">
      <Link href={paymentPath(payment)} className="font-medium after:absolute after:inset-0">
        <Money {...payment} />
      </Link>
      <span className="min-w-0 flex-1 basis-64 font-mono text-xs break-all text-muted">
        {payment.payer} → {payment.payTo}
      </span>
      <Badge tone={paymentStates[payment.state].tone}>{paymentStates[payment.state].name}</Badge>
    </li>
  )
}

/** Everything that is known about a payment: from whom, for what, when, and its proofs. */
function PaymentCard({ payment }: { payment: PaymentStatus }) {
  const { name, meaning, tone } = paymentStates[payment.state]
  useTitle(`Payment of ${shortMoney(atomicToUsd(payment.amount), payment)}, ${name.toLowerCase()}`)
  return (
    <div className="grid items-start gap-8 lg:grid-cols-[minmax(0,5fr)_minmax(0,3fr)]">
      <Card>
        <div className="flex flex-wrap items-start justify-between gap-4 border-b border-line px-5 py-4">
          <div>
            <p className="text-3xl font-semibold tracking-tight">
              <Money {...payment} />
            </p>
            <p className="text-sm text-muted">
              {payment.refund === null ? (
                meaning
              ) : (
                <GivenBack {...payment} refunded={payment.refund.amount} />
              )}
            </p>
          </div>
          <Badge tone={tone}>{name}</Badge>
        </div>
        <PaymentFacts payment={payment} />
        <div className="flex gap-4 border-t border-line px-5 py-3 text-xs text-muted">
          {payment.state === 'confirmed' && (
            <a href={paymentPath(payment, '/receipt')} className={quietLink}>
              Receipt
            </a>
          )}
          <span className="inline-flex items-center gap-1">
            <Link href={paymentPath(payment)} className={quietLink}>
              Link to this payment
            </Link>
            <CopyButton text={location.origin + paymentPath(payment)} name="link to this payment" />
          </span>
        </div>
      </Card>
      <div className="space-y-8">
        <Section title="Timeline">
          <Timeline payment={payment} />
        </Section>
        {payment.state === 'confirmed' && <OwnAttestation payment={payment} />}
      </div>
    </div>
  )
}

function PaymentFacts({ payment }: { payment: PaymentStatus }) {
  const { network, transaction, refund, errorReason, errorMessage } = payment
  return (
    <dl className="divide-y divide-line px-5 text-sm">
      <Fact name="From">
        <Hex hex={payment.payer} kind="address" network={network} isFull />
        <p className="text-xs">
          <Link href={`/buyers/${payment.payer}`} className={`text-muted ${quietLink}`}>
            All payments of this buyer
          </Link>
        </p>
      </Fact>
      <Fact name="To">
        <Hex hex={payment.payTo} kind="address" network={network} isFull />
        <p className="text-xs">
          <Link href={`/?payTo=${payment.payTo}`} className={`text-muted ${quietLink}`}>
            APIs that are paid at this address
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
              <p className="text-xs text-muted">in block {payment.blockNumber}</p>
            )}
          </>
        )}
      </Fact>
      {refund !== null && (
        <Fact name="Refund">
          <TextLink href={paymentPath({ ...payment, payer: refund.from, nonce: refund.nonce })}>
            <Money {...payment} amount={refund.amount} />
          </TextLink>
          <p className="text-xs text-muted">
            <Moment at={refund.confirmedAt} isWhole />, in{' '}
            <Hex hex={refund.transaction} kind="tx" network={network} />
          </p>
        </Fact>
      )}
      <Fact name="Nonce">
        <span className="font-mono text-xs break-all">{payment.nonce}</span>{' '}
        <CopyButton text={payment.nonce} name="nonce" />
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
  )
}

/**
 * Names the seller whose listing speaks for the recipient, and the resource as the buyer stated it. Without such a
 * listing nothing is shown: the resource is only the buyer's word.
 */
function PaidFor({ payment }: { payment: PaymentStatus }) {
  const { data } = useQuery(receiptQuery(paymentPath(payment, '/receipt')))
  if (data === undefined) return <Fact name="For">…</Fact>
  const { merchant, merchantId, resource } = data
  if (merchant === null || merchantId === null) {
    return <Fact name="For">No listed seller is proven to be paid at this address.</Fact>
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
          , as the buyer stated it
        </p>
      )}
    </Fact>
  )
}

interface PaymentStep {
  name: string
  /** ISO 8601; `null` where it did not happen yet, or is not known. */
  at: string | null
  note: ReactNode
  tone?: Tone
}

function stepsOf(payment: PaymentStatus): PaymentStep[] {
  const { state, createdAt, sentAt, updatedAt, deliveredAt, transaction, delivered } = payment
  const accepted: PaymentStep = {
    name: 'Accepted',
    at: createdAt,
    note: 'Arcus checked the signature, the funds and the terms, and saved the payment.',
  }
  const sent: PaymentStep = {
    name: 'Sent',
    at: sentAt,
    note:
      sentAt === null && transaction !== null
        ? 'Somebody else sent the transaction, or the time is not known any more.'
        : 'A relayer wallet sent its transaction.',
  }
  if (state === 'failed') {
    const failed: PaymentStep = {
      name: 'Failed',
      at: updatedAt,
      note: 'No money was moved.',
      tone: 'bad',
    }
    return sentAt === null ? [accepted, failed] : [accepted, sent, failed]
  }
  if (state === 'used') {
    const note = 'It failed here, and the chain shows it as used in a transaction of others.'
    return [accepted, { name: 'Used elsewhere', at: updatedAt, note, tone: 'warn' }]
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
        ? 'Arcus answered the seller’s server once that the payment succeeded.'
        : 'The seller’s server does not know yet. It gets the answer when it asks to settle this payment again.',
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
                {at === null ? (
                  'no time known'
                ) : since === undefined || since < 0 ? (
                  <Moment at={at} isWhole />
                ) : (
                  <time dateTime={at} title={absoluteTime(Date.parse(at))}>
                    {duration(since)} later
                  </time>
                )}
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
