import { type Address, encodeFunctionData, type Hex, toHex } from 'viem'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { addressTopic, topics } from '../../src/chain/abi.js'
import { devnetMerchant } from '../../src/devnet/accounts.js'
import {
  devnetContracts,
  mintToken,
  readArtifact,
  tokenBalance,
} from '../../src/devnet/fixtures.js'
import { call } from '../../src/devnet/rpc.js'
import { aPermit2Nonce, approvePermit2, permit2Invalidation } from '../support/a-permit2-payment.js'
import { anAccount } from '../support/an-account.js'
import { type Answer, pendingCode, usedCode } from './support/client.js'
import {
  aPaymentByPermit2,
  aSignedPayment,
  asset,
  permit2Scheme,
  type SignedPayment,
} from './support/payments.js'
import type { Behaviour } from './support/rpc-proxy.js'
import { sendDearly, submitAsStranger } from './support/stranger.js'
import { startWorld, until, type World } from './support/world.js'

/*
 * The attacks that only payments by Permit2 know: its nonces are bits that their owner cancels by the word, an allowance
 * may vanish, and no log names the payment.
 */

const { permit2 } = devnetContracts
const VALUE = 10_000n
const isExact = permit2Scheme === 'exact'

let world: World
beforeAll(async () => {
  world = await startWorld({ env: { FAILED_GAS_BUDGET_USD: '0.01' } })
})
afterAll(() => world?.close())
afterEach(() => world.proxy.mend())

/** A payer with a fresh key, so much money, and an allowance for Permit2. */
async function aPayer(held = 5n * VALUE) {
  const signer = anAccount()
  await mintToken(world.chainUrl, asset, signer.address, held)
  await approvePermit2(world.chainUrl, signer.address, 2n ** 255n)
  const from = signer.address
  return {
    from,
    pay: (nonce: bigint = aPermit2Nonce()) =>
      aPaymentByPermit2({ from, signer, permitted: VALUE, nonce: toHex(nonce, { size: 32 }) }),
    act: (to: Address, data: Hex) => sendDearly(world.chainUrl, from, to, data),
  }
}

function tokenCall(functionName: 'approve' | 'transfer', args: [Address, bigint]): Hex {
  return encodeFunctionData({ abi: readArtifact('MockUsdc').abi, functionName, args })
}

/** Settles; once the transaction is in the pool and blocks stand still, somebody is first in the next block. */
async function settleBehind(
  payments: readonly SignedPayment[],
  act: () => Promise<unknown>,
): Promise<Answer[]> {
  const goOn = await world.holdBlocks()
  const settling = world.client.settleAll(payments)
  await until('all are under way', async () => {
    const views = await Promise.all(payments.map((it) => world.client.findPayment(it)))
    return views.every((view) => view?.state === 'submitted')
  })
  await act()
  await goOn()
  return settling
}

const merchantMoney = () => tokenBalance(world.chainUrl, asset, devnetMerchant.address)

/** Settles again until it is told as paid, and checks that it moved its money once and was told so once. */
async function expectSettledOnce(payment: SignedPayment): Promise<void> {
  const { client, chainUrl } = world
  await client.settleUntilTold([payment])
  const told = client.answers.filter((it) => it.payment === payment && it.body?.success)
  expect(told).toHaveLength(1)
  expect(await client.findPayment(payment)).toMatchObject({
    state: 'confirmed',
    transaction: told[0]?.body?.transaction,
  })
  const parties = [topics.transfer, addressTopic(payment.payer), addressTopic(payment.payTo)]
  const filter = { address: asset, fromBlock: '0x0', toBlock: 'latest', topics: parties }
  const moved = await call<{ transactionHash: Hex }[]>(chainUrl, 'eth_getLogs', [filter])
  expect(moved.map((it) => it.transactionHash)).toEqual([told[0]?.body?.transaction])
}

/** The lane goes on: a payment of somebody else settles. */
async function expectLaneGoesOn(): Promise<void> {
  expect((await world.client.settle(await aSignedPayment())).body).toMatchObject({ success: true })
}

describe('the owner of a nonce', () => {
  it('who cancels it in front of our transaction pays nothing, and is named the cancellation', async () => {
    const payer = await aPayer()
    const nonce = aPermit2Nonce()
    const payment = await payer.pay(nonce)
    const before = await merchantMoney()
    let cancel: Hex | undefined
    const [answer] = await settleBehind([payment], async () => {
      cancel = await payer.act(permit2, permit2Invalidation(nonce))
    })
    expect(answer?.body).toMatchObject({
      success: false,
      errorReason: usedCode,
      transaction: cancel,
    })
    expect((await merchantMoney()) - before).toBe(0n)
    await expectLaneGoesOn()
  })

  it('who cancels one of three that share a word or a bit fails that one alone', async () => {
    const payer = await aPayer()
    const nonce = (aPermit2Nonce() >> 8n) << 8n
    const nonces = [nonce + 7n, nonce + 8n, nonce + 256n + 7n]
    const payments = await Promise.all(nonces.map((it) => payer.pay(it)))
    const before = await merchantMoney()
    const answers = await settleBehind(payments, () => {
      return payer.act(permit2, permit2Invalidation(nonce + 7n))
    })
    expect(answers.map(({ body }) => body?.success)).toEqual([false, true, true])
    expect(answers[0]?.body).toMatchObject({ errorReason: usedCode })
    expect((await merchantMoney()) - before).toBe(2n * VALUE)
  })
})

describe('an allowance that vanishes', () => {
  it('in front of our transaction fails with its hash, until the payer has burnt their budget', async () => {
    const payer = await aPayer(100n * VALUE)
    const before = await merchantMoney()
    const told: (string | undefined)[] = []
    for (let i = 0; i < 12 && told.at(-1) !== 'gas_budget_exceeded'; i++) {
      const payment = await payer.pay()
      expect(await world.client.verify(payment)).toBe(true)
      const [answer] = await settleBehind([payment], () =>
        payer.act(asset, tokenCall('approve', [permit2, 0n])),
      )
      expect(answer?.body).toMatchObject({
        errorReason: 'permit2_allowance_required',
        transaction: expect.stringMatching(/^0x[0-9a-f]{64}$/),
      })
      await approvePermit2(world.chainUrl, payer.from, 2n ** 255n)
      const next = await payer.pay()
      if (!(await world.client.verify(next))) {
        told.push((await world.client.settle(next)).body?.errorReason)
      }
    }
    expect(told).toEqual(['gas_budget_exceeded'])
    expect((await merchantMoney()) - before).toBe(0n)
    await expectLaneGoesOn()
  })
})

describe('a node that lies about logs', () => {
  const hidden: Behaviour = async () => ({ result: [] })

  it('and receipts, and hides how a nonce was used, leaves the payment pending and never failed', async () => {
    const payer = await aPayer()
    const nonce = aPermit2Nonce()
    const payment = await payer.pay(nonce)
    const lifts = ['eth_getLogs', 'eth_getBlockReceipts'].map((method) =>
      world.proxy.fault(method, hidden),
    )
    const settling = settleBehind([payment], () =>
      isExact
        ? submitAsStranger(world.chainUrl, payment)
        : payer.act(permit2, permit2Invalidation(nonce)),
    )
    expect((await settling)[0]?.body).toMatchObject({
      errorReason: pendingCode,
      transaction: expect.stringMatching(/^0x[0-9a-f]{64}$/),
    })
    for (const lift of lifts) lift()
    if (isExact) await expectSettledOnce(payment)
    else {
      await until('it is told', async () => {
        const { body } = await world.client.settle(payment)
        return body?.errorReason === usedCode && body.transaction !== ''
      })
    }
    await expectLaneGoesOn()
  })
})
