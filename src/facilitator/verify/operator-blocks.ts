import type { Address } from 'viem'
import type { Block, BlockStore } from '../journal/blocks.js'

/** The operator's blocks, kept in memory. A change by another process takes effect within two seconds. */
export interface OperatorBlocks {
  isBlocked(role: Block['role'], address: Address): boolean
  stop(): void
}

const REFRESH_MS = 2_000

/** Reads the blocks and refreshes them. Rejects when they cannot be read the first time. */
export async function watchOperatorBlocks(
  store: BlockStore,
  onError: (error: unknown) => void,
): Promise<OperatorBlocks> {
  let blocked = new Set<string>()
  const refresh = async () => {
    const blocks = await store.listBlocks()
    blocked = new Set(blocks.map(({ role, address }) => `${role}/${address}`))
  }
  await refresh()
  const timer = setInterval(() => refresh().catch(onError), REFRESH_MS)
  return {
    isBlocked: (role, address) => blocked.size > 0 && blocked.has(`${role}/${address}`),
    stop: () => clearInterval(timer),
  }
}
