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

/** Rows a slice of the sweep looks through; it comes every ten minutes, an index by end would be kept by every verify. */
const SWEEP_ROWS = 1_000

export function createSightingStore(database: Database, commit: GroupCommit): SightingStore {
  const insert = database.prepare(
    `INSERT INTO sightings (network, digest, block_number, expires_at) VALUES (?, ?, ?, ?)
     ON CONFLICT DO NOTHING`,
  )
  const find = database.prepare('SELECT * FROM sightings WHERE network = ? AND digest = ?')
  const scan = database.prepare(
    `SELECT network, digest, expires_at FROM sightings WHERE (network, digest) > (?, ?)
     ORDER BY network, digest LIMIT ${SWEEP_ROWS}`,
  )
  const forget = database.prepare('DELETE FROM sightings WHERE network = ? AND digest = ?')
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
    async forgetSightings(expiredBefore) {
      for (const [key, { expiresAt }] of remembered) {
        if (expiresAt < expiredBefore) remembered.delete(key)
      }
      let forgotten = 0
      let last: Pick<SightingRow, 'network' | 'digest'> = { network: '', digest: '0x' }
      for (;;) {
        const rows = scan.all(last.network, last.digest) as SightingRow[]
        const expired = rows.filter((row) => row.expires_at < expiredBefore)
        if (expired.length > 0) {
          await commit.write(() => {
            for (const { network, digest } of expired) forget.run(network, digest)
          })
        }
        forgotten += expired.length
        if (rows.length < SWEEP_ROWS) return forgotten
        last = rows.at(-1) as SightingRow
        await new Promise((resolve) => setImmediate(resolve))
      }
    },
  }
}
