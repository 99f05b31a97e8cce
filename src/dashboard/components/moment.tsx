import { useEffect, useState, useSyncExternalStore } from 'react'
import { absoluteTime, dayAndTime, relativeTime } from '../format/moments.js'
import { Sentence } from './sentence.js'

const TICK_MS = 5_000

const listeners = new Set<() => void>()
let now = Date.now()
let timer: ReturnType<typeof setInterval> | undefined

/** Starts one clock for all moments on the page. It stops when none is shown. */
function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  timer ??= setInterval(() => {
    now = Date.now()
    for (const each of listeners) each()
  }, TICK_MS)
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
}

/** Returns the time in Unix milliseconds, at most five seconds late. */
function useNow(): number {
  const ticked = useSyncExternalStore(subscribe, () => now)
  const [shownAt] = useState(() => Date.now())
  useEffect(() => {
    now = Date.now()
  }, [])
  return Math.max(ticked, shownAt)
}

/** A figure that is read again and again is old after so long without an answer. */
const OLD_MS = 20_000

/** Tells whether a live figure that was read at `at` (Unix milliseconds) is too old to be believed. */
export function useIsOld(at: number): boolean {
  return useNow() - at > OLD_MS
}

/** Shows a relative time, with the whole date on hover. `at` is Unix milliseconds or ISO 8601. */
export function Moment({ at }: { at: number | string }) {
  const now = useNow()
  const time = typeof at === 'string' ? Date.parse(at) : at
  return (
    <time
      dateTime={new Date(time).toISOString()}
      title={absoluteTime(time)}
      className="whitespace-nowrap"
    >
      {relativeTime(time, now)}
    </time>
  )
}

/** Shows a text such as `checked {when}` with its time. */
export function When({ text, at }: { text: `${string}{when}${string}`; at: number | string }) {
  return <Sentence text={text} parts={{ when: <Moment at={at} /> }} />
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
