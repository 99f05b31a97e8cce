import { readFileSync } from 'node:fs'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openPostgresStores } from '../../../src/store/postgres/stores.js'
import { createActivityStore } from '../../../src/store/sqlite/activity.js'
import { openDatabase } from '../../../src/store/sqlite/database.js'
import { createGroupCommit } from '../../../src/store/sqlite/group-commit.js'
import { type PostgresServer, startPostgres } from '../../support/postgres.js'

/** As it was kept before: endpoint 0 has all of the merchant, what is of no endpoint among it. */
const before = `
  INSERT INTO activity_sums VALUES
    ('d', '', 0, 0, 'settle', 'settled', '', 0, 9, 900, 90),
    ('d', 'weather', 0, 0, 'settle', 'settled', '', 0, 6, 600, 60),
    ('d', 'weather', 0, 1, 'settle', 'settled', '', 0, 3, 300, 30),
    ('d', 'weather', 0, 2, 'settle', 'settled', '', 0, 2, 200, 20),
    ('d', 'weather', 0, 0, 'settle', 'failed', 'x', 0, 4, 0, 0),
    ('d', 'weather', 0, 2, 'settle', 'failed', 'x', 0, 4, 0, 0),
    ('d', 'weather', 86400, 0, 'settle', 'settled', '', 0, 1, 7, 0);
  INSERT INTO activity_latencies VALUES
    ('d', 'weather', 0, 0, 'settle', 50, 6), ('d', 'weather', 0, 1, 'settle', 50, 3),
    ('d', 'weather', 0, 2, 'settle', 50, 2);
  INSERT INTO activity_payers VALUES
    ('d', 'weather', 0, 0, '0xa', 4, 400), ('d', 'weather', 0, 1, '0xa', 2, 200),
    ('d', 'weather', 0, 2, '0xa', 2, 200), ('d', 'weather', 0, 0, '0xb', 2, 200),
    ('d', 'weather', 0, 1, '0xb', 1, 100);`

const migration = (engine: string, number: string) =>
  readFileSync(
    new URL(`../../../migrations/${engine}/${number}-sums-of-endpoints.sql`, import.meta.url),
    'utf8',
  )

const all = { merchantId: 'weather', span: 'd', since: 0 } as const

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server?.close())

async function onSqlite() {
  const database = openDatabase(':memory:')
  database.exec(before)
  database.exec(migration('sqlite', '0009'))
  const commit = createGroupCommit(database)
  const close = async () => {
    await commit.close()
    database.close()
  }
  return { activity: createActivityStore(database, commit), close }
}

async function onPostgres() {
  const url = await server.createDatabase()
  const stores = await openPostgresStores({ url, poolSize: 2 })
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(before)
  await client.query(migration('postgres', '0003'))
  await client.end()
  const close = async () => {
    await stores.close()
    await server.dropDatabase(url)
  }
  return { activity: stores.activity, close }
}

describe.each([
  ['SQLite', onSqlite],
  ['PostgreSQL', onPostgres],
])('sums of before on %s', (_, open) => {
  it('say the same of the merchant and of each endpoint as they did', async () => {
    const { activity, close } = await open()
    const sums = async (scope: object) =>
      (await activity.sums({ ...all, ...scope })).map(({ bucket, state, count, amount }) => [
        bucket,
        state,
        count,
        amount,
      ])
    const whole = await sums({})
    expect(whole).toHaveLength(3)
    expect(whole).toEqual(
      expect.arrayContaining([
        [0, 'settled', 6, 600n],
        [0, 'failed', 4, 0n],
        [86_400, 'settled', 1, 7n],
      ]),
    )
    expect(await sums({ endpointId: 1 })).toEqual([[0, 'settled', 3, 300n]])
    expect(await sums({ merchantId: undefined })).toEqual([[0, 'settled', 9, 900n]])
    expect(await activity.latencies(all, 'settle')).toEqual([{ upToMs: 50, count: 6 }])
    expect(await activity.payers(all)).toEqual({
      unique: 2,
      repeat: 2,
      topAmount: 400n,
      amount: 600n,
    })
    const one = { ...all, endpointId: 1 }
    expect(await activity.payers(one)).toEqual({
      unique: 2,
      repeat: 1,
      topAmount: 200n,
      amount: 300n,
    })
    await close()
  })
})
