import type { Hex } from 'viem'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { devnetMerchant, devnetRelayers } from '../../src/devnet/accounts.js'
import { nativeBalance, usdcBalance } from '../../src/devnet/fixtures.js'
import { call } from '../../src/devnet/rpc.js'
import { anAccount } from '../support/a-channel.js'
import { aSignedPayment } from '../support/a-signed-payment.js'
import { startWorld, type World } from '../support/arcus.js'

const [relayer] = devnetRelayers as [(typeof devnetRelayers)[number]]
const MONEY = 10n ** 15n
const PRICE = 10_000n

let world: World
beforeAll(async () => {
  world = await startWorld({
    env: { RELAYER_PRIVATE_KEYS: relayer.privateKey, RATE_LIMIT_MAX: '0' },
  })
})
afterAll(() => world.stop())

const settle = (body: unknown) => world.post('/settle', body)
const merchantBalance = () => usdcBalance(world.chainUrl, devnetMerchant.address)
const nonceOnChain = async () =>
  Number(await call<Hex>(world.chainUrl, 'eth_getTransactionCount', [relayer.address, 'latest']))

/** Moves money out of the relayer's wallet, as an operator does from another program, at a fee above that of Arcus. */
async function moveMoney(nonce: number): Promise<{ hash: Hex; to: Hex }> {
  const to = anAccount().address
  const hash = await call<Hex>(world.chainUrl, 'eth_sendTransaction', [
    {
      from: relayer.address,
      to,
      value: `0x${MONEY.toString(16)}`,
      nonce: `0x${nonce.toString(16)}`,
      gas: '0x5208',
      maxFeePerGas: '0x2540be4000',
      maxPriorityFeePerGas: '0x2540be400',
    },
  ])
  return { hash, to }
}

async function settleAll(count: number): Promise<void> {
  const before = await merchantBalance()
  const payments = await Promise.all(Array.from({ length: count }, () => aSignedPayment()))
  const answers = await Promise.all(payments.map(settle))
  expect(answers.map(({ body }) => body.success)).toEqual(payments.map(() => true))
  expect((await merchantBalance()) - before).toBe(PRICE * BigInt(count))
}

it('settles on after the operator has used a nonce of the wallet', async () => {
  await settleAll(3)
  for (let i = 0; i < 2; i++) {
    const { to } = await moveMoney(await nonceOnChain())
    await vi.waitFor(async () => expect(await nativeBalance(world.chainUrl, to)).toBe(MONEY))
    await settleAll(3)
  }
})

it('settles on when the operator’s transaction takes the nonce of one that is under way', async () => {
  const before = await merchantBalance()
  await call(world.chainUrl, 'evm_setAutomine', [false])
  const payment = await aSignedPayment()
  const settling = settle(payment)
  const pending = async () =>
    Number((await call<{ pending: Hex }>(world.chainUrl, 'txpool_status', [])).pending)
  await vi.waitUntil(async () => (await pending()) === 1, { timeout: 10_000, interval: 20 })
  const { to } = await moveMoney(await nonceOnChain())
  await call(world.chainUrl, 'evm_mine', [])
  await call(world.chainUrl, 'evm_setAutomine', [true])
  await vi.waitFor(async () => expect(await nativeBalance(world.chainUrl, to)).toBe(MONEY))
  const { body } = await settling
  expect(body.success).toBe(true)
  const receipt = await call<{ status: Hex }>(world.chainUrl, 'eth_getTransactionReceipt', [
    body.transaction,
  ])
  expect(receipt.status).toBe('0x1')
  expect((await merchantBalance()) - before).toBe(PRICE)
  await settleAll(3)
})

it('settles on when the operator’s transaction waits at a nonce that Arcus comes to', async () => {
  const { hash, to } = await moveMoney((await nonceOnChain()) + 1)
  await settleAll(1)
  await vi.waitUntil(() => call(world.chainUrl, 'eth_getTransactionReceipt', [hash]))
  await vi.waitFor(async () => expect(await nativeBalance(world.chainUrl, to)).toBe(MONEY))
  await settleAll(3)
})

it('settles on when the operator’s transaction was sent and the service started again', async () => {
  await world.stopService()
  await moveMoney(await nonceOnChain())
  await world.startService()
  await settleAll(3)
})
