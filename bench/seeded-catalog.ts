import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { createListingStore } from '../src/directory/store/sql/listings.js'
import { openDatabase, type SqliteDatabase } from '../src/sql/sqlite/database.js'
import { createGroupCommit } from '../src/sql/sqlite/group-commit.js'
import { createSql } from '../src/sql/sqlite/sql.js'

const PUBLISHED_AT_ONCE = 200
const HOURS = 720
const PAYERS_AN_HOUR = 15

/** Writes a catalog of so many endpoints into a new database, and a month of payments of its first merchants. */
export async function seedCatalog(
  file: string,
  { endpoints, paidMerchants }: { endpoints: number; paidMerchants: number },
): Promise<void> {
  const seed = fileURLToPath(new URL('discovery-seed.ts', import.meta.url))
  execFileSync(process.execPath, ['--import', 'tsx', seed, file, String(endpoints)])
  const database = openDatabase(file)
  const ids = database.prepare('SELECT id FROM merchants ORDER BY id').pluck().all() as string[]
  await publishAll(database, ids)
  fillMonth(database, ids.slice(0, paidMerchants))
  database.pragma('wal_checkpoint(TRUNCATE)')
  database.close()
}

/** Writes the JSON of every merchant, which a change of its flags does. */
async function publishAll(database: SqliteDatabase, ids: readonly string[]): Promise<void> {
  const store = createListingStore(createSql(database, createGroupCommit(database)))
  for (let at = 0; at < ids.length; at += PUBLISHED_AT_ONCE) {
    const some = ids.slice(at, at + PUBLISHED_AT_ONCE)
    await Promise.all(some.map((id) => store.setFlags(id, { isPartner: false }, 1_700_000_001)))
  }
}

/** Writes the sums of a month in which each of the merchants was paid by fifteen payers an hour. */
function fillMonth(database: SqliteDatabase, merchantIds: readonly string[]): void {
  const last = Math.floor(Date.now() / 3_600_000) * 3_600
  const payer = database.prepare('INSERT INTO activity_payers VALUES (?, ?, 0, ?, 1, 10000)')
  const sum = database.prepare(
    "INSERT INTO activity_sums VALUES (?, ?, 0, 'settle', 'settled', '', 0, 15, 150000, 0)",
  )
  database.transaction(() => {
    for (const id of merchantIds) {
      for (let hour = 0; hour < HOURS; hour++) {
        sum.run(id, last - hour * 3_600)
        for (let i = 0; i < PAYERS_AN_HOUR; i++) {
          const name = ((hour * 7 + i * 131) % 3_000).toString(16).padStart(40, '0')
          payer.run(id, last - hour * 3_600, `0x${name}`)
        }
      }
    }
  })()
}
