import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { StoreUnavailableError } from '../../../../src/sql/errors.js'
import { openDatabase, type PostgresDatabase } from '../../../../src/sql/postgres/database.js'
import { TransactionConflict } from '../../../../src/sql/sql.js'
import { type PostgresServer, startPostgres } from '../../../support/postgres.js'

let server: PostgresServer
let url: string
let database: PostgresDatabase
let other: PostgresDatabase

beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server?.close())
beforeEach(async () => {
  url = await server.createDatabase({ isEmpty: true })
  database = openDatabase({ url, poolSize: 2 })
  other = openDatabase({ url, poolSize: 1 })
  await database.run('CREATE TABLE numbers (id BIGINT PRIMARY KEY, text TEXT)')
})
afterEach(async () => {
  await database.close()
  await other.close()
})

const numbers = async (by: PostgresDatabase) =>
  (await by.rows<{ id: number }>('SELECT id FROM numbers ORDER BY id')).map(({ id }) => id)
const insert = 'INSERT INTO numbers (id) VALUES ($1)'

describe('a transaction', () => {
  it('that has ended is seen by every connection', async () => {
    for (let id = 1; id <= 3; id++) {
      const changes = await database.inTransaction((queries) => queries.run(insert, [id]))
      expect(changes).toBe(1)
      expect(await numbers(other)).toHaveLength(id)
    }
  })

  it('leaves nothing where its work fails, and its connection goes on', async () => {
    for (const id of [1, 2, 3]) {
      const failing = database.inTransaction(async (queries) => {
        await queries.run(insert, [id])
        throw new Error('changed its mind')
      })
      await expect(failing).rejects.toThrow('changed its mind')
    }
    expect(await numbers(database)).toEqual([])
    await database.inTransaction((queries) => queries.run(insert, [4]))
    expect(await numbers(other)).toEqual([4])
  })

  it('fails with its commit', async () => {
    const deferred = 'REFERENCES numbers (id) DEFERRABLE INITIALLY DEFERRED'
    await database.run(`CREATE TABLE links (id BIGINT ${deferred})`)
    const link = 'INSERT INTO links (id) VALUES (7)'
    await expect(database.inTransaction((queries) => queries.run(link))).rejects.toThrow(
      /foreign key/,
    )
    expect(await other.rows('SELECT id FROM links')).toEqual([])
  })

  it('that conflicts with others runs six times at most', async () => {
    let runs = 0
    const conflicting = database.inTransaction(async (queries) => {
      await queries.run(insert, [++runs])
      throw new TransactionConflict()
    })
    await expect(conflicting).rejects.toThrow(TransactionConflict)
    expect([runs, await numbers(other)]).toEqual([6, []])
    const lucky = database.inTransaction(async (queries) => {
      if (++runs < 9) throw new TransactionConflict()
      return queries.run(insert, [runs])
    })
    await lucky
    expect(await numbers(other)).toEqual([9])
  })
})

it('a session has its bounds from the start', async () => {
  const names = [
    'statement_timeout',
    'lock_timeout',
    'idle_in_transaction_session_timeout',
    'tcp_user_timeout',
  ]
  const shown = names.map((name) => `current_setting('${name}') AS ${name}`)
  expect(await database.rows(`SELECT ${shown}`)).toEqual([
    {
      statement_timeout: '10s',
      lock_timeout: '4s',
      idle_in_transaction_session_timeout: '3s',
      tcp_user_timeout: '20000',
    },
  ])
  expect(database.isPooled()).toBe(false)
})

it('whole numbers are numbers, and no text has the character that PostgreSQL has not', async () => {
  await database.run('INSERT INTO numbers VALUES ($1, $2)', [2 ** 53 - 1, 'a\0b'])
  expect(await database.rows('SELECT * FROM numbers')).toEqual([
    { id: 2 ** 53 - 1, text: 'a\ufffdb' },
  ])
  expect(await database.rows('SELECT id FROM numbers WHERE text = ANY($1)', [['a\0b']])).toEqual([
    { id: 2 ** 53 - 1 },
  ])
})

it('a statement is repeated while the server is away, and one that must not happen twice is not', async () => {
  const start = await server.takeDown()
  const once = database.once.run(insert, [1])
  await expect(once).rejects.toThrow(StoreUnavailableError)
  const patient = openDatabase({ url, poolSize: 1, patienceMs: 60_000 })
  const repeated = patient.run(insert, [2])
  await start()
  expect(await repeated).toBe(1)
  expect(await numbers(patient)).toEqual([2])
  await patient.close()
})
