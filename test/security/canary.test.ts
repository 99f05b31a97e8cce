import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { toHex } from 'viem'
import { privateKeyToAddress } from 'viem/accounts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { readSettings } from '../../src/app/config/config.js'
import { devnetPayer } from '../../src/devnet/accounts.js'
import type { Anvil } from '../../src/devnet/anvil.js'
import { freePort } from '../../src/devnet/process.js'
import { call } from '../../src/devnet/rpc.js'
import { aSignedPayment } from '../support/a-signed-payment.js'
import { startChain } from '../support/arcus.js'
import { compiled } from '../support/scripts.js'

/** Nothing else looks like these. */
const key = 'c0ffee'.padEnd(64, '3')
const hostedKey = 'c0ffee'.padEnd(64, '4')
const password = 'canary-database-password'
const nodeKey = 'canary-node-access-key'
const injected = 'canary\n{"level":"error","msg":"forged line"}\u001b[2J\u2028'

let chain: Anvil
let folder: string
let said = ''
const answers: string[] = []

/** Drives a service with canaries in every secret place, through successes and failures, and keeps all it says. */
beforeAll(async () => {
  chain = await startChain()
  folder = mkdtempSync(join(tmpdir(), 'arcus-canary-'))
  const port = await freePort()
  const balance = toHex(10n ** 20n)
  await call(chain.url, 'anvil_setBalance', [privateKeyToAddress(`0x${key}`), balance])
  const service = spawn(process.execPath, [compiled('src/main.ts')], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH, ...settings(port) },
  })
  for (const stream of [service.stdout, service.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      said += text
    })
  }
  const exited = new Promise((resolve) => service.once('exit', resolve))
  const url = `http://127.0.0.1:${port}`
  const ask = async (path: string, init: RequestInit = {}) => {
    const response = await fetch(url + path, init).catch(() => undefined)
    if (response !== undefined) answers.push(`${[...response.headers]} ${await response.text()}`)
    return response?.ok ?? false
  }
  const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
    ask(path, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json', ...headers },
    })
  while (!(await ask('/ready'))) await new Promise((resolve) => setTimeout(resolve, 100))
  await post('/verify', await aSignedPayment())
  await post('/settle', await aSignedPayment(), { 'idempotency-key': 'canary-idempotency-key' })
  await post('/settle', await aSignedPayment({ requirement: { network: injected } }))
  await post('/verify', { x402Version: injected })
  await post(
    '/api/session',
    { message: injected, signature: injected },
    { cookie: 'arcus_session=canary-session' },
  )
  await ask(`/discovery/search?query=${encodeURIComponent(injected)}`)
  await ask(`/payments/${encodeURIComponent(injected)}/${devnetPayer.address}/0x${'00'.repeat(32)}`)
  await ask('/metrics')
  await ask('/ready')
  await chain.stop()
  // Now the nodes are gone: what fails must not tell where they were.
  await post('/verify', await aSignedPayment())
  await post('/settle', await aSignedPayment())
  await ask('/ready')
  await ask('/metrics')
  service.kill('SIGTERM')
  await exited
})

afterAll(() => rmSync(folder, { recursive: true }))

const settings = (port: number) => ({
  HOST: '127.0.0.1',
  PORT: String(port),
  MAINNET_RPC_URLS: `${chain.url}/?key=${nodeKey}`,
  RELAYER_PRIVATE_KEYS: `0x${key}`,
  DATABASE_URL: `sqlite:${join(folder, 'arcus.db')}`,
  LOG_LEVEL: 'trace',
  SETTLE_WAIT_SECONDS: '2',
  MAINNET_RPC_URL: `https://${nodeKey}.example`,
})

const secrets = [key, nodeKey, 'canary-idempotency-key', 'canary-session']

it('says no secret in its log, whatever succeeds or fails', () => {
  expect(said).toContain('settle answered with success')
  expect(said).toContain('request failed')
  expect(secrets.filter((secret) => said.toLowerCase().includes(secret))).toEqual([])
  // A signature has 65 bytes, a signed transaction more; hashes and nonces may be told.
  expect(said).not.toMatch(/0x[0-9a-f]{130}/i)
})

it('says no secret in any answer, readiness and metrics included', () => {
  expect(answers.length).toBeGreaterThan(10)
  const all = answers.join('\n').toLowerCase()
  expect(secrets.filter((secret) => all.includes(secret))).toEqual([])
  expect(all).not.toContain(chain.url)
})

it('writes one line of JSON for each log entry, whatever a caller sends', () => {
  const lines = said.trim().split('\n')
  const parsed = lines.map((line) => JSON.parse(line) as { msg: string; level: string })
  expect(parsed.filter(({ msg }) => msg === 'forged line')).toEqual([])
  expect(said).not.toContain('\u001b')
})

it('shows no secret however the settings are printed', () => {
  const { config, secrets: held } = readSettings({
    ...settings(4021),
    DATABASE_URL: `postgres://arcus:${password}@127.0.0.1:5432/arcus`,
    HOSTED_PRIVATE_KEY: `0x${hostedKey}`,
    BUYBACK_ADDRESS: devnetPayer.address,
  })
  const dumps = [config, held, { config, held }].flatMap((value) => [
    inspect(value, { depth: 9, showHidden: true }),
    JSON.stringify(value, (_, member) => (typeof member === 'bigint' ? String(member) : member)),
    String(value),
  ])
  const canaries = [key, nodeKey, hostedKey, password]
  expect(dumps.filter((dump) => canaries.some((canary) => dump.includes(canary)))).toEqual([])
  expect(config.networks[0]?.rpcUrls[0]).toContain(nodeKey)
  expect(held.relayerPrivateKeys[0]).toContain(key)
  expect(held.hostedPrivateKey).toContain(hostedKey)
  expect(config.database).toHaveProperty('url', expect.stringContaining(password))
})
