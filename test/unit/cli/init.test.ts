import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Hex } from 'viem'
import { privateKeyToAddress } from 'viem/accounts'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { readSettings } from '../../../src/app/config/config.js'
import { arcus } from '../../support/scripts.js'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'init-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

const address = 'https://pay.example.com'
const mode = (name: string) => statSync(join(folder, name)).mode & 0o777

async function init(...words: string[]) {
  const { PATH } = process.env
  const options = { cwd: folder, env: { PATH } }
  return promisify(execFile)(process.execPath, arcus('init', ...words), options).then(
    ({ stdout }) => ({ code: 0, stdout, stderr: '' }),
    ({ code, stdout, stderr }) => ({ code, stdout, stderr }),
  )
}

/** Reads what was written as the service reads it. */
function readWritten() {
  const lines = readFileSync(join(folder, '.env'), 'utf8').split('\n')
  const env = Object.fromEntries(
    lines.filter((line) => /^\w+=/.test(line)).map((line) => line.split(/=(.*)/s).slice(0, 2)),
  )
  const file = env.RELAYER_PRIVATE_KEYS_FILE ?? ''
  return readSettings({ ...env, RELAYER_PRIVATE_KEYS_FILE: join(folder, file) })
}

it('writes settings that the service takes, and keys that nobody else reads', async () => {
  const { code, stdout } = await init('--network', 'mainnet', '--address', address)
  expect(code).toBe(0)
  expect(readdirSync(folder).sort()).toEqual(['.env', 'relayer.keys'])
  expect([mode('.env'), mode('relayer.keys')]).toEqual([0o600, 0o600])
  const { config, secrets } = readWritten()
  expect(config).toMatchObject({ baseUrl: address, directoryUrl: address, trustProxy: 1 })
  expect(config.networks.map(({ network }) => network)).toEqual(['eip155:5042'])
  expect(config.dailyGasLimit).toBeDefined()
  expect(config.warnings).toEqual([])
  expect(secrets.webhookKey).toBeDefined()
  expect(secrets.relayerPrivateKeys).toHaveLength(2)
  for (const key of secrets.relayerPrivateKeys) {
    expect(stdout).toContain(privateKeyToAddress(key as Hex))
    expect(stdout).not.toContain(key)
  }
})

it('names the faucet on the testnet, and takes another database and number of keys', async () => {
  const database = 'sqlite:/var/lib/arcus/arcus.db'
  const words = ['--network', 'testnet', '--address', address, '--database', database]
  const { stdout } = await init(...words, '--keys', '3')
  expect(stdout).toContain('https://faucet.circle.com')
  const { config, secrets } = readWritten()
  expect(config.networks.map(({ network }) => network)).toEqual(['eip155:5042002'])
  expect(config.database).toEqual({ kind: 'sqlite', path: '/var/lib/arcus/arcus.db' })
  expect(secrets.relayerPrivateKeys).toHaveLength(3)
})

it.each([
  ['http://localhost:4030', 4030],
  ['http://localhost:4021', 4021],
  ['https://pay.example.com:8443', 4021],
])('listens for %s at %i', async (url, port) => {
  await init('--network', 'testnet', '--address', url)
  expect(readWritten().config).toMatchObject({ baseUrl: url, port })
})

it('never writes over a file', async () => {
  const words = ['--network', 'testnet', '--address', address]
  await init(...words)
  const before = readFileSync(join(folder, 'relayer.keys'), 'utf8')
  const again = await init(...words)
  expect(again).toMatchObject({ code: 1, stderr: '.env is here already: nothing was written.\n' })
  expect(readFileSync(join(folder, 'relayer.keys'), 'utf8')).toBe(before)
})

it.each([
  [['--network', 'testnet'], 'Give --network and --address.'],
  [['--network', 'arc', '--address', address], 'The network is testnet or mainnet, not "arc".'],
  [['--network', 'testnet', '--address', 'pay.example.com'], 'The address is one such as'],
  [['--network', 'testnet', '--address', `${address}/x`], 'without a path'],
  [['--network', 'testnet', '--address', address, '--keys', '0'], '--keys wants a number'],
  [['--network', 'testnet', '--address', address, '--database', 'x'], '--database'],
])('refuses %j and writes nothing', async (words, said) => {
  const { code, stderr } = await init(...words)
  expect(code).toBe(2)
  expect(stderr).toContain(said)
  expect(readdirSync(folder)).toEqual([])
})
