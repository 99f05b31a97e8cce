import { openDatabase } from '../src/sql/sqlite/database.js'

/** How many rows of a catalog hold a word of plain letters, counted by looking at each of them. */
export function countMatches(file: string, word: string): number {
  const database = openDatabase(file)
  const holds = (column: string) => `instr(lower(${column}), @word) > 0`
  const texts = ['e.title', 'e.description', 'm.name', 'm.description'].map(holds).join(' OR ')
  const row = database
    .prepare(
      `SELECT count(*) AS count FROM endpoints e JOIN merchants m ON m.id = e.merchant_id
       WHERE (e.status = 'live' OR (e.status = 'unverified' AND (m.revision = 0 OR m.is_official = 1 OR m.is_partner = 1)))
         AND (${texts})`,
    )
    .get({ word }) as { count: number }
  database.close()
  return row.count
}
