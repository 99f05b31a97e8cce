import { reasons } from '@arcus/protocol/x402/reasons'
import type { Hex } from 'viem'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { mintUsdc, usdcBalance } from '../../src/devnet/fixtures.js'
import { call } from '../../src/devnet/rpc.js'
import { anAccount } from '../support/a-channel.js'
import { aPermit2Payment, approvePermit2 } from '../support/a-permit2-payment.js'
import { aSignedPayment } from '../support/a-signed-payment.js'
import { type Answer, startWorld, type World } from '../support/arcus.js'

const WAIT_SECONDS = 12
/** Three wallets, and seven places of each for one payer whose payments travel alone. */
const PLACES = 21

let world: World
beforeAll(async () => {
  const env = { RATE_LIMIT_MAX: '0', SETTLE_WAIT_SECONDS: String(WAIT_SECONDS) }
  world = await startWorld({ env })
})
afterAll(() => world.stop())

async function aPayer(money = 1_000_000n) {
  const signer = anAccount()
  await mintUsdc(world.chainUrl, signer.address, money)
  await approvePermit2(world.chainUrl, signer.address, money)
  return { signer, from: signer.address }
}

const settle = (body: unknown) => world.post('/settle', body)
const pendingCount = async () => {
  const pool = await call<{ pending: Hex }>(world.chainUrl, 'txpool_status', [])
  return Number(pool.pending)
}
const untilPending = (count: number) =>
  vi.waitUntil(async () => (await pendingCount()) === count, { timeout: 20_000, interval: 20 })
const blockOf = async ({ body }: Answer) => {
  const hash = body.transaction
  const receipt = await call<{ blockNumber: Hex }>(world.chainUrl, 'eth_getTransactionReceipt', [
    hash,
  ])
  return Number(receipt.blockNumber)
}

it('the crowd of one payer leaves the next block to others, and what waits too long is withdrawn', async () => {
  const [crowd, honest] = await Promise.all([aPayer(), aPayer()])
  const to = anAccount().address
  const payments = await Promise.all(
    Array.from({ length: 60 }, () =>
      aPermit2Payment({ scheme: 'exact', ...crowd, to, permitted: 1n }),
    ),
  )
  await call(world.chainUrl, 'evm_setAutomine', [false])
  const flood = Promise.all(payments.map(settle))
  await untilPending(PLACES)
  const others = Promise.all(
    [
      await aSignedPayment({ ...honest, to }),
      await aPermit2Payment({ scheme: 'exact', ...honest, to }),
    ].map(settle),
  )
  await untilPending(PLACES + 2)
  await call(world.chainUrl, 'evm_mine', [])
  const answered = await others
  expect(answered.map(({ body }) => body.success)).toEqual([true, true])
  const [first, second] = await Promise.all(answered.map(blockOf))
  expect(first).toBe(second)

  await untilPending(PLACES)
  const answers = await flood
  const told = (code: string) => answers.filter(({ body }) => body.errorReason === code)
  const late = told(reasons.notSentInTime.code)
  expect(late).toHaveLength(60 - 2 * PLACES)
  for (const { status, body } of late) {
    expect([status, body.transaction]).toEqual([200, ''])
    expect(body.errorMessage).toContain('nothing was sent')
  }
  const pending = told(reasons.settlementPending.code)
  expect(pending.every(({ body }) => /^0x[0-9a-f]{64}$/.test(body.transaction))).toBe(true)
  expect(pending).toHaveLength(PLACES)

  await call(world.chainUrl, 'evm_setAutomine', [true])
  await call(world.chainUrl, 'evm_mine', [])
  const left = payments.filter((_, i) => answers[i]?.body.success !== true)
  const again = await Promise.all(left.map(settle))
  expect(again.map(({ body }) => body.success)).toEqual(left.map(() => true))
  expect(await usdcBalance(world.chainUrl, crowd.from)).toBe(1_000_000n - 60n)
})
