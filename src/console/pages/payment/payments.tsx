import type { ExploreAnswer } from '@arcus/protocol/answers/activity'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { exploreQuery } from '../../api/queries.js'
import { type Bar, Chart } from '../../components/bars.js'
import { Card } from '../../components/card.js'
import { Latency, Stat } from '../../components/facts.js'
import { Usd } from '../../components/figures.js'
import { Loaded, Skeleton } from '../../components/loaded.js'
import { PageTitle } from '../../components/page.js'
import { PayCommand } from '../../components/pay-command.js'
import { Hex } from '../../components/untrusted-text.js'
import {
  counted,
  exactCount,
  exactUsdc,
  percent,
  shortCount,
  shortUsd,
} from '../../format/amounts.js'
import { dayInUtc } from '../../format/moments.js'
import { PublicPayments } from './table/public-payments.js'

/** Shows the payments here: the figures of 30 days, by day, and the list of all as they settle. */
export function PaymentsPage() {
  const query = useQuery(exploreQuery)
  return (
    <>
      <PageTitle title="Payments">What buyers paid through Arcus, as the chain shows it.</PageTitle>
      <div className="space-y-6">
        <Loaded query={query} skeleton={<PaymentsSkeleton />}>
          {(answer) => (
            <>
              <Figures {...answer} />
              <PaymentsByDay days={answer.days} />
            </>
          )}
        </Loaded>
        <PublicPayments empty={<PayCommand />} />
      </div>
    </>
  )
}

/** Shows everything that an address paid. */
export function BuyerPage({ address }: { address: string }) {
  return (
    <>
      <PageTitle title="Buyer">
        All payments of <Hex hex={address} kind="address" isFull />, as the chain shows them.
      </PageTitle>
      <PublicPayments fixed={{ buyer: address }} />
    </>
  )
}

/** Stands in for figures and chart at their height, so that nothing moves when they come. */
function PaymentsSkeleton() {
  return (
    <div role="status" aria-label="Loading the figures" className="space-y-6">
      <Skeleton isCard className="h-52 w-full sm:h-26" />
      <Skeleton isCard className="h-80.5 w-full sm:h-74" />
    </div>
  )
}

/** The totals of the last 30 days. */
function Figures({ month, before, own }: Pick<ExploreAnswer, 'month' | 'before' | 'own'>) {
  const { refunds } = month
  return (
    <Card className="p-5">
      <dl className="grid min-h-42 grid-cols-2 gap-x-8 gap-y-5 sm:min-h-16 sm:grid-cols-4">
        <Stat
          name="Payments, 30 days"
          value={shortCount(month.settled)}
          change={[month.settled, before.settled]}
          title={exactCount(month.settled)}
          note={own > 0 ? `and ${exactCount(own)} paid checks and own payments` : 'all by buyers'}
        />
        <Stat
          name="Paid to sellers"
          value={<Usd usd={month.revenue.usd} />}
          change={[Number(month.revenue.usd), Number(before.usd)]}
          note={refunds.count > 0 ? `after ${shortUsd(refunds.usd)} returned` : 'nothing returned'}
        />
        <Latency name="Settle time" p50={month.settleP50Ms} p95={month.settleP95Ms} />
        <Stat
          name="Success rate"
          value={percent(month.successRate)}
          change={[month.successRate ?? 0, before.successRate ?? 0]}
          note="of valid payments"
        />
      </dl>
    </Card>
  )
}

const measures = [
  ['', 'Payments'],
  ['money', 'Money'],
] as const

function PaymentsByDay({ days }: Pick<ExploreAnswer, 'days'>) {
  const [measure, setMeasure] = useState<(typeof measures)[number][0]>('')
  const isMoney = measure === 'money'
  const total = days.reduce((sum, { settled }) => sum + settled, 0)
  const most = Math.max(0, ...days.map(({ settled }) => settled))
  const bars = days.map(({ at, settled, usd }): Bar => {
    const count = counted(settled, { one: '# payment', other: '# payments' }, exactCount)
    return {
      key: at,
      name: dayInUtc(at * 1_000),
      values: [isMoney ? Number(usd) : settled],
      text: `${count}, ${exactUsdc(usd)}`,
      cells: [exactCount(settled), exactUsdc(usd)],
    }
  })
  return (
    <Card className="p-5">
      <Chart
        measure={measure}
        measures={measures}
        onMeasure={setMeasure}
        legend={`${isMoney ? 'USDC' : 'Payments'} by day (UTC), after refunds`}
        label={
          isMoney
            ? 'Money by day for 30 days, after refunds'
            : `Payments by day for 30 days: ${exactCount(total)} in all, ${exactCount(most)} on the best day`
        }
        bars={bars}
        columns={['Payments', 'Money']}
        tones={['accent']}
        hasToday
        formatValue={(value) =>
          isMoney ? shortUsd(value.toFixed(6)) : Number.isInteger(value) ? shortCount(value) : ''
        }
      />
    </Card>
  )
}
