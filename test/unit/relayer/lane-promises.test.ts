import { describe, expect, it } from 'vitest'
import { LeaseLostError } from '../../../src/sql/leases.js'
import { aLane, anAttempt, aReceipt, call, fees, settled, signed } from './a-lane.js'

/** A lane that was taken up under epoch 1 with nothing under way. */
async function anOpenLane() {
  const world = aLane()
  await world.lane.resume(1)
  return world
}

const [first, second] = [signed(0), signed(1)]

describe('a transaction', () => {
  it('is kept before it is sent, under the epoch of the lease and with the budgets that it is charged to', async () => {
    const { lane, done, attempts, taken } = await anOpenLane()
    await lane.open(call, ['a', 'b'], fees)
    await settled()
    expect(done).toEqual([`kept ${first.hash}`, `sent ${first.hash}`])
    expect(attempts).toMatchObject([
      {
        attempt: { ...first, relayerNonce: 0, jobIds: ['a', 'b'] },
        epoch: 1,
        budgets: [{ name: 'a' }, { name: 'b' }],
      },
    ])
    expect(taken).toEqual([first.hash])
  })

  it('is not sent when it could not be kept', async () => {
    const { world, lane, done } = await anOpenLane()
    world.whileKept = () => Promise.reject(new Error('the disk is full'))
    await expect(lane.open(call, ['a'], fees)).rejects.toThrow('the disk is full')
    await settled()
    expect(done).toEqual([])
    expect(lane.inFlight()).toBe(0)
  })

  it('takes the next nonce of the wallet, also while others are under way', async () => {
    const { lane, done } = await anOpenLane()
    await lane.open(call, ['a'], fees)
    await lane.open(call, ['b'], fees)
    await settled()
    expect(done).toContain(`sent ${second.hash}`)
  })

  it('is not taken by a node that answers another hash', async () => {
    const { world, lane, taken } = await anOpenLane()
    world.refusals = [`0x${'ee'.repeat(32)}`]
    await lane.open(call, ['a'], fees)
    await settled()
    expect(taken).toEqual([])
  })

  it('that is replaced keeps its earlier hash, for either may land', async () => {
    const { world, lane, land, landed, attempts } = await anOpenLane()
    world.refusals = ['replacement transaction underpriced']
    await lane.open(call, ['a'], fees)
    await settled()
    expect(attempts).toHaveLength(2)
    const [before, after] = attempts.map(({ attempt }) => attempt)
    expect(after).toMatchObject({ relayerNonce: 0, jobIds: ['a'] })
    // Nodes ask for ten percent more in both fields.
    expect(after?.maxFeePerGas).toBeGreaterThanOrEqual(66n)
    expect(after?.maxPriorityFeePerGas).toBeGreaterThanOrEqual(2n)
    expect(land(aReceipt(before?.hash ?? '0x'))).toBe(true)
    expect(landed).toEqual([{ hash: first.hash, jobIds: ['a'] }])
  })

  it('carries no job that was decided meanwhile when it is replaced', async () => {
    const { world, lane, jobs, attempts } = await anOpenLane()
    world.refusals = ['replacement transaction underpriced']
    const [decided] = jobs.findAll(['a'])
    await lane.open(call, ['a', 'b'], fees)
    if (decided !== undefined) jobs.update({ ...decided.job, state: 'confirmed' })
    await settled()
    expect(attempts[1]?.attempt.jobIds).toEqual(['b'])
  })

  it('is neither kept nor sent when one of its jobs was decided while it was signed', async () => {
    const { lane, jobs, done } = await anOpenLane()
    const [decided] = jobs.findAll(['a'])
    const opened = lane.open(call, ['a', 'b'], fees)
    if (decided !== undefined) decided.isSettled = true
    await expect(opened).rejects.toThrow('decided by now')
    expect(done).toEqual([])
  })

  it('of a wallet that cannot pay for it is neither kept nor sent, and closes the lane', async () => {
    const { lane, done } = await anOpenLane()
    const needed = call.gasLimit * fees.maxFeePerGas
    await expect(lane.open(call, ['a'], fees, needed - 1n)).rejects.toThrow('cannot pay')
    expect(done).toEqual([])
    expect(lane.closedBecause()).toBe('no gas money')
  })

  it('of a wallet that can just pay for it is sent', async () => {
    const { lane, done } = await anOpenLane()
    await lane.open(call, ['a'], fees, call.gasLimit * fees.maxFeePerGas)
    await settled()
    expect(done).toContain(`sent ${first.hash}`)
  })
})

describe('a wallet that another process may have', () => {
  it('signs nothing', async () => {
    const { world, lane, done } = await anOpenLane()
    world.held = undefined
    await expect(lane.open(call, ['a'], fees)).rejects.toThrow(LeaseLostError)
    expect(done).toEqual([])
    expect(lane.isHeld()).toBe(false)
  })

  it.each([
    ['has lapsed', undefined],
    ['is held under another epoch', 2],
  ])('sends nothing that was kept before when its lease %s', async (_, held) => {
    const { world, lane, done } = await anOpenLane()
    world.whileKept = async () => {
      world.held = held
    }
    await lane.open(call, ['a'], fees).catch(() => {})
    await settled()
    expect(done).toEqual([`kept ${first.hash}`])
  })

  it('sends nothing of what it repairs', async () => {
    const { world, lane, done } = await anOpenLane()
    await lane.open(call, ['a'], fees)
    await settled()
    world.held = undefined
    world.now = 60_000
    await lane.tick()
    await settled()
    expect(done).toHaveLength(2)
  })

  it('lets go of its transactions, and names them', async () => {
    const { lane } = await anOpenLane()
    await lane.open(call, ['a'], fees)
    const [slot] = lane.drop()
    expect([...(slot?.jobIds ?? [])]).toEqual(['a'])
    expect([lane.inFlight(), lane.isHeld(), lane.epoch()]).toEqual([0, false, undefined])
  })
})

describe('a lane that is taken up', () => {
  it('sends again what an earlier process kept', async () => {
    const { world, lane, done } = aLane()
    world.kept = [anAttempt()]
    await lane.resume(1)
    await settled()
    expect(done).toEqual([`sent ${signed(5).hash}`])
    expect(lane.isHeld()).toBe(true)
  })

  it('knows what an earlier attempt of a slot carried, although the newest does not', async () => {
    const { world, lane } = aLane()
    const later = anAttempt({ jobIds: ['a'], maxFeePerGas: 80n })
    world.kept = [anAttempt({ jobIds: ['a', 'b'] }), later]
    await lane.resume(1)
    const [slot] = lane.drop()
    expect([...(slot?.jobIds ?? [])].sort()).toEqual(['a', 'b'])
    expect(slot?.attempts.map(({ hash }) => hash)).toEqual([signed(5).hash, later.hash])
  })

  it('finds what has landed since, by any hash of the slot', async () => {
    const { world, lane, landed } = aLane()
    const later = anAttempt({ maxFeePerGas: 80n })
    world.kept = [anAttempt(), later]
    world.receipts = [aReceipt(signed(5).hash)]
    await lane.resume(1)
    expect(landed).toEqual([{ hash: signed(5).hash, jobIds: ['a'] }])
    expect(lane.inFlight()).toBe(0)
  })

  it.each([
    ['the journal when the chain is behind what is under way', 7, 5, [anAttempt()], 7],
    ['the chain when it is ahead', 3, 8, [], 8],
    ['the chain when nothing of ours is under way', 7, 4, [], 4],
  ])('goes on with the nonce of %s', async (_, keptNonce, chainNonce, kept, expected) => {
    const { world, lane, attempts } = aLane()
    Object.assign(world, { keptNonce, chainNonce, kept })
    await lane.resume(1)
    await lane.open(call, ['z'], fees)
    expect(attempts.at(-1)?.attempt.relayerNonce).toBe(expected)
  })

  it('lowers the nonce in the journal only when nothing of ours is under way', async () => {
    const { world, lane, lowered } = aLane()
    Object.assign(world, { keptNonce: 7, chainNonce: 4, kept: [anAttempt()] })
    await lane.resume(1)
    expect(lowered).toEqual([])
    lane.drop()
    world.kept = []
    await lane.resume(1)
    expect(lowered).toEqual([4])
  })
})

it('a receipt of nobody here is not this lane’s', async () => {
  const { land, landed } = await anOpenLane()
  expect(land(aReceipt(first.hash))).toBe(false)
  expect(landed).toEqual([])
})
