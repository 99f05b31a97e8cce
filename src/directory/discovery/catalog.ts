import { setImmediate as nextTurn } from 'node:timers/promises'
import { singleFlight } from '../../async/single-flight.js'
import type { ListingReader } from '../store/listings.js'
import { createEndpointList, type EndpointList } from './endpoint-list.js'

export type CatalogSource = Pick<
  ListingReader,
  | 'scanForIndex'
  | 'indexedOf'
  | 'findMerchant'
  | 'findMerchants'
  | 'lastChange'
  | 'changesAfter'
  | 'usageAfter'
>

interface CatalogOptions {
  source: CatalogSource
  /** Receives what went wrong while the catalog was read; it is read again. */
  onFault: (error: unknown) => void
  /** Called when the catalog is read. */
  onRead?: () => void
}

export interface CatalogFigures {
  /** 0 until the catalog is read. */
  endpoints: number
  /** The time that reading the catalog took; 0 until it is read. */
  readSeconds: number
}

const ROWS_AT_ONCE = 500
const CHANGES_AT_ONCE = 200
/** A question does not wait for more changes than these. */
const MAX_LAG = 5_000
const RETRY_MS = 1_000
/** Figures of payments may be so old; a new one is no change of the catalog. */
const USAGE_MS = 1_000
const FIGURES_AT_ONCE = 1_000

export type MemoryCatalog = ReturnType<typeof createCatalog>

/** Creates the catalog in memory: it is read once, and follows the changes in the store. */
export function createCatalog({ source, onFault, onRead }: CatalogOptions) {
  let list: EndpointList | undefined
  let isStopped = false
  let reading: Promise<void> | undefined
  let retry: NodeJS.Timeout | undefined
  let readSeconds = 0
  let usageReadAt = 0

  function read(): void {
    reading = readAll().catch((error) => {
      onFault(error)
      if (!isStopped) retry = setTimeout(read, RETRY_MS)
    })
  }

  async function readAll(): Promise<void> {
    const startedAt = performance.now()
    // A change that comes while rows are read is in them or not. It is read once more afterwards, so none is missed.
    const fresh = createEndpointList(await source.lastChange())
    for (let after: number | undefined = 0; after !== undefined && !isStopped; ) {
      after = await readPage(fresh, after)
      // Questions are answered in between: that the catalog is being read.
      await nextTurn()
    }
    while (!isStopped && (await step(fresh)));
    await readUsage(fresh)
    if (isStopped) return
    list = fresh
    readSeconds = (performance.now() - startedAt) / 1_000
    onRead?.()
  }

  /** Returns the id of the last endpoint of the page, or `undefined` after the last page. */
  async function readPage(fresh: EndpointList, after: number): Promise<number | undefined> {
    const rows = await source.scanForIndex(after, ROWS_AT_ONCE)
    const ids = new Set(rows.map(({ merchantId }) => merchantId))
    const missing = [...ids].filter((id) => fresh.findMerchant(id) === undefined)
    const merchants = missing.length === 0 ? [] : await source.findMerchants(missing)
    fresh.append(rows, merchants)
    return rows.at(-1)?.id
  }

  /** Brings the list up to the next changes, all at the same moment. Returns false when there are none. */
  async function step(behind: EndpointList): Promise<boolean> {
    const changes = await source.changesAfter(behind.sequence, CHANGES_AT_ONCE)
    const last = changes.at(-1)
    if (last === undefined) return false
    const changed = []
    for (const id of new Set(changes.map(({ merchantId }) => merchantId))) {
      const merchant = await source.findMerchant(id)
      changed.push({ id, merchant, endpoints: await source.indexedOf(id) })
    }
    for (const merchant of changed) behind.replace(merchant)
    behind.sequence = last.sequence
    return true
  }

  async function readUsage(behind: EndpointList): Promise<void> {
    for (let isMore = true; isMore && !isStopped; ) {
      const changes = await source.usageAfter(behind.usageVersion, FIGURES_AT_ONCE)
      behind.applyUsage(changes)
      behind.usageVersion = changes.at(-1)?.version ?? behind.usageVersion
      isMore = changes.length === FIGURES_AT_ONCE
      await nextTurn()
    }
  }

  /** Reads new figures now and then, while questions are answered with those that are known. */
  function followUsage(behind: EndpointList): void {
    if (readUsageOnce.underWay() !== undefined || Date.now() - usageReadAt < USAGE_MS) return
    usageReadAt = Date.now()
    void readUsageOnce(behind)
  }

  /** Takes one step; calls that come meanwhile wait for the same one. */
  const stepOnce = singleFlight(step)
  const readUsageOnce = singleFlight((behind: EndpointList) => readUsage(behind).catch(onFault))
  const catchUpOnce = singleFlight((behind: EndpointList) => catchUp(behind).catch(onFault))

  /** Follows a flood of changes to its end, while questions are answered from the list as it is. */
  async function catchUp(behind: EndpointList): Promise<void> {
    for (let before = -1; before !== behind.sequence && !isStopped; ) {
      before = behind.sequence
      await stepOnce(behind)
      await nextTurn()
    }
  }

  return {
    start: read,
    /** Resolves when nothing is read any more. */
    async stop(): Promise<void> {
      isStopped = true
      clearTimeout(retry)
      const following = [catchUpOnce.underWay(), readUsageOnce.underWay()]
      await Promise.all([reading, ...following, stepOnce.underWay()?.catch(() => {})])
    },
    figures: (): CatalogFigures => ({ endpoints: list?.endpoints.length ?? 0, readSeconds }),
    /**
     * Returns the list with every change up to `wanted`, or up to the store's last one; `undefined` until the catalog is
     * read. After a flood of changes the list may lag behind for a moment.
     */
    async current(wanted?: number): Promise<EndpointList | undefined> {
      if (list === undefined) return undefined
      followUsage(list)
      const target = wanted ?? (await source.lastChange())
      while (list.sequence < target) {
        const { sequence } = list
        if (target - sequence > MAX_LAG) {
          void catchUpOnce(list)
          break
        }
        await stepOnce(list)
        // A store that was restored from a backup does not have the wanted change: its newest one is all there is.
        if (list.sequence === sequence) break
      }
      return list
    },
  }
}
