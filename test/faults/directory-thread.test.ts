import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { afterEach, expect, it } from 'vitest'
import { pause } from './support/behaviours.js'
import { somePayments } from './support/payments.js'
import { startLoad } from './support/replicas.js'
import { expectAllSettledAndTrue, startWorld, until, type World } from './support/world.js'

/** The pause before each start is twice as long as the one before. */
const KILLS = 5
const LOAD_EVERY_MS = 20
/** A merchant asks again for so long. No settle may need it. */
const PATIENCE_MS = 30_000
/** Beyond this a payment waited for the thread, and not for a block. */
const SETTLE_MS = 8_000

let world: World
let folder: string | undefined

afterEach(async () => {
  await world?.close()
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true })
})

async function startWithThread(): Promise<void> {
  folder = mkdtempSync(join(tmpdir(), 'arcus-thread-'))
  const preload = new URL('../support/ending-directory.mjs', import.meta.url)
  world = await startWorld({
    relayers: 2,
    env: { NODE_OPTIONS: `--import ${preload}`, DIRECTORY_FAULTS: folder },
  })
}

/** An answer that the end of the thread breaks off is no answer. */
const isUp = () =>
  fetch(`${world.service().url}/discovery/resources`).then(
    ({ status }) => status === 200,
    () => false,
  )

/** Each payment on chain is on record once, and nothing else is. */
async function expectEachRecordedOnce(total: number): Promise<void> {
  const database = new Sqlite(world.databasePath, { readonly: true })
  try {
    const read = (sql: string) => database.prepare(sql).pluck().get() as number
    await until('everything is taken in', () => read('SELECT count(*) FROM outbox') === 0)
    const settled = "FROM activity WHERE state = 'settled'"
    await until('everything is on record', () => read(`SELECT count(*) ${settled}`) >= total)
    expect(read(`SELECT count(*) ${settled}`)).toBe(total)
    expect(read(`SELECT count(DISTINCT settlement_id) ${settled}`)).toBe(total)
    expect(
      read("SELECT sum(count) FROM activity_sums WHERE merchant_id = '' AND state = 'settled'"),
    ).toBe(total)
  } finally {
    database.close()
  }
}

it('the thread of the directory, that is ended again and again, costs no payment and no figure', async () => {
  await startWithThread()
  const load = startLoad(world.client, LOAD_EVERY_MS, PATIENCE_MS)
  for (let kill = 1; kill <= KILLS; kill++) {
    await until('the directory answers', isUp, 90_000)
    // Between any two of its steps.
    await pause(200 + Math.random() * 600)
    world.service().signal('SIGUSR2')
    await until('the directory is away', async () => !(await isUp()))
    expect((await fetch(`${world.service().url}/ready`)).status).toBe(200)
  }
  await load.end()
  expect(load.worstMs()).toBeLessThan(SETTLE_MS)
  await expectAllSettledAndTrue(world, load.payments)
  await until('the directory answers', isUp, 90_000)
  await expectEachRecordedOnce(load.payments.length)
})

it('a process that dies while the thread is away hands everything over after its next start', async () => {
  await startWithThread()
  await until('the directory answers', isUp, 90_000)
  world.service().signal('SIGUSR2')
  const payments = await somePayments(30)
  await world.client.settleAll(payments)
  // What was answered is written within this time.
  await pause(500)
  await world.service().crash()
  await world.restart()
  await expectAllSettledAndTrue(world, payments)
  await until('the directory answers', isUp, 90_000)
  await expectEachRecordedOnce(payments.length)
})
