import type { Address } from 'viem'
import type { Block, BlockStore } from '../blocks.js'
import type { Database } from './database.js'
import type { GroupCommit } from './group-commit.js'

export function createBlockStore(database: Database, commit: GroupCommit): BlockStore {
  const insert = database.prepare(
    `INSERT INTO blocks (role, address, reason, created_at) VALUES (?, ?, ?, ?)
     ON CONFLICT (role, address) DO UPDATE SET reason = excluded.reason`,
  )
  const remove = database.prepare('DELETE FROM blocks WHERE role = ? AND address = ?')
  const list = database.prepare('SELECT * FROM blocks ORDER BY created_at, role, address')
  return {
    addBlock: ({ role, address, reason, createdAt }) =>
      commit.write(() => {
        insert.run(role, address, reason, createdAt)
      }),
    removeBlock: (role, address) => commit.write(() => remove.run(role, address).changes === 1),
    async listBlocks() {
      const rows = list.all() as (Omit<Block, 'createdAt' | 'address'> & {
        address: Address
        created_at: number
      })[]
      return rows.map(({ created_at, ...block }) => ({ ...block, createdAt: created_at }))
    },
  }
}
