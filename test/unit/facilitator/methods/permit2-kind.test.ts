import { type Hex, keccak256 } from 'viem'
import { describe, expect, it } from 'vitest'
import { addressTopic, topics, wordOf } from '../../../../src/chain/abi.js'
import type { AuthorizationUse } from '../../../../src/chain/authorization-uses.js'
import type { PaymentFacts } from '../../../../src/chain/payment-facts.js'
import { encodePermit2Settle, proxyOf, transferOfPayment } from '../../../../src/chain/permit2.js'
import type { Log, Receipt } from '../../../../src/chain/receipts.js'
import type { Job } from '../../../../src/facilitator/journal/settlement-journal.js'
import {
  createPermit2Job,
  createPermit2Kind,
} from '../../../../src/facilitator/methods/permit2-job.js'
import { aPayment, asset, nowSeconds, payer, payTo } from '../../protocol/x402/a-payment.js'

const SEEN_BLOCK = 40
const transaction: Hex = `0x${'aa'.repeat(32)}`
const foreign: Hex = `0x${'ff'.repeat(32)}`
const multicall = `0x${'e'.repeat(40)}` as const

/** A payment by Permit2 that was claimed at `SEEN_BLOCK`: `upto` through the multicall, or `exact`. */
function aJob(isUpto: boolean): Job {
  const payment = aPayment()
  const { signature } = payment
  const permit2 = {
    token: asset,
    spender: proxyOf({ facilitator: isUpto ? multicall : undefined }),
    ...(isUpto && { facilitator: multicall }),
  }
  const made = createPermit2Job({
    id: 'a',
    payment: { ...payment, permit2 },
    digest: `0x${'dd'.repeat(32)}`,
    signature,
    permit: undefined,
    isAlone: false,
    seenBlock: SEEN_BLOCK,
    claimedAt: nowSeconds * 1_000,
  })
  return { ...made, transaction } as Job
}

const facts: PaymentFacts = {
  blockNumber: 50,
  blockTimestamp: nowSeconds,
  payerHasCode: false,
  isNonceUsed: true,
  isPayerBlocklisted: false,
  isPayToBlocklisted: false,
  isPaused: false,
  balance: 10_000n,
  allowance: 10_000n,
}

function examine(
  job: Job,
  use?: AuthorizationUse,
  receipt?: Receipt,
  isOurs = true,
  changes: Partial<PaymentFacts> = {},
) {
  const kind = createPermit2Kind({
    multicall: { address: multicall, wallets: [] },
    async findUse() {
      if (use === undefined) throw new Error('nobody asks for a use')
      return use
    },
    readFacts: async () => ({ ...facts, ...changes }),
    isOurs: async () => isOurs,
  })
  return kind.examine(job, 0, receipt)
}

const transfer = (value: bigint, index: number): Log => ({
  address: asset,
  index,
  topics: [topics.transfer, addressTopic(payer), addressTopic(payTo)],
  data: `0x${wordOf(value)}`,
})
const settled = (index: number, isUpto: boolean): Log => ({
  address: proxyOf({ facilitator: isUpto ? multicall : undefined }),
  index,
  topics: [topics.settled],
  data: '0x',
})
const called = (index: number, calldata: Hex): Log => ({
  address: multicall,
  index,
  topics: [topics.called, keccak256(calldata)],
  data: '0x',
})
const receiptOf = (...logs: Log[]): Receipt => ({
  transactionHash: transaction,
  blockNumber: 45,
  isSuccess: true,
  gasUsed: 100_000n,
  effectiveGasPrice: 1n,
  logs,
})

const mismatch = { state: 'failed', reason: 'transferEventMismatch', transaction }
const other: AuthorizationUse = { state: 'otherUse', blockNumber: 45 }

describe('a payment by Permit2 whose own transaction did not settle it', () => {
  it('because the token took a fee has failed at once, with that transaction', async () => {
    const exact = aJob(false)
    const alone = receiptOf(transfer(9_900n, 0), transfer(100n, 1), settled(2, false))
    expect(await examine(exact, undefined, alone)).toMatchObject(mismatch)
    const upto = aJob(true)
    const shared = receiptOf(transfer(9_900n, 0), settled(1, true), called(2, upto.calldata))
    expect(await examine(upto, undefined, shared)).toMatchObject(mismatch)
  })

  it('because something else used the nonce has failed with it, and says in which block', async () => {
    const reverted = { state: 'failed', reason: 'nonceAlreadyUsed', transaction }
    expect(await examine(aJob(false), other, receiptOf())).toMatchObject({
      ...reverted,
      message: expect.stringMatching(/in block 45, so 0xaaa.* could not settle it\.$/),
    })
    // The call of another member succeeded, and its own failed.
    const another = encodePermit2Settle(
      transferOfPayment({ ...aPayment(), amount: 1n, permit2: { token: asset, spender: payTo } }),
      '0x',
    )
    const shared = receiptOf(transfer(10_000n, 0), settled(1, true), called(2, another))
    expect(await examine(aJob(true), other, shared)).toMatchObject(reverted)
  })

  it('names no transaction that is not ours', async () => {
    const found = await examine({ ...aJob(false), transaction: foreign }, other, undefined, false)
    expect(found).toMatchObject({ state: 'failed', reason: 'nonceAlreadyUsed' })
    expect(found).not.toHaveProperty('transaction')
  })
})

describe('a payment by Permit2 that a transaction nobody traces may have settled', () => {
  const untraced = (blockNumber: number, minedAt = nowSeconds): AuthorizationUse => ({
    state: 'untraced',
    receipt: { transactionHash: foreign, blockNumber } as Receipt,
    minedAt,
  })

  it('is uncertain since its claim, and says why', async () => {
    expect(await examine(aJob(false), untraced(SEEN_BLOCK + 1))).toEqual({
      state: 'uncertain',
      transaction: foreign,
      message: expect.stringMatching(/Only a trace of it \(debug_traceTransaction\)/),
    })
  })

  it('has failed if that was before its claim, however it ended', async () => {
    for (const use of [untraced(SEEN_BLOCK), untraced(SEEN_BLOCK + 1, nowSeconds - 1)]) {
      const found = await examine(aJob(false), use, undefined, false)
      expect(found).toMatchObject({ state: 'failed', reason: 'nonceAlreadyUsed' })
      expect(found).not.toHaveProperty('transaction')
    }
  })
})

describe('a payment by Permit2 that is unused', () => {
  /** A job of `upto` that moves 4,000 of the 10,000 that its payer permits. */
  const upto = (): Job => {
    const job = aJob(true)
    return { ...job, details: JSON.stringify({ ...JSON.parse(job.details), value: '4000' }) }
  }
  it.each([
    [4_000n, 'open'],
    [3_999n, 'refused'],
  ])(
    'needs an allowance for what it moves, not for all that is permitted: %s',
    async (allowance, state) => {
      const unused = { isNonceUsed: false, allowance }
      expect(await examine(upto(), undefined, undefined, true, unused)).toMatchObject({ state })
    },
  )
})
