import { createBatchDigests } from '@arcus/protocol/x402/batch-digest'
import type { ClaimRow, EnrichedRefund } from '@arcus/protocol/x402/batch-schemas'
import { describe, expect, it } from 'vitest'
import { coverDeposit, planJob } from '../../../../src/facilitator/batch/plan.js'
import { aNetwork, aToken } from '../../../support/simulated/a-facilitator.js'
import {
  aWorld,
  keccak256,
  pass,
  usdc,
  useVirtualClock,
} from '../../../support/simulated/a-relayer.js'
import { aBatchNode, type ChainEvent } from './a-batch-world.js'
import { aConfig, payer, receiver, signature } from './a-channel-config.js'

useVirtualClock()

/** Each channel holds 1,000,000 units. */
const HELD = 1_000_000n
const MINIMUM = 100n
const digests = createBatchDigests(keccak256, 5042)
const token = aToken({ minAmount: MINIMUM })

async function aChain(events: readonly ChainEvent[] = []) {
  const world = aWorld()
  const process = await world.start()
  return { ...aNetwork(process), rpc: aBatchNode(events), channelDigests: digests }
}

const other = aConfig({ salt: `0x${'01'.repeat(32)}` })
const channelId = digests.channel(aConfig())
const otherId = digests.channel(other)

const row = (totalClaimed: bigint, channel = aConfig()): ClaimRow => ({
  voucher: { channel, maxClaimableAmount: String(totalClaimed) },
  signature,
  totalClaimed: String(totalClaimed),
})

describe('a claim', () => {
  const plan = async (claims: ClaimRow[], events: readonly ChainEvent[] = []) => {
    const asked = { type: 'claim', claims, claimAuthorizerSignature: signature } as const
    return planJob(asked, await aChain(events), token)
  }

  it('is worth what its rows add to what was claimed', async () => {
    const before = [{ block: 1, claim: channelId, amount: 300n }]
    const planned = await plan([row(500n), row(40n, other)], before)
    expect(planned).toMatchObject({ state: 'toDo', gain: 240n, gasPayer: receiver })
    expect(planned).not.toHaveProperty('refusal')
    expect(planned).not.toHaveProperty('isDone')
  })

  it.each([
    ['adds nothing is done', [row(300n)], { isDone: true }],
    [
      'adds less than the minimum is refused',
      [row(399n)],
      { refusal: { reason: 'amountBelowMinimum' } },
    ],
    ['adds the minimum is sent', [row(400n)], { gain: 100n }],
    ['takes all that there is is sent', [row(HELD)], { gain: HELD - 300n }],
    [
      'takes more than there is is refused',
      [row(HELD + 1n)],
      { refusal: { reason: 'batchClaimSimulationFailed' } },
    ],
  ])('that %s', async (_, claims, expected) => {
    const before = [{ block: 1, claim: channelId, amount: 300n }]
    expect(await plan(claims, before)).toMatchObject({ state: 'toDo', ...expected })
  })

  it('without the signature of its authorizer is refused', async () => {
    const planned = await planJob({ type: 'claim', claims: [row(500n)] }, await aChain(), token)
    const rejection = { reason: 'batchAuthorizerNotConfigured' }
    expect(planned).toMatchObject({ state: 'refused', rejection })
  })
})

describe('a payout', () => {
  /** The receiver has claimed 1,000,000 units in all. */
  const plan = async (amount: bigint) => {
    const events = amount === 0n ? [] : [{ block: 1, payout: true as const, amount }]
    return planJob({ type: 'settle', receiver, token: usdc }, await aChain(events), token)
  }

  it.each([
    [0n, { gain: HELD }],
    [HELD - 100n, { gain: 100n }],
    [HELD - 99n, { refusal: { reason: 'amountBelowMinimum' } }],
    [HELD, { isDone: true }],
  ])('after %s were paid out', async (amount, expected) => {
    const planned = await plan(amount)
    const details = { settledBefore: String(amount), receiver, token: usdc }
    expect(planned).toMatchObject({ state: 'toDo', job: { details }, ...expected })
    expect(planned).not.toHaveProperty('gasPayer')
  })
})

describe('a refund', () => {
  const plan = async (
    changes: Partial<EnrichedRefund>,
    events: readonly ChainEvent[] = [{ block: 1, claim: channelId, amount: HELD - 1_000n }],
  ) => {
    const asked: EnrichedRefund = {
      type: 'refund',
      channelConfig: aConfig(),
      voucher: { channelId, maxClaimableAmount: '5', signature },
      amount: '500',
      refundNonce: '0',
      claims: [],
      refundAuthorizerSignature: signature,
      claimAuthorizerSignature: signature,
      ...changes,
    }
    return planJob(asked, await aChain(events), token)
  }
  /** Claims so many units more of its own channel, and of another one. */
  const own = (more: bigint) => row(HELD - 1_000n + more)
  const ofOther = (amount: bigint) => row(amount, other)

  it.each([
    ['reaches the minimum', { amount: '100' }, { gain: 100n }],
    ['moves more with its rows', { claims: [own(200n), ofOther(50n)] }, { gain: 750n }],
    ['takes what its own row leaves', { amount: '300', claims: [own(600n)] }, { gain: 900n }],
  ])('that %s is worth what it moves', async (_, changes, expected) => {
    const planned = await plan(changes)
    const job = { details: { gain: String(expected.gain) } }
    expect(planned).toMatchObject({ state: 'toDo', gasPayer: receiver, ...expected, job })
    expect(planned).not.toHaveProperty('refusal')
  })

  it.each([
    ['below the minimum', { amount: '99' }],
    ['below it, with rows of others', { amount: '99', claims: [ofOther(50_000n)] }],
    [
      'that empties the channel, with a row of another',
      { amount: '50', claims: [own(950n), ofOther(50_000n)] },
    ],
  ])('%s is refused', async (_, changes) => {
    expect(await plan(changes)).toMatchObject({ refusal: { reason: 'amountBelowMinimum' } })
  })

  it.each([
    ['all that is left', { amount: '60', claims: [own(940n)] }],
    ['more than is left', { amount: '5000', claims: [own(940n)] }],
    ['all, without rows', { amount: '1000' }],
  ])('of %s is sent, however little that is', async (_, changes) => {
    const planned = await plan(changes)
    expect(planned).toMatchObject({ state: 'toDo' })
    for (const name of ['gain', 'refusal', 'isDone']) expect(planned).not.toHaveProperty(name)
  })

  it('of nothing, where nothing is left, is left to the scheme', async () => {
    const all = [{ block: 1, claim: channelId, amount: HELD }]
    expect(await plan({}, all)).toMatchObject({ isDone: true })
    expect(await plan({ amount: '0' }, all)).not.toHaveProperty('isDone')
  })

  it('with a row that no channel covers is refused', async () => {
    expect(await plan({ claims: [ofOther(HELD + 1n)] })).toMatchObject({
      refusal: { reason: 'batchRefundSimulationFailed' },
    })
    expect(otherId).not.toBe(channelId)
  })

  it.each([
    ['its authorizer', { refundAuthorizerSignature: undefined }, 'refused'],
    [
      'the one of its claims',
      { claimAuthorizerSignature: undefined, claims: [own(1n)] },
      'refused',
    ],
    ['one of claims that it has not', { claimAuthorizerSignature: undefined }, 'toDo'],
  ])('without the signature of %s', async (_, changes, state) => {
    expect((await plan(changes)).state).toBe(state)
  })
})

describe('a deposit', () => {
  const deposit = {
    type: 'deposit',
    channelConfig: aConfig(),
    voucher: { channelId, maxClaimableAmount: '5', signature },
    deposit: {
      amount: '700',
      authorization: {
        erc3009Authorization: { validAfter: '3', validBefore: '9', salt: '1', signature },
      },
    },
  } as const

  it('is charged to its payer, and ends with its authorization', async () => {
    expect(await planJob(deposit, await aChain(), token)).toMatchObject({
      state: 'toDo',
      gasPayer: payer,
      accountsThatRun: [payer],
      job: {
        action: 'deposit',
        expiresAt: 9,
        details: { channelId, amount: '700', validAfter: '3' },
      },
    })
  })

  it.each([
    [1_000n, 'counts'],
    [999n, 'refused'],
  ])('next to an open claim of 300, with a balance of %s, %s', async (balance, what) => {
    const world = aWorld()
    const chain = aNetwork(await world.start())
    world.chain.change(({ tokens }) => tokens.set(`${usdc}/${payer}`, balance))
    const planned = await planJob(deposit, { ...chain, rpc: aBatchNode([]) }, token)
    if (planned.state !== 'toDo') return expect.unreachable()
    const { openClaims } = chain.relayer
    openClaims.add({ kind: 'exact', key: 'another', asset: usdc, payer, value: 300n })
    const covering = coverDeposit(planned.job, chain)
    await pass(10)
    const found = await covering
    const asking = { kind: 'exact', key: 'a third', asset: usdc, payer }
    expect('reason' in found ? 'refused' : 'counts').toBe(what)
    expect(openClaims.besides(asking)).toBe('reason' in found ? 300n : 1_000n)
    if ('uncount' in found) found.uncount()
    expect(openClaims.besides(asking)).toBe(300n)
  })

  it('alone counts without a look at the balance', async () => {
    const chain = aNetwork(await aWorld().start())
    const planned = await planJob(deposit, { ...chain, rpc: aBatchNode([]) }, token)
    if (planned.state !== 'toDo') return expect.unreachable()
    const unread = async () => expect.unreachable('the balance is not asked for')
    expect(await coverDeposit(planned.job, { ...chain, readFacts: unread })).toHaveProperty(
      'uncount',
    )
  })
})
