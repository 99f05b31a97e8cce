import type { Address } from 'viem'
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
  if (!/^0x[0-9a-fA-F]{40}$/.test(address ?? '')) {
    throw new UsageError(
      `ADDRESS must be 20 bytes of hex with 0x prefix, got ${JSON.stringify(address)}.`,
    )
  }
  return { role, address: address?.toLowerCase() as Address }
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
