import { existsSync, mkdtempSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { openSqliteStores } from '../../../../src/app/stores/sqlite.js'
import { backUp, restore } from '../../../../src/cli/copy/snapshot.js'
import { CopyError } from '../../../../src/sql/errors.js'
import { fillStores } from '../../app/stores/filled-stores.js'
import { aJob, network, noon } from '../../app/stores/store-contract.js'

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
    await expect(restore(file, path, 'alice')).rejects.toThrow(/exists already: stop the service/)
    const elsewhere = join(folder, 'new machine', `${made}`, 'arcus.db')
    expect(await restore(file, elsewhere, 'alice')).toMatchObject({ payments: 4 })
    const restored = openSqliteStores(elsewhere)
    const key = (id: string) => aJob({ id }).key
    expect(await restored.journal.findJob('exact', network, key('just now'))).toBeDefined()
    expect(await restored.journal.findJob('exact', network, key('later'))).toBeUndefined()
    expect(await restored.listings.scanEntries(0, 9)).toEqual(await live.listings.scanEntries(0, 9))
    const trail = await restored.audit.list(9)
    expect(trail.at(-1)).toMatchObject({ actor: 'alice', action: 'restore', subject: file })
    await restored.journal.claim(aJob({ id: 'after' }), undefined, noon)
    await restored.close()
  })

  it('is not restored when it is damaged, cut off, or something else', async () => {
    const file = join(folder, `${made}.bak`)
    const target = join(folder, `${made}.restored`)
    await backUp(path, file)
    truncateSync(file, 20_000)
    await expect(restore(file, target, 'alice')).rejects.toThrow(/damaged|not a whole SQLite/)
    writeFileSync(file, 'hello')
    await expect(restore(file, target, 'alice')).rejects.toThrow(/not a whole SQLite database/)
    rmSync(file)
    new Sqlite(file).exec('CREATE TABLE notes (text TEXT)').close()
    await expect(restore(file, target, 'alice')).rejects.toThrow(/not a database of Arcus/)
    await expect(restore(`${file}.no`, target, 'alice')).rejects.toThrow(/There is no backup/)
    // Half of a database in use is in the log beside it.
    await expect(restore(path, target, 'alice')).rejects.toThrow(/in use/)
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
    await expect(restore(file, ':memory:', 'alice')).rejects.toThrow(inMemory)
    await expect(restore(folder, `${file}.restored`, 'alice')).rejects.toThrow(/is not a file/)
    // Node's own recursive mkdir would never come back from here.
    await expect(backUp(path, '/proc/nowhere/backup.db')).rejects.toThrow(/ENOENT/)
    await expect(restore(file, '/proc/nowhere/arcus.db', 'alice')).rejects.toThrow(/ENOENT/)
  })
})
