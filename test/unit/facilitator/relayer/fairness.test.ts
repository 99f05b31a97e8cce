import { describe, expect, it } from 'vitest'
import {
  aWorld,
  pass,
  type RelayerWish,
  useVirtualClock,
} from '../../../support/simulated/a-relayer.js'

useVirtualClock()

/** A relayer on a chain that makes no blocks, and who has how many payments under way. */
async function aCrowd(wish: RelayerWish = {}) {
  const world = aWorld(wish)
  const process = await world.start()
  world.chain.isHalted = true
  const [crowd, honest, other] = [world.anAccount(), world.anAccount(), world.anAccount()]
  const single = { isSingle: true }
  const payerOf = async (id: string) =>
    JSON.parse((await process.journal.findJobById(id))?.details ?? '{}').payer
  /** Returns the payers of each transaction that was signed since. */
  const sentSince = (before: number) =>
    Promise.all(
      process.happened.signed.slice(before).map(({ ids }) => Promise.all(ids.map(payerOf))),
    )
  const many = (count: number, wish: object) => process.payAll(Array(count).fill(wish))
  return { world, chain: world.chain, crowd, honest, other, single, sentSince, many, ...process }
}

describe('a payer who has hundreds of payments at once', () => {
  it('leaves places to other payers, also to those whose payments travel alone', async () => {
    const { crowd, honest, single, many, pay, sentSince, happened, relayer } = await aCrowd()
    await many(300, { payer: crowd, profile: single })
    await pass(1_000)
    expect(happened.signed).toHaveLength(7)
    await pay({ payer: honest })
    await pay({ payer: honest, profile: single })
    await pass(1_000)
    expect(await sentSince(7)).toEqual([[honest], [honest]])
    expect(relayer.queueLength()).toBe(293)
  })

  it('leaves an eighth of the gas of a block to others', async () => {
    const { crowd, honest, many, pay, happened, sentSince } = await aCrowd()
    await many(300, { payer: crowd })
    await pass(1_000)
    // Of 30 M gas, at 99,000 a payment.
    expect(happened.signed.reduce((sum, { ids }) => sum + ids.length, 0)).toBe(265)
    const before = happened.signed.length
    await pay({ payer: honest })
    await pass(1_000)
    expect(await sentSince(before)).toEqual([[honest]])
  })

  it.each([
    [{ expectedGas: 240_000n }, 109],
    [{ isAlone: true, gas: { least: 1n, most: 90_000_000n } }, 1],
  ])('counts by the gas that each is expected to take: %o', async (profile, most) => {
    const { crowd, many, happened } = await aCrowd()
    await many(300, { payer: crowd, profile })
    await pass(1_000)
    expect(happened.signed.flatMap(({ ids }) => ids)).toHaveLength(most)
  })

  it('has at most fourteen transactions of a wallet, beside those of others', async () => {
    const { crowd, honest, pay, happened, sentSince } = await aCrowd({ maxBatch: 1 })
    for (let i = 0; i < 20; i++) await pay({ payer: crowd })
    await pass(1_000)
    expect(happened.signed).toHaveLength(14)
    await pay({ payer: honest })
    await pass(100)
    expect(await sentSince(14)).toEqual([[honest]])
  })

  it('is sent on as soon as theirs land, in the order they came', async () => {
    const { chain, crowd, single, many, happened } = await aCrowd()
    const payments = await many(12, { payer: crowd, profile: single })
    await pass(500)
    chain.mine()
    await pass(1_500)
    expect(happened.signed.flatMap(({ ids }) => ids)).toEqual(payments.map(({ job }) => job.id))
  })
})

describe('payers that wait', () => {
  it('take turns, in any order of arrival', async () => {
    const { chain, crowd, honest, other, many, happened, sentSince } = await aCrowd({ maxBatch: 1 })
    for (let i = 0; i < 16; i++) {
      await many(1, {})
      await pass(50)
    }
    await many(4, { payer: crowd })
    await many(2, { payer: honest })
    await many(1, { payer: other })
    await pass(1_500)
    expect(happened.signed).toHaveLength(16)
    chain.mine()
    await pass(2_000)
    const payers = (await sentSince(16)).flat()
    expect(payers).toEqual([crowd, honest, other, crowd, honest, crowd, crowd])
  })

  it('share a transaction evenly when they do not all fit', async () => {
    const { chain, crowd, honest, other, many, sentSince } = await aCrowd({ maxBatch: 10 })
    for (let i = 0; i < 16; i++) {
      await many(1, {})
      await pass(50)
    }
    await many(100, { payer: crowd })
    await many(3, { payer: honest })
    await many(1, { payer: other })
    chain.mine()
    await pass(1_500)
    const [first] = await sentSince(16)
    const count = (payer: string) => first?.filter((it) => it === payer).length
    expect([count(crowd), count(honest), count(other)]).toEqual([6, 3, 1])
  })
})

describe('a crowd of keys', () => {
  it('delays its own caller, and no other', async () => {
    const { world, chain, honest, single, payAll, pay, sentSince, happened } = await aCrowd()
    const crowd = Array.from({ length: 200 }, () => world.anAccount())
    await payAll(
      crowd.map((payer, i) => ({ payer, payTo: crowd[i - 1] ?? honest, profile: single })),
    )
    await pass(500)
    const before = happened.signed.length
    expect(before).toBe(8)
    await pay({ payer: honest, caller: 'another', profile: single })
    chain.mine()
    await pass(500)
    // It has the second of the next places: callers take turns.
    expect((await sentSince(before)).slice(0, 2).flat()).toContain(honest)
  })

  it('of recipients without standing shares one place of a round, each one with standing has its own', async () => {
    const { world, chain, honest, other, many, payAll, sentSince } = await aCrowd({ maxBatch: 6 })
    for (let i = 0; i < 16; i++) {
      await many(1, {})
      await pass(50)
    }
    const known = (payer: typeof honest, payTo: typeof honest) => {
      return { payer, payTo, standing: 'known' as const, caller: payer }
    }
    await payAll(Array.from({ length: 60 }, () => ({ payTo: world.anAccount() })))
    const [first, second] = [world.anAccount(), world.anAccount()]
    await payAll([...Array(3).fill(known(honest, first)), ...Array(3).fill(known(other, second))])
    chain.mine()
    await pass(1_500)
    const [next = []] = await sentSince(16)
    expect([honest, other].map((payer) => next.filter((it) => it === payer).length)).toEqual([2, 2])
  })
})

describe('payments that travel alone', () => {
  it('go in their turn where the one before was shared', async () => {
    const { single, payAll, happened } = await aCrowd()
    await payAll([{}, {}])
    await pass(100)
    const [first] = await payAll([{ profile: single }, {}])
    await pass(300)
    expect(happened.signed[1]?.ids).toEqual([first?.job.id])
  })

  it('have half of the places of a wallet together, and let one go first that shares', async () => {
    const { world, single, pay, happened } = await aCrowd()
    let shares = ''
    for (let i = 0; i < 4; i++) {
      for (let k = 0; k < 5; k++) await pay({ payer: world.anAccount(), profile: single })
      if (i === 0) shares = (await pay()).job.id
      await pass(200)
    }
    const shared = happened.signed.findIndex(({ ids }) => ids.includes(shares))
    expect([happened.signed.length, shared]).toEqual([9, 2])
  })

  it('are not those that only happen to be alone in a transaction', async () => {
    const { crowd, single, pay, happened } = await aCrowd()
    for (let i = 0; i < 13; i++) {
      await pay({ payer: crowd })
      await pass(50)
    }
    expect(happened.signed).toHaveLength(13)
    await pay({ payer: crowd, profile: single })
    await pass(500)
    expect(happened.signed).toHaveLength(14)
  })

  it('count by the gas that each may take, and one goes however much it takes', async () => {
    const { crowd, pay, happened } = await aCrowd({ wallets: 2 })
    const profile = { isAlone: true, gas: { least: 1n, most: 12_000_000n } }
    for (let i = 0; i < 4; i++) await pay({ payer: crowd, profile })
    await pass(1_000)
    expect(happened.signed).toHaveLength(2)
    const dear = { isAlone: true, gas: { least: 1n, most: 29_000_000n } }
    await pay({ profile: dear })
    await pass(500)
    expect(happened.signed).toHaveLength(3)
  })
})
