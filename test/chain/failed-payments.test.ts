import { reasons } from '@arcus/protocol/x402/reasons'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { mintUsdc } from '../../src/devnet/fixtures.js'
import { call } from '../../src/devnet/rpc.js'
import type { RpcProxy } from '../faults/support/rpc-proxy.js'
import { type ProxiedWorld, startProxiedWorld } from '../support/a-proxied-world.js'
import { aSignedPayment, type SignedPayment } from '../support/a-signed-payment.js'
import { anAccount } from '../support/an-account.js'
import { sendToToken } from '../support/token.js'

/** A look comes every thirty seconds, and once at the start. */
const SLOW = { timeout: 60_000, interval: 500 }

let world: ProxiedWorld
let proxy: RpcProxy
let unused: SignedPayment
let spent: SignedPayment
let transaction: string

const statusOf = async ({ paymentPayload }: SignedPayment) => {
  const { from, nonce } = paymentPayload.payload.authorization
  return (await world.get(`/payments/eip155:5042/${from}/${nonce}`)).body
}

/** Makes a claim that fails without a transaction, because no wallet can pay for its gas. */
async function aFailedClaim(): Promise<SignedPayment> {
  const buyer = anAccount()
  await mintUsdc(world.chainUrl, buyer.address, 10_000n)
  const payment = await aSignedPayment({ from: buyer.address, signer: buyer, value: 10_000n })
  const lift = proxy.fault('eth_getBalance', async () => ({ result: '0x0' }))
  const { body } = await world.post('/settle', payment)
  lift()
  expect(body).toMatchObject({ success: false, transaction: '' })
  return payment
}

beforeAll(async () => {
  world = await startProxiedWorld({ RATE_LIMIT_MAX: '0' })
  proxy = world.proxy
  unused = await aFailedClaim()
  spent = await aFailedClaim()
  await new Promise((resolve) => setTimeout(resolve, 1_100))
  transaction = await sendToToken(world.chainUrl, spent)
})
afterAll(() => world.stop())

describe('a payment that failed without a transaction', { timeout: 120_000 }, () => {
  it('is failed while others may still bring it on chain', async () => {
    for (const payment of [unused, spent]) {
      expect(await statusOf(payment)).toMatchObject({ state: 'failed', unusedAtBlock: null })
    }
  })

  it('is what the chain says once its time is over', async () => {
    await call(world.chainUrl, 'evm_increaseTime', ['0x1000'])
    await call(world.chainUrl, 'evm_mine')
    await world.stopService()
    await world.startService()
    await vi.waitFor(
      async () => expect((await statusOf(unused)).unusedAtBlock).toBeTypeOf('number'),
      SLOW,
    )
    await vi.waitFor(
      async () => expect(await statusOf(spent)).toMatchObject({ state: 'used', transaction }),
      SLOW,
    )
    // What was spent elsewhere is no success here.
    expect((await world.post('/settle', spent)).body).toMatchObject({
      success: false,
      errorReason: reasons.nonceAlreadyUsed.code,
    })
  })
})
