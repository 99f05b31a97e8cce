import { addressField } from '../listing-client/listing.js'
import type { Block, BlockStore } from '../store/blocks.js'
import { UsageError } from './arguments.js'

/** Whom a block is about. */
export type BlockTarget = Pick<Block, 'role' | 'address'>

/** Reads `payer|payTo ADDRESS`. Throws a `UsageError`. */
export function parseBlockTarget(
  role: string | undefined,
  address: string | undefined,
): BlockTarget {
  if (role !== 'payer' && role !== 'payTo') {
    throw new UsageError(`Say payer or payTo, got ${JSON.stringify(role)}.`)
  }
  const parsed = addressField.safeParse(address ?? '')
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    throw new UsageError(`ADDRESS ${issue?.message}, got ${JSON.stringify(address)}.`)
  }
  return { role, address: parsed.data }
}

/** Blocks somebody; a running service obeys within two seconds. Resolves with what to tell. */
export async function addBlock(
  store: BlockStore,
  { role, address }: BlockTarget,
  reason: string,
): Promise<string> {
  await store.addBlock({ role, address, reason, createdAt: Date.now() })
  return `${role} ${address} is blocked`
}

/** Lifts a block. Resolves with what to tell. */
export async function removeBlock(
  store: BlockStore,
  { role, address }: BlockTarget,
): Promise<string> {
  const wasBlocked = await store.removeBlock(role, address)
  return `${role} ${address} ${wasBlocked ? 'is free again' : 'was not blocked'}`
}
