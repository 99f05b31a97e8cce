import { reasons } from '@arcus/protocol/x402/reasons'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { devnetRelayers } from '../../src/devnet/accounts.js'
import { startBlockProducer } from '../../src/devnet/anvil.js'
import { mintUsdc, nativeBalance } from '../../src/devnet/fixtures.js'
import { call } from '../../src/devnet/rpc.js'
import { aSignedPayment } from '../support/a-signed-payment.js'
import { startWorld, type World } from '../support/arcus.js'

const wallet = '0x000000000000000000000000000000000000a11e'
/** ERC-1271 that says yes while gas costs nothing, as in a simulation, and no in a transaction. */
const saysNoForReal = '0x3a15631626ba7e0260e01b5f5260205ff3'
/** The gas of one or two failed transactions, 18-decimal units. */
const budget = 5n * 10n ** 15n

let world: World
beforeAll(async () => {
  world = await startWorld({ env: { FAILED_GAS_BUDGET_USD: '0.005', SETTLE_WAIT_SECONDS: '30' } })
  await call(world.chainUrl, 'anvil_setCode', [wallet, saysNoForReal])
  await mintUsdc(world.chainUrl, wallet, 1_000_000n)
})
afterAll(() => world.stop())

it('burns no more than its budget, however many payments a wallet sends at once', async () => {
  // The gas they burn shows only when they have landed.
  await call(world.chainUrl, 'evm_setAutomine', [false])
  const gasMoney = async () => {
    const balances = devnetRelayers.map(({ address }) => nativeBalance(world.chainUrl, address))
    return (await Promise.all(balances)).reduce((sum, balance) => sum + balance, 0n)
  }
  const before = await gasMoney()
  const payments = await Promise.all(
    Array.from({ length: 40 }, () => aSignedPayment({ from: wallet })),
  )
  const blocks = await startBlockProducer({ url: world.chainUrl, intervalMs: 50 })
  const answers = payments.map((payment) => world.post('/settle', payment))
  const codes = (await Promise.all(answers)).map(({ body }) => body.errorReason)
  await blocks.stop()
  const { gasBudgetExceeded, transactionFailed } = reasons
  expect(codes).toContain(gasBudgetExceeded.code)
  expect(new Set([gasBudgetExceeded.code, transactionFailed.code, ...codes]).size).toBe(2)
  const burnt = before - (await gasMoney())
  expect(burnt).toBeGreaterThan(0n)
  expect(burnt).toBeLessThan(4n * budget)
})
