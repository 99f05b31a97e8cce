import { statSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { openSqliteStores } from '../../../../src/app/stores/sqlite.js'
import { MigrationError, StoreUnavailableError } from '../../../../src/sql/errors.js'
import { openDatabase } from '../../../../src/sql/sqlite/database.js'
import { createGroupCommit } from '../../../../src/sql/sqlite/group-commit.js'
import { describeActivity } from '../../directory/store/activity-contract.js'
import { describeChecks } from '../../directory/store/checks-contract.js'
import { describeEvents } from '../../directory/store/events-contract.js'
import { describeListings } from '../../directory/store/listings-contract.js'
import { describeUsage } from '../../directory/store/usage-contract.js'
import { describeShrinking } from '../../facilitator/journal/shrinking-contract.js'
import { aFile, openEngine } from './a-sqlite-engine.js'
import { aJob, anOutcome, describeStore, noon } from './store-contract.js'

describeStore('SQLite', () => openEngine())
describeListings('SQLite', () => openEngine())
describeEvents('SQLite', () => openEngine())
describeChecks('SQLite', () => openEngine())
describeUsage('SQLite', () => openEngine())
describeActivity('SQLite', () => openEngine())
describeShrinking('SQLite', () => openEngine())

describe('a SQLite file', () => {
  it('refuses to change or remove an entry of the audit trail', async () => {
    const stores = openSqliteStores(aFile())
    const entry = { at: 1, actor: 'alice@host', action: 'hide', subject: 'shop', details: '' }
    await stores.audit.append(entry)
    for (const statement of ["UPDATE audit SET actor = 'bob'", 'DELETE FROM audit']) {
      expect(() => stores.database.exec(statement)).toThrow('the audit trail is append-only')
    }
    expect(await stores.audit.list(9)).toEqual([entry])
    await stores.close()
  })

  it('is kept by a write-ahead log and holds its rows to their references', () => {
    const database = openDatabase(aFile())
    expect(database.pragma('journal_mode', { simple: true })).toBe('wal')
    expect(database.pragma('foreign_keys', { simple: true })).toBe(1)
    database.close()
  })

  it('is made for its owner alone, with the log beside it', () => {
    const path = aFile()
    const database = openDatabase(path)
    const modes = ['', '-wal', '-shm'].map((end) => statSync(path + end).mode & 0o777)
    expect(modes).toEqual([0o600, 0o600, 0o600])
    database.close()
  })

  it('of a newer version of Arcus is refused in words', () => {
    const path = aFile()
    const database = openDatabase(path)
    database.pragma('user_version = 999')
    database.close()
    expect(() => openDatabase(path)).toThrow(MigrationError)
    expect(() => openDatabase(path)).toThrow(/schema version 999.*start the newer version/)
  })

  it('that cannot be written to is said to be so', async () => {
    const stores = openSqliteStores(aFile())
    stores.database.pragma('query_only = ON')
    expect(await stores.journal.isWritable()).toBe(false)
    for (const key of [undefined, 'a-key-of-sixteen']) {
      await expect(stores.journal.claim(aJob(), key, noon)).rejects.toThrow('readonly')
    }
    const { releaseDelivery, dropLeases, completeDelivery } = stores.deliveries
    await expect(releaseDelivery('job-1', 'token')).rejects.toThrow('readonly')
    await expect(dropLeases()).rejects.toThrow('readonly')
    await expect(completeDelivery('job-1', 'token', null, noon)).rejects.toThrow('readonly')
    stores.database.pragma('query_only = OFF')
    expect(await stores.journal.isWritable()).toBe(true)
    await stores.close()
  })
})

/** As another process would; gives how to let it go. */
function lock(path: string): () => void {
  const other = openDatabase(path)
  other.exec('BEGIN IMMEDIATE')
  return () => {
    other.exec('ROLLBACK')
    other.close()
  }
}

describe('the group commit', () => {
  const open = () => openSqliteStores(aFile())
  const count = ({ database }: ReturnType<typeof open>) =>
    (database.prepare('SELECT count(*) AS n FROM blocks').get() as { n: number }).n
  const insert =
    ({ database }: ReturnType<typeof open>, reason: string) =>
    () =>
      database
        .prepare(`INSERT INTO blocks VALUES ('payer', ?, ?, 0)`)
        .run(Math.random().toString(), reason)

  it('puts all writes of one turn into one commit', async () => {
    const stores = open()
    const inTransaction: boolean[] = []
    const writes = ['a', 'b', 'c'].map((reason) =>
      stores.commit.write(() => {
        insert(stores, reason)()
        inTransaction.push(stores.database.inTransaction)
        return count(stores)
      }),
    )
    expect(count(stores)).toBe(0)
    expect(await Promise.all(writes)).toEqual([1, 2, 3])
    expect(inTransaction).toEqual([true, true, true])
    await stores.close()
  })

  it('lets a write that waits for no disk go while others wait, in the order they came', async () => {
    const stores = open()
    const told: string[] = []
    const tell = (name: string) => () => void told.push(name)
    const first = stores.commit.write(insert(stores, 'on disk')).then(tell('on disk'))
    const early = stores.commit.writeUnsynced(insert(stores, 'early')).then(tell('early'))
    await early
    expect(told).toEqual(['early'])
    expect(count(stores)).toBe(2)
    const second = stores.commit.write(insert(stores, 'later')).then(tell('later'))
    const third = stores.commit.writeUnsynced(insert(stores, 'early too')).then(tell('early too'))
    await Promise.all([first, second, third])
    expect(told.indexOf('on disk')).toBeLessThan(told.indexOf('later'))
    expect(told).toHaveLength(4)
    expect(count(stores)).toBe(4)
    await stores.close()
  })

  it('commits all that waits before it is closed', async () => {
    const path = aFile()
    const stores = openSqliteStores(path)
    const written = [
      stores.commit.writeUnsynced(insert(stores, 'early')),
      stores.commit.write(insert(stores, 'on disk')),
    ]
    await stores.close()
    await Promise.all(written)
    const other = openSqliteStores(path)
    expect(count(other)).toBe(2)
    await other.close()
  })

  it('rolls back alone the write that throws', async () => {
    const stores = open()
    const results = await Promise.allSettled([
      stores.commit.write(insert(stores, 'before')),
      stores.commit.write(() => {
        insert(stores, 'half')()
        throw new Error('changed its mind')
      }),
      stores.commit.write(insert(stores, 'after')),
    ])
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    const reasons = stores.database.prepare('SELECT reason FROM blocks ORDER BY reason').pluck()
    expect(reasons.all()).toEqual(['after', 'before'])
    await stores.close()
  })

  it('rejects every write of a commit that fails, keeps none, and goes on', async () => {
    const stores = open()
    const results = await Promise.allSettled([
      stores.commit.write(insert(stores, 'lost')),
      stores.commit.write(() => {
        // Found out only at the commit.
        stores.database.pragma('defer_foreign_keys = ON')
        stores.database.prepare(`INSERT INTO attempt_jobs VALUES ('0x', 0, 'nobody')`).run()
      }),
    ])
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    expect(count(stores)).toBe(0)
    await stores.commit.write(insert(stores, 'kept'))
    expect(count(stores)).toBe(1)
    await stores.close()
  })

  it('tells on a full disk of no write that was not kept', async () => {
    const stores = open()
    const pages = Number(stores.database.pragma('page_count', { simple: true }))
    stores.database.pragma(`max_page_count = ${pages + 2}`)
    const results = await Promise.allSettled([
      stores.commit.write(insert(stores, 'small')),
      stores.commit.write(insert(stores, 'x'.repeat(1_000_000))),
      stores.commit.write(insert(stores, 'small as well')),
    ])
    const told = results.filter(({ status }) => status === 'fulfilled').length
    expect(results[1].status).toBe('rejected')
    expect(count(stores)).toBe(told)
    stores.database.pragma('max_page_count = 1000000')
    await stores.commit.write(insert(stores, 'kept'))
    expect(count(stores)).toBe(told + 1)
    await stores.close()
  })

  it('waits beside the event loop while another process has the file locked', async () => {
    const path = aFile()
    const stores = openSqliteStores(path)
    const unlock = lock(path)
    const early = stores.commit.writeUnsynced(insert(stores, 'early'))
    const written = stores.commit.write(insert(stores, 'on disk'))
    // Only a loop that goes on can ever take the lock away.
    setTimeout(unlock, 100)
    await Promise.all([early, written])
    expect(count(stores)).toBe(2)
    await stores.close()
  })

  it('says that the database is away when it stays locked, and goes on when it is free', async () => {
    const path = aFile()
    const database = openDatabase(path)
    const commit = createGroupCommit(database, { busyPatienceMs: 50 })
    const insertBlock = database.prepare(`INSERT INTO blocks VALUES ('payer', ?, '', 0)`)
    const unlock = lock(path)
    const first = commit.write(() => insertBlock.run('first'))
    await expect(first).rejects.toThrow(StoreUnavailableError)
    const second = commit.write(() => insertBlock.run('second'))
    unlock()
    expect((await second).changes).toBe(1)
    expect(database.prepare('SELECT address FROM blocks').pluck().all()).toEqual(['second'])
    await commit.close()
    database.close()
  })

  it('keeps a claim and its outcome for another connection once their promises resolved', async () => {
    const path = aFile()
    const stores = openSqliteStores(path)
    await stores.journal.claim(aJob(), undefined, noon)
    const outcomes = [{ id: 'job-1', round: 0, outcome: anOutcome() }]
    await stores.journal.resolve({ outcomes, now: noon })
    const other = openSqliteStores(path)
    expect((await other.journal.findJob('exact', 'eip155:5042', 'key of job-1'))?.state).toBe(
      'confirmed',
    )
    await other.close()
    await stores.close()
  })
  it('makes no failure of a success that it could not write', async () => {
    const stores = openSqliteStores(aFile())
    await stores.journal.claim(aJob(), undefined, noon)
    for (const change of ['UPDATE', 'INSERT']) {
      stores.database.exec(
        `CREATE TRIGGER refuse_${change} BEFORE ${change} ON jobs WHEN NEW.state = 'confirmed'
         BEGIN SELECT RAISE(ABORT, 'the disk refuses'); END`,
      )
    }
    const outcomes = [{ id: 'job-1', round: 0, outcome: anOutcome() }]
    await expect(stores.journal.resolve({ outcomes, now: noon })).rejects.toThrow('the disk')
    const found = await stores.journal.findJob('exact', 'eip155:5042', 'key of job-1')
    expect(found?.state).toBe('queued')
    const other = aJob({ id: 'job-2' })
    const recorded = stores.journal.recordFound(other, undefined, anOutcome(), noon)
    await expect(recorded).rejects.toThrow('the disk')
    expect(await stores.journal.findJob('exact', 'eip155:5042', other.key)).toBeUndefined()
    await stores.close()
  })
})
