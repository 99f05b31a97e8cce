import { useQuery } from '@tanstack/react-query'
import { ArcusError } from 'arcus-client/calls'
import { useSearch } from 'wouter'
import type { PaymentStatus } from '../../../api/payments.js'
import { paymentsQuery } from '../../api/queries.js'
import { ButtonLink } from '../../components/button.js'
import { Empty } from '../../components/card.js'
import { Loaded, Skeleton } from '../../components/loaded.js'
import { PageTitle } from '../../components/page.js'
import { PaymentCard, PaymentLine } from './payment-card.js'
import { words } from './words.js'

/** Shows the payment of a payer and nonce; the query tells several of them apart. */
export function PaymentPage(place: { network: string; payer: string; nonce: string }) {
  const { network, payer, nonce } = place
  const query = useSearch()
  const path = ['/payments', ...[network, payer, nonce].map(encodeURIComponent)].join('/')
  return <FoundPayments path={query === '' ? path : `${path}?${query}`} />
}

/** Shows the payment of a transaction, or the list of its payments. */
export function TransactionPage({ transaction }: { transaction: string }) {
  const hash = /^[0-9a-f]{64}$/i.test(transaction) ? `0x${transaction}` : transaction
  return <FoundPayments path={`/payments/${encodeURIComponent(hash)}`} />
}

function FoundPayments({ path }: { path: string }) {
  const query = useQuery(paymentsQuery(path))
  const isBad = query.error instanceof ArcusError && query.error.status === 400
  const missing = (
    <Empty
      title={words.missing}
      action={<ButtonLink href="/payments">{words.findAnother}</ButtonLink>}
    >
      {isBad ? query.error?.message : words.missingText}
    </Empty>
  )
  return (
    <>
      <PageTitle title={words.title} />
      <div aria-live="polite">
        {isBad ? (
          missing
        ) : (
          <Loaded
            query={query}
            skeleton={<Skeleton className="h-[36rem] w-full !rounded-2xl" />}
            missing={missing}
          >
            {(payments) => <Payments payments={payments} />}
          </Loaded>
        )}
      </div>
    </>
  )
}

function Payments({ payments }: { payments: readonly PaymentStatus[] }) {
  const [only] = payments
  if (payments.length === 1 && only !== undefined) return <PaymentCard payment={only} />
  return (
    <>
      <p className="mb-3 text-sm text-muted">{words.several(payments.length)}</p>
      <ul className="divide-y divide-line rounded-2xl border border-line bg-raised shadow-card">
        {payments.map((payment) => (
          <PaymentLine key={payment.settlementId} payment={payment} />
        ))}
      </ul>
    </>
  )
}
