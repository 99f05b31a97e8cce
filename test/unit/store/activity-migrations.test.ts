<<<<<<< HEAD
import { createActivityStore } from '../../../src/store/sqlite/activity.js'
import { openDatabase } from '../../../src/store/sqlite/database.js'
import { createGroupCommit } from '../../../src/store/sqlite/group-commit.js'
import {
  type ActivityMigration,
  describeActivityMigrations,
  readMigration,
} from './activity-migrations-contract.js'
=======
import { readFileSync } from 'node:fs'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openPostgresStores } from '../../../src/store/postgres/stores.js'
import { createActivityStore } from '../../../src/store/sql/activity.js'
import { openDatabase } from '../../../src/store/sqlite/database.js'
import { createGroupCommit } from '../../../src/store/sqlite/group-commit.js'
import { createSql } from '../../../src/store/sqlite/sql.js'
import { type PostgresServer, startPostgres } from '../../support/postgres.js'
>>>>>>> main

async function onSqlite({ before, sqlite }: ActivityMigration) {
  const database = openDatabase(':memory:')
  database.exec(before)
  database.exec(readMigration('sqlite', sqlite))
  const commit = createGroupCommit(database)
  const close = async () => {
    await commit.close()
    database.close()
  }
  return { activity: createActivityStore(createSql(database, commit)), close }
}

<<<<<<< HEAD
describeActivityMigrations('SQLite', onSqlite)
=======
async function onPostgres({ before, postgres }: Migration) {
  const url = await server.createDatabase()
  const stores = await openPostgresStores({ url, poolSize: 2 })
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(before)
  await client.query(read('postgres', postgres))
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
])('activity of before on %s', (_, open) => {
  it('says the same of the merchant and of each endpoint as it did', async () => {
    const { activity, close } = await open(sumsOfEndpoints)
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

  it('no longer counts as failed what may never have been sound', async () => {
    const { activity, close } = await open(refusalsApart)
    const sums = (await activity.sums(all)).map(({ state, count }) => [state, count])
    expect(sums.sort()).toEqual([
      ['failed', 1],
      ['refused', 20],
      ['settled', 2],
    ])
    await close()
  })

  it('says the same by day, of hours that are kept and of those that are gone', async () => {
    const { activity, close } = await open(daysOfHours)
    const sums = async (scope: object) =>
      (await activity.sums({ ...all, ...scope })).map((sum) => [sum.bucket, sum.count, sum.amount])
    expect(await sums({})).toEqual([
      [0, 3, 300n],
      [86_400, 4, 0n],
    ])
    expect(await sums({ merchantId: undefined })).toEqual([[0, 5, 500n]])
    expect(await activity.latencies(all, 'settle')).toEqual([{ upToMs: 50, count: 7 }])
    const payers = { unique: 2, repeat: 1, topAmount: 200n, amount: 300n }
    expect(await activity.payers(all)).toEqual(payers)
    await close()
  })
})
>>>>>>> main
