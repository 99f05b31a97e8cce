import { useMemo, useState } from 'react'
import type { ActivityAnswer, ActivityPoint } from '../../../api/activity.js'
import { type Bar, Bars } from '../../components/bars.js'
import { Segmented } from '../../components/field.js'
import { exactCount, exactUsdc, shortCount, shortUsd } from '../../format/amounts.js'
import { dayInUtc, timeOfDay } from '../../format/moments.js'
import { words as all } from './words.js'

const words = all.chart

type Measure = 'payments' | 'revenue'

const measures = [
  ['payments', words.payments],
  ['revenue', words.revenue],
] as const

/** More bars than this cannot be told apart. */
const MAX_BUCKETS = 366

/** Shows a range by hour or day, as bars of payments or of revenue. */
export function ActivityChart({ answer }: { answer: ActivityAnswer }) {
  const [measure, setMeasure] = useState<Measure>('payments')
  const [shown, setShown] = useState<number | null>(null)
  const { stepSeconds } = answer
  const bars = useMemo(
    () => fillBuckets(answer).map((point) => toBar(point, stepSeconds, measure)),
    [answer, stepSeconds, measure],
  )
  const bar = shown === null ? undefined : bars[shown]
  const isRevenue = measure === 'revenue'
  const isHourly = stepSeconds < 86_400
  const byHour = isRevenue ? words.revenueByHour : words.paymentsByHour
  const byDay = isRevenue ? words.revenueByDay : words.paymentsByDay
  return (
    <figure className="rounded-2xl border border-line bg-raised p-4 shadow-card sm:p-5">
      <figcaption className="mb-3 flex min-h-8 flex-wrap items-center justify-between gap-x-4 gap-y-2">
        <Segmented legend={words.legend} value={measure} options={measures} onChange={setMeasure} />
        <p className="text-xs text-muted tabular" aria-hidden="true">
          {bar?.text ?? <Legend isRevenue={isRevenue} isHourly={isHourly} />}
        </p>
      </figcaption>
      <div className="h-[220px]">
        <Bars
          label={isHourly ? byHour : byDay}
          bars={bars}
          tones={isRevenue ? ['accent'] : ['accent', 'bad']}
          formatValue={isRevenue ? (value) => shortUsd(value.toFixed(6)) : formatCount}
          onShow={setShown}
        />
      </div>
    </figure>
  )
}

function Legend({ isRevenue, isHourly }: { isRevenue: boolean; isHourly: boolean }) {
  const times = isHourly ? words.hours : words.days
  if (isRevenue) return words.revenueIs(times)
  return (
    <span className="inline-flex items-center gap-3">
      <span className="inline-flex items-center gap-1.5">
        <span className="dot size-2 rounded-full bg-accent" /> {words.settled}
      </span>
      <span className="inline-flex items-center gap-1.5">
        <span className="dot size-2 rounded-full bg-bad" /> {words.failed}
      </span>
      <span>{times}</span>
    </span>
  )
}

/** Lines between whole numbers have no name: there is no half payment. */
function formatCount(value: number): string {
  return Number.isInteger(value) ? shortCount(value) : ''
}

function toBar(point: ActivityPoint, stepSeconds: number, measure: Measure): Bar {
  const { at, verifies, settled, failed, usd } = point
  // Hours are in the time of the reader. Days are in UTC, as the service counts them.
  const name = (stepSeconds < 86_400 ? timeOfDay : dayInUtc)(at * 1000)
  return {
    key: at,
    name,
    values: measure === 'revenue' ? [Number(usd)] : [settled, failed],
    text: words.bar(
      name,
      exactCount(settled),
      exactCount(failed),
      exactCount(verifies),
      exactUsdc(usd),
    ),
  }
}

/** Returns every hour or day of the range in order. The service leaves out those without payments; they are zero here. */
function fillBuckets({ range, since, until, stepSeconds, series }: ActivityAnswer) {
  const last = until - stepSeconds
  const first = range === 'all' ? (series[0]?.at ?? last) : since
  const from = Math.max(first, last - (MAX_BUCKETS - 1) * stepSeconds)
  const known = new Map(series.map((point) => [point.at, point]))
  const count = Math.floor((last - from) / stepSeconds) + 1
  return Array.from({ length: count }, (_, index): ActivityPoint => {
    const at = from + index * stepSeconds
    return known.get(at) ?? { at, verifies: 0, settled: 0, failed: 0, amount: '0', usd: '0' }
  })
}
