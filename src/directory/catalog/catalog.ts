import type { Address } from 'viem'
import type { ListingReader, Merchant } from '../../store/listings.js'
import { isUnclaimed } from '../../store/ownership.js'
import { type Block, changeBlocks, type Piece, packBlocks } from './blocks.js'
import { toFragment } from './fragment.js'
import { isPublished, shownEndpoints } from './published.js'
import { createPause } from './slices.js'

export interface CatalogOptions {
  store: Pick<
    ListingReader,
    'findMerchant' | 'endpointsOf' | 'scanMerchants' | 'lastChange' | 'changesAfter'
  >
  checksum: (address: Address) => Address
  /** What is kept ready; merchants past it are made anew for each answer. 64 MiB unless given. */
  maxReadyBytes?: number
}

/** The catalog at one moment; later changes do not touch it. */
export interface CatalogSnapshot {
  /** Of the last change that is in it. */
  sequence: number
  blocks: readonly Block[]
  /** Makes what is not kept ready; `undefined` when the merchant left the catalog meanwhile. */
  build(id: string): Promise<Buffer | undefined>
}

export interface Catalog {
  /** Has in it every change that was committed before the call. The first call loads everything. */
  read(): Promise<CatalogSnapshot>
}

const MAX_READY_BYTES = 64 * 1024 * 1024
const PAGE = 100

/** Keeps the JSON of every merchant of the catalog, and makes anew only what the list of changes names. */
export function createCatalog(options: CatalogOptions): Catalog {
  const { store, checksum, maxReadyBytes = MAX_READY_BYTES } = options
  let blocks: readonly Block[] = []
  let sequence = -1
  let refreshing: Promise<void> | undefined

  /** `undefined` for one nobody claimed of which nothing was seen live. */
  async function fragmentOf(merchant: Merchant): Promise<Buffer | undefined> {
    const shown = shownEndpoints(merchant, await store.endpointsOf(merchant.id))
    if (shown.length === 0 && isUnclaimed(merchant)) return undefined
    return toFragment(merchant, shown, checksum)
  }

  async function build(id: string): Promise<Buffer | undefined> {
    const merchant = await store.findMerchant(id)
    return merchant !== undefined && isPublished(merchant) ? fragmentOf(merchant) : undefined
  }

  async function load(): Promise<void> {
    const pause = createPause()
    const target = await store.lastChange()
    const loaded: Block[] = []
    let readyBytes = 0
    for (let after = ''; ; ) {
      const page = await store.scanMerchants(after, PAGE)
      const last = page.at(-1)
      if (last === undefined) break
      const pieces: Piece[] = []
      for (const merchant of page) {
        const isKept = readyBytes < maxReadyBytes
        const bytes = isKept ? await fragmentOf(merchant) : undefined
        readyBytes += bytes?.length ?? 0
        if (!isKept || bytes !== undefined) pieces.push({ id: merchant.id, bytes })
        await pause()
      }
      loaded.push(...packBlocks(pieces))
      after = last.id
    }
    blocks = loaded
    sequence = target
  }

  async function follow(): Promise<void> {
    const pause = createPause()
    const changes = await store.changesAfter(sequence, PAGE)
    const readyBytes = blocks.reduce((sum, { bytes }) => sum + (bytes?.length ?? 0), 0)
    const changed = new Map<string, Piece | undefined>()
    for (const { merchantId: id } of changes) {
      if (changed.has(id)) continue
      const bytes = await build(id)
      const isKept = readyBytes < maxReadyBytes
      changed.set(id, bytes === undefined ? undefined : { id, bytes: isKept ? bytes : undefined })
      await pause()
    }
    blocks = changeBlocks(blocks, changed)
    sequence = changes.at(-1)?.sequence ?? (await store.lastChange())
  }

  return {
    async read() {
      const target = await store.lastChange()
      while (sequence < target) {
        refreshing ??= (sequence < 0 ? load() : follow()).finally(() => {
          refreshing = undefined
        })
        await refreshing
      }
      return { sequence, blocks, build }
    },
  }
}
