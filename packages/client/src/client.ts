import { type Answer, ArcusError, type Call, createCall, type Input } from './calls.js'
import { type CatalogClient, createCatalog } from './catalog.js'
import { createListingClient, type ListingClient, type ListingSigner } from './listing-client.js'
import { createPay, type Pay } from './pay.js'

// biome-ignore lint/performance/noBarrelFile: the entry of the package is where people look for it
export { createBuyer } from './buyer.js'
export type { Description, EndpointName } from './catalog.js'
export type { Item } from './sellers.js'
export type SearchQuery = NonNullable<Input<'GET /discovery/search'>['query']>
export type SearchAnswer = Answer<'GET /discovery/search'>
export type ChangesAnswer = Answer<'GET /discovery/changes'>

/** A page of changes: each merchant that changed, with all the items that it has now. */
export interface WatchedChanges extends ChangesAnswer {
  /** True if the service no longer knows where you were: drop what you hold, because the catalog begins again. */
  resync: boolean
}

export interface WatchOptions {
  /** `next` of the last page you have; 0, the default, begins with the whole catalog. */
  since?: number
  /** Ends the watch: the loop then rejects with the reason of the signal. */
  signal?: AbortSignal
  /** Longest pause between two questions that the service does not hold open, 15 seconds by default. */
  pauseSeconds?: number
}

export interface ArcusOptions {
  /** Address of the service, such as `https://pay.example`. */
  url: string
  /** The global `fetch` by default; sellers are called by it too. */
  fetch?: typeof fetch
}

export interface ArcusClient {
  /** Sends a request to any public route, typed by the service's own description. */
  call: Call
  /** Searches the catalog, best first. Rejects with `ArcusError`. */
  find(query: string | SearchQuery): Promise<SearchAnswer>
  describe: CatalogClient['describe']
  findAt: CatalogClient['findAt']
  /** Calls an endpoint and pays what it asks for, up to `maxAmount`. */
  pay: Pay
  /**
   * Gives the catalog a page at a time, and then each change as it comes. Keep `next` of the last page to go on later.
   * Outages of the service are waited out; other refusals reject with `ArcusError`.
   */
  watch(options?: WatchOptions): AsyncGenerator<WatchedChanges, never>
  /** Writes listings with the key of their owner. */
  listings(signer: ListingSigner, options?: { audience?: string }): ListingClient
}

/** Seconds for which the service holds a question that has no answer yet. */
const WAIT_SECONDS = 30
const MAX_PAUSE_SECONDS = 60

/** Creates a client of the service. It holds no state and no key. */
export function createArcusClient({ url, fetch = globalThis.fetch }: ArcusOptions): ArcusClient {
  const call = createCall(url, fetch)
  const { describe, findAt } = createCatalog(call)

  async function* watch(options: WatchOptions = {}): AsyncGenerator<WatchedChanges, never> {
    const { signal, pauseSeconds = 15 } = options
    let since = options.since ?? 0
    let resync = false
    let failures = 0
    let empties = 0
    for (;;) {
      signal?.throwIfAborted()
      const asked = Date.now()
      const query = { since, wait: WAIT_SECONDS }
      const page = await call('GET /discovery/changes', { query, signal }).catch((error) => {
        if (!isPassing(error) && !isOfAnotherCatalog(error, since)) throw error
        return error as ArcusError
      })
      if (page instanceof ArcusError) {
        if (isOfAnotherCatalog(page, since)) {
          since = 0
          resync = true
        } else {
          const growing = growingPause(failures++, MAX_PAUSE_SECONDS)
          await pause(Math.min(page.retryAfter ?? growing, MAX_PAUSE_SECONDS), signal)
        }
        continue
      }
      failures = 0
      since = page.next
      const isEmpty = page.changes.length === 0
      if (!isEmpty || resync) yield { ...page, resync }
      resync = false
      // A service that is about to end holds no question, and neither does one that cannot wait.
      const isEarly = isEmpty && Date.now() - asked < WAIT_SECONDS * 500
      empties = isEarly ? empties + 1 : 0
      if (isEarly) await pause(growingPause(empties - 1, pauseSeconds), signal)
    }
  }

  return {
    call,
    find: (query) =>
      call('GET /discovery/search', { query: typeof query === 'string' ? { query } : query }),
    describe,
    findAt,
    pay: createPay(fetch),
    watch,
    listings: (signer, options) =>
      createListingClient({ directoryUrl: url, signer, fetch, ...options }),
  }
}

/** Returns whether an error passes by itself: outages and limits do, refusals do not. */
function isPassing(error: unknown): boolean {
  if (!(error instanceof ArcusError)) return false
  return error.status === 0 || error.status === 429 || error.status >= 500
}

/** Returns whether the service refuses a number that it, or another one, gave before: it was restored or replaced. */
function isOfAnotherCatalog(error: unknown, since: number): boolean {
  const { status = 0 } = error instanceof ArcusError ? error : {}
  return (status === 400 || status === 410) && Number.isSafeInteger(since) && since > 0
}

/** Seconds that double with each time; a part is chance, so that clients do not come back all at once. */
function growingPause(times: number, longest: number): number {
  return Math.min(2 ** times, longest) * (1 - Math.random() / 4)
}

function pause(seconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, seconds * 1_000)
    signal?.addEventListener('abort', stop, { once: true })
    if (signal?.aborted) stop()
  })
}
