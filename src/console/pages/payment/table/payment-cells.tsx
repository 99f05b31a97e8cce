import { Link } from 'wouter'
import { Badge, Dot } from '../../../components/badge.js'
import { quietLink } from '../../../components/button.js'
import { Money } from '../../../components/figures.js'
import { UntrustedText } from '../../../components/untrusted-text.js'
import { paymentStates } from '../../../format/payment-states.js'
import { shortHex } from '../../../format/untrusted-text.js'
import type { PaymentRow } from './payment-row.js'

/** Shows what was paid, and what of it was returned. */
export function Paid({
  refunded,
  ...row
}: Pick<PaymentRow, 'amount' | 'refunded' | 'symbol' | 'currency'>) {
  return (
    <>
      <Money {...row} />
      {refunded !== null && (
        <span className="block text-xs font-normal text-muted">
          <Money {...row} amount={refunded} /> returned
        </span>
      )}
    </>
  )
}

/** Says how much of a payment the seller gave back, and what it cost in the end. `refunded` is in atomic units. */
export function GivenBack({
  refunded,
  ...paid
}: Pick<PaymentRow, 'amount' | 'symbol' | 'currency'> & { refunded: string }) {
  const kept = (BigInt(paid.amount) - BigInt(refunded)).toString()
  const returned = <Money {...paid} amount={refunded} />
  if (kept === '0') return <>The seller gave all of it back: {returned}. Both are final.</>
  return (
    <>
      The seller gave {returned} back and kept <Money {...paid} amount={kept} />. Both are final.
    </>
  )
}

/** Names the state of a payment, and marks what is no sale. */
export function PaymentState({
  state,
  isSelf,
  isCheck,
}: Pick<PaymentRow, 'state' | 'isSelf' | 'isCheck'>) {
  const { tone, name } = paymentStates[state]
  return (
    <span className="inline-flex items-center gap-2">
      <Dot tone={tone}>{name}</Dot>
      {(isCheck || isSelf) && <Badge tone="plain">{isCheck ? 'Paid check' : 'Own payment'}</Badge>}
    </span>
  )
}

/** Links an address to what it paid. */
export function Buyer({ address }: { address: string }) {
  return (
    <Link
      href={`/buyers/${address}`}
      title={address}
      className={`font-mono text-xs whitespace-nowrap ${quietLink}`}
    >
      {shortHex(address)}
    </Link>
  )
}

/** Links to the seller, or to what was paid to an address that no seller is proven to have. */
export function Seller({
  merchant,
  address,
}: {
  merchant: PaymentRow['merchant']
  address: string
}) {
  if (merchant) {
    return (
      <Link href={`/merchants/${encodeURIComponent(merchant.id)}`} className={quietLink}>
        <UntrustedText text={merchant.name} max={40} />
      </Link>
    )
  }
  return (
    <Link
      href={`/payments?seller=${address}`}
      title={`${address}, of no listed seller`}
      className={`font-mono text-xs whitespace-nowrap ${quietLink}`}
    >
      {shortHex(address)}
    </Link>
  )
}
