import { reasons } from '@arcus/protocol/x402/reasons'
import { encodeFunctionData, type Hex } from 'viem'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { devnetPayer } from '../../src/devnet/accounts.js'
import { devnetContracts, mintUsdc, readArtifact, usdcBalance } from '../../src/devnet/fixtures.js'
import { call } from '../../src/devnet/rpc.js'
import { swallowed } from '../faults/support/behaviours.js'
import type { RpcProxy } from '../faults/support/rpc-proxy.js'
import { type ProxiedWorld, startProxiedWorld } from '../support/a-proxied-world.js'
import { aSignedPayment, type SignedPayment } from '../support/a-signed-payment.js'
import { sendTogether } from '../support/a-stranger.js'
import { anAccount } from '../support/an-account.js'
import type { Answer } from '../support/arcus.js'
import { authorizationArguments, sendToToken } from '../support/token.js'

const used = reasons.nonceAlreadyUsed.code

/** An idle service sees a block more than a second late. */
const SOON = { timeout: 15_000 }

let world: ProxiedWorld
let proxy: RpcProxy
beforeAll(async () => {
  world = await startProxiedWorld({ RATE_LIMIT_MAX: '0', SETTLE_WAIT_SECONDS: '30' })
  proxy = world.proxy
})
afterAll(() => world.stop())

const settle = (payment: SignedPayment) => world.post('/settle', payment)
const verify = (payment: SignedPayment) => world.post('/verify', payment)
const successes = (answers: Answer[]) => answers.filter(({ body }) => body.success)
const nonceOf = ({ paymentPayload }: SignedPayment) =>
  paymentPayload.payload.authorization.nonce as Hex

/** Enough for a busy machine. */
const SLOW = { timeout: 30_000 }

/** Brings all these authorizations on chain in one transaction of a stranger, in this order. */
const bringTogether = (payments: readonly SignedPayment[]) =>
  sendTogether(
    world.chainUrl,
    payments.map((payment) => {
      const args = authorizationArguments(payment)
      const { abi } = readArtifact('MockUsdc')
      const functionName = 'transferWithAuthorization'
      return [devnetContracts.usdc, encodeFunctionData({ abi, functionName, args })]
    }),
  )

/** An authorization of the same nonce that moves nothing to anybody but the payer. */
const decoyOf = (payment: SignedPayment) =>
  aSignedPayment({ nonce: nonceOf(payment), to: devnetPayer.address, value: 0n })

/** Has the service claim each payment; gives the answers to come. */
async function claimed(payments: readonly SignedPayment[]) {
  const answers = payments.map(settle)
  for (const payment of payments) {
    const { from } = payment.paymentPayload.payload.authorization
    await vi.waitFor(async () => {
      const path = `/payments/eip155:5042/${from}/${nonceOf(payment)}`
      expect((await world.get(path)).status).toBe(200)
    }, SLOW)
  }
  return answers
}

// Each waits some seconds for the service to look for what others sent.
describe.concurrent('while no node hears of what the service sends, one transfer backs one payment', () => {
  beforeAll(() => {
    proxy.fault('eth_sendRawTransaction', swallowed)
  })
  afterAll(() => proxy.mend())

  it.each([
    ['first', (real: SignedPayment, decoys: SignedPayment[]) => [real, ...decoys]],
    ['last', (real: SignedPayment, decoys: SignedPayment[]) => [...decoys, real]],
  ])(
    'nine decoys in one transaction whose real transfer is the %s buy nothing',
    async (_, order) => {
      const to = anAccount().address
      const payments = await Promise.all(Array.from({ length: 10 }, () => aSignedPayment({ to })))
      for (const payment of payments) expect((await verify(payment)).body.isValid).toBe(true)
      const [real, ...others] = payments as [SignedPayment, ...SignedPayment[]]
      const decoys = await Promise.all(others.map(decoyOf))
      const answers = await claimed(payments)
      await bringTogether(order(real, decoys))
      const settled = await Promise.all(answers)
      const again = await Promise.all(payments.map(settle))
      const told = successes([...settled, ...again]).length
      expect(BigInt(told) * 10_000n).toBe(await usdcBalance(world.chainUrl, to))
    },
  )

  it('three real authorizations that a stranger brings in one transaction are three successes', async () => {
    const payments = await Promise.all(Array.from({ length: 3 }, () => aSignedPayment()))
    const answers = await claimed(payments)
    const transaction = await bringTogether(payments)
    const settled = await Promise.all(answers)
    expect(successes(settled)).toHaveLength(3)
    for (const { body } of settled) expect(body.transaction).toBe(transaction)
  })

  it('a payment that others bring while its settle waits is paid, once', async () => {
    const payment = await aSignedPayment()
    const [answer] = await claimed([payment])
    const transaction = await sendToToken(world.chainUrl, payment)
    expect((await answer)?.body).toMatchObject({ success: true, transaction })
    expect((await settle(payment)).body).toMatchObject({ errorReason: used, transaction })
    expect((await verify(payment)).body.invalidReason).toBe(used)
    expect((await world.get(`/payments/${transaction}`)).body.payments).toMatchObject([
      { transaction, state: 'confirmed' },
    ])
  })
})

describe('a transaction by others counts only if it landed while a settle was open', () => {
  it('a payment whose claim failed, and that is spent elsewhere afterwards, is used and not attested', async () => {
    const buyer = anAccount()
    await mintUsdc(world.chainUrl, buyer.address, 10_000n)
    const from = { from: buyer.address, signer: buyer, value: 10_000n }
    const [first, second] = [await aSignedPayment(from), await aSignedPayment(from)]
    // The buyer makes the claims. There is money for one of them.
    const made = await Promise.all([settle(first), settle(second)])
    const failed = made[0]?.body.success ? second : first
    expect(successes(made)).toHaveLength(1)
    await mintUsdc(world.chainUrl, buyer.address, 10_000n)
    await new Promise((resolve) => setTimeout(resolve, 1_100))
    const transaction = await sendToToken(world.chainUrl, failed)
    expect((await verify(failed)).body).toMatchObject({ isValid: false, invalidReason: used })
    const { body } = await settle(failed)
    expect(body).toMatchObject({ success: false, errorReason: used, transaction })
  })

  it('a payment verified here and spent elsewhere is used, with its hash', async () => {
    const payment = await aSignedPayment()
    expect((await verify(payment)).body.isValid).toBe(true)
    const transaction = await sendToToken(world.chainUrl, payment)
    expect((await verify(payment)).body).toMatchObject({ isValid: false, invalidReason: used })
    for (let i = 0; i < 3; i++) {
      const { body } = await settle(payment)
      expect(body).toMatchObject({ success: false, errorReason: used, transaction })
    }
  })
})

describe('a payment that landed in time and is asked about late', () => {
  it('is used, with its hash, when others brought it', async () => {
    const payment = await aSignedPayment()
    const transaction = await sendToToken(world.chainUrl, payment)
    // The clock of the chain passes its end, and the service sees the block.
    await call(world.chainUrl, 'evm_increaseTime', ['0x258'])
    await call(world.chainUrl, 'evm_mine')
    await vi.waitUntil(async () => {
      const { body } = await verify(await aSignedPayment())
      return body.invalidReason === reasons.validBefore.code
    }, SOON)
    const { body } = await settle(payment)
    expect(body).toMatchObject({ success: false, errorReason: used, transaction })
    expect((await verify(payment)).body).toMatchObject({ isValid: false, invalidReason: used })
  })
})
