/** Least time between two calls of one host, from the end of the first. */
const GAP_MS = 1_000
/** Hosts remembered at once; those whose gap is over are forgotten first. */
const MAX_HOSTS = 10_000
const ASK_AGAIN_MS = 50

/** Politeness towards whoever is called: one call a host at a time, with a gap between. */
export interface HostPace {
  /** Takes the host's turn, or says that it is not yet due. */
  enter(host: string): boolean
  /** Waits for the host's turn, in vain if it does not come within the time. */
  enterWithin(host: string, waitMs: number): Promise<boolean>
  /** Ends the turn. */
  leave(host: string): void
}

/** `now` is in milliseconds. */
export function createHostPace(now: () => number, gapMs = GAP_MS): HostPace {
  /** Infinity while a call is under way. */
  const freeAt = new Map<string, number>()

  function forgetFree(): void {
    for (const [host, at] of freeAt) if (at <= now()) freeAt.delete(host)
  }

  function enter(host: string): boolean {
    if ((freeAt.get(host) ?? 0) > now()) return false
    freeAt.set(host, Number.POSITIVE_INFINITY)
    return true
  }

  return {
    enter,
    async enterWithin(host, waitMs) {
      const until = now() + waitMs
      while (!enter(host)) {
        if (now() >= until) return false
        await new Promise((resolve) => setTimeout(resolve, ASK_AGAIN_MS))
      }
      return true
    },
    leave(host) {
      freeAt.set(host, now() + gapMs)
      if (freeAt.size > MAX_HOSTS) forgetFree()
    },
  }
}

/** The host whose turn a URL takes, with a port that is not the usual one. */
export function hostKey(url: string): string {
  return parseUrl(url)?.host ?? url
}

import { parseUrl } from '../../x402/parse-url.js'
