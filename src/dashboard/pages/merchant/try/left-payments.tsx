import { Link } from 'wouter'
import type { ConsoleSettings } from '../../../../api/service.js'
import { paymentPath } from '../../../api/queries.js'
import { Button, quietLink } from '../../../components/button.js'
import { Notice } from '../../../components/card.js'
import { atomicToUsd, exactAmount } from '../../../format/amounts.js'
import { sameAddress } from '../../../format/untrusted-text.js'
import { forgetOpen, type OpenPayment, useOpenElsewhere } from './open-payments.js'
import { endOf, useStanding } from './standing.js'
import { words } from './words.js'

/** Tells of the payments to a merchant that are under way in another tab, or were before this page was loaded. */
export function LeftPayments({
  merchantId,
  settings,
}: {
  merchantId: string
  settings: ConsoleSettings | undefined
}) {
  return useOpenElsewhere()
    .filter((it) => it.merchantId === merchantId)
    .map((left) => <LeftPayment key={left.nonce} left={left} symbol={symbolOf(left, settings)} />)
}

function symbolOf({ network, asset }: OpenPayment, settings: ConsoleSettings | undefined): string {
  const known = settings?.networks.find((it) => it.network === network)
  return known?.assets.find(({ address }) => sameAddress(address, asset))?.symbol ?? ''
}

function LeftPayment({ left, symbol }: { left: OpenPayment; symbol: string }) {
  const { standing, payment } = useStanding({ signed: left })
  const isLate = Date.now() / 1000 >= left.validBefore
  const isOver = standing === 'paid' || isLate
  const text = () => {
    const most = exactAmount(atomicToUsd(left.amount), symbol)
    if (standing === 'paid') {
      return words.leftPaid(exactAmount(atomicToUsd(payment?.amount ?? left.amount), symbol))
    }
    if (standing === 'settling') return words.leftSettling
    if (isLate) return words.leftOver
    const until = endOf(left)
    if (standing === 'failed') return words.leftFailed(until)
    return words.leftOpen(left.isCeiling ? words.atMost(most) : most, until)
  }
  return (
    <Notice
      tone={standing === 'paid' ? 'ok' : 'warn'}
      title={words.left}
      action={
        isOver && (
          <Button size="sm" onClick={() => forgetOpen(left.nonce)}>
            {words.leftClose}
          </Button>
        )
      }
    >
      {text()}{' '}
      <Link className={quietLink} href={paymentPath(left)}>
        {words.lookUp}
      </Link>
    </Notice>
  )
}
