import { reasons } from '@arcus/protocol/x402/reasons'
import type { Address, Hex } from 'viem'
import { describe, expect, it } from 'vitest'
import type { Job, Outcome } from '../../../../src/facilitator/journal/settlement-journal.js'
import { createPaymentFinder } from '../../../../src/facilitator/lookup/payments.js'
import { createExactJob, refundNonceOf } from '../../../../src/facilitator/methods/exact-job.js'
import { confirmation, failure } from '../../../../src/facilitator/relayer/outcomes.js'
import { anAttempt } from '../../../support/an-attempt.js'
import { aToken } from '../../../support/simulated/a-facilitator.js'
import {
  aWorld,
  euro,
  network,
  pass,
  usdc,
  useVirtualClock,
} from '../../../support/simulated/a-relayer.js'

useVirtualClock()

const buyer: Address = `0x${'a1'.repeat(20)}`
const seller: Address = `0x${'b2'.repeat(20)}`
const wallet: Address = `0x${'c3'.repeat(20)}`
const nonce: Hex = `0x${'5a'.repeat(32)}`
const transaction: Hex = `0x${'aa'.repeat(32)}`

/** Payments in a journal, and the finder over it. */
function aFinder() {
  const { store } = aWorld()
  const { journal } = store
  const finder = createPaymentFinder({
    journal,
    terms: new Map([
      [
        network,
        {
          tokens: new Map([
            [usdc, aToken()],
            [euro, aToken({ address: euro, symbol: 'EURC', currency: 'EUR' })],
          ]),
        },
      ],
    ]),
    explorerUrls: new Map([[network, 'https://scan.example']]),
    checksum: (address) => address,
    refundWallets: new Map([[wallet, seller]]),
    now: Date.now,
  })
  let made = 0
  /** Claims a payment of a cent from the buyer to the seller, unless said. */
  async function claim(
    wish: { from?: Address; to?: Address; nonce?: Hex; asset?: Address; value?: bigint } = {},
  ) {
    const { from = buyer, to = seller, asset = usdc, value = 10_000n } = wish
    const times = { validAfter: 0n, validBefore: 1_900_000_000n }
    const authorization = { from, to, value, ...times, nonce: wish.nonce ?? nonce }
    const job = createExactJob({
      id: `row-${++made}`,
      payment: { network, asset, payTo: to, authorization },
      digest: `0x${String(made).padStart(64, '0')}`,
      signature: '0x',
      isAlone: false,
      seenBlock: 1,
      claimedAt: Date.now(),
    })
    const claimed = await journal.claim(job, undefined, Date.now())
    if (claimed.state !== 'claimed') throw new Error(claimed.state)
    return claimed.job
  }
  const decide = ({ id, round }: Job, outcome: Outcome) =>
    journal.resolve({ outcomes: [{ id, round, outcome }], now: Date.now() })
  const confirm = (job: Job, transactionHash = transaction) => {
    const receipt = {
      transactionHash,
      blockNumber: 7,
      isSuccess: true,
      gasUsed: 1n,
      effectiveGasPrice: 1n,
      logs: [],
    }
    return decide(job, confirmation(receipt, {}, 2_000_000_000_000_000n))
  }
  const byNonce = (which: Parameters<typeof finder.byNonce>[3] = {}) =>
    finder.byNonce(network, buyer, nonce, which)
  return { finder, journal, claim, decide, confirm, byNonce }
}

describe('a payment that is looked up', () => {
  it('names its transaction once that has been out for a second and a half', async () => {
    const { finder, journal, claim, byNonce } = aFinder()
    const { id } = await claim()
    const sentAt = Date.now()
    await journal.recordAttempt(
      anAttempt({ hash: transaction, jobIds: [id], createdAt: sentAt }),
      0,
    )
    await pass(1_499)
    const untold = { state: 'queued', transaction: null, explorerUrl: null, sentAt: null }
    expect(await byNonce()).toMatchObject(untold)
    expect(await finder.byId(id)).toMatchObject({ status: 'pending', transaction: null })
    await pass(1)
    expect(await byNonce()).toMatchObject({
      state: 'submitted',
      transaction,
      explorerUrl: `https://scan.example/tx/${transaction}`,
      sentAt: new Date(sentAt).toISOString(),
    })
    expect(await finder.byId(id)).toMatchObject({ status: 'pending', transaction })
  })

  it('is the one of its payer and nonce, or none', async () => {
    const { finder, claim, byNonce } = aFinder()
    expect(await byNonce()).toBeUndefined()
    const { id } = await claim()
    await claim({ from: wallet })
    expect(await byNonce()).toMatchObject({ settlementId: id, payer: buyer, amount: '10000' })
    expect(await finder.byId('row-9')).toBeUndefined()
  })

  it('is named by its token where the nonce was used in two', async () => {
    const { finder, claim, confirm, byNonce } = aFinder()
    const dollars = await claim()
    await claim({ asset: euro })
    const queries = [usdc, euro].map((asset) => `asset=${asset}&method=eip3009`)
    expect(await byNonce()).toEqual({ queries })
    expect(await byNonce({ asset: euro })).toMatchObject({ symbol: 'EURC', currency: 'EUR' })
    expect(await byNonce({ asset: usdc, method: 'permit2' })).toBeUndefined()
    // The one that settled has a proof.
    expect(await finder.recordOf(network, buyer, nonce, {})).toEqual({ queries })
    await confirm(dollars)
    expect(await finder.recordOf(network, buyer, nonce, {})).toMatchObject({
      status: { settlementId: dollars.id },
      symbol: 'USDC',
      scheme: 'exact',
    })
    expect(await byNonce()).toEqual({ queries })
  })

  it('says how it ended', async () => {
    const { finder, claim, confirm, decide, byNonce } = aFinder()
    const paid = await claim()
    await confirm(paid)
    expect(await byNonce()).toMatchObject({
      state: 'confirmed',
      status: 'completed',
      transaction,
      blockNumber: 7,
      gasUsd: '0.002',
      delivered: false,
      refund: null,
      errorReason: null,
    })
    const failed = await claim({ nonce: `0x${'6b'.repeat(32)}` })
    await decide(failed, failure('insufficientBalance', 'Poor.'))
    expect(await finder.byNonce(network, buyer, `0x${'6b'.repeat(32)}`, {})).toMatchObject({
      state: 'failed',
      status: 'failed',
      errorReason: reasons.insufficientBalance.code,
      errorMessage: 'Poor.',
      transaction: null,
    })
  })

  it('is found with the others of its transaction', async () => {
    const { finder, claim, confirm } = aFinder()
    const ids = []
    for (const digit of ['1', '2', '3']) {
      const job = await claim({ nonce: `0x${digit.repeat(64)}` })
      await confirm(job, digit === '3' ? `0x${'bb'.repeat(32)}` : transaction)
      ids.push(job.id)
    }
    const found = await finder.byTransaction(transaction)
    expect(found.map(({ settlementId }) => settlementId)).toEqual(ids.slice(0, 2))
  })
})

describe('what a seller gave back', () => {
  const sale = {
    network,
    asset: usdc,
    payer: buyer,
    paymentNonce: nonce,
    method: 'eip3009',
  } as const
  const refundNonce = refundNonceOf(sale)

  /** The refund that is shown of a settled payment, once these transfers of the seller have settled. */
  async function refundAfter(...transfers: Parameters<ReturnType<typeof aFinder>['claim']>) {
    const { claim, confirm, byNonce } = aFinder()
    await confirm(await claim())
    for (const transfer of transfers) {
      await confirm(await claim({ from: seller, to: buyer, nonce: refundNonce, ...transfer }))
    }
    const status = await byNonce()
    return status !== undefined && 'refund' in status ? status.refund : undefined
  }

  it.each<[string, Parameters<ReturnType<typeof aFinder>['claim']>[0], string | undefined]>([
    ['is a part', { value: 4_000n }, '4000'],
    ['is all of it', { value: 10_000n }, '10000'],
    ['is no more than was paid', { value: 10_001n }, '10000'],
    ['may come from the wallet of their refunds', { from: wallet, value: 4_000n }, '4000'],
    ['does not come from others', { from: buyer, to: buyer, value: 4_000n }, undefined],
    ['does not go to others', { to: wallet, value: 4_000n }, undefined],
    ['is in the token of the payment', { asset: euro, value: 4_000n }, undefined],
    ['names the payment', { nonce: `0x${'6b'.repeat(32)}`, value: 4_000n }, undefined],
    [
      'names its method',
      { nonce: refundNonceOf({ ...sale, method: 'permit2' }), value: 4_000n },
      undefined,
    ],
  ])('%s', async (_, transfer, amount) => {
    const refund = await refundAfter(transfer)
    if (amount === undefined) expect(refund).toBeNull()
    else expect(refund).toMatchObject({ amount, transaction, from: transfer?.from ?? seller })
  })

  it('counts once it has settled', async () => {
    const { finder, claim, confirm } = aFinder()
    const { payer, paymentNonce, asset } = sale
    const find = () =>
      finder.findRefunds([
        { network, asset, payer, payTo: seller, nonce: paymentNonce, amount: 9n },
      ])
    const refund = await claim({ from: seller, to: buyer, nonce: refundNonce, value: 9n })
    expect(await find()).toEqual([null])
    await confirm(refund)
    expect(await find()).toMatchObject([{ amount: '9', nonce: refundNonce }])
  })
})
