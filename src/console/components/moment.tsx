import { createContext, type ReactNode, useContext, useEffect, useState } from 'react'
import { absoluteTime, dayAndTime, relativeTime } from '../format/moments.js'

/** A figure that is read again and again is old after so long without an answer. */
const OLD_MS = 20_000

/** Returns whether a live figure that was read at `at` (Unix milliseconds) is older than `ms`, so that nobody should believe it. */
export function useIsOld(at: number, ms: number = OLD_MS): boolean {
  return useNow() - at > ms
}

/**
 * Shows a relative time with the whole date on hover, or `isWhole` the date with its zone. `at` is Unix milliseconds or
 * ISO 8601.
 */
export function Moment({ at, isWhole = false }: { at: number | string; isWhole?: boolean }) {
  const now = useNow()
  const time = typeof at === 'string' ? Date.parse(at) : at
  const [shown, other] = [relativeTime(time, now), absoluteTime(time)]
  return (
    <time
      dateTime={new Date(time).toISOString()}
      title={isWhole ? shown : other}
      className="whitespace-nowrap"
    >
      {isWhole ? other : shown}
    </time>
  )
}

/** Shows the day and the time in the zone of the reader, and the time in ISO 8601 on hover. */
export function PointInTime({ at }: { at: number | string }) {
  const now = useNow()
  const time = new Date(at)
  return (
    <time dateTime={time.toISOString()} title={time.toISOString()} className="whitespace-nowrap">
      {dayAndTime(time.getTime(), now)}
    </time>
  )
}

const TICK_MS = 5_000

const Now = createContext(0)

/** Gives its children one clock, which ticks every five seconds. */
export function Clock({ children }: { children: ReactNode }) {
  const [now, setNow] = useState(() => Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), TICK_MS)
    return () => clearInterval(timer)
  }, [])
  return <Now value={now}>{children}</Now>
}

/** Returns the time in Unix milliseconds, at most five seconds late. */
function useNow(): number {
  const ticked = useContext(Now)
  const [shownAt] = useState(() => Date.now())
  return Math.max(ticked, shownAt)
}
