import type { ListingReader } from '../store/listings.js'
import { type BaseIndexBuilder, createBaseIndexBuilder } from './base-index-builder.js'
import { type CatalogView, firstView } from './catalog-view.js'
import {
  type IndexDocument,
  type IndexMerchant,
  toIndexDocument,
  toIndexMerchant,
  toOutlineDocument,
} from './index-document.js'
import type { Turns } from './turns.js'
import { createDraft } from './view-draft.js'

export type CatalogSource = Pick<
  ListingReader,
  | 'scanForIndex'
  | 'scanOutline'
  | 'indexedOf'
  | 'findMerchant'
  | 'findMerchants'
  | 'lastChange'
  | 'changesAfter'
>

/** Rows read at once: as many as the last read suggests for half a turn. */
const MIN_ROWS = 8
const MAX_ROWS = 512
const READ_MS = 0.5
const CHANGES_AT_ONCE = 200

/** Thrown out of a load that was told to stop. */
export class LoadStopped extends Error {
  override readonly name = 'LoadStopped'
}

/** Reads the whole catalog into a new view, in turns. Rejects with what the store rejects with, or `LoadStopped`. */
export function loadView(
  source: CatalogSource,
  turns: Turns,
  isStopped: () => boolean,
): Promise<CatalogView> {
  return load(source, turns, isStopped, { scan: source.scanForIndex, toDocument: toIndexDocument })
}

/** The same, read in an eighth to a twelfth of the time, with an outline for a base. */
export function loadOutline(
  source: CatalogSource,
  turns: Turns,
  isStopped: () => boolean,
): Promise<CatalogView> {
  const scan = source.scanOutline
  return load(source, turns, isStopped, { scan, toDocument: toOutlineDocument, isOutline: true })
}

interface Reading<Row> {
  scan: (afterEndpointId: number, limit: number) => Promise<Row[]>
  toDocument: (row: Row) => IndexDocument
  isOutline?: boolean
}

async function load<Row extends { id: number; merchantId: string }>(
  source: CatalogSource,
  turns: Turns,
  isStopped: () => boolean,
  { scan, toDocument, isOutline = false }: Reading<Row>,
): Promise<CatalogView> {
  // What changes while rows are read is seen now or then; it is read once more afterwards, so nothing is missed.
  const sequence = await source.lastChange()
  const builder = createBaseIndexBuilder(turns, isOutline)
  let rows = MIN_ROWS
  for (let after = 0; ; ) {
    await turns.next()
    if (isStopped()) throw new LoadStopped()
    const startedAt = performance.now()
    const reading = scan(after, rows)
    // A store that answers later holds up nobody meanwhile.
    const isSlow = performance.now() - startedAt > READ_MS
    const page = await reading
    rows = isSlow ? Math.max(MIN_ROWS, rows >>> 1) : Math.min(MAX_ROWS, rows * 2)
    for (const merchant of await merchantsOf(page, builder, source)) builder.addMerchant(merchant)
    for (const row of page) {
      builder.add(toDocument(row))
      after = row.id
      if (turns.isOver()) await turns.next()
    }
    if (page.length === 0) break
  }
  return firstView(await builder.finish(), sequence)
}

/** The merchants of a page that were on none before. */
async function merchantsOf(
  page: readonly { merchantId: string }[],
  { hasMerchant }: BaseIndexBuilder,
  { findMerchants }: CatalogSource,
): Promise<IndexMerchant[]> {
  const missing = new Set(page.map(({ merchantId }) => merchantId).filter((id) => !hasMerchant(id)))
  if (missing.size === 0) return []
  const found = new Map((await findMerchants([...missing])).map((it) => [it.id, it]))
  return Array.from(missing, (id) => toIndexMerchant(id, found.get(id)))
}

/** The view after the next changes, at most so many at once; the view itself when there are none. */
export async function advance(
  view: CatalogView,
  source: CatalogSource,
  turns: Turns,
): Promise<CatalogView> {
  const changes = await source.changesAfter(view.sequence, CHANGES_AT_ONCE)
  const last = changes.at(-1)
  if (last === undefined) return view
  const draft = createDraft(view)
  for (const id of new Set(changes.map(({ merchantId }) => merchantId))) {
    draft.put(id, await source.findMerchant(id), await source.indexedOf(id))
    if (turns.isOver()) await turns.next()
  }
  return draft.finish(last.sequence)
}
