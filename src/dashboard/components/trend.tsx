import type { EndpointCard } from '../../api/discovery.js'
import { exactCount, percent } from '../format/amounts.js'
import { words } from './words.js'

type Trend = EndpointCard['trend']

const SOUND = 0.99
const POOR = 0.5

/** Draws paid calls and uptime of an endpoint by day, each as one small picture with its figures in words. */
export function TrendOf({ trend: { calls, uptime } }: { trend: Trend }) {
  return (
    <span className="relative inline-flex items-end gap-2">
      {calls !== null && <Calls calls={calls} />}
      {uptime.some((share) => share !== null) && <Uptime uptime={uptime} />}
    </span>
  )
}

function Calls({ calls }: { calls: readonly number[] }) {
  const most = Math.max(1, ...calls)
  const total = calls.reduce((sum, count) => sum + count, 0)
  const days = calls.map((count) =>
    count === 0
      ? { y: 15.5, height: 0.5, className: 'fill-accent opacity-35' }
      : {
          y: 16 - heightOf(count / most),
          height: heightOf(count / most),
          className: 'fill-accent',
        },
  )
  return <Days text={words.trend.calls(exactCount(total), exactCount(most))} days={days} />
}

const heightOf = (share: number) => Math.max(1.5, share * 16)

function Uptime({ uptime }: { uptime: Trend['uptime'] }) {
  const known = uptime.filter((share) => share !== null)
  const mean = known.reduce((sum, share) => sum + share, 0) / known.length
  const days = uptime.map((share) => ({
    y: share === null ? 13 : 4,
    height: share === null ? 3 : 12,
    className: toneOf(share),
  }))
  return <Days text={words.trend.uptime(percent(mean), known.length)} days={days} />
}

interface Day {
  y: number
  height: number
  className: string
}

/** Draws a bar for each day, in a picture that is 16 units high. */
function Days({ text, days }: { text: string; days: readonly Day[] }) {
  return (
    <svg viewBox="0 0 60 16" className="h-4 w-15" role="img" aria-label={text}>
      <title>{text}</title>
      {days.map((bar, day) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a day is its place
        <rect key={day} x={day * 2 + 0.25} width="1.5" {...bar} />
      ))}
    </svg>
  )
}

function toneOf(share: number | null): string {
  if (share === null) return 'fill-line-strong'
  if (share >= SOUND) return 'fill-ok'
  return share >= POOR ? 'fill-warn' : 'fill-bad'
}
