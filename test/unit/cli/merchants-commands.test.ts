import { getAddress } from 'viem'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { UsageError } from '../../../src/cli/command-line.js'
import { merchantCommands } from '../../../src/cli/merchants/commands.js'
import type { OperatorStores } from '../../../src/cli/merchants/operator-stores.js'
import { readSubcommand } from '../../../src/cli/merchants/subcommands.js'
import { anEndpoint, payTo } from '../directory/listed-merchants.js'
import { list, openStores } from './operator-stores.js'

let stores: OperatorStores

beforeEach(async () => {
  stores = openStores()
  await list(stores.listings, 'weather')
})

afterEach(() => stores.close())

async function run(...args: string[]): Promise<string> {
  const command = readSubcommand(merchantCommands, args)
  if (command === 'help') return 'help'
  let text = ''
  await command(stores, async (piece) => {
    text += piece
  })
  return text
}

it('shows its help for --help and for an empty command line', async () => {
  expect(await run()).toBe('help')
  expect(await run('list', '--help')).toBe('help')
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
  const error = await run(...args).catch((thrown) => thrown)
  expect(error).toBeInstanceOf(UsageError)
  expect(error.message).toBe(sentence)
})

it('runs a command that it understands', async () => {
  expect(await run('partner', 'weather', 'on')).toBe('weather is a partner\n')
  expect(await run('list')).toBe('weather  1 endpoint  partner  Merchant weather\n1 merchant\n')
  expect(await run('hosted', 'weather', anEndpoint().url, 'get', 'on')).toMatch(
    /is hosted by Arcus\n$/,
  )
  expect(await run('block', 'payer', getAddress(payTo))).toBe(`payer ${payTo} is blocked\n`)
  expect(await run('unblock', 'payer', payTo)).toBe(`payer ${payTo} is no longer blocked\n`)
  expect(await run('unblock', 'payer', payTo)).toBe(`payer ${payTo} was not blocked\n`)
})
