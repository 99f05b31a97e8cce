import type { ActivityAnswer, ActivityPoint } from '@arcus/protocol/answers/activity'
import { useMemo } from 'react'
import { type Bar, Chart } from '../../components/bars.js'
import { exactCount, exactUsdc, shortCount, shortUsd } from '../../format/amounts.js'
import { dayInUtc, timeOfDay } from '../../format/moments.js'

export const measures = [
  ['', 'Payments'],
  ['revenue', 'Revenue'],
] as const

type Measure = (typeof measures)[number][0]

/** More bars than this cannot be distinguished. */
const MAX_BUCKETS = 366

/** Shows a range by hour or day, as bars of payments or of revenue. */
export function ActivityChart({
  answer,
  measure,
  onMeasure,
}: {
  answer: ActivityAnswer
  measure: Measure
  onMeasure: (measure: Measure) => void
}) {
  const { stepSeconds } = answer
  const bars = useMemo(
    () => fillBuckets(answer).map((point) => toBar(point, stepSeconds, measure)),
    [answer, stepSeconds, measure],
  )
  const isRevenue = measure === 'revenue'
  const isHourly = stepSeconds < 86_400
  return (
    <Chart
      measure={measure}
      measures={measures}
      onMeasure={onMeasure}
      legend={<Legend isRevenue={isRevenue} isHourly={isHourly} />}
      label={`${isRevenue ? 'Revenue' : 'Payments'} by ${isHourly ? 'hour' : 'day'}`}
      bars={bars}
      columns={['Settled', 'Failed', 'Verified', 'Revenue']}
      hasToday={!isHourly && answer.range !== 'custom'}
      tones={isRevenue ? ['accent'] : ['accent', 'bad']}
      formatValue={isRevenue ? (value) => shortUsd(value.toFixed(6)) : formatCount}
    />
  )
}

function Legend({ isRevenue, isHourly }: { isRevenue: boolean; isHourly: boolean }) {
  const times = isHourly ? 'hours in your time zone' : 'days in UTC'
  if (isRevenue) return `USDC, without payments to yourself, ${times}`
  return (
    <span className="inline-flex items-center gap-3">
      <span className="inline-flex items-center gap-1.5">
        <span className="dot size-2 rounded-full bg-accent" /> settled
      </span>
      <span className="inline-flex items-center gap-1.5">
        <span className="dot size-2 rounded-full bg-bad" /> failed
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
    cells: [settled, failed, verifies].map(exactCount).concat(exactUsdc(usd)),
    text: `${name}: ${exactCount(settled)} settled, ${exactCount(failed)} failed, ${exactCount(verifies)} verified, ${exactUsdc(usd)}`,
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
