import { afterEach, expect, it, vi } from 'vitest'
import type { Job } from '../../../../src/facilitator/journal/settlement-journal.js'
import { createFacilitatorStores } from '../../../../src/facilitator/journal/sqlite/stores.js'
import { openDatabase, type SqliteDatabase } from '../../../../src/sql/sqlite/database.js'
import { createGroupCommit, type GroupCommit } from '../../../../src/sql/sqlite/group-commit.js'
import { createSql } from '../../../../src/sql/sqlite/sql.js'
import { anAttempt } from '../../../support/an-attempt.js'
import { aJob, anOutcome, network, noon } from '../../app/stores/store-contract.js'

let database: SqliteDatabase
afterEach(() => database.close())

/** A journal and its deliveries; `waited` says of each write whether it waited for the disk. */
function aJournal() {
  database = openDatabase(':memory:')
  const waited: boolean[] = []
  const writeThen =
    (isSynced: boolean): GroupCommit['write'] =>
    async (write) => {
      waited.push(isSynced)
      return database.transaction(write).immediate()
    }
  const commit: GroupCommit = {
    write: writeThen(true),
    writeUnsynced: writeThen(false),
    hold: () => () => {},
    close: async () => {},
  }
  const stores = createFacilitatorStores(database, commit, createSql(database, commit))
  return { ...stores, waited }
}

const attempt = anAttempt({ jobIds: ['job-1'] })

const outcomeOf = (changes = {}) => ({
  outcomes: [{ id: 'job-1', round: 0, outcome: anOutcome(changes) }],
  now: noon,
})

it('a signed transaction is on disk before anybody may send it', async () => {
  const { journal, waited } = aJournal()
  await journal.claim(aJob(), undefined, noon)
  expect(waited).toEqual([false])
  await journal.recordAttempt(attempt, 0)
  expect(waited).toEqual([false, true])
})

it('a failure is on disk before it is answered; a success, which the chain shows again, need not be', async () => {
  const { journal, waited } = aJournal()
  await journal.claim(aJob(), undefined, noon)
  await journal.resolve(outcomeOf({ state: 'failed', transaction: null, reason: 'x' }))
  const failed = (await journal.findJob('exact', network, aJob().key)) as Job
  await journal.reopen(failed, aJob(), noon)
  expect(waited.slice(1)).toEqual([true, true])
  const [decision] = outcomeOf().outcomes
  await journal.resolve({
    outcomes: [{ ...decision, id: 'job-1', round: 1, outcome: anOutcome() }],
    now: noon,
  })
  expect(waited.at(-1)).toBe(false)
  const lost = { id: 'job-2', round: 0, outcome: anOutcome({ state: 'failed', reason: 'x' }) }
  await journal.resolve({ outcomes: [...outcomeOf().outcomes, lost], now: noon })
  expect(waited.at(-1)).toBe(true)
})

it('a failure that was seen before another round reopens nothing', async () => {
  const { journal } = aJournal()
  await journal.claim(aJob(), undefined, noon)
  const outcome = anOutcome({ state: 'failed', transaction: null, reason: 'x' })
  const fail = (round: number) =>
    journal.resolve({ outcomes: [{ id: 'job-1', round, outcome }], now: noon })
  await fail(0)
  const first = (await journal.findJob('exact', network, aJob().key)) as Job
  expect(await journal.reopen(first, aJob(), noon)).toBeDefined()
  await fail(1)
  expect(await journal.reopen(first, aJob(), noon)).toBeUndefined()
})

it('a transaction names the payments that it carries, and no others', async () => {
  const { journal } = aJournal()
  const other = anAttempt({ hash: `0x${'2'.repeat(64)}`, relayerNonce: 6, jobIds: ['job-2'] })
  await journal.claim(aJob(), undefined, noon)
  await journal.claim(aJob({ id: 'job-2', key: 'another' }), undefined, noon)
  await journal.recordAttempt(attempt, 0)
  await journal.recordAttempt(other, 0)
  const found = await journal.findByTransaction(attempt.hash)
  expect(found.map(({ id }) => id)).toEqual(['job-1'])
})

it('a transaction whose nonce is over may land no more', async () => {
  const { journal } = aJournal()
  await journal.claim(aJob(), undefined, noon)
  await journal.recordAttempt(attempt, 0)
  expect(await journal.mayLand(network, 'job-1')).toBe(true)
  const { relayer, relayerNonce } = attempt
  await journal.resolve({
    outcomes: [],
    slot: { network, relayer, relayerNonce, epoch: 0 },
    now: noon,
  })
  expect(await journal.mayLand(network, 'job-1')).toBe(false)
})

it('gas that is booked without a success is on disk', async () => {
  const { journal, waited } = aJournal()
  const gasCharge = { network, sums: new Map([['', 9n]]) }
  await journal.resolve({ outcomes: [], gasCharge, now: noon })
  expect(waited).toEqual([true])
})

it('the right to answer with success is on disk before it is used, and the answer once it is given', async () => {
  const { journal, deliveries, waited } = aJournal()
  await journal.claim(aJob(), undefined, noon)
  await journal.resolve(outcomeOf())
  waited.length = 0
  expect(await deliveries.leaseDelivery('job-1', 'token', 5_000)).toEqual({ state: 'granted' })
  await deliveries.completeDelivery('job-1', 'token', null, noon)
  expect(waited).toEqual([true, true])
})

it('a write that comes while others need no disk is not left over', async () => {
  database = openDatabase(':memory:')
  let finish = () => {}
  const disk = {
    sync: () =>
      new Promise<void>((resolve) => {
        finish = resolve
      }),
    close() {},
  }
  const commit = createGroupCommit(database, { disk })
  const insert = database.prepare("INSERT INTO blocks VALUES ('payer', ?, '', 0)")
  let syncs = 0
  const { sync } = disk
  disk.sync = () => {
    syncs++
    return sync()
  }
  const first = commit.write(() => insert.run('first'))
  await vi.waitUntil(() => syncs === 1)
  // The disk has the first one right when another comes, beside one that does not wait for the disk.
  let second: Promise<unknown> | undefined
  const unsynced = commit.writeUnsynced(() => {
    second = commit.write(() => insert.run('second'))
    finish()
  })
  await Promise.all([first, unsynced])
  await vi.waitUntil(() => syncs === 2)
  finish()
  await second
  const closed = commit.close()
  await vi.waitUntil(() => syncs === 3)
  finish()
  await closed
})

it('the journal is closed once the disk has what was written', async () => {
  database = openDatabase(':memory:')
  const syncs: (() => void)[] = []
  let isClosed = false
  const disk = {
    sync: () => new Promise<void>((resolve) => syncs.push(resolve)),
    close() {
      isClosed = true
    },
  }
  const commit = createGroupCommit(database, { disk })
  const insert = database.prepare("INSERT INTO blocks VALUES ('payer', ?, '', 0)")
  const written = commit.write(() => insert.run('first'))
  await vi.waitUntil(() => syncs.length === 1)
  const closed = commit.close()
  await new Promise((resolve) => setTimeout(resolve, 20))
  expect([syncs.length, isClosed]).toEqual([1, false])
  syncs[0]?.()
  await written
  await vi.waitUntil(() => syncs.length === 2)
  expect(isClosed).toBe(false)
  syncs[1]?.()
  await closed
  expect(isClosed).toBe(true)
})

it('a write is answered once the disk has it, and rejects when the disk fails', async () => {
  database = openDatabase(':memory:')
  const syncs: { resolve(): void; reject(error: Error): void }[] = []
  const disk = {
    sync: () => new Promise<void>((resolve, reject) => syncs.push({ resolve, reject })),
    close() {},
  }
  const commit = createGroupCommit(database, { disk })
  const insert = database.prepare("INSERT INTO blocks VALUES ('payer', ?, '', 0)")
  let isAnswered = false
  const written = commit
    .write(() => insert.run('first'))
    .then(() => {
      isAnswered = true
    })
  await vi.waitUntil(() => syncs.length === 1, 15_000)
  expect(isAnswered).toBe(false)
  syncs.shift()?.resolve()
  await written
  const failing = commit.write(() => insert.run('second'))
  await vi.waitUntil(() => syncs.length === 1, 15_000)
  syncs.shift()?.reject(new Error('the disk is gone'))
  await expect(failing).rejects.toThrow('the disk is gone')
  const closed = commit.close()
  await vi.waitUntil(() => syncs.length === 1, 15_000)
  syncs.shift()?.resolve()
  await closed
})
