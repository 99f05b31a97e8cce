import { existsSync, mkdtempSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { copyToPostgres } from '../../../src/store/copy/copy-to-postgres.js'
import { backUp, restore } from '../../../src/store/copy/snapshot.js'
import { CopyError } from '../../../src/store/errors.js'
import { laneLease } from '../../../src/store/leases.js'
import { openPostgresStores } from '../../../src/store/postgres/stores.js'
import { openSqliteStores } from '../../../src/store/sqlite/stores.js'
import type { Stores } from '../../../src/store/stores.js'
import { anActivity } from '../../support/an-activity.js'
import { type PostgresServer, startPostgres } from '../../support/postgres.js'
import { anEndpoint, asset, owner } from '../directory/listed-merchants.js'
import { aJob, anOutcome, network, noon } from './store-contract.js'

const relayer = '0x00000000000000000000000000000000000000f1'
const folder = mkdtempSync(join(tmpdir(), 'arcus-copy-test-'))
let made = 0
let path: string
let live: ReturnType<typeof openSqliteStores>

beforeEach(async () => {
  path = join(folder, `${++made}`, 'arcus.db')
  live = openSqliteStores(path)
  await fill(live)
  return () => live.close().catch(() => {})
})
afterAll(() => rmSync(folder, { recursive: true }))

/** Something in nearly every table. */
async function fill(stores: Stores): Promise<void> {
  const { journal, deliveries, blocks, listings, activity } = stores
  await stores.hostedRecords.change('refund', 'r', () => '{}')
  for (const id of ['paid', 'queued', 'submitted']) {
    await journal.claim(aJob({ id }), `idempotency key of ${id}`, noon)
  }
  const spending = { network, total: 123_456_789_012_345_678_901n, burnt: [] }
  const outcomes = [{ id: 'paid', round: 0, outcome: anOutcome() }]
  await journal.resolve({ outcomes, spending, now: noon })
  await deliveries.leaseDelivery('paid', 'token', 1_000)
  await deliveries.completeDelivery('paid', 'token', 'a key', noon)
  const attempt = {
    hash: `0x${'1'.repeat(64)}`,
    network,
    relayer,
    relayerNonce: 7,
    rawTransaction: '0x02f8',
    gasLimit: 200_000n,
    maxFeePerGas: 1n,
    maxPriorityFeePerGas: 1n,
    createdAt: noon,
    jobIds: ['submitted'],
  } as const
  const bearer = { name: 'p', amount: 2n ** 70n, limit: 2n ** 71n, isStrict: true }
  await journal.recordAttempt({ ...attempt, jobIds: ['submitted'] }, 0, [bearer])
  await blocks.addBlock({ role: 'payer', address: relayer, reason: 'fräud 💸', createdAt: noon })
  const merchant = { name: 'Wetter\n„heute“', description: '', network, asset, payTo: owner }
  await listings.applyWrite(
    {
      merchantId: 'weather',
      revision: 1,
      owner,
      nonce: `0x${'5'.repeat(64)}`,
      action: 'listing.create',
      message: '{}',
      body: '{}',
      signature: '0x',
      acceptedAt: 1_000,
    },
    { kind: 'save', merchant, endpoints: [anEndpoint(), anEndpoint({ url: 'https://b.example' })] },
  )
  await activity.append([
    anActivity(),
    anActivity({ amount: 10n ** 30n, resource: null, settlementId: 'paid' }),
  ])
}

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
    expect(empty).toEqual(['probes'])

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

describe('a backup', () => {
  it('of a database in use is whole, and opens as the service left it', async () => {
    const file = join(folder, 'backups', `${made}.db`)
    await live.journal.claim(aJob({ id: 'just now' }), undefined, noon)
    expect(await backUp(path, file)).toMatchObject({ payments: 4, merchants: 1 })
    // Signatures and sessions are in it.
    expect(statSync(file).mode & 0o777).toBe(0o600)
    await live.journal.claim(aJob({ id: 'later' }), undefined, noon)
    await expect(backUp(path, file)).rejects.toThrow(/exists already/)

    // The drill: the machine is lost, the backup is put in its place.
    await expect(restore(file, path)).rejects.toThrow(/exists already: stop the service/)
    const elsewhere = join(folder, 'new machine', `${made}`, 'arcus.db')
    expect(await restore(file, elsewhere)).toMatchObject({ payments: 4 })
    const restored = openSqliteStores(elsewhere)
    const key = (id: string) => aJob({ id }).key
    expect(await restored.journal.findJob('exact', network, key('just now'))).toBeDefined()
    expect(await restored.journal.findJob('exact', network, key('later'))).toBeUndefined()
    expect(await restored.listings.scanEntries(0, 9)).toEqual(await live.listings.scanEntries(0, 9))
    await restored.journal.claim(aJob({ id: 'after' }), undefined, noon)
    await restored.close()
  })

  it('is not restored when it is damaged, cut off, or something else', async () => {
    const file = join(folder, `${made}.bak`)
    const target = join(folder, `${made}.restored`)
    await backUp(path, file)
    truncateSync(file, 20_000)
    await expect(restore(file, target)).rejects.toThrow(/damaged|not a whole SQLite/)
    writeFileSync(file, 'hello')
    await expect(restore(file, target)).rejects.toThrow(/not a whole SQLite database/)
    rmSync(file)
    new Sqlite(file).exec('CREATE TABLE notes (text TEXT)').close()
    await expect(restore(file, target)).rejects.toThrow(/not a database of Arcus/)
    await expect(restore(`${file}.no`, target)).rejects.toThrow(/There is no backup/)
    // Half of a database in use is in the log beside it.
    await expect(restore(path, target)).rejects.toThrow(/in use/)
  })

  it('is neither made nor restored where it cannot be, and leaves nothing there', async () => {
    const file = join(folder, `${made}.bak`)
    const noDatabase = join(folder, `${made}.txt`)
    writeFileSync(noDatabase, 'hello '.repeat(1_000))
    await expect(backUp(noDatabase, file)).rejects.toThrow(/not a database/)
    expect(existsSync(`${file}.partial`)).toBe(false)

    await backUp(path, file)
    const inMemory = new CopyError(
      'sqlite::memory: ends with its process: name the file to restore to.',
    )
    await expect(restore(file, ':memory:')).rejects.toThrow(inMemory)
    await expect(restore(folder, `${file}.restored`)).rejects.toThrow(/is not a file/)
    // Node's own recursive mkdir would never come back from here.
    await expect(backUp(path, '/proc/nowhere/backup.db')).rejects.toThrow(/ENOENT/)
    await expect(restore(file, '/proc/nowhere/arcus.db')).rejects.toThrow(/ENOENT/)
  })
})
