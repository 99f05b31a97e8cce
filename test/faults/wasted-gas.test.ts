import Sqlite from 'better-sqlite3'
import type { Address } from 'viem'
import { afterEach, describe, expect, it } from 'vitest'
import { devnetRelayers } from '../../src/devnet/accounts.js'
import { mintUsdc, nativeBalance } from '../../src/devnet/fixtures.js'
import { call } from '../../src/devnet/rpc.js'
import { aSignedPayment } from '../support/a-signed-payment.js'
import { lies } from '../support/gas-world.js'
import { startWorld, until, type World } from './support/world.js'

const liar: Address = '0x000000000000000000000000000000000000a11e'
const CENT = 10n ** 16n

let world: World

afterEach(() => world?.close())

async function startWithLiar(env: NodeJS.ProcessEnv): Promise<void> {
  world = await startWorld({ env: { SETTLE_WAIT_SECONDS: '20', ...env } })
  await call(world.chainUrl, 'anvil_setCode', [liar, lies(8_000)])
  await mintUsdc(world.chainUrl, liar, 1_000_000_000n)
}

const gasMoney = () =>
  nativeBalance(world.chainUrl, (devnetRelayers[0] as { address: Address }).address)

async function settle(body: unknown) {
  const init = { method: 'POST', headers: { 'content-type': 'application/json' } }
  const asked = { ...init, body: JSON.stringify(body) }
  const answer = await fetch(`${world.service().url}/settle`, asked).catch(() => undefined)
  return answer?.json() as Promise<{ success: boolean; errorReason?: string }>
}

function rowsOf<Row>(sql: string): Row[] {
  const database = new Sqlite(world.databasePath, { readonly: true })
  try {
    return database.prepare(sql).all() as Row[]
  } finally {
    database.close()
  }
}

const untilNothingIsOpen = () =>
  until(
    'nothing is under way',
    () =>
      rowsOf(
        "SELECT 1 FROM attempts WHERE is_open = 1 UNION SELECT 1 FROM jobs WHERE state IN ('queued', 'submitted')",
      ).length === 0,
    30_000,
  )

async function untilPending(count: number): Promise<void> {
  await until('transactions are in the pool', async () => {
    const { pending } = await call<{ pending: string }>(world.chainUrl, 'txpool_status')
    return Number(pending) >= count
  })
}

const pay = async () => settle(await aSignedPayment({ from: liar }))

describe('gas that was burnt', () => {
  it('by a process that died is booked once, and reserved until then', async () => {
    await startWithLiar({ FAILED_GAS_BUDGET_USD: '0.03' })
    const before = await gasMoney()
    const goOn = await world.holdBlocks()
    const first = Array.from({ length: 12 }, pay)
    await untilPending(2)
    await world.service().crash()
    await Promise.all(first)
    // The next process finds budgets taken by what the first one sent.
    await world.restart()
    const second = Array.from({ length: 12 }, pay)
    await new Promise((resolve) => setTimeout(resolve, 1_000))
    await goOn()
    await Promise.all(second)
    await untilNothingIsOpen()
    const burnt = before - (await gasMoney())
    expect(burnt).toBeGreaterThan(0n)
    expect(burnt).toBeLessThanOrEqual(3n * CENT)
    const booked = rowsOf<{ payer: string; amount: string }>(
      'SELECT payer, amount FROM gas_spending',
    )
    const sums = Object.fromEntries(booked.map(({ payer, amount }) => [payer, BigInt(amount)]))
    const { 'wasted:coded:127.0.0.1': byCaller, ...others } = sums
    expect(others).toEqual({ '': burnt, 'wasted:coded': burnt, [liar]: burnt })
    expect(byCaller).toBe(burnt)
    expect(rowsOf('SELECT * FROM gas_risks')).toEqual([])
  })
})
