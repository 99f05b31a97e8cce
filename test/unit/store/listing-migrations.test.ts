import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { afterAll, expect, it } from 'vitest'
import { openDatabase } from '../../../src/store/sqlite/database.js'
import { readMigration } from './activity-migrations-contract.js'

const folder = mkdtempSync(join(tmpdir(), 'arcus-migrations-'))
afterAll(() => rmSync(folder, { recursive: true }))

const files = readdirSync(new URL('../../../migrations/sqlite', import.meta.url)).sort()
/** The first that makes the table of endpoints anew. */
const REBUILD = files.indexOf('0022-tools.sql')

/** A database as the service left it before this migration, with two endpoints of which one was removed. */
function anOldDatabase(path: string): void {
  const database = new Sqlite(path)
  database.pragma('foreign_keys = ON')
  for (const file of files.slice(0, REBUILD)) {
    database.exec(readMigration('sqlite', file.replace('.sql', '')))
  }
  database.pragma(`user_version = ${REBUILD}`)
  database.exec(`
    INSERT INTO merchants (id, name, description, network, asset, pay_to, revision, created_at, updated_at)
      VALUES ('weather', 'Weather', '', 'eip155:5042', '0xa', '0xb', 1, 1, 1);
    INSERT INTO endpoints (id, merchant_id, position, url, method, title, description, pricing, price, tags, example, extras,
        accepts, status, probe, last_updated, created_at)
      VALUES (7, 'weather', 0, 'https://a.example', 'GET', 'A', '', 'fixed', '1', '[]', '{}', '{}', '[]', 'live', '{"p":1}', 5, 4),
             (9, 'weather', 1, 'https://b.example', 'POST', 'B', '', 'fixed', '2', '[]', '{}', '{}', '[]', 'failing', NULL, 6, 4);
    INSERT INTO probes VALUES (7, 11, 'live'), (7, 12, 'wrong_price'), (9, 12, 'live');
    INSERT INTO endpoint_usage VALUES (7, 3, '{"calls":1}', NULL);
    DELETE FROM endpoints WHERE id = 9;`)
  database.close()
}

it('endpoints keep their numbers and figures when their table is made anew', () => {
  const path = join(folder, 'old.db')
  anOldDatabase(path)
  const database = openDatabase(path)
  const rows = (text: string) => database.prepare(text).all()
  expect(rows('SELECT id, url, method, tool_name, probe, last_updated FROM endpoints')).toEqual([
    {
      ...{ id: 7, url: 'https://a.example', method: 'GET', tool_name: '' },
      ...{ probe: '{"p":1}', last_updated: 5 },
    },
  ])
  expect(rows('SELECT endpoint_id, version, figures FROM endpoint_usage')).toEqual([
    { endpoint_id: 7, version: 3, figures: '{"calls":1}' },
  ])
  expect(database.pragma('foreign_key_check')).toEqual([])
  // A number never returns, and rows still go with their endpoint.
  database.exec(`INSERT INTO endpoints SELECT * FROM (SELECT NULL, merchant_id, position, 'https://c.example', method,
    tool_name, transport, title, description, pricing, price, asset, symbol, tags, example, input_schema, output, extras,
    is_hosted, accepts, status, probe, failures, next_probe_at, last_updated, created_at FROM endpoints)`)
  expect(rows('SELECT max(id) AS id FROM endpoints')).toEqual([{ id: 10 }])
  database.exec('DELETE FROM endpoints WHERE id = 7')
  expect(rows('SELECT * FROM endpoint_usage')).toEqual([])
  database.close()
})
