import type { BatchRequest } from '@arcus/protocol/x402/batch-request'
import { reasons } from '@arcus/protocol/x402/reasons'
import { describe, expect, it } from 'vitest'
import { identifySettle } from '../../../../src/facilitator/batch/jobs.js'
import { createOutcomeAnswers } from '../../../../src/facilitator/batch/outcomes.js'
import { createDeliveryStore } from '../../../../src/facilitator/journal/deliveries.js'
import { createDeliveries } from '../../../../src/facilitator/settle/deliveries.js'
import { createSql } from '../../../../src/sql/sqlite/sql.js'
import { aNetwork } from '../../../support/simulated/a-facilitator.js'
import { aWorld, network, useVirtualClock, writesOf } from '../../../support/simulated/a-relayer.js'
import {
  aBatchJob,
  aBatchNode,
  type ChainEvent,
  channelA,
  channelB,
  hashOf,
  receiver,
  token,
} from './a-batch-world.js'

useVirtualClock()

/** The answers of a process about a chain on which this happened. */
async function anAnswering(
  events: readonly ChainEvent[],
  wish: { shown?: Parameters<typeof aBatchNode>[1]; head?: number } = {},
) {
  const world = aWorld()
  const process = await world.start()
  const { database } = world
  const store = createDeliveryStore(createSql(database, writesOf(database)))
  const deliveries = createDeliveries({ store, now: Date.now, log: { error() {} } })
  const { journal } = process
  const said: string[] = []
  const log = { warn: (_: object, line: string) => void said.push(line) }
  const answers = createOutcomeAnswers({ journal, deliveries, checksum: (it) => it, log })
  const rpc = aBatchNode(events, wish.shown)
  const chain = { ...aNetwork(process), rpc, headBlock: () => wish.head ?? 0 }
  return { ...answers, journal, chain, said }
}

/** A request whose payload names no payer. */
const request: BatchRequest = {
  network,
  requirements: {
    scheme: 'batch-settlement',
    network,
    asset: token,
    amount: 7n,
    payTo: receiver,
    maxTimeoutSeconds: 60,
    extra: {},
  },
  acceptedScheme: 'batch-settlement',
  acceptedNetwork: network,
  payload: { type: 'settle', receiver, token },
}

const claim = { claim: channelA, amount: 5n }
const deposit = { channelId: channelA, amount: '7' }
const settled = { state: 'confirmed', transaction: hashOf(42), blockNumber: 42 } as const

describe('the answer to a job that settled', () => {
  it.each([
    ['lags behind', 41, '5'],
    ['is past', 43, '11'],
  ])('shows the channel after its deposit, where the feed %s its block', async (_, head, total) => {
    const events = [
      { ...claim, block: 42 },
      { ...claim, block: 43, amount: 6n },
    ]
    const { answerJob, chain } = await anAnswering(events, { head })
    const job = aBatchJob('deposit', deposit, { ...settled, gasCost: 3n })
    expect(await answerJob(job, request, chain)).toMatchObject({
      status: 200,
      gasCost: 3n,
      settlementId: job.id,
      body: {
        success: true,
        transaction: hashOf(42),
        network,
        amount: '7',
        extra: {
          channelState: {
            channelId: channelA,
            balance: '1000000',
            totalClaimed: total,
            withdrawRequestedAt: 0,
            refundNonce: '0',
          },
        },
      },
    })
  })

  it.each([
    ['refund', { channelId: channelA, amount: '500' }, { refund: channelA }],
    ['settle', { receiver, token, settledBefore: '0' }, { payout: true as const }],
  ] as const)('says what a %s moved, not what was asked', async (kind, details, what) => {
    const events: ChainEvent[] = [{ ...what, block: 42, amount: 499n }]
    const { answerJob, chain } = await anAnswering(events)
    const { body } = await answerJob(aBatchJob(kind, details, settled), request, chain)
    expect(body).toMatchObject({ success: true, amount: '499' })
  })

  it('is pending, with the transaction, while its receipt cannot be read', async () => {
    const events: ChainEvent[] = [{ refund: channelA, block: 42, amount: 499n }]
    const { answerJob, chain, said } = await anAnswering(events, { shown: { hidesReceipts: true } })
    const job = aBatchJob('refund', { channelId: channelA }, settled)
    const { body, settlementId } = await answerJob(job, request, chain)
    const { code } = reasons.settlementPending
    expect(body).toMatchObject({ success: false, errorReason: code, transaction: hashOf(42) })
    expect([settlementId, said]).toEqual([job.id, ['a settled job could not be described']])
  })
})

describe('the answer to a job that failed', () => {
  it.each([
    ['deposit', 'transactionFailed', 'batchDepositTransactionFailed'],
    ['claim', 'transactionFailed', 'batchClaimTransactionFailed'],
    ['settle', 'a reason of an older version', 'batchSettleTransactionFailed'],
    ['refund', null, 'batchRefundTransactionFailed'],
    ['refund', 'nonceAlreadyUsed', 'batchRefundSimulationFailed'],
    ['deposit', 'validBefore', 'batchValidBefore'],
    ['deposit', 'insufficientBalance', 'batchInsufficientBalance'],
    ['deposit', 'gasAboveLimit', 'batchDepositTransactionFailed'],
    ['claim', 'payerNotAllowed', 'payerNotAllowed'],
  ] as const)(
    'names in the words of the scheme why a %s failed by %s',
    async (kind, reason, key) => {
      const { answerJob, chain } = await anAnswering([])
      const failed = {
        state: 'failed',
        reason,
        message: 'So it is.',
        transaction: hashOf(9),
      } as const
      const { body, settlementId } = await answerJob(aBatchJob(kind, {}, failed), request, chain)
      expect(settlementId).toBe('job-1')
      expect(body).toMatchObject({
        success: false,
        errorReason: reasons[key].code,
        errorMessage: 'So it is.',
        transaction: hashOf(9),
      })
    },
  )
})

describe('a claim of totals that were claimed before', () => {
  const job = {
    action: 'claim' as const,
    key: 'key',
    digest: hashOf(1),
    expiresAt: 0,
    details: {
      authorizer: receiver,
      payTo: receiver,
      claims: [
        { channelId: channelA, totalClaimed: '5' },
        { channelId: channelB, totalClaimed: '5' },
      ],
      accountsThatRun: [],
    },
  }

  it.each([
    ['of this moment', 6_000, 6_000],
    ['within the blocks that are searched', 1_000, 6_000],
    ['early in a young chain', 1, 3_000],
  ])('is a success by the transaction that claimed them %s', async (_, block, head) => {
    const { answerClaimed, chain } = await anAnswering([{ ...claim, block }], { shown: { head } })
    expect(await answerClaimed(job, request, chain)).toMatchObject({
      body: { success: true, transaction: hashOf(block), network },
    })
  })

  it.each([
    ['longer ago', [{ ...claim, block: 999 }]],
    ['by nobody', []],
  ])('has nothing to claim where that was %s', async (_, events) => {
    const { answerClaimed, chain } = await anAnswering(events, { shown: { head: 6_000 } })
    const { body } = await answerClaimed(job, request, chain)
    expect(body).toMatchObject({ success: false, errorReason: reasons.nothingToClaim.code })
  })
})

describe('a payout where nothing is due', () => {
  const details = { receiver, token, settledBefore: '0' }
  const { key, digest, expiresAt } = identifySettle(receiver, token, 0n)
  const job = { action: 'settle' as const, key, digest, expiresAt, details }
  const shown = { head: 3_000 }
  const events: ChainEvent[] = [{ payout: true, block: 42, amount: 600n }]

  /** Keeps a payout of ours, about which nobody was answered yet. */
  async function aPayout() {
    const answering = await anAnswering(events, { shown })
    const { kind, to, calldata, seenBlock } = aBatchJob('settle', details)
    const place = { id: 'payout-1', kind, network, to, calldata, seenBlock }
    const row = { ...place, key, digest, expiresAt, details: JSON.stringify(details) }
    const outcome = { ...settled, gasCost: null, reason: null, message: null }
    await answering.journal.recordFound(row, undefined, outcome, Date.now())
    const ask = () => answering.answerPaidOut(job, request, answering.chain)
    return { ...answering, ask }
  }

  it('is a success for the last one, until somebody was told of it', async () => {
    const { ask, leaseDelivery } = await aPayout()
    const first = await ask()
    expect(first).toMatchObject({
      settlementId: 'payout-1',
      body: { success: true, transaction: hashOf(42), amount: '600' },
    })
    const asked = { body: {}, idempotencyKey: undefined, caller: '', isConnected: () => true }
    const { delivery } = await leaseDelivery(first, { ...asked, onClaimed() {} })
    await delivery?.complete()
    expect((await ask()).body).toMatchObject({
      success: false,
      errorReason: reasons.batchNothingToSettle.code,
      transaction: hashOf(42),
    })
  })

  it.each([
    ['that somebody else asked for', events, hashOf(42)],
    ['of which there is none', [], ''],
  ])('is none for a payout %s', async (_, happened, transaction) => {
    const { answerPaidOut, chain } = await anAnswering(happened, { shown })
    const { body } = await answerPaidOut(job, request, chain)
    expect(body).toMatchObject({ success: false, transaction })
  })
})
