import type { Hex } from 'viem'
import type { Sighting, SightingStore } from '../sightings.js'
import type { Database } from './database.js'
import type { GroupCommit } from './group-commit.js'

interface SightingRow {
  network: string
  digest: Hex
  block_number: number
  expires_at: number
}

/** How many sightings are remembered beside the table, so that a repeated verify writes nothing. */
const MAX_REMEMBERED = 5_000

export function createSightingStore(database: Database, commit: GroupCommit): SightingStore {
  const insert = database.prepare(
    `INSERT INTO sightings (network, digest, block_number, expires_at) VALUES (?, ?, ?, ?)
     ON CONFLICT DO NOTHING`,
  )
  const find = database.prepare('SELECT * FROM sightings WHERE network = ? AND digest = ?')
  const forget = database.prepare('DELETE FROM sightings WHERE expires_at < ?')
  const remembered = new Map<string, Sighting>()

  return {
    note(sighting) {
      const key = sighting.network + sighting.digest
      if (remembered.has(key)) return
      remembered.set(key, sighting)
      if (remembered.size > MAX_REMEMBERED) {
        remembered.delete(remembered.keys().next().value as string)
      }
      const { network, digest, blockNumber, expiresAt } = sighting
      commit.defer(() => {
        insert.run(network, digest, blockNumber, expiresAt)
      })
    },
    async findSighting(network, digest) {
      const row = find.get(network, digest) as SightingRow | undefined
      if (row === undefined) return remembered.get(network + digest)
      return { network, digest, blockNumber: row.block_number, expiresAt: row.expires_at }
    },
    forgetSightings(expiredBefore) {
      for (const [key, { expiresAt }] of remembered) {
        if (expiresAt < expiredBefore) remembered.delete(key)
      }
      return commit.write(() => forget.run(expiredBefore).changes)
    },
  }
}
