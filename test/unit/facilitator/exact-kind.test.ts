import { describe, expect, it } from 'vitest'
import type { AuthorizationUse } from '../../../src/chain/authorization-uses.js'
import type { PaymentFacts } from '../../../src/chain/payment-facts.js'
import type { Receipt } from '../../../src/chain/receipts.js'
import { RpcUnavailableError } from '../../../src/chain/rpc-errors.js'
import type { Job } from '../../../src/facilitator/journal/settlement-journal.js'
import { createExactJob, createExactKind } from '../../../src/facilitator/schemes/exact-job.js'
import { aPayment, asset, nonce, nowSeconds, payer, payTo } from '../x402/a-payment.js'

const SEEN_BLOCK = 40
const EXPIRES_AT = nowSeconds + 60
const CLAIMED_AT = nowSeconds - 5
const transaction = `0x${'aa'.repeat(32)}` as const
const signature = aPayment().signature

/** What is said of a payment that was claimed at `SEEN_BLOCK`, with these facts and this use on chain. */
async function examine({
  facts = {},
  use,
  atLeastBlock = 0,
  job = {},
  isOurs = false,
}: {
  facts?: Partial<PaymentFacts>
  use?: AuthorizationUse
  atLeastBlock?: number
  job?: Partial<Job>
  isOurs?: boolean
}) {
  const searched: unknown[] = []
  const kind = createExactKind({
    findUse: async (...question) => {
      searched.push(question)
      if (use === undefined) throw new Error('nobody asks for a use')
      return use
    },
    readFacts: async () => ({
      blockNumber: 50,
      blockTimestamp: nowSeconds,
      payerHasCode: false,
      isNonceUsed: use !== undefined,
      isPayerBlocklisted: false,
      isPayToBlocklisted: false,
      isPaused: false,
      balance: 10_000n,
      allowance: 0n,
      ...facts,
    }),
    isOurs: async () => isOurs,
  })
  const made = createExactJob({
    id: 'a',
    payment: aPayment(),
    digest: `0x${'dd'.repeat(32)}`,
    signature,
    isAlone: false,
    seenBlock: SEEN_BLOCK,
    claimedAt: CLAIMED_AT * 1_000 + 999,
  })
  const examination = await kind.examine(
    { ...made, transaction: null, ...job } as Job,
    atLeastBlock,
  )
  return { examination, searched }
}

function paidIn(blockNumber: number, minedAt = CLAIMED_AT): AuthorizationUse {
  const receipt = { transactionHash: transaction, blockNumber } as Receipt
  return { state: 'paid', receipt, transferLog: 3, minedAt }
}

describe('an exact payment that was not used', () => {
  it('is open while it could land', async () => {
    expect((await examine({})).examination).toEqual({ state: 'open' })
  })

  it('is refused for now when its payer is short of money', async () => {
    const { examination } = await examine({ facts: { balance: 9_999n } })
    expect(examination).toMatchObject({ state: 'refused', reason: 'insufficientBalance' })
  })

  it('has failed once the chain’s own clock is past its end, not before', async () => {
    const at = (blockTimestamp: number) => examine({ facts: { blockTimestamp } })
    expect((await at(EXPIRES_AT - 1)).examination).toEqual({ state: 'open' })
    const { examination } = await at(EXPIRES_AT)
    expect(examination).toMatchObject({ state: 'failed', reason: 'validBefore' })
  })

  it('is not judged by a node that is behind what was seen', async () => {
    await expect(examine({ atLeastBlock: 51 })).rejects.toThrow(RpcUnavailableError)
    expect((await examine({ atLeastBlock: 50 })).examination).toEqual({ state: 'open' })
  })
})

describe('an exact payment whose nonce was used', () => {
  it('is confirmed by its own transfer in a block after the claim', async () => {
    const { examination, searched } = await examine({ use: paidIn(SEEN_BLOCK + 1) })
    expect(examination).toMatchObject({ state: 'confirmed', transferLog: 3 })
    // The facts of a claim may be read one block behind.
    const expected = { asset, payer, payTo, value: 10_000n, nonce }
    expect(searched).toEqual([[expected, SEEN_BLOCK - 2, 50]])
  })

  it('has failed when it was paid before it was claimed: it may have bought something elsewhere', async () => {
    const { examination } = await examine({ use: paidIn(SEEN_BLOCK) })
    expect(examination).toMatchObject({ state: 'failed', reason: 'nonceAlreadyUsed', transaction })
  })

  it('has failed when the block is of a second before the claim: a node that lags may have hidden it', async () => {
    const use = paidIn(SEEN_BLOCK + 1, CLAIMED_AT - 1)
    const { examination } = await examine({ use })
    expect(examination).toMatchObject({ state: 'failed', reason: 'nonceAlreadyUsed', transaction })
    const own = await examine({ use, isOurs: true })
    expect(own.examination).toMatchObject({ state: 'confirmed' })
  })

  it('has failed when the payer cancelled it', async () => {
    const { examination } = await examine({ use: { state: 'cancelled', transaction } })
    expect(examination).toMatchObject({ state: 'failed', reason: 'nonceAlreadyUsed', transaction })
  })

  it('has failed when another authorization used it', async () => {
    const { examination } = await examine({ use: { state: 'otherTransfer', transaction } })
    expect(examination).toMatchObject({ state: 'failed', reason: 'nonceAlreadyUsed', transaction })
  })

  it('has failed when its own transaction used it without the transfer', async () => {
    const use = { state: 'otherTransfer', transaction } as const
    // An earlier one than the row names: the fee was raised since.
    const own = { use, isOurs: true, job: { transaction: `0x${'bb'.repeat(32)}` as const } }
    const { examination } = await examine(own)
    const failed = { state: 'failed', reason: 'transferEventMismatch', transaction }
    expect(examination).toMatchObject(failed)
  })

  it('is undecided while no node shows by whom, and fails once all was searched', async () => {
    const notFound = (isFinal: boolean) => examine({ use: { state: 'notFound', isFinal } })
    await expect(notFound(false)).rejects.toThrow(RpcUnavailableError)
    const unread = examine({ use: { state: 'unread', transaction } })
    await expect(unread).rejects.toThrow(RpcUnavailableError)
    const { examination } = await notFound(true)
    expect(examination).toMatchObject({ state: 'failed', reason: 'nonceAlreadyUsed' })
  })
})
