import type { ActivitySummary } from '../api/activity-types.js'
import { Card } from '../components/card.js'
import { Stat, Usd } from '../components/figures.js'
import {
  duration,
  exactCount,
  exactUsdc,
  percent,
  shortCount,
  shortUsd,
} from '../format/amounts.js'

function revenueNote({ refunds, selfPayments }: ActivitySummary): string {
  const notes = [
    ...(refunds.count > 0 ? [`net of ${shortUsd(refunds.usd)} refunded`] : []),
    ...(selfPayments.count > 0 ? [`without ${exactCount(selfPayments.count)} by yourself`] : []),
  ]
  return notes.join(', ') || 'USDC'
}

/** The sums of a range, net of refunds. */
export function ActivityFigures({ summary }: { summary: ActivitySummary }) {
  const { verify, settle, revenue, refunds, payers, gasUsd } = summary
  return (
    <Card className="p-5">
      <dl className="grid grid-cols-2 gap-x-6 gap-y-5 sm:grid-cols-4 lg:grid-cols-7">
        <Stat
          name="Revenue"
          value={<Usd usd={revenue.usd} />}
          title={`Net of ${exactCount(refunds.count)} refunds, ${exactUsdc(refunds.usd)}`}
          note={revenueNote(summary)}
        />
        <Stat
          name="Settled"
          value={shortCount(settle.settled)}
          title={`${exactCount(settle.settled)} of ${exactCount(settle.count)} settles`}
          note={`${exactCount(settle.failed)} failed`}
        />
        <Stat
          name="Success rate"
          value={percent(settle.successRate)}
          note="of sound payments"
          title="A payment fails if it was once found sound and did not settle; by the doing of a payer, once a day."
        />
        <Stat
          name="Verified"
          value={shortCount(verify.valid)}
          title={`${exactCount(verify.valid)} of ${exactCount(verify.count)} verifies`}
          note={`${exactCount(verify.count - verify.valid)} refused`}
        />
        <Stat
          name="Payers"
          value={shortCount(payers.unique)}
          title={`${exactCount(payers.unique)} different payers, ${exactCount(payers.repeat)} of them more than once`}
          note={`${exactCount(payers.repeat)} came back`}
        />
        <Stat
          name="Settle time"
          value={duration(settle.p50Ms)}
          title={`The middle one of ${exactCount(settle.settled)}`}
          note={settle.p95Ms === null ? undefined : `95% within ${duration(settle.p95Ms)}`}
        />
        <Stat
          name="Gas"
          value={<Usd usd={gasUsd} />}
          title={`${exactUsdc(gasUsd)} for all of them`}
          note="paid by Arcus"
        />
      </dl>
    </Card>
  )
}
