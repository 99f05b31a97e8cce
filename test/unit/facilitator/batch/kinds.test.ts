import { describe, expect, it } from 'vitest'
import type { Rpc } from '../../../../src/chain/rpc.js'
import { RpcUnavailableError } from '../../../../src/chain/rpc-errors.js'
import { batchKinds } from '../../../../src/facilitator/batch/jobs.js'
import {
  createBatchKinds,
  findClaims,
  gainOf,
  readGains,
} from '../../../../src/facilitator/batch/kinds.js'
import type { Job } from '../../../../src/facilitator/journal/settlement-journal.js'
import {
  aBatchJob,
  aBatchNode,
  channelA,
  channelB,
  hashOf,
  receiver,
  token,
} from './a-batch-world.js'

const unread = async () => expect.unreachable('no deposit is examined here')

/** Examines a job, with a node that must know this block. */
function examine(rpc: Rpc, job: Job, atLeastBlock = 0) {
  return createBatchKinds(rpc, unread, unread)[job.kind]?.examine(job, atLeastBlock)
}

describe('a claim of two channels', () => {
  const claims = [
    { channelId: channelA, totalClaimed: '500' },
    { channelId: channelB, totalClaimed: '700' },
  ]
  const job = aBatchJob('claim', { claims, authorizer: receiver, payTo: receiver })
  const first = { block: 300, claim: channelA, amount: 500n }
  const second = { block: 400, claim: channelB, amount: 700n }

  it.each([
    ['neither total is reached', []],
    ['only the first total is reached', [first]],
    ['only the second total is reached', [second]],
    ['one total lacks a unit', [first, { ...second, amount: 699n }]],
  ])('is open while %s', async (_, events) => {
    expect(await examine(aBatchNode(events), job)).toEqual({ state: 'open' })
  })

  it.each([
    ['one by one', [first, second], 400],
    ['the other way round', [{ ...second, block: 200 }, first], 300],
    ['beyond the totals', [first, { ...second, amount: 9_000n }], 400],
    ['before a later claim', [first, second, { block: 500, claim: channelB, amount: 1n }], 400],
  ])('is confirmed by the newest transaction that it needed: %s', async (_, events, block) => {
    expect(await examine(aBatchNode(events), job)).toMatchObject({
      state: 'confirmed',
      receipt: { transactionHash: hashOf(block), blockNumber: block },
    })
  })

  it.each([
    ['shows no logs yet', { hidesLogs: true }, 0],
    ['shows no receipt yet', { hidesReceipts: true }, 0],
    ['is behind the block that was seen', { head: 449 }, 450],
  ])('is not decided by a node that %s', async (_, shown, atLeastBlock) => {
    const node = aBatchNode([first, second], shown)
    await expect(examine(node, job, atLeastBlock)).rejects.toThrow(RpcUnavailableError)
  })

  it('is found some minutes before it was seen, and no further back', async () => {
    const old = [first, { ...second, block: 1_000 }]
    const seenAt = (seenBlock: number) => examine(aBatchNode(old), { ...job, seenBlock })
    expect(await seenAt(6_000)).toMatchObject({ state: 'confirmed' })
    await expect(seenAt(6_001)).rejects.toThrow(RpcUnavailableError)
  })

  it('is named by no transaction outside the blocks that are searched', async () => {
    const find = (from: number, to: number) =>
      findClaims(aBatchNode([first, second]), claims, { from, to })
    expect(await find(301, 399)).toBeUndefined()
    expect(await find(0, 399)).toMatchObject({ blockNumber: 300 })
    expect(await find(400, 9_000)).toMatchObject({ blockNumber: 400 })
  })

  it('settles in a receipt with a claim of one of its channels, and moves all that was claimed', async () => {
    const node = aBatchNode([first, { ...second, block: 300 }])
    const kind = createBatchKinds(node, unread, unread)[batchKinds.claim]
    const found = await examine(node, job)
    if (found?.state !== 'confirmed') return expect.unreachable(found?.state)
    const { receipt } = found
    const other = aBatchJob('claim', { claims: [{ channelId: hashOf(1), totalClaimed: '1' }] })
    expect(kind?.findSettled(job, receipt)).toEqual({})
    expect(kind?.findSettled(other, receipt)).toBeUndefined()
    expect(kind?.findSettled(job, { ...receipt, isSuccess: false })).toBeUndefined()
    expect(kind?.movedIn(job, receipt)).toBe(1_200n)
  })
})

describe('a payout', () => {
  const payouts = [
    { block: 300, payout: true as const, amount: 500n },
    { block: 400, payout: true as const, amount: 600n },
  ]
  const jobAfter = (settledBefore: bigint) =>
    aBatchJob('settle', { receiver, token, settledBefore: String(settledBefore) })

  it('is open while the total has not grown', async () => {
    expect(await examine(aBatchNode(payouts), jobAfter(1_100n))).toEqual({ state: 'open' })
    expect(await examine(aBatchNode([]), jobAfter(0n))).toEqual({ state: 'open' })
  })

  it.each([
    [0n, 300, 500n],
    [500n, 400, 600n],
  ])('after %s is the one of block %s', async (before, block, moved) => {
    const node = aBatchNode(payouts)
    const found = await examine(node, jobAfter(before))
    expect(found).toMatchObject({ state: 'confirmed', receipt: { blockNumber: block } })
    if (found?.state !== 'confirmed') return
    const kind = createBatchKinds(node, unread, unread)[batchKinds.settle]
    expect(kind?.findSettled(jobAfter(before), found.receipt)).toEqual({})
    expect(kind?.movedIn(jobAfter(before), found.receipt)).toBe(moved)
  })

  it('is not decided while its transaction is not shown', async () => {
    const node = aBatchNode(payouts, { hidesLogs: true })
    await expect(examine(node, jobAfter(500n))).rejects.toThrow(RpcUnavailableError)
  })
})

describe('a refund', () => {
  const details = { channelId: channelA, nonce: '0', amount: '500', payTo: receiver, rows: 0 }
  const job = aBatchJob('refund', details)
  const refunded = { block: 300, refund: channelA, amount: 500n }

  it('is open while its nonce is unused', async () => {
    expect(await examine(aBatchNode([]), job)).toEqual({ state: 'open' })
    const second = aBatchJob('refund', { ...details, nonce: '1' })
    expect(await examine(aBatchNode([refunded]), second)).toEqual({ state: 'open' })
  })

  it('is confirmed by a transaction that returned its amount', async () => {
    const node = aBatchNode([refunded])
    const found = await examine(node, job)
    expect(found).toMatchObject({ state: 'confirmed', receipt: { blockNumber: 300 } })
    if (found?.state !== 'confirmed') return
    const kind = createBatchKinds(node, unread, unread)[batchKinds.refund]
    expect(kind?.movedIn(job, found.receipt)).toBe(500n)
  })

  it.each([499n, 501n])('has failed where another one of %s used its nonce', async (amount) => {
    expect(await examine(aBatchNode([{ ...refunded, amount }]), job)).toMatchObject({
      state: 'failed',
      reason: 'batchRefundSimulationFailed',
    })
  })
})

describe('the gain of a claim', () => {
  const gains = (...totals: [`0x${string}`, string][]) =>
    readGains(
      aBatchNode([{ block: 300, claim: channelA, amount: 400n }]),
      totals.map(([channelId, totalClaimed]) => ({ channelId, totalClaimed })),
    )

  it('is what its totals add; a total that is not covered or too old adds nothing', async () => {
    const found = await gains([channelA, '500'], [channelB, '1000000'], [channelB, '1000001'])
    expect(found).toEqual([100n, 1_000_000n, undefined])
    expect(gainOf(found)).toBe(1_000_100n)
    expect(gainOf(await gains([channelA, '300'], [channelB, '7']))).toBe(7n)
  })
})
