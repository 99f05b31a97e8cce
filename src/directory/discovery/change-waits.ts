import { httpFault } from '../../http/errors.js'
import { blockOf, callerOf } from '../../http/rate-limit.js'
import type { ListingReader } from '../store/listings.js'

/** Requests that wait at once: in all, from one caller, and from neighbouring addresses. */
const MAX_WAITS = { inAll: 1_000, caller: 8, block: 64 }
/** All waiting requests together cost one look at the store in this time. */
const LOOK_MS = 500

interface Wait {
  since: number
  caller: string
  block: string
  end(): void
}

/** Requests of crawlers that wait for the next change of the catalog, here or at another process. */
export interface ChangeWaits {
  /** Resolves when there is a change after `since`, after `ms`, or when the caller is gone. Throws a 503 to a crowd. */
  until(since: number, ms: number, from: { ip: string; signal: AbortSignal }): Promise<void>
  /** Ends all waiting; the last call. */
  stop(): void
}

export function createChangeWaits({ lastChange }: Pick<ListingReader, 'lastChange'>): ChangeWaits {
  const waits = new Set<Wait>()
  let timer: NodeJS.Timeout | undefined
  let isStopped = false

  async function look(): Promise<void> {
    // A store that does not answer is asked again; nobody waits longer than they said.
    const last = await lastChange().catch(() => -1)
    for (const wait of waits) if (wait.since < last) wait.end()
    timer = waits.size === 0 ? undefined : setTimeout(look, LOOK_MS)
  }

  function refuseCrowd(caller: string, block: string): void {
    const of = (member: 'caller' | 'block', value: string) =>
      [...waits].filter((wait) => wait[member] === value).length
    const isFull =
      waits.size >= MAX_WAITS.inAll ||
      of('caller', caller) >= MAX_WAITS.caller ||
      of('block', block) >= MAX_WAITS.block
    if (!isFull) return
    const text = `Too many requests wait already; at most ${MAX_WAITS.caller} may from one address.`
    throw httpFault('busy', text, 5)
  }

  return {
    async until(since, ms, { ip, signal }) {
      if (isStopped || (await lastChange()) !== since) return
      const [caller, block] = [callerOf(ip), blockOf(ip)]
      refuseCrowd(caller, block)
      await new Promise<void>((resolve) => {
        const wait = { since, caller, block, end }
        const limit = setTimeout(end, ms)
        function end(): void {
          clearTimeout(limit)
          signal.removeEventListener('abort', end)
          waits.delete(wait)
          resolve()
        }
        waits.add(wait)
        signal.addEventListener('abort', end)
        if (signal.aborted || isStopped) end()
        timer ??= setTimeout(look, LOOK_MS)
      })
    },
    stop() {
      isStopped = true
      clearTimeout(timer)
      for (const wait of waits) wait.end()
    },
  }
}
