import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getAddress } from 'viem'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { UsageError } from '../../../../src/cli/command-line.js'
import {
  hide,
  listMerchants,
  markHosted,
  markOfficial,
  markPartner,
  merchantCommands,
  showMerchant,
  unhide,
} from '../../../../src/cli/merchants/commands.js'
import type { OperatorStores } from '../../../../src/cli/merchants/operator-stores.js'
import { readSubcommand } from '../../../../src/cli/merchants/subcommands.js'
import { anEndpoint, openListings, payTo } from '../../../support/directory/listed-merchants.js'
import { buyback, enter, list, openStores, settings } from '../../../support/operator-stores.js'
import { arcus } from '../../../support/scripts.js'

let stores: OperatorStores

beforeEach(() => {
  stores = openStores()
})

afterEach(async () => {
  await stores.close()
})

const url = anEndpoint().url
const merchant = (id = 'weather') => stores.listings.findMerchant(id)
const theEndpoint = async (id = 'weather') => (await stores.listings.endpointsOf(id))[0]
const linesOf = async () => {
  const lines: string[] = []
  for await (const line of listMerchants(stores)) lines.push(line)
  return lines
}

describe('marks', () => {
  it('make official only a merchant that is paid at BUYBACK_ADDRESS, in any spelling', async () => {
    await list(stores.listings, 'weather')
    await list(stores.listings, 'own', { paidTo: buyback })
    await expect(markOfficial(stores, 'weather', true)).rejects.toThrow(
      `weather cannot be official: its payTo is ${payTo}, and BUYBACK_ADDRESS is ${buyback}.`,
    )
    expect((await merchant())?.isOfficial).toBe(false)
    expect(await markOfficial(stores, 'own', true)).toBe('own is official')
    expect((await merchant('own'))?.isOfficial).toBe(true)
    expect(await markOfficial(stores, 'own', false)).toBe('own is not official')
    expect((await merchant('own'))?.isOfficial).toBe(false)
  })

  it('make nobody official while BUYBACK_ADDRESS is unset', async () => {
    const without = openStores({ ...settings, BUYBACK_ADDRESS: '' })
    await list(without.listings, 'own', { paidTo: buyback })
    await expect(markOfficial(without, 'own', true)).rejects.toThrow(/BUYBACK_ADDRESS is not set/)
    expect(await markOfficial(without, 'own', false)).toBe('own is not official')
    await without.close()
  })

  it('make a partner, and show in list and show', async () => {
    await list(stores.listings, 'weather')
    await markPartner(stores, 'weather', true)
    expect(await linesOf()).toEqual([
      'weather  1 endpoint  partner  Merchant weather',
      '1 merchant',
    ])
    expect(await showMerchant(stores, 'weather')).toMatch(/marks +partner/)
    await markPartner(stores, 'weather', false)
    expect(await linesOf()).toEqual(['weather  1 endpoint  Merchant weather', '1 merchant'])
  })

  it('show found merchants as unclaimed, and entries of the operator as the operator’s', async () => {
    await enter(stores.listings, 'entered')
    await enter(stores.listings, `payto-${payTo}`)
    expect(await linesOf()).toEqual([
      'entered  1 endpoint  partner  entered',
      `payto-${payTo}  1 endpoint  unclaimed  partner  payto-${payTo}`,
      '2 merchants',
    ])
    expect(await showMerchant(stores, 'entered')).toMatch(/owner +the operator/)
    expect(await showMerchant(stores, `payto-${payTo}`)).toMatch(/owner +nobody yet/)
  })

  it('hide with a public reason, and record a change for a running service', async () => {
    await list(stores.listings, 'weather')
    const before = await stores.listings.lastChange()
    expect(await hide(stores, 'weather', '  Sells nothing ')).toBe(
      'weather is hidden: Sells nothing',
    )
    expect(await stores.listings.publishedIds(0, 10)).toEqual([])
    expect(await stores.listings.changesAfter(before, 10)).toMatchObject([
      { merchantId: 'weather' },
    ])
    expect(await linesOf()).toContain(
      'weather  1 endpoint  hidden: "Sells nothing"  Merchant weather',
    )
    expect(await unhide(stores, 'weather')).toBe('weather is listed again')
    expect(await unhide(stores, 'weather')).toBe('weather was not hidden')
    expect(await stores.listings.publishedIds(0, 10)).toHaveLength(1)
  })

  it.each([
    [undefined, /--reason/],
    [' ', /--reason/],
    ['a\u202eb', /U\+202E/],
    ['x'.repeat(201), /at most 200/],
  ])('do not hide for %j', async (reason, message) => {
    await list(stores.listings, 'weather')
    await expect(hide(stores, 'weather', reason)).rejects.toThrow(message)
    expect((await merchant())?.hiddenReason).toBeNull()
  })

  it('need an existing merchant', async () => {
    await expect(markPartner(stores, 'nobody', true)).rejects.toThrow(
      'There is no merchant "nobody"',
    )
    await expect(hide(stores, 'nobody', 'x')).rejects.toThrow('There is no merchant')
    await expect(showMerchant(stores, '__proto__')).rejects.toThrow('There is no merchant')
  })
})

describe('a hosted endpoint', () => {
  const target = { id: 'weather', url, method: undefined, isHosted: true }

  it('is found by its URL in any spelling', async () => {
    await list(stores.listings, 'weather')
    const shouted = url.replace('https://api.example.com', 'HTTPS://API.example.com:443')
    expect(await markHosted(stores, { ...target, url: shouted })).toBe(
      `GET ${url} of weather is hosted by Arcus`,
    )
    expect((await theEndpoint())?.isHosted).toBe(true)
    await markHosted(stores, { ...target, method: 'GET', isHosted: false })
    expect((await theEndpoint())?.isHosted).toBe(false)
  })

  it('needs its method when the URL is listed with both', async () => {
    const both = [anEndpoint(), anEndpoint({ method: 'POST', example: { body: {} } })]
    await list(stores.listings, 'weather', { endpoints: both })
    await expect(markHosted(stores, target)).rejects.toThrow(
      /with several methods: name the method/,
    )
    await markHosted(stores, { ...target, method: 'POST' })
    const hosted = (await stores.listings.endpointsOf('weather')).filter(({ isHosted }) => isHosted)
    expect(hosted).toMatchObject([{ method: 'POST' }])
  })

  it.each([
    [{ url: 'https://api.example.com/other' }, /lists no endpoint https/],
    [{ method: 'POST' }, /lists no endpoint POST https/],
    [{ method: 'MCP' }, /METHOD must be one of GET, HEAD/],
    [{ url: 'weather' }, /URL cannot be read/],
    [{ id: 'nobody' }, /There is no merchant/],
  ])('is not found by %j', async (change, message) => {
    await list(stores.listings, 'weather')
    await expect(markHosted(stores, { ...target, ...change })).rejects.toThrow(message)
  })
})

/** Runs a command line over the stores of the test. */
async function runHere(...args: string[]): Promise<string> {
  const command = readSubcommand(merchantCommands, args)
  if (command === 'help') return 'help'
  let text = ''
  await command(stores, async (piece) => {
    text += piece
  })
  return text
}

it('shows its help for an empty command line', async () => {
  expect(await runHere()).toBe('help')
})

it.each([
  [['lost'], 'There is no command "lost"; try --help.'],
  [['toString'], 'There is no command "toString"; try --help.'],
  [['show'], 'show wants 1 argument, got 0; try --help.'],
  [['list', 'all'], 'list wants 0 arguments, got 1; try --help.'],
  [['partner', 'weather'], 'partner wants 2 arguments, got 1; try --help.'],
  [['hosted', 'weather', 'on'], 'hosted wants 3 or 4 arguments, got 2; try --help.'],
  [['partner', 'weather', 'yes'], 'Say on or off, got "yes".'],
  [['hosted', 'weather', 'https://a.example', 'GET'], 'Say on or off, got "GET".'],
  [['partner', 'weather', 'on', '--reason', 'x'], 'partner knows no --reason; try --help.'],
  [['list', '--al'], "Unknown option '--al'; try --help."],
  [['hide', 'weather'], 'Give the reason with --reason "…": the public will read it.'],
  [['block', 'merchant', payTo], 'Name payer or payTo, got "merchant".'],
  [
    ['unblock', 'payer', '0x12'],
    'ADDRESS must be an address of 20 bytes in hex with 0x, with a right checksum if any, got "0x12".',
  ],
  [
    ['block', 'payer', '0x90F79bf6EB2c4f870365E785982E1f101E93b907'],
    'ADDRESS must be an address of 20 bytes in hex with 0x, with a right checksum if any, got "0x90F79bf6EB2c4f870365E785982E1f101E93b907".',
  ],
])('does not understand %j', async (args, sentence) => {
  const error = await runHere(...args).catch((thrown) => thrown)
  expect(error).toBeInstanceOf(UsageError)
  expect(error.message).toBe(sentence)
})

it('takes addresses and methods in any spelling, and an unblocking once', async () => {
  expect(await runHere('block', 'payer', getAddress(payTo))).toBe(`payer ${payTo} is blocked\n`)
  expect(await runHere('unblock', 'payer', payTo)).toBe(`payer ${payTo} is no longer blocked\n`)
  expect(await runHere('unblock', 'payer', payTo)).toBe(`payer ${payTo} was not blocked\n`)
  await list(stores.listings, 'weather')
  expect(await runHere('hosted', 'weather', url, 'get', 'on')).toMatch(/is hosted by Arcus\n$/)
})

describe('arcus merchants', () => {
  const folder = mkdtempSync(join(tmpdir(), 'merchants-'))
  const path = join(folder, 'arcus.db')
  /** The database stays open throughout, like that of a service. */
  const service = openListings(path)
  beforeAll(() => list(service.store, 'weather'))
  afterAll(async () => {
    await service.close()
    rmSync(folder, { recursive: true })
  })

  /** Runs the command in a process of its own. */
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

  it('refuses a file of another kind', async () => {
    const text = join(folder, 'text.db')
    writeFileSync(text, 'no database'.repeat(100))
    expect((await run(['list'], { DATABASE_URL: `sqlite:${text}` })).stderr).toMatch(
      /^The database cannot be used: [^\n]+\n$/,
    )
  })
})
