import { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { CatalogSnapshot } from './catalog.js'

/** A fast reader would otherwise be served a whole catalog in one turn of the event loop. */
const BYTES_A_TURN = 256 * 1024
const HIGH_WATER_BYTES = 64 * 1024

const END = Buffer.from(']}\n')

/** The catalog as a stream of JSON. */
export function streamCatalog(snapshot: CatalogSnapshot, facilitator: string): Readable {
  return Readable.from(chunksOf(snapshot, facilitator), {
    objectMode: false,
    highWaterMark: HIGH_WATER_BYTES,
  })
}

/** How long the stream will be; `undefined` while some of it has to be made first. */
export function catalogBytes(snapshot: CatalogSnapshot, facilitator: string): number | undefined {
  let total = headOf(facilitator).length + END.length
  for (const { bytes } of snapshot.blocks) {
    if (bytes === undefined) return undefined
    total += bytes.length
  }
  // The first merchant goes without its comma.
  return total - Math.min(1, snapshot.blocks.length)
}

function headOf(facilitator: string): Buffer {
  return Buffer.from(`{"facilitator":${JSON.stringify(facilitator)},"merchants":[`)
}

async function* chunksOf(snapshot: CatalogSnapshot, facilitator: string): AsyncGenerator<Buffer> {
  let turnBytes = 0
  let isFirst = true
  yield headOf(facilitator)
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

/** Each begins with a comma. */
async function* partsOf({ blocks, build }: CatalogSnapshot): AsyncGenerator<Buffer> {
  for (const { ids, bytes } of blocks) {
    if (bytes !== undefined) {
      yield bytes
      continue
    }
    for (const id of ids) {
      const made = await build(id)
      if (made !== undefined) yield made
      // Making one takes long enough to let others run after each.
      await nextTurn()
    }
  }
}
