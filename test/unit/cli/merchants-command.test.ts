import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createListingStore } from '../../../src/directory/store/sql/listings.js'
import { openDatabase } from '../../../src/sql/sqlite/database.js'
import { createGroupCommit } from '../../../src/sql/sqlite/group-commit.js'
import { createSql } from '../../../src/sql/sqlite/sql.js'
import { arcus } from '../../support/scripts.js'
import { list, settings } from './operator-stores.js'

const folder = mkdtempSync(join(tmpdir(), 'merchants-'))
const path = join(folder, 'arcus.db')
/** The database stays open throughout, like that of a service. */
let service: ReturnType<typeof open>

function open() {
  const database = openDatabase(path)
  const commit = createGroupCommit(database)
  return {
    database,
    commit,
    store: createListingStore(createSql(database, commit)),
  }
}

beforeAll(async () => {
  service = open()
  await list(service.store, 'weather')
})

afterAll(async () => {
  await service.commit.close()
  service.database.close()
  rmSync(folder, { recursive: true })
})

async function run(args: string[], env: NodeJS.ProcessEnv = {}) {
  const child = spawn(process.execPath, arcus('merchants', ...args), {
    env: { ...process.env, BASE_URL: '', ...settings, DATABASE_URL: `sqlite:${path}`, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const text = { stdout: '', stderr: '' }
  child.stdout.on('data', (chunk) => {
    text.stdout += chunk
  })
  child.stderr.on('data', (chunk) => {
    text.stderr += chunk
  })
  const [code] = await once(child, 'close')
  return { code, ...text }
}

describe('arcus merchants', () => {
  it('explains itself', async () => {
    const { code, stdout } = await run(['--help'])
    expect(code).toBe(0)
    for (const word of ['list', 'official ID on|off', 'hosted ID URL']) {
      expect(stdout).toContain(word)
    }
  })

  it('changes the database of a running service', async () => {
    const before = await service.store.lastChange()
    const { code, stdout, stderr } = await run(['hide', 'weather', '--reason', 'Sells nothing'])
    expect({ code, stdout, stderr }).toEqual({
      code: 0,
      stdout: 'weather is hidden: Sells nothing\n',
      stderr: '',
    })
    expect(await service.store.changesAfter(before, 10)).toMatchObject([{ merchantId: 'weather' }])
    expect(await service.store.publishedIds(0, 10)).toEqual([])
    expect((await run(['unhide', 'weather'])).code).toBe(0)
    expect(await service.store.publishedIds(0, 10)).toHaveLength(1)
  })

  it('ends with 2 when it is not understood and 1 when it cannot be done, in one sentence', async () => {
    expect(await run(['lost'])).toEqual({
      code: 2,
      stdout: '',
      stderr: 'There is no command "lost"; try --help.\n',
    })
    expect(await run(['show', 'nobody'])).toEqual({
      code: 1,
      stdout: '',
      stderr: 'There is no merchant "nobody"; the command list shows the existing ones.\n',
    })
  })

  it('makes no new database, and refuses a file of another kind', async () => {
    const missing = join(folder, 'missing.db')
    const ended = await run(['list'], { DATABASE_URL: `sqlite:${missing}` })
    expect(ended.code).toBe(1)
    expect(ended.stderr).toMatch(/^There is no database at .*missing\.db: start the service once/)
    expect(existsSync(missing)).toBe(false)
    const text = join(folder, 'text.db')
    writeFileSync(text, 'no database'.repeat(100))
    expect((await run(['list'], { DATABASE_URL: `sqlite:${text}` })).stderr).toMatch(
      /^The database cannot be used: [^\n]+\n$/,
    )
  })
})
