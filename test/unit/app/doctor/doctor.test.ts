import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import Sqlite from 'better-sqlite3'
import type { Hex } from 'viem'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { readSettings } from '../../../../src/app/config/config.js'
import { examine } from '../../../../src/app/doctor/examine.js'
import type { Finding } from '../../../../src/app/doctor/finding.js'
import { inspectDatabase } from '../../../../src/app/doctor/inspect-database.js'
import { devnetRelayers } from '../../../../src/devnet/accounts.js'
import type { Anvil } from '../../../../src/devnet/anvil.js'
import { freePort } from '../../../../src/devnet/process.js'
import { call } from '../../../../src/devnet/rpc.js'
import { openDatabase } from '../../../../src/sql/sqlite/database.js'
import { startChain } from '../../../support/arcus.js'
import { startKeyService } from '../../../support/key-service.js'
import { arcus } from '../../../support/scripts.js'

const run = promisify(execFile)
const keys = devnetRelayers.map(({ privateKey }) => privateKey)

let chain: Anvil
let root: string
let folder: string

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'arcus-doctor-'))
  chain = await startChain()
})
afterAll(async () => {
  await chain.stop()
  rmSync(root, { recursive: true })
})
beforeEach(async () => {
  folder = mkdtempSync(join(root, 'case-'))
  // Its newest block is of this moment.
  await call(chain.url, 'evm_mine')
})

const goodEnv = () => ({
  NODE_ENV: 'production',
  MAINNET_RPC_URLS: chain.url,
  RELAYER_PRIVATE_KEYS: keys.join(','),
  DATABASE_URL: `sqlite:${join(folder, 'arcus.db')}`,
  BASE_URL: 'https://pay.example.invalid',
  DIRECTORY_URL: 'https://pay.example.invalid',
  TRUST_PROXY: '1',
  DAILY_GAS_LIMIT_USD: '25',
  MIN_AMOUNT: '2300',
  WEBHOOK_KEY: 'ab'.repeat(32),
})

async function findingsOf(over: Record<string, string> = {}): Promise<Finding[]> {
  const env = { ...goodEnv(), ...over }
  const { config, secrets } = readSettings(env)
  const database = await inspectDatabase(config.database)
  try {
    return await examine({ config, secrets, env, database, now: () => Date.now() })
  } finally {
    await database.close()
  }
}

const troubles = (findings: Finding[]) =>
  findings.filter(({ state }) => state !== 'ok').map(({ state, name }) => `${state} ${name}`)

/** The finding that every test has, because nobody serves the public address. */
const usual = ['warn reachable']

describe('the doctor', () => {
  it('has keys elsewhere sign, and says which does not', async () => {
    openDatabase(join(folder, 'arcus.db')).close()
    const [, , third] = keys as [Hex, Hex, Hex]
    const service = await startKeyService(third)
    const env = { RELAYER_PRIVATE_KEYS: keys.slice(0, 2).join(',') }
    const ofSigner = { ...env, ...service.settings() } as Record<string, string>
    try {
      const findings = await findingsOf(ofSigner)
      expect(troubles(findings)).toEqual(usual)
      expect(findings).toContainEqual(expect.objectContaining({ detail: 'it signs' }))
      service.behaviour = 'signs with another key'
      const address = service.address.toLowerCase()
      expect(troubles(await findingsOf(ofSigner))).toContain(`fail signer ${address} eip155:5042`)
    } finally {
      await service.kill()
    }
  })

  it('finds nothing to repair if everything is in order', async () => {
    openDatabase(join(folder, 'arcus.db')).close()
    expect(troubles(await findingsOf())).toEqual(usual)
  })

  it('names the repair of every fault', async () => {
    const findings = await findingsOf({
      MIN_AMOUNT: '1',
      RELAYER_PRIVATE_KEYS: `0x${'7'.repeat(64)}`,
    })
    const wrong = findings.filter(({ state }) => state !== 'ok')
    expect(wrong.filter(({ fix }) => fix === undefined)).toEqual([])
  })

  it.each<[string, () => Record<string, string>, string]>([
    [
      'a wallet without gas',
      () => ({ RELAYER_PRIVATE_KEYS: `0x${'7'.repeat(64)}` }),
      'fail relayers eip155:5042',
    ],
    [
      'one wallet of two without gas',
      () => ({ RELAYER_PRIVATE_KEYS: `0x${'7'.repeat(64)},${keys[0]}` }),
      'warn relayers eip155:5042',
    ],
    ['a lone key', () => ({ RELAYER_PRIVATE_KEYS: String(keys[0]) }), 'warn relayer keys'],
    ['no key for webhooks', () => ({ WEBHOOK_KEY: '' }), 'warn WEBHOOK_KEY'],
    ['no daily limit', () => ({ DAILY_GAS_LIMIT_USD: '' }), 'warn DAILY_GAS_LIMIT_USD'],
    ['amounts below the gas', () => ({ MIN_AMOUNT: '1' }), 'warn MIN_AMOUNT'],
    ['a public address that is this machine', () => ({ BASE_URL: '' }), 'warn BASE_URL'],
    [
      'a public address without TLS',
      () => ({ DIRECTORY_URL: 'http://pay.example.invalid' }),
      'warn DIRECTORY_URL',
    ],
    ['a proxy nobody trusts', () => ({ TRUST_PROXY: '' }), 'warn TRUST_PROXY'],
    ['no production', () => ({ NODE_ENV: '' }), 'warn NODE_ENV'],
    ['a misspelt setting', () => ({ RATE_LIMT_MAX: '7' }), 'warn settings'],
    [
      'a token that is none',
      () => ({ MAINNET_ASSETS: `0x${'12'.repeat(20)}` }),
      'fail chain eip155:5042',
    ],
    [
      'another chain',
      () => ({ MAINNET_RPC_URLS: '', TESTNET_RPC_URLS: chain.url }),
      'fail node 1 of eip155:5042002',
    ],
  ])('sees %s', async (_, over, trouble) => {
    expect(troubles(await findingsOf(over()))).toContain(trouble)
  })

  it('distinguishes a dead node from a dead chain', async () => {
    const dead = `http://127.0.0.1:${await freePort()}`
    const some = troubles(await findingsOf({ MAINNET_RPC_URLS: `${dead},${chain.url}` }))
    expect(some).toEqual(['warn node 1 of eip155:5042', ...usual])
    const none = troubles(await findingsOf({ MAINNET_RPC_URLS: dead }))
    expect(none).toEqual(['fail node 1 of eip155:5042', ...usual])
  })

  it('sees that the clock is behind the chain', async () => {
    const { config, secrets } = readSettings(goodEnv())
    const database = await inspectDatabase(config.database)
    const now = () => Date.now() - 60_000
    const findings = await examine({ config, secrets, env: goodEnv(), database, now })
    expect(troubles(findings)).toContain('fail clock eip155:5042')
  })

  it('sees a database that is damaged, newer, or older than this version', async () => {
    const path = join(folder, 'arcus.db')
    openDatabase(path).close()
    const stamp = (version: number) => {
      const database = new Sqlite(path)
      database.pragma(`user_version = ${version}`)
      database.close()
    }
    stamp(0)
    expect(troubles(await findingsOf())).toContain('warn database')
    stamp(99)
    expect(troubles(await findingsOf())).toContain('fail database')
    writeFileSync(path, 'x'.repeat(8_192))
    expect(troubles(await findingsOf())).toContain('fail database')
  })

  it('changes nothing', async () => {
    const path = join(folder, 'arcus.db')
    await findingsOf()
    expect((await inspectDatabase({ kind: 'sqlite', path })).state).toBe('absent')
  })
})

describe.concurrent('npm run doctor', () => {
  const doctor = (env: Record<string, string>, ...args: string[]) =>
    run(process.execPath, arcus('doctor', ...args), {
      env: { PATH: process.env.PATH ?? '', ...env },
    }).then(
      ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
      ({ code, stdout, stderr }) => ({ code, stdout, stderr }),
    )

  it('exits 0 with a report, or with JSON', async () => {
    const { code, stdout, stderr } = await doctor(goodEnv(), '--json')
    expect([code, stderr]).toEqual([0, ''])
    const { ok, findings } = JSON.parse(stdout)
    expect(ok).toBe(true)
    expect(findings.length).toBeGreaterThan(10)
  })

  it('exits 1 with every problem of the settings, and repeats no secret', async () => {
    const secret = '5'.repeat(63)
    const env = {
      ...goodEnv(),
      MIN_AMOUNT: 'none',
      RELAYER_PRIVATE_KEYS: `0x${secret}`,
      MAINNET_RPC_URLS: `${chain.url}/?key=canary`,
    }
    const { code, stdout, stderr } = await doctor(env)
    expect([code, stderr]).toEqual([1, ''])
    expect(stdout).toContain('MIN_AMOUNT must be')
    expect(stdout).toContain('RELAYER_PRIVATE_KEYS entry 1')
    expect(stdout).toContain('2 to fix')
    expect(stdout).not.toMatch(new RegExp(`${secret}|canary`))
  })

  it('exits 2 on unknown arguments', async () => {
    expect((await doctor(goodEnv(), '--jsn')).code).toBe(2)
  })
})
