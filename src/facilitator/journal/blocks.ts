import type { Address } from 'viem'
import { run, type Sql } from '../../sql/sql.js'

/** An account that the operator refuses as the payer or as the recipient of a payment. */
export interface Block {
  role: 'payer' | 'payTo'
  /** Lower-case. */
  address: Address
  /** A note of the operator, not shown to anybody else. */
  reason: string
  /** Unix milliseconds. */
  createdAt: number
}

export function createBlockStore(sql: Sql) {
  return {
    async addBlock({ role, address, reason, createdAt }: Block): Promise<void> {
      await sql.run(
        `INSERT INTO blocks (role, address, reason, created_at) VALUES ($1, $2, $3, $4)
         ON CONFLICT (role, address) DO UPDATE SET reason = excluded.reason`,
        [role, address, reason, createdAt],
      )
    },
    /** Resolves with whether there was such a block. */
    async removeBlock(role: Block['role'], address: Address): Promise<boolean> {
      const text = 'DELETE FROM blocks WHERE role = $1 AND address = $2'
      return (await sql.transaction(() => run(text, [role, address]))) === 1
    },
    listBlocks: () =>
      sql.all<Block>(
        `SELECT role, address, reason, created_at AS "createdAt" FROM blocks
         ORDER BY created_at, role, address`,
      ),
  }
}

export type BlockStore = ReturnType<typeof createBlockStore>

/** The operator's blocks, kept in memory. A change by another process takes effect within two seconds. */
export interface OperatorBlocks {
  isBlocked(role: Block['role'], address: Address): boolean
  /** Reads the list again. */
  refresh(): Promise<void>
}

/** Reads the blocks, which are then as old as the last refresh. Rejects when they cannot be read. */
export async function readOperatorBlocks(
  store: Pick<BlockStore, 'listBlocks'>,
): Promise<OperatorBlocks> {
  let blocked = new Set<string>()
  async function refresh(): Promise<void> {
    const blocks = await store.listBlocks()
    blocked = new Set(blocks.map(({ role, address }) => `${role}/${address}`))
  }
  await refresh()
  return {
    isBlocked: (role, address) => blocked.size > 0 && blocked.has(`${role}/${address}`),
    refresh,
  }
}
