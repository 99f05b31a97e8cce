import type { Hex } from 'viem'
import type { Sighting, SightingStore } from '../sightings.js'
import type { Database } from './database.js'

interface SightingRow {
  network: string
  digest: Hex
  block_number: number
  expires_at: number
}

/** Remembered beside the table, so that a repeated verify writes nothing and a settle right after it asks nobody. */
const MAX_REMEMBERED = 5_000
/** Rows wait this long for company: a settle at another replica comes later. */
const GATHER_MS = 20
/** Past this the oldest are given up: the database is gone, and verify must not fill the memory. */
const MAX_WAITING = 20_000
const SWEEP_ROWS = 1_000

export function createSightingStore(
  database: Database,
): SightingStore & { close(): Promise<void> } {
  const remembered = new Map<string, Sighting>()
  let waiting: Sighting[] = []
  let timer: NodeJS.Timeout | undefined
  let writing: Promise<void> = Promise.resolve()

  function flush(): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    const group = waiting
    waiting = []
    // What is deferred may be lost; a database that is gone shows where nothing may be.
    if (group.length > 0) writing = writing.then(() => insert(group)).catch(() => {})
    return writing
  }

  async function insert(group: readonly Sighting[]): Promise<void> {
    await database.run(
      `INSERT INTO sightings (network, digest, block_number, expires_at)
       SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[]) ORDER BY 1, 2
       ON CONFLICT DO NOTHING`,
      [
        group.map(({ network }) => network),
        group.map(({ digest }) => digest),
        group.map(({ blockNumber }) => blockNumber),
        group.map(({ expiresAt }) => expiresAt),
      ],
    )
  }

  return {
    note(sighting) {
      const key = sighting.network + sighting.digest
      if (remembered.has(key)) return
      remembered.set(key, sighting)
      if (remembered.size > MAX_REMEMBERED) {
        remembered.delete(remembered.keys().next().value as string)
      }
      waiting.push(sighting)
      if (waiting.length > MAX_WAITING) waiting.shift()
      timer ??= setTimeout(flush, GATHER_MS)
    },
    async findSighting(network, digest) {
      const [row] = await database.rows<SightingRow>(
        'SELECT * FROM sightings WHERE network = $1 AND digest = $2',
        [network, digest],
      )
      if (row === undefined) return remembered.get(network + digest)
      return { network, digest, blockNumber: row.block_number, expiresAt: row.expires_at }
    },
    async forgetSightings(expiredBefore) {
      for (const [key, { expiresAt }] of remembered) {
        if (expiresAt < expiredBefore) remembered.delete(key)
      }
      await flush()
      let forgotten = 0
      let last: Pick<SightingRow, 'network' | 'digest'> = { network: '', digest: '0x' }
      for (;;) {
        const rows = await database.rows<SightingRow>(
          `SELECT * FROM sightings WHERE (network, digest) > ($1, $2) ORDER BY network, digest LIMIT ${SWEEP_ROWS}`,
          [last.network, last.digest],
        )
        const expired = rows.filter((row) => row.expires_at < expiredBefore)
        if (expired.length > 0) {
          forgotten += await database.run(
            `DELETE FROM sightings USING unnest($1::text[], $2::text[]) AS old (network, digest)
             WHERE sightings.network = old.network AND sightings.digest = old.digest`,
            [expired.map(({ network }) => network), expired.map(({ digest }) => digest)],
          )
        }
        if (rows.length < SWEEP_ROWS) return forgotten
        last = rows.at(-1) as SightingRow
      }
    },
    close: flush,
  }
}
