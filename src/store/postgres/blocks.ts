import type { Address } from 'viem'
import type { Block, BlockStore } from '../blocks.js'
import type { Database } from './database.js'

export function createBlockStore(database: Database): BlockStore {
  return {
    async addBlock({ role, address, reason, createdAt }) {
      await database.run(
        `INSERT INTO blocks (role, address, reason, created_at) VALUES ($1, $2, $3, $4)
         ON CONFLICT (role, address) DO UPDATE SET reason = excluded.reason`,
        [role, address, reason, createdAt],
      )
    },
    removeBlock: async (role, address) =>
      (await database.once.run('DELETE FROM blocks WHERE role = $1 AND address = $2', [
        role,
        address,
      ])) === 1,
    async listBlocks() {
      const rows = await database.rows<
        Omit<Block, 'createdAt' | 'address'> & { address: Address; created_at: number }
      >('SELECT * FROM blocks ORDER BY created_at, role, address')
      return rows.map(({ created_at, ...block }) => ({ ...block, createdAt: created_at }))
    },
  }
}
