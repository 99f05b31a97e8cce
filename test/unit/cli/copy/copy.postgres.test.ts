import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { openPostgresStores } from '../../../../src/app/stores/postgres.js'
import { openSqliteStores } from '../../../../src/app/stores/sqlite.js'
import type { Stores } from '../../../../src/app/stores/stores.js'
import { copyToPostgres } from '../../../../src/cli/copy/copy-to-postgres.js'
import { CopyError } from '../../../../src/sql/errors.js'
import { laneLease } from '../../../../src/sql/leases.js'
import { type PostgresServer, startPostgres } from '../../../support/postgres.js'
import { fillStores, relayer } from '../../app/stores/filled-stores.js'
import { aJob, network } from '../../app/stores/store-contract.js'

const folder = mkdtempSync(join(tmpdir(), 'arcus-copy-test-'))
let made = 0
let path: string
let live: ReturnType<typeof openSqliteStores>

beforeEach(async () => {
  path = join(folder, `${++made}`, 'arcus.db')
  live = openSqliteStores(path)
  await fillStores(live)
  return () => live.close().catch(() => {})
})
afterAll(() => rmSync(folder, { recursive: true }))

describe('a copy to PostgreSQL', () => {
  let server: PostgresServer
  beforeAll(async () => {
    server = await startPostgres()
    return () => server.close()
  })
  const openCopy = (url: string) => openPostgresStores({ url, poolSize: 2 })

  it('is the same in every table, and goes on where the source stood', async () => {
    const url = await server.createDatabase({ isEmpty: true })
    const { tables, hasChangedSince } = await copyToPostgres(path, url)
    expect(hasChangedSince).toBe(false)
    const empty = tables.filter(({ count }) => count === 0).map(({ name }) => name)
    expect(empty).toEqual(['probe_hours'])

    const copy = await openCopy(url)
    const find = (stores: Stores, id: string) =>
      stores.journal.findJob('exact', network, aJob({ id }).key)
    for (const id of ['paid', 'queued', 'submitted']) {
      expect(await find(copy, id)).toEqual(await find(live, id))
    }
    expect(await copy.listings.scanEntries(0, 9)).toEqual(await live.listings.scanEntries(0, 9))
    expect(await copy.budgets.spentOn(network, '2026-11-21')).toBe(123_456_789_012_345_678_901n)
    const scope = { merchantId: undefined, span: 'd', since: 0 } as const
    expect(await copy.activity.sums(scope)).toEqual(await live.activity.sums(scope))

    const lane = laneLease(network, relayer)
    await copy.leases.beat()
    await copy.leases.take([lane])
    const ofLane = await copy.sharing.takeOfLane(network, relayer)
    expect(ofLane.map(({ id }) => id)).toEqual(['submitted'])
    const offered = await copy.sharing.takeOffered(network, 9)
    expect(offered.map(({ id }) => id)).toEqual(['queued'])
    expect(await copy.listings.lastChange()).toBe(1)
    await copy.listings.setFlags('weather', { isPartner: true }, 2_000)
    expect(await copy.listings.changesAfter(1, 9)).toEqual([{ sequence: 2, merchantId: 'weather' }])
    await copy.close()
  })

  it('of a database in use is that of one moment, and says that it has moved on', async () => {
    const url = await server.createDatabase()
    const copying = copyToPostgres(path, url)
    let isOver = false
    void copying.finally(() => {
      isOver = true
    })
    const service = new Sqlite(path)
    const insert = service.prepare(`INSERT INTO blocks VALUES ('payTo', ?, '', 0)`)
    for (let i = 0; !isOver; i++) {
      insert.run(`0x${i}`)
      await new Promise((resolve) => setImmediate(resolve))
    }
    service.close()
    expect(await copying).toMatchObject({ hasChangedSince: true })
  })

  it('is refused where something is already, and where there is nothing to copy', async () => {
    const url = await server.createDatabase()
    const stores = await openCopy(url)
    await stores.blocks.addBlock({ role: 'payer', address: relayer, reason: '', createdAt: 1 })
    await stores.close()
    await expect(copyToPostgres(path, url)).rejects.toThrow(
      new CopyError(
        'The target is not empty (blocks): nothing was copied. Name an empty database.',
      ),
    )
    await expect(copyToPostgres(`${path}.no`, url)).rejects.toThrow(/There is no database/)
    const gone = 'postgres://postgres@127.0.0.1:1/nothing'
    await expect(copyToPostgres(path, gone)).rejects.toThrow(/does not answer/)
  })

  it('keeps nothing when a table did not arrive as it is', async () => {
    const url = await server.createDatabase()
    live.database.prepare(`UPDATE blocks SET reason = 'a' || char(0) || 'b'`).run()
    await expect(copyToPostgres(path, url)).rejects.toThrow()
    const stores = await openCopy(url)
    expect(await stores.blocks.listBlocks()).toEqual([])
    expect(await stores.roster.scan('', 9)).toEqual([])
    await stores.close()
  })

  it('has a place for every table and column of SQLite', async () => {
    const columns = live.database
      .prepare(
        `SELECT t.name || '.' || c.name FROM sqlite_schema t, pragma_table_info(t.name) c
         WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%'`,
      )
      .pluck()
      .all() as string[]
    const client = new pg.Client({ connectionString: await server.createDatabase() })
    await client.connect()
    const { rows } = await client.query(
      `SELECT table_name || '.' || column_name AS name FROM information_schema.columns WHERE table_schema = 'public'`,
    )
    await client.end()
    const known = new Set(rows.map(({ name }) => name))
    expect(columns.length).toBeGreaterThan(50)
    expect(columns.filter((name) => !known.has(name))).toEqual([])
  })
})
