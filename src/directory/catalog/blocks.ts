/** One merchant's place in the catalog. */
export interface Piece {
  id: string
  /** A comma and the merchant's JSON; `undefined` where it is not kept ready. */
  bytes: Buffer | undefined
}

/**
 * Neighbours in order of id, their JSON in one buffer: an answer then consists of buffers that are there already, and
 * leaves nothing to collect. Never changed once made.
 */
export interface Block {
  ids: readonly string[]
  /** Of each merchant within `bytes`. */
  sizes: readonly number[]
  /** `undefined` when one of them is not kept ready. */
  bytes: Buffer | undefined
}

const BLOCK_BYTES = 64 * 1024
/** What is not kept ready counts as this much. */
const UNKNOWN_BYTES = 1024

/** Packs pieces in order of id, at least one, into blocks of about 64 KiB. */
export function packBlocks(pieces: readonly Piece[]): Block[] {
  const sizes = pieces.map(({ bytes }) => bytes?.length ?? UNKNOWN_BYTES)
  const total = sizes.reduce((sum, size) => sum + size, 0)
  // Even parts: a block that outgrew its size leaves no crumbs.
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

/** The blocks after some merchants changed (`undefined` has left); those without a change are the same objects. */
export function changeBlocks(
  blocks: readonly Block[],
  changed: ReadonlyMap<string, Piece | undefined>,
): Block[] {
  const byBlock = new Map<number, string[]>()
  for (const id of [...changed.keys()].sort()) {
    const at = findBlock(blocks, id)
    const ids = byBlock.get(at)
    if (ids === undefined) byBlock.set(at, [id])
    else ids.push(id)
  }
  if (blocks.length === 0) return packBlocks(present(changed, byBlock.get(0) ?? []))
  return blocks.flatMap((block, at) => {
    const ids = byBlock.get(at)
    if (ids === undefined) return [block]
    const kept = toPieces(block).filter(({ id }) => !changed.has(id))
    const pieces = [...kept, ...present(changed, ids)]
    return packBlocks(pieces.sort((one, other) => (one.id < other.id ? -1 : 1)))
  })
}

function present(changed: ReadonlyMap<string, Piece | undefined>, ids: string[]): Piece[] {
  return ids.map((id) => changed.get(id)).filter((piece) => piece !== undefined)
}

/** The last block that begins at or before the id; the first for what comes before all. */
function findBlock(blocks: readonly Block[], id: string): number {
  let low = 0
  let high = blocks.length - 1
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if ((blocks[middle]?.ids[0] ?? '') <= id) low = middle
    else high = middle - 1
  }
  return low
}

function toBlock(pieces: readonly Piece[]): Block {
  const ids = pieces.map(({ id }) => id)
  const parts = pieces.map(({ bytes }) => bytes).filter((bytes) => bytes !== undefined)
  const isReady = parts.length === pieces.length
  return {
    ids,
    sizes: parts.map(({ length }) => length),
    bytes: isReady ? Buffer.concat(parts) : undefined,
  }
}

function toPieces({ ids, sizes, bytes }: Block): Piece[] {
  let from = 0
  return ids.map((id, i) => {
    const size = sizes[i] ?? 0
    const piece = { id, bytes: bytes?.subarray(from, from + size) }
    from += size
    return piece
  })
}
