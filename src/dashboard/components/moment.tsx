import { useEffect, useState, useSyncExternalStore } from 'react'
import { absoluteTime, relativeTime } from '../format/moments.js'

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

/** Shows a relative time, with the whole date on hover. `at` is Unix milliseconds or ISO 8601. */
export function Moment({ at }: { at: number | string }) {
  const ticked = useSyncExternalStore(subscribe, () => now)
  const [shownAt] = useState(() => Date.now())
  const time = typeof at === 'string' ? Date.parse(at) : at
  useEffect(() => {
    now = Date.now()
  }, [])
  return (
    <time
      dateTime={new Date(time).toISOString()}
      title={absoluteTime(time)}
      className="whitespace-nowrap"
    >
      {relativeTime(time, Math.max(ticked, shownAt))}
    </time>
  )
}
