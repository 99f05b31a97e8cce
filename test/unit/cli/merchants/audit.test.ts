import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { openSqliteStores } from '../../../../src/app/stores/sqlite.js'
import { merchantCommands } from '../../../../src/cli/merchants/commands.js'
import { readSubcommand } from '../../../../src/cli/merchants/subcommands.js'
import { buyback, list, openStores } from '../../../support/operator-stores.js'
import { arcus } from '../../../support/scripts.js'

const payer = '0x00000000000000000000000000000000000000aa'

describe('arcus merchants', () => {
  let folder: string
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'arcus-audit-'))
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  /** Runs a command in a folder that has nothing but `.env`. */
  async function run(...args: string[]) {
    const { PATH } = process.env
    const options = { cwd: folder, env: { PATH, ARCUS_OPERATOR: 'alice' } }
    try {
      const { stdout } = await promisify(execFile)(
        process.execPath,
        arcus('merchants', ...args),
        options,
      )
      return { code: 0, text: stdout }
    } catch (error) {
      const { code, stderr } = error as { code: number; stderr: string }
      return { code, text: stderr }
    }
  }

  it('read .env, make no database, and show who blocked whom', async () => {
    const database = join(folder, 'arcus.db')
    const lines = ['MAINNET_RPC_URLS=http://127.0.0.1:1', `DATABASE_URL=sqlite:${database}`]
    writeFileSync(join(folder, '.env'), lines.join('\n'))
    const early = await run('blocks')
    expect(early).toMatchObject({ code: 1, text: expect.stringContaining('There is no database') })
    expect(existsSync(database)).toBe(false)
    await openSqliteStores(database).close()

    await run('block', 'payer', payer, '--reason', 'stolen cards')
    expect((await run('blocks')).text).toBe(`payer ${payer} stolen cards\n1 blocked\n`)
    await run('unblock', 'payer', payer)
    const { text } = await run('log')
    const [first = '', second = ''] = text.trim().split('\n')
    const time = /^\d{4}-\d\d-\d\dT[\d:.]+Z {2}/
    expect(first).toMatch(time)
    expect(first.replace(time, '')).toBe(`alice  block  payer ${payer}  stolen cards`)
    expect(second.replace(time, '')).toBe(`alice  unblock  payer ${payer}`)
    const newest = await run('log', '--limit', '1', '--json')
    expect(JSON.parse(newest.text)).toMatchObject({ actor: 'alice', action: 'unblock' })
    expect((await run('log', '--limit', '0')).code).toBe(2)
  })
})

describe('the decisions of arcus merchants', () => {
  let stores: ReturnType<typeof openStores>
  beforeEach(async () => {
    stores = openStores()
    await list(stores.listings, 'weather', { paidTo: buyback })
    return () => stores.close()
  })

  const run = (...args: string[]) => {
    const command = readSubcommand(merchantCommands, args)
    if (command === 'help') throw new Error('no help was asked for')
    return command(stores, async () => {})
  }

  it('are each in the audit trail, and questions are not', async () => {
    const [endpoint] = await stores.listings.endpointsOf('weather')
    await run('official', 'weather', 'on')
    await run('partner', 'weather', 'off')
    await run('hosted', 'weather', endpoint?.url ?? '', 'on')
    await run('hide', 'weather', '--reason', 'asks for more')
    await run('unhide', 'weather')
    await run('block', 'payTo', payer, '--reason', 'fraud')
    await run('list')
    await run('show', 'weather')
    const trail = await stores.audit.list(99)
    expect(trail.map(({ action, subject, details }) => [action, subject, details])).toEqual([
      ['official', 'weather', 'on'],
      ['partner', 'weather', 'off'],
      ['hosted', 'weather', `${endpoint?.method} ${endpoint?.url} on`],
      ['hide', 'weather', 'asks for more'],
      ['unhide', 'weather', ''],
      ['block', `payTo ${payer}`, 'fraud'],
    ])
    expect(trail.every(({ at, actor }) => at === 2_000_000 && actor.includes('@'))).toBe(true)
  })

  it('are not carried out where they cannot be recorded', async () => {
    stores.audit.append = () => Promise.reject(new Error('the disk is full'))
    await expect(run('block', 'payer', payer)).rejects.toThrow('the disk is full')
    expect(await stores.blocks.listBlocks()).toEqual([])
  })
})
