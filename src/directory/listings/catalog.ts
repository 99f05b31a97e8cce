import { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Sort } from '@arcus/protocol/answers/fields'
import type { CatalogEndpoint, CatalogMerchant } from '@arcus/protocol/answers/merchants'
import { MAX_FIRST } from '@arcus/protocol/answers/merchants'
import { currencyOf } from '@arcus/protocol/x402/currencies'
import type { Address } from 'viem'
import { singleFlight } from '../../async/single-flight.js'
import {
  byPrice,
  type Evidence,
  evidenceKeys,
  evidenceOf,
  inOrderOf,
  NO_EVIDENCE,
  type Priced,
} from '../store/evidence.js'
import { standingOf as publicStandingOf } from '../store/listing-warnings.js'
import type { Endpoint, JsonText, ListingReader, Merchant } from '../store/listings.js'
import { livePriceOf } from '../store/live-price.js'
import { isUnclaimed, speaksForPayTo } from '../store/ownership.js'
import type { Usage } from '../store/usage.js'
import { createPause } from './pause.js'
import {
  catalogPrices,
  isPublished,
  paramNames,
  publishedIdentity,
  shownEndpoints,
} from './published.js'

export interface CatalogOptions {
  store: Pick<
    ListingReader,
    | 'findMerchant'
    | 'endpointsOf'
    | 'scanMerchants'
    | 'lastChange'
    | 'changesAfter'
    | 'merchantUsageOf'
    | 'merchantUsageAfter'
  >
  checksum: (address: Address) => Address
  /** JSON that is kept in memory; further merchants are rendered for each answer. 64 MiB by default. */
  maxReadyBytes?: number
  /** Unix milliseconds. */
  now?: () => number
}

/** The catalog at one moment; later changes do not affect it. */
interface CatalogSnapshot {
  /** The number of the last change in it. */
  sequence: number
  /** The version of the last figures in it. */
  usageVersion: number
  blocks: readonly Block[]
  /** Renders a merchant that is not kept; `undefined` when it left the catalog meanwhile. */
  build(id: string): Promise<Buffer | undefined>
}

export interface Catalog {
  /** Returns a snapshot with every change committed before the call. The first call loads everything. */
  read(): Promise<CatalogSnapshot>
}

/** The first merchants of a catalog in each order. */
const firsts = new WeakMap<readonly Block[], Map<string, Piece[]>>()

/** Returns a snapshot of the first merchants alone, in the order of `sort`, or else of their ids. */
export function firstOf(
  snapshot: CatalogSnapshot,
  sort: Sort | undefined,
  limit: number,
): CatalogSnapshot {
  const { blocks } = snapshot
  const known = firsts.get(blocks) ?? new Map<string, Piece[]>()
  const all = () => blocks.flatMap(({ pieces }) => pieces)
  const pieces = known.get(sort ?? '') ?? inOrder(all(), sort).slice(0, MAX_FIRST)
  firsts.set(blocks, known.set(sort ?? '', pieces))
  return { ...snapshot, blocks: packBlocks(pieces.slice(0, limit)) }
}

function inOrder(pieces: Piece[], sort: Sort | undefined): Piece[] {
  if (sort === undefined) return pieces
  return [false, true].flatMap((isLast) => {
    const some = pieces.filter((piece) => piece.isLast === isLast)
    return sort === 'price' ? byPrice(some) : inOrderOf(some, evidenceKeys[sort])
  })
}

const MAX_READY_BYTES = 64 * 1024 * 1024
const PAGE = 100
/** New figures are taken in this often, because each changes the whole list for callers who poll it. */
const USAGE_MS = 60_000

/** Creates the catalog: it keeps the JSON of every merchant, and renders again only the merchants that changed. */
export function createCatalog(options: CatalogOptions): Catalog {
  const { store, checksum, maxReadyBytes = MAX_READY_BYTES, now = Date.now } = options
  let parts: CatalogParts = { first: [], last: [] }
  let blocks: readonly Block[] = []
  let sequence = -1
  let usageVersion = 0
  let usageAt = 0
  const refresh = singleFlight((read: () => Promise<void>) => read())

  /** Renders a merchant; `undefined` for an unclaimed one without a live endpoint. */
  async function pieceOf(
    merchant: Merchant,
    usage: Usage | null,
  ): Promise<Required<Piece> | undefined> {
    const shown = shownEndpoints(merchant, await store.endpointsOf(merchant.id))
    if (shown.length === 0 && isUnclaimed(merchant)) return undefined
    const bytes = toFragment(merchant, shown, usage, checksum)
    return { id: merchant.id, bytes, ...standingOf(merchant, shown, usage) }
  }

  async function readPiece(id: string): Promise<Required<Piece> | undefined> {
    const merchant = await store.findMerchant(id)
    if (merchant === undefined || !isPublished(merchant)) return undefined
    return pieceOf(merchant, shownUsage(merchant, (await store.merchantUsageOf([id])).get(id)))
  }

  const build = async (id: string) => (await readPiece(id))?.bytes

  /** Reads the figures of all merchants, and from now on those that change. */
  async function readAllUsage(): Promise<Map<string, JsonText>> {
    const figures = new Map<string, JsonText>()
    usageVersion = 0
    for (;;) {
      const page = await store.merchantUsageAfter(usageVersion, PAGE)
      for (const { merchantId, figures: json } of page) figures.set(merchantId, json)
      usageVersion = page.at(-1)?.version ?? usageVersion
      if (page.length < PAGE) return figures
    }
  }

  async function load(): Promise<void> {
    const pause = createPause()
    const target = await store.lastChange()
    const figures = await readAllUsage()
    const loaded: { first: Block[]; last: Block[] } = { first: [], last: [] }
    let readyBytes = 0
    for (let after = ''; ; ) {
      const page = await store.scanMerchants(after, PAGE)
      const last = page.at(-1)
      if (last === undefined) break
      const pieces: Piece[] = []
      for (const merchant of page) {
        const piece = await pieceOf(merchant, shownUsage(merchant, figures.get(merchant.id)))
        const isKept = readyBytes < maxReadyBytes
        if (isKept) readyBytes += piece?.bytes?.length ?? 0
        if (piece !== undefined) pieces.push(isKept ? piece : { ...piece, bytes: undefined })
        await pause()
      }
      loaded.first.push(...packBlocks(pieces.filter(({ isLast }) => !isLast)))
      loaded.last.push(...packBlocks(pieces.filter(({ isLast }) => isLast)))
      after = last.id
    }
    setParts(loaded)
    sequence = target
  }

  function setParts(fresh: CatalogParts): void {
    parts = fresh
    blocks = [...fresh.first, ...fresh.last]
  }

  async function follow(): Promise<void> {
    const changes = await store.changesAfter(sequence, PAGE)
    await renderAgain(changes)
    sequence = changes.at(-1)?.sequence ?? (await store.lastChange())
  }

  async function followUsage(): Promise<void> {
    const changes = await store.merchantUsageAfter(usageVersion, PAGE)
    await renderAgain(changes)
    usageVersion = changes.at(-1)?.version ?? usageVersion
    if (changes.length < PAGE) usageAt = now() + USAGE_MS
  }

  async function renderAgain(merchants: readonly { merchantId: string }[]): Promise<void> {
    const pause = createPause()
    const readyBytes = blocks.reduce((sum, { bytes }) => sum + (bytes?.length ?? 0), 0)
    const changed = new Map<string, Piece | undefined>()
    for (const { merchantId: id } of merchants) {
      if (changed.has(id)) continue
      const piece = await readPiece(id)
      const isKept = readyBytes < maxReadyBytes
      changed.set(id, piece === undefined || isKept ? piece : { ...piece, bytes: undefined })
      await pause()
    }
    const only = (isLast: boolean) =>
      new Map([...changed].map(([id, it]) => [id, it?.isLast === isLast ? it : undefined]))
    setParts({
      first: changeBlocks(parts.first, only(false)),
      last: changeBlocks(parts.last, only(true)),
    })
  }

  /** Takes new figures in between the answers; those that could not be read are read at the next one. */
  function refreshUsage(): void {
    if (refresh.underWay() !== undefined || now() < usageAt) return
    void refresh(() => followUsage().catch(() => {}))
  }

  return {
    async read() {
      const target = await store.lastChange()
      while (sequence < target) {
        await refresh(sequence < 0 ? load : follow)
      }
      const snapshot = { sequence, usageVersion, blocks, build }
      refreshUsage()
      return snapshot
    },
  }
}

/** Renders one merchant of the catalog as JSON after a comma: the members of the specification first, then ours. */
function toFragment(
  merchant: Merchant,
  endpoints: readonly Endpoint[],
  usage: Usage | null,
  checksum: (address: Address) => Address,
): Buffer {
  const { id, name, network } = merchant
  const published: CatalogMerchant = {
    id,
    name,
    network,
    asset: checksum(merchant.asset),
    endpoints: endpoints.map((endpoint) => toCatalogEndpoint(endpoint, merchant)),
    description: merchant.description,
    payTo: checksum(merchant.payTo),
    official: merchant.isOfficial,
    partner: merchant.isPartner,
    ...publicStandingOf(merchant),
    identity: publishedIdentity(merchant),
    usage,
  }
  return Buffer.from(`,${JSON.stringify(published)}`)
}

/** Reads the figures of a merchant; `null` where payments to its address do not count for it. */
function shownUsage(merchant: Merchant, figures: JsonText | undefined): Usage | null {
  return figures === undefined || !speaksForPayTo(merchant) ? null : JSON.parse(figures)
}

function standingOf(
  merchant: Merchant,
  endpoints: readonly Endpoint[],
  usage: Usage | null,
): Standing {
  const evidence = usage === null ? NO_EVIDENCE : evidenceOf(usage)
  const prices = endpoints.map((endpoint) => ({
    price: Number(livePriceOf(endpoint, merchant) ?? endpoint.price),
    asset: endpoint.asset,
    currency: currencyOf(endpoint.symbol),
  }))
  const [cheapest = NO_PRICE] = byPrice(prices)
  const isLast = !speaksForPayTo(merchant)
  return { since: merchant.createdAt, isLast, evidence, ...cheapest }
}

/** The price of a merchant without endpoints, which comes after all others. */
const NO_PRICE: Priced = { price: 0, asset: '~', currency: null }

function toCatalogEndpoint(endpoint: Endpoint, merchant: Merchant): CatalogEndpoint {
  const { method, url, toolName, title, pricing } = endpoint
  return {
    method,
    url,
    ...(toolName === undefined ? {} : { toolName }),
    title,
    pricing,
    ...catalogPrices(endpoint, merchant),
    params: paramNames(endpoint),
    description: endpoint.description,
    tags: endpoint.tags,
    status: endpoint.status,
    hostedByArcus: endpoint.isHosted,
  }
}

/** The facts by which a merchant is sorted; its price is that of its cheapest endpoint. */
export interface Standing extends Priced {
  evidence: Evidence
  /** Unix seconds of its creation. */
  since: number
  /** Whether it comes after all others in any order, because its payout address is not proven. */
  isLast: boolean
}

/** The merchants that speak for their payout address, and the others after them. Each part is in order of id. */
interface CatalogParts {
  first: readonly Block[]
  last: readonly Block[]
}

export interface Piece extends Standing {
  id: string
  /** A comma and the merchant's JSON; `undefined` where it is not kept. */
  bytes: Buffer | undefined
}

/**
 * Neighbours in order of id, with their JSON in one buffer that is sent as it is: an answer leaves no garbage, however
 * slowly it is read. Blocks never change.
 */
export interface Block {
  pieces: readonly Piece[]
  /** `undefined` when one of them is not kept. */
  bytes: Buffer | undefined
}

const BLOCK_BYTES = 64 * 1024
/** The assumed size of a merchant that is not kept. */
const UNKNOWN_BYTES = 1024

/** Packs pieces in order of id, at least one, into blocks of about 64 KiB. */
export function packBlocks(pieces: readonly Piece[]): Block[] {
  const sizes = pieces.map(({ bytes }) => bytes?.length ?? UNKNOWN_BYTES)
  const total = sizes.reduce((sum, size) => sum + size, 0)
  // Even parts, so that a block that outgrew its size leaves no tiny one.
  const target = total / Math.max(1, Math.round(total / BLOCK_BYTES))
  const blocks: Block[] = []
  let start = 0
  let filled = 0
  for (const [i, size] of sizes.entries()) {
    filled += size
    if (filled < target && i < pieces.length - 1) continue
    blocks.push(toBlock(pieces.slice(start, i + 1)))
    start = i + 1
    filled = 0
  }
  return blocks
}

function toBlock(pieces: readonly Piece[]): Block {
  const parts = pieces.map(({ bytes }) => bytes).filter((bytes) => bytes !== undefined)
  if (parts.length < pieces.length) {
    return { pieces: pieces.map((piece) => ({ ...piece, bytes: undefined })), bytes: undefined }
  }
  const bytes = Buffer.concat(parts)
  let end = 0
  const packed = pieces.map((piece, i) => {
    const start = end
    end += (parts[i] as Buffer).length
    return { ...piece, bytes: bytes.subarray(start, end) }
  })
  return { pieces: packed, bytes }
}

/** Returns the blocks after some merchants changed or left (`undefined`). Blocks without a change stay the same objects. */
export function changeBlocks(
  blocks: readonly Block[],
  changed: ReadonlyMap<string, Piece | undefined>,
): Block[] {
  const ids = [...changed.keys()]
  const firstIdOf = (at: number) => blocks[at]?.pieces[0]?.id
  const empty: Block = { pieces: [], bytes: undefined }
  return (blocks.length === 0 ? [empty] : blocks).flatMap((block, at) => {
    const from = at === 0 ? '' : (firstIdOf(at) ?? '')
    const end = firstIdOf(at + 1)
    const inBlock = ids.filter((id) => id >= from && (end === undefined || id < end))
    const isNews = inBlock.some(
      (id) => changed.get(id) !== undefined || block.pieces.some((piece) => piece.id === id),
    )
    if (!isNews && block !== empty) return [block]
    const kept = block.pieces.filter(({ id }) => !changed.has(id))
    const pieces = [...kept, ...inBlock.flatMap((id) => changed.get(id) ?? [])]
    return packBlocks(pieces.sort((one, other) => (one.id < other.id ? -1 : 1)))
  })
}

/** Without this bound a fast reader would get the whole catalog in one turn of the event loop. */
const BYTES_A_TURN = 256 * 1024
const HIGH_WATER_BYTES = 64 * 1024

const END = Buffer.from(']}\n')

/** Streams the catalog as JSON. */
export function streamCatalog(snapshot: CatalogSnapshot, facilitator: string): Readable {
  return Readable.from(chunksOf(snapshot, facilitator), {
    objectMode: false,
    highWaterMark: HIGH_WATER_BYTES,
  })
}

/** Returns the bytes of the stream; `undefined` if some merchants must be rendered first. */
export function catalogBytes(snapshot: CatalogSnapshot, facilitator: string): number | undefined {
  let total = catalogHead(facilitator).length + END.length
  for (const { bytes } of snapshot.blocks) {
    if (bytes === undefined) return undefined
    total += bytes.length
  }
  // The first merchant is sent without its comma.
  return total - Math.min(1, snapshot.blocks.length)
}

function catalogHead(facilitator: string): Buffer {
  return Buffer.from(`{"facilitator":${JSON.stringify(facilitator)},"merchants":[`)
}

async function* chunksOf(snapshot: CatalogSnapshot, facilitator: string): AsyncGenerator<Buffer> {
  let turnBytes = 0
  let isFirst = true
  yield catalogHead(facilitator)
  for await (const bytes of partsOf(snapshot)) {
    yield isFirst ? bytes.subarray(1) : bytes
    isFirst = false
    turnBytes += bytes.length
    if (turnBytes < BYTES_A_TURN) continue
    turnBytes = 0
    await nextTurn()
  }
  yield END
}

/** Yields the JSON of merchants, each after a comma. */
async function* partsOf({ blocks, build }: CatalogSnapshot): AsyncGenerator<Buffer> {
  for (const { pieces, bytes } of blocks) {
    if (bytes !== undefined) {
      yield bytes
      continue
    }
    for (const { id } of pieces) {
      const made = await build(id)
      if (made !== undefined) yield made
      // Rendering takes so long that other work runs after each.
      await nextTurn()
    }
  }
}
