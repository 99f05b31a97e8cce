import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { devnetContracts, mintUsdc, tokenBalance } from '../../src/devnet/fixtures.js'
import { type Shop, startShop } from '../support/a-shop.js'
import { startWorld, type World } from '../support/arcus.js'
import { bundleClientCommand, runScript } from '../support/client-command.js'

const folder = mkdtempSync(join(tmpdir(), 'arcus-buyers-'))
const key = generatePrivateKey()
const { address } = privateKeyToAccount(key)
const MINTED = 10_000_000n
/** One cent each. */
const CALLS_A_DAY = 15

let script: string
let world: World
let shop: Shop

beforeAll(async () => {
  script = await bundleClientCommand(folder)
  world = await startWorld()
  await mintUsdc(world.chainUrl, address, MINTED)
  shop = await startShop(world.post)
})
afterAll(async () => {
  await shop.stop()
  await world.stop()
  rmSync(folder, { recursive: true })
})

const env = () => ({ HOME: folder, ARCUS_URL: world.url, PAYER_PRIVATE_KEY: key })
const payArgs = (path: string) => [
  'pay',
  `${shop.url}/${path}`,
  '--max',
  '0.01',
  '--per-day',
  String(CALLS_A_DAY / 100),
  '--json',
]

async function spentOnChain(): Promise<bigint> {
  return MINTED - (await tokenBalance(world.chainUrl, devnetContracts.usdc, address))
}

/** Starts a call and kills it with SIGKILL after a time, unless it ends by itself. Resolves to whether it was killed. */
function killed(path: string, afterMs: number): Promise<boolean> {
  const child = spawn(process.execPath, [script, ...payArgs(path)], {
    env: { PATH: process.env.PATH, ...env() },
    stdio: 'ignore',
  })
  const timer = setTimeout(() => child.kill('SIGKILL'), afterMs)
  return new Promise((resolve) => {
    child.once('exit', (_, signal) => {
      clearTimeout(timer)
      resolve(signal === 'SIGKILL')
    })
  })
}

async function ledger() {
  const { stdout } = await runScript(script, ['ledger', '--json', '--per-day', '1'], env())
  return JSON.parse(stdout) as {
    left: { perDayAtomic: string }
    entries: { state: string; spentAtomic: string }[]
  }
}

it('a buyer that is killed after its signature left finds the payment at its next start', async () => {
  const release = shop.holdNext()
  const child = spawn(process.execPath, [script, ...payArgs('held')], {
    env: { PATH: process.env.PATH, ...env() },
    stdio: 'ignore',
  })
  await expect.poll(() => shop.presented.length).toBe(1)
  const ended = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGKILL')
  await ended
  expect(await ledger()).toMatchObject({ entries: [{ state: 'signed', spentAtomic: '10000' }] })
  release()
  await expect.poll(spentOnChain).toBe(10_000n)
  expect(await ledger()).toMatchObject({
    left: { perDayAtomic: '990000' },
    entries: [{ state: 'settled', spentAtomic: '10000' }],
  })
  expect(shop.presented).toHaveLength(1)
})

it('two buyers on one ledger that are killed over and over never spend more than the limit', async () => {
  let kills = 0
  let calls = 0
  const began = Date.now()
  await killed('whole', 60_000)
  const usualMs = Date.now() - began
  /** Two of three calls are killed at a moment that nobody chose. */
  async function buy(lane: string): Promise<void> {
    for (let n = 0; n < 25; n++) {
      calls++
      const afterMs = n % 3 === 0 ? 60_000 : usualMs * (0.5 + 2 * Math.random())
      if (await killed(`${lane}-${n}`, afterMs)) kills++
    }
  }
  await Promise.all([buy('a'), buy('b')])
  const refusal = async () => JSON.parse((await runScript(script, payArgs('last'), env())).stdout)
  let last = await refusal()
  for (let n = 0; n < CALLS_A_DAY && last.error === undefined; n++) last = await refusal()

  expect(last).toMatchObject({ error: 'over_limit', details: { limit: 'perDay' } })
  expect(kills).toBeGreaterThan(5)
  expect(calls - kills).toBeGreaterThan(5)
  // Every signature that left counts, whether it settled or not.
  expect(shop.presented.length).toBeLessThanOrEqual(CALLS_A_DAY)
  const onChain = await spentOnChain()
  expect(onChain).toBeLessThanOrEqual(BigInt(CALLS_A_DAY * 10_000))
  expect(onChain).toBeGreaterThan(0n)
  const { entries } = await ledger()
  const counted = entries.reduce((sum, { spentAtomic }) => sum + BigInt(spentAtomic), 0n)
  expect(counted).toBeGreaterThanOrEqual(onChain)
  const settled = entries.filter(({ state }) => state === 'settled')
  expect(BigInt(settled.length) * 10_000n).toBe(onChain)
})
