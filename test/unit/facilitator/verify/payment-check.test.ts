import type { ParsedPayment } from '@arcus/protocol/x402/payment'
import { bytesToHex, type Hex, serializeErc6492Signature } from 'viem'
import { beforeAll, describe, expect, it } from 'vitest'
import { selectors } from '../../../../src/chain/abi.js'
import type { AuthorizationUse } from '../../../../src/chain/authorization-uses.js'
import type { PaymentFacts } from '../../../../src/chain/payment-facts.js'
import type { Receipt } from '../../../../src/chain/receipts.js'
import { devnetContracts } from '../../../../src/devnet/fixtures.js'
import { createExactJob } from '../../../../src/facilitator/methods/exact-job.js'
import type { Network } from '../../../../src/facilitator/methods/network.js'
import { failure } from '../../../../src/facilitator/relayer/outcomes.js'
import { anRpc } from '../../../support/an-rpc.js'
import {
  aFacilitator,
  aTerms,
  aToken,
  computeDigest,
} from '../../../support/simulated/a-facilitator.js'
import { aWorld, useVirtualClock } from '../../../support/simulated/a-relayer.js'
import {
  aPayment,
  asset,
  nowSeconds,
  payer,
  payTo,
  signPayment,
} from '../../protocol/x402/a-payment.js'

const SEEN_BLOCK = 40
const CLAIMED_AT = nowSeconds - 5
const transaction = `0x${'aa'.repeat(32)}` as const

useVirtualClock()

let payment: ParsedPayment
let digest: Hex
beforeAll(async () => {
  payment = aPayment()
  payment = { ...payment, signature: await signPayment(payment) }
  digest = bytesToHex(computeDigest(payment, aToken()))
})

interface Case {
  /** What the node says of the parties, over what the chain has. */
  facts?: Partial<PaymentFacts>
  use?: AuthorizationUse
  /** The row of the payment in the journal, claimed at `SEEN_BLOCK`. */
  row?: { state: 'queued' | 'failed'; digest: Hex }
  served?: Partial<Network>
}

/** What is known of the payment on a network with these facts, this use of its nonce and this row in the journal. */
async function check({ facts = {}, use, row, served = {} }: Case = {}, asked = payment) {
  const world = aWorld()
  const process = await world.start()
  world.chain.change(({ tokens }) => tokens.set(`${asset}/${payer}`, 10_000n))
  const searched: number[] = []
  const isUsed = use === undefined ? {} : { isNonceUsed: true }
  const facilitator = aFacilitator(world, process, ({ readFacts }) => ({
    readFacts: async (expected) => ({
      ...(await readFacts(expected)),
      blockNumber: 50,
      ...isUsed,
      ...facts,
    }),
    async findUse(_expected, afterBlock) {
      searched.push(afterBlock)
      if (use === undefined) throw new Error('nobody asks for a use')
      return use
    },
    ...served,
  }))
  if (row !== undefined) {
    const job = createExactJob({
      id: 'a',
      payment,
      digest: row.digest,
      signature: payment.signature,
      isAlone: false,
      seenBlock: SEEN_BLOCK,
      claimedAt: CLAIMED_AT * 1_000,
    })
    await process.journal.claim(job, undefined, Date.now())
    const outcome = failure('insufficientBalance', 'Poor.')
    const outcomes = row.state === 'failed' ? [{ id: 'a', round: 0, outcome }] : []
    await process.journal.resolve({ outcomes, now: Date.now() })
  }
  return { result: facilitator.verify(asked), searched }
}

const rejected = (reason: string) => ({ state: 'rejected', rejection: { reason } })

function paidIn(blockNumber: number, minedAt = CLAIMED_AT): AuthorizationUse {
  const receipt = { transactionHash: transaction, blockNumber } as Receipt
  return { state: 'paid', receipt, transferLog: 3, minedAt }
}

describe('a payment that nobody has seen', () => {
  it('is valid when signature and chain have nothing against it', async () => {
    expect(await (await check()).result).toMatchObject({
      state: 'valid',
      intent: { digest, signature: payment.signature, isAlone: false, seenBlock: 50 },
    })
  })

  it('counts from the newest block that was seen by anybody', async () => {
    const { result } = await check({ served: { headBlock: () => 55 } })
    expect(await result).toMatchObject({ intent: { seenBlock: 55 } })
  })

  it('is refused with the signature of another payment, also after its own was accepted', async () => {
    const other = aPayment({ authorization: { ...payment.authorization, value: 1n } })
    const asked = { ...payment, signature: await signPayment(other) }
    expect(await (await check({}, asked)).result).toMatchObject(rejected('signature'))
  })

  it('is refused while its signature would deploy the wallet, and accepted once that is there', async () => {
    const asked = {
      ...payment,
      signature: serializeErc6492Signature({
        address: payTo,
        data: '0x',
        signature: payment.signature,
      }),
    }
    expect(await (await check({}, asked)).result).toMatchObject(rejected('factoryNotAllowed'))
    const questions: string[] = []
    const rpc = anRpc({
      async request(_method, [call]) {
        const { to, data } = call as { to: string; data: string }
        if (to !== payment.authorization.from) return '0x'
        questions.push(data)
        return `${selectors.isValidSignature}${'0'.repeat(56)}`
      },
    })
    const deployed = { facts: { payerHasCode: true }, served: { rpc } }
    const { signature } = payment
    expect(await (await check(deployed, asked)).result).toMatchObject({
      state: 'valid',
      intent: { signature, isAlone: true },
    })
    expect(questions).toEqual([expect.stringContaining(signature.slice(2))])
    expect(questions[0]).not.toContain('64926492')
  })

  it('is refused where the operator does not pay its gas', async () => {
    const rejection = { reason: 'gasBudgetExceeded', message: 'enough' } as const
    const { result } = await check({ served: { guardGas: async () => rejection } })
    expect(await result).toEqual({ state: 'rejected', rejection })
  })

  it('is refused where the operator blocks its recipient', async () => {
    const terms = aTerms({ isPayToBlocked: (address) => address === payTo })
    const { result } = await check({ served: { terms } })
    expect(await result).toMatchObject(rejected('payToNotAllowed'))
  })

  it.each([devnetContracts.batchSettlement, devnetContracts.erc3009Collector])(
    'is refused to a contract of x402, %s, which would keep the money',
    async (contract) => {
      const to = contract.toLowerCase() as Hex
      const asked = aPayment({ payTo: to, authorization: { ...payment.authorization, to } })
      expect(await (await check({}, asked)).result).toMatchObject(rejected('invalidPayTo'))
    },
  )

  it('is refused when the chain’s clock is past its end, although ours is not', async () => {
    const chainSeconds = () => nowSeconds + 60
    const { result } = await check({ served: { chainSeconds } })
    expect(await result).toMatchObject(rejected('validBefore'))
  })

  it('is not checked at all once the token has changed', async () => {
    const changed = new Error('the token has changed')
    const { result } = await check({ served: { tokenMismatch: () => changed } })
    await expect(result).rejects.toBe(changed)
  })

  it.each<[string, Partial<PaymentFacts>, string]>([
    ['the payer is blocked by the token', { isPayerBlocklisted: true }, 'payerBlocklisted'],
    ['the recipient is blocked by the token', { isPayToBlocklisted: true }, 'payToBlocklisted'],
    ['the token is paused', { isPaused: true }, 'assetPaused'],
    ['the payer is short of money', { balance: 9_999n }, 'insufficientBalance'],
  ])('is refused when %s', async (_, facts, reason) => {
    expect(await (await check({ facts })).result).toMatchObject(rejected(reason))
  })

  it('that is used on chain is refused with the transaction: it may have bought something elsewhere', async () => {
    const { result } = await check({ use: paidIn(49) })
    expect(await result).toMatchObject({ ...rejected('nonceAlreadyUsed'), transaction })
  })
})

describe('a payment that the journal knows', () => {
  const queued = { state: 'queued' } as const

  it('is decided by its row, before balance and nonce are read', async () => {
    const facts = { balance: 0n, isNonceUsed: true }
    const { result } = await check({ facts, row: { ...queued, digest } })
    expect(await result).toMatchObject({ state: 'known', job: { digest } })
  })

  it('is answered to nobody who presents another signature', async () => {
    const asked = { ...payment, signature: `0x${'ab'.repeat(64)}1b` } as const
    const { result } = await check({ row: { ...queued, digest } }, asked)
    expect(await result).toMatchObject(rejected('signature'))
  })

  it('waits for another authorization of the same nonce that came before', async () => {
    const { result } = await check({ row: { ...queued, digest: '0x01' } })
    expect(await result).toMatchObject({ state: 'held', job: { digest: '0x01' } })
  })

  it('may be tried again when its row has failed', async () => {
    const { result } = await check({ row: { state: 'failed', digest } })
    expect(await result).toMatchObject({ state: 'valid', intent: { failedJob: { digest } } })
  })
})

describe('a payment that was claimed here, failed, and is used on chain', () => {
  const failed = { state: 'failed' } as const

  it('is paid when the use came after the claim and before the failure', async () => {
    const about = { row: { ...failed, digest }, use: paidIn(SEEN_BLOCK + 1) } as const
    const { result, searched } = await check(about)
    expect(await result).toMatchObject({ state: 'paidElsewhere', transferLog: 3 })
    expect(searched).toEqual([SEEN_BLOCK - 2])
  })

  it('is paid as well when it is asked about after its end', async () => {
    const chainSeconds = () => nowSeconds + 60
    const row = { ...failed, digest } as const
    const { result } = await check({ row, use: paidIn(SEEN_BLOCK + 1), served: { chainSeconds } })
    expect(await result).toMatchObject({ state: 'paidElsewhere', transferLog: 3 })
  })

  it('is used when it was brought on chain after it had failed: anybody can make such a claim', async () => {
    const failedAt = Math.floor(Date.now() / 1_000)
    for (const minedAt of [failedAt + 1, failedAt + 60]) {
      const use = paidIn(SEEN_BLOCK + 1, minedAt)
      const { result } = await check({ row: { ...failed, digest }, use })
      expect(await result).toMatchObject({ ...rejected('nonceAlreadyUsed'), transaction })
    }
  })

  it('is used when the use came before the claim', async () => {
    const { result } = await check({ row: { ...failed, digest }, use: paidIn(SEEN_BLOCK) })
    expect(await result).toMatchObject({ ...rejected('nonceAlreadyUsed'), transaction })
  })

  it('is used when the block of the use is of a second before the claim', async () => {
    const use = paidIn(SEEN_BLOCK + 1, CLAIMED_AT - 1)
    const { result } = await check({ row: { ...failed, digest }, use })
    expect(await result).toMatchObject(rejected('nonceAlreadyUsed'))
  })

  it('is used when the claim was for another authorization', async () => {
    const row = { ...failed, digest: '0x01' } as const
    const { result } = await check({ row, use: paidIn(SEEN_BLOCK + 1) })
    expect(await result).toMatchObject(rejected('nonceAlreadyUsed'))
  })

  it('is unclear while nobody traces a transaction since the claim, and used if that was before', async () => {
    const untraced = (blockNumber: number): AuthorizationUse => ({
      state: 'untraced',
      receipt: { transactionHash: transaction, blockNumber } as Receipt,
      minedAt: CLAIMED_AT,
    })
    const row = { ...failed, digest }
    expect(await (await check({ row, use: untraced(SEEN_BLOCK + 1) })).result).toMatchObject({
      state: 'unclear',
      transaction,
    })
    const before = await (await check({ row, use: untraced(SEEN_BLOCK) })).result
    expect(before).toMatchObject(rejected('nonceAlreadyUsed'))
    expect(before).not.toHaveProperty('transaction')
  })

  it('is unclear while no node shows by whom', async () => {
    const row = { ...failed, digest }
    const unread = await check({ row, use: { state: 'unread', transaction } })
    expect(await unread.result).toEqual({ state: 'unclear', transaction })
    const notYet = await check({ row, use: { state: 'notFound', isFinal: false } })
    expect(await notYet.result).toMatchObject({ state: 'unclear' })
    const never = await check({ row, use: { state: 'notFound', isFinal: true } })
    expect(await never.result).toMatchObject(rejected('nonceAlreadyUsed'))
  })
})
