import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { merchantTotalsQuery } from '../api/queries.js'
import type { Range } from '../api/types.js'
import { Card } from '../components/card.js'
import { Stat, Usd } from '../components/figures.js'
import { RangePicker } from '../components/range-picker.js'
import { Skeleton } from '../components/skeleton.js'
import { duration, exactCount, percent, shortCount } from '../format/amounts.js'

/** What everybody may see of a merchant's business. */
export function PublicTotals({ merchantId }: { merchantId: string }) {
  const [range, setRange] = useState<Range>('30d')
  const { data, error } = useQuery(merchantTotalsQuery(merchantId))
  if (error !== null && data === undefined) {
    return <p className="text-sm text-muted">Public totals could not be loaded: {error.message}</p>
  }
  const totals = data?.[range]
  return (
    <section aria-label="Public totals">
      <Card className="p-5">
        <div className="mb-4 flex flex-wrap items-center justify-between gap-3">
          <h2 className="text-sm font-medium">Public totals</h2>
          <RangePicker range={range} onChange={setRange} />
        </div>
        {totals === undefined ? (
          <Skeleton className="h-14 w-full" />
        ) : (
          <dl className="grid grid-cols-2 gap-x-6 gap-y-5 sm:grid-cols-5">
            <Stat
              name="Paid calls"
              value={shortCount(totals.settled)}
              title={exactCount(totals.settled)}
            />
            <Stat name="Revenue" value={<Usd usd={totals.revenue.usd} />} />
            <Stat
              name="Payers"
              value={shortCount(totals.payers.unique)}
              note={`${shortCount(totals.payers.repeat)} came again`}
            />
            <Stat name="Success rate" value={percent(totals.successRate)} />
            <Stat
              name="Settles in"
              value={duration(totals.settleP50Ms)}
              note={
                totals.settleP95Ms === null
                  ? undefined
                  : `95% within ${duration(totals.settleP95Ms)}`
              }
            />
          </dl>
        )}
        <p className="mt-4 text-xs text-faint">
          Net of refunds. Payments of owners to themselves, and what was never a sound payment, are
          left out.
        </p>
      </Card>
    </section>
  )
}
