/** Where a call stands. Each part has its own time, and all of them together one more. */
export type CallPhase = 'connect' | 'headers' | 'body'

export interface CallTimes {
  connectMs: number
  headersMs: number
  bodyMs: number
  totalMs: number
}

export interface CallClock {
  signal: AbortSignal
  phase(): CallPhase
  /** `total` when the call as a whole took too long; `undefined` while the time is not up. */
  expired(): CallPhase | 'total' | undefined
  /** Ends the part before and starts the time of this one. */
  enter(phase: CallPhase): void
  stop(): void
}

/** Bounds a call by the clock: its signal aborts when a part of it, or the whole, takes too long, or `parent` aborts. */
export function startCallClock(times: CallTimes, parent: AbortSignal | undefined): CallClock {
  const abort = new AbortController()
  const limits = { connect: times.connectMs, headers: times.headersMs, body: times.bodyMs }
  let current: CallPhase = 'connect'
  let expired: CallPhase | 'total' | undefined
  const expire = (what: CallPhase | 'total') => () => {
    expired = what
    abort.abort()
  }
  const stopWithParent = () => abort.abort()
  parent?.addEventListener('abort', stopWithParent, { once: true })
  if (parent?.aborted === true) abort.abort()
  const total = setTimeout(expire('total'), times.totalMs)
  let part = setTimeout(expire(current), limits.connect)
  return {
    signal: abort.signal,
    phase: () => current,
    expired: () => expired,
    enter(phase) {
      current = phase
      clearTimeout(part)
      part = setTimeout(expire(phase), limits[phase])
    },
    stop() {
      clearTimeout(total)
      clearTimeout(part)
      parent?.removeEventListener('abort', stopWithParent)
    },
  }
}
