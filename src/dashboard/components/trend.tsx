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
  const text = words.trend.calls(exactCount(total), exactCount(most))
  return (
    <svg viewBox="0 0 60 16" className="h-4 w-15 text-accent" role="img" aria-label={text}>
      <title>{text}</title>
      {calls.map((count, day) => {
        const height = count === 0 ? 0.5 : Math.max(1.5, (count / most) * 16)
        return (
          <rect
            // biome-ignore lint/suspicious/noArrayIndexKey: a day is its place
            key={day}
            x={day * 2 + 0.25}
            y={16 - height}
            width="1.5"
            height={height}
            fill="currentColor"
            opacity={count === 0 ? 0.35 : 1}
          />
        )
      })}
    </svg>
  )
}

function Uptime({ uptime }: { uptime: Trend['uptime'] }) {
  const known = uptime.filter((share) => share !== null)
  const mean = known.reduce((sum, share) => sum + share, 0) / known.length
  const text = words.trend.uptime(percent(mean), known.length)
  return (
    <svg viewBox="0 0 60 16" className="h-4 w-15" role="img" aria-label={text}>
      <title>{text}</title>
      {uptime.map((share, day) => (
        <rect
          // biome-ignore lint/suspicious/noArrayIndexKey: a day is its place
          key={day}
          x={day * 2 + 0.25}
          y={share === null ? 13 : 4}
          width="1.5"
          height={share === null ? 3 : 12}
          className={toneOf(share)}
        />
      ))}
    </svg>
  )
}

function toneOf(share: number | null): string {
  if (share === null) return 'fill-line-strong'
  if (share >= SOUND) return 'fill-ok'
  return share >= POOR ? 'fill-warn' : 'fill-bad'
}
