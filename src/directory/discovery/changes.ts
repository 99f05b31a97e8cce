import { httpFault } from '../../http/errors.js'
import { blockOf, callerOf } from '../../http/rate-limit.js'
import type { JsonText, ListingReader } from '../store/listings.js'
import type { EndpointList } from './endpoint-list.js'

export interface ChangesQuery {
  /** Number of the last change the caller knows of; 0 is none. */
  since: number
  /** Merchants of a page. */
  limit: number
}

interface ChangesOptions {
  source: Pick<ListingReader, 'changesAfter'>
  /** Returns the items of these endpoints as JSON. */
  itemsOf: (ids: readonly number[]) => Promise<string[]>
}

/** Where a page of changes ends. */
export interface ChangesPlace {
  /** The number with which the next page begins. */
  next: number
  hasMore: boolean
  isEmpty: boolean
}

interface ChangesPage {
  json: JsonText
  place: ChangesPlace
}

/** Changes that are looked through for one page; most of them are of few merchants. */
const MAX_CHANGES = 1_000
const ENDPOINTS_AT_ONCE = 100
/** Schemas can be large: a page ends past this, with at least one merchant. */
const PAGE_CHARS = 1_048_576

/**
 * Creates the reader of `GET /discovery/changes`, which gives a crawler each merchant that changed, once, with all items
 * it has now. What else the crawler holds of that merchant is gone, so a removed item needs no notice of its own.
 */
export function createChangeReader({ source, itemsOf }: ChangesOptions) {
  async function itemsOfMerchant(list: EndpointList, merchant: string): Promise<string[]> {
    const ids = list.findMerchant(merchant)?.endpoints.map(({ id }) => id) ?? []
    const items: string[] = []
    for (let at = 0; at < ids.length; at += ENDPOINTS_AT_ONCE) {
      items.push(...(await itemsOf(ids.slice(at, at + ENDPOINTS_AT_ONCE))))
    }
    return items
  }

  return async (list: EndpointList, { since, limit }: ChangesQuery): Promise<ChangesPage> => {
    // The list goes on following changes while items are read.
    const { sequence: upTo } = list
    const noted = await source.changesAfter(since, MAX_CHANGES)
    const changes: string[] = []
    let next = since
    let chars = 0
    for (const [merchant, sequence] of lastOfEach(noted, upTo)) {
      if (changes.length >= limit || chars >= PAGE_CHARS) break
      const items = await itemsOfMerchant(list, merchant)
      const removed = items.length === 0
      const json = `{"merchant":${JSON.stringify(merchant)},"sequence":${sequence},"removed":${removed},"items":[${items.join(',')}]}`
      changes.push(json)
      chars += json.length
      next = sequence
    }
    const hasMore = next < upTo
    const json = `{"x402Version":2,"changes":[${changes.join(',')}],"next":${next},"hasMore":${hasMore}}`
    return { json, place: { next, hasMore, isEmpty: changes.length === 0 } }
  }
}

/**
 * Returns the last change of each merchant, in order. A caller that goes on after one of them misses nothing, because a
 * merchant that was not in the answers by then has a later change.
 */
function lastOfEach(
  noted: readonly { sequence: number; merchantId: string }[],
  upTo: number,
): Map<string, number> {
  const last = new Map<string, number>()
  for (const { merchantId, sequence } of noted) {
    // A later change may not be in the list yet.
    if (sequence > upTo) break
    last.delete(merchantId)
    last.set(merchantId, sequence)
  }
  return last
}

/** Requests that wait at once: in all, from one caller, and from neighbouring addresses. */
const MAX_WAITS = { inAll: 1_000, caller: 8, block: 64 }
/** All waiting requests together cost one look at the store in this time. */
const LOOK_MS = 500

/** A caller that waits for a change. The signal says when their connection has closed. */
export interface ChangeWaiter {
  ip: string
  signal: AbortSignal
}

interface Wait {
  since: number
  caller: string
  block: string
  end(): void
}

/** Keeps requests of crawlers that wait for the next change of the catalog, here or at another process. */
export function createChangeWaits({ lastChange }: Pick<ListingReader, 'lastChange'>) {
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
    /** Resolves when there is a change after `since`, after `ms`, or when the caller is gone. Throws a 503 to a crowd. */
    async until(since: number, ms: number, { ip, signal }: ChangeWaiter): Promise<void> {
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
    /** Ends all waiting; the last call. */
    stop(): void {
      isStopped = true
      clearTimeout(timer)
      for (const wait of waits) wait.end()
    },
  }
}
