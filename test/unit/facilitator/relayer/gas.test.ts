import { describe, expect, it } from 'vitest'
import { bumpFees, createGasModel, quoteFees } from '../../../../src/facilitator/relayer/gas.js'

const GWEI = 1_000_000_000n
const BASE = 20n * GWEI
const TIP = 1_000_000n

describe('the fees of a new transaction', () => {
  it('are three times the base fee, and a tip that can be raised', () => {
    expect(quoteFees(BASE, 1_000n * GWEI)).toEqual({
      maxFeePerGas: 3n * BASE + TIP,
      maxPriorityFeePerGas: TIP,
    })
  })

  it('never exceed the cap', () => {
    const wanted = 3n * BASE + TIP
    for (const cap of [wanted, wanted - 1n, BASE + TIP]) {
      expect(quoteFees(BASE, cap)?.maxFeePerGas).toBe(cap)
    }
  })

  it('do not exist when base fee and tip are above the cap', () => {
    expect(quoteFees(BASE, BASE + TIP - 1n)).toBeUndefined()
  })

  it('exist on a chain without a base fee', () => {
    expect(quoteFees(0n, GWEI)).toEqual({ maxFeePerGas: TIP, maxPriorityFeePerGas: TIP })
  })
})

describe('the fees of a replacement', () => {
  const previous = { maxFeePerGas: 3n * BASE + TIP, maxPriorityFeePerGas: TIP }

  it('are at least ten percent up in both fields, as nodes ask, however often it is done', () => {
    let fees = previous
    for (let i = 0; i < 10; i++) {
      const next = bumpFees(fees, BASE, 10_000n * GWEI)
      if (next === undefined) return expect.unreachable('the cap leaves room')
      expect(next.maxFeePerGas * 10n).toBeGreaterThanOrEqual(fees.maxFeePerGas * 11n)
      expect(next.maxPriorityFeePerGas * 10n).toBeGreaterThanOrEqual(
        fees.maxPriorityFeePerGas * 11n,
      )
      expect(next.maxPriorityFeePerGas).toBeLessThanOrEqual(next.maxFeePerGas)
      fees = next
    }
  })

  it('follow a base fee that has risen since', () => {
    const base = 100n * GWEI
    expect(bumpFees(previous, base, 10_000n * GWEI)?.maxFeePerGas).toBe(3n * base + TIP)
  })

  it('do not exist when the cap leaves no room for ten percent more', () => {
    const raised = (previous.maxFeePerGas * 125n) / 100n + 1n
    expect(bumpFees(previous, BASE, raised)?.maxFeePerGas).toBe(raised)
    expect(bumpFees(previous, BASE, raised - 1n)).toBeUndefined()
  })

  it('raise even fees of a few units', () => {
    const tiny = { maxFeePerGas: 1n, maxPriorityFeePerGas: 1n }
    expect(bumpFees(tiny, 0n, GWEI)?.maxPriorityFeePerGas).toBe(2n)
  })
})

const members = (...payTos: string[]) => payTos.map((payTo) => ({ payTo }))

describe('gas before the first receipt', () => {
  it('is guessed from a plain transfer of the token, or from a constant', () => {
    expect(createGasModel().perPayment()).toBe(99_000n)
    expect(createGasModel(50_000n).perPayment()).toBe(89_000n)
    expect(createGasModel(50_000n).aloneLimit()).toBe(createGasModel().singleLimit(110_000n))
  })

  it('has a margin, the overhead of the batch, and what new recipients cost', () => {
    const model = createGasModel(40_000n)
    expect(model.batchLimit(members('a'))).toBe(90_850n + 45_000n + 80_000n)
    expect(model.batchLimit(members('a', 'b'))).toBe(181_700n + 90_000n + 80_000n)
    expect(model.batchLimit(members('a', 'a'))).toBe(181_700n + 45_000n + 80_000n)
    expect(model.singleLimit(100_000n)).toBe(160_000n)
  })
})

describe('gas learnt from receipts', () => {
  it('rises at once to what was used, apart for shared transactions and single ones', () => {
    const model = createGasModel(40_000n)
    model.learn(130_000n, ['a'])
    expect(model.perPayment()).toBe(79_000n)
    expect(model.aloneLimit()).toBe(model.singleLimit(130_000n))
    model.learn(21_000n + 3n * 150_000n, ['a', 'b', 'c'])
    expect(model.perPayment()).toBe(150_000n)
    expect(model.aloneLimit()).toBe(model.singleLimit(130_000n))
  })

  it('is never more than twice the first guess', () => {
    const model = createGasModel(40_000n)
    model.learn(500_000n, ['a'])
    model.learn(21_000n + 2n * 500_000n, ['a', 'b'])
    expect(model.perPayment()).toBe(200_000n)
    expect(model.aloneLimit()).toBe(model.singleLimit(200_000n))
  })

  it('falls slowly', () => {
    const model = createGasModel(90_000n)
    const learn = () => model.learn(21_000n + 2n * 118_000n, ['a', 'b'])
    learn()
    expect(model.perPayment()).toBe(128_656n)
    for (let i = 0; i < 300; i++) learn()
    expect(model.perPayment()).toBeGreaterThanOrEqual(118_000n)
    expect(model.perPayment()).toBeLessThan(119_000n)
  })

  it('no longer adds what new recipients cost for those that it has paid', () => {
    const model = createGasModel(40_000n)
    const before = model.batchLimit(members('a', 'b'))
    model.learn(100_000n, ['a'])
    expect(before - model.batchLimit(members('a', 'b'))).toBe(45_000n)
  })

  it('is enough for a new recipient where only old ones were paid', () => {
    const model = createGasModel(35_000n)
    // Circle's token: a payment alone, and one in a multicall, to a recipient that holds something.
    const [alone, shared] = [77_300n, 49_420n]
    for (let i = 0; i < 300; i++) {
      model.learn(alone, ['a'])
      model.learn(21_000n + 2n * shared, ['a', 'b'])
    }
    // The slot of a balance and the creation of an account.
    const newRecipient = 17_100n + 25_000n
    expect(model.aloneLimit()).toBeGreaterThan(alone + newRecipient)
    const fresh = Array.from({ length: 50 }, (_, i) => `fresh ${i}`)
    const needed = 21_000n + 50n * (shared + newRecipient)
    expect(model.batchLimit(members(...fresh))).toBeGreaterThan(needed)
  })

  it('forgets recipients before they are too many', () => {
    const model = createGasModel(40_000n)
    model.learn(100_000n, ['a'])
    const known = model.batchLimit(members('a'))
    const payTos = Array.from({ length: 10_000 }, (_, i) => `payTo ${i}`)
    model.learn(21_000n + 10_000n * 79_000n, payTos)
    expect(model.batchLimit(members('a')) - known).toBe(45_000n)
  })

  it('is not changed by a transaction without members', () => {
    const model = createGasModel()
    model.learn(21_000n, [])
    expect(model.perPayment()).toBe(99_000n)
  })

  it('gives the next batch of the same size at least what the last one used', () => {
    const model = createGasModel(40_000n)
    const payTos = Array.from({ length: 50 }, (_, i) => `payTo ${i}`)
    const used = 8_000_000n
    model.learn(used, payTos)
    expect(model.batchLimit(payTos.map((payTo) => ({ payTo })))).toBeGreaterThan(used)
  })
})

describe('the size of a batch', () => {
  it('fits nine tenths of the block with every recipient new', () => {
    const model = createGasModel(40_000n)
    const most = model.maxMembers(30_000_000n)
    const limitOf = (count: number) =>
      model.batchLimit(Array.from({ length: count }, (_, i) => ({ payTo: `payTo ${i}` })))
    expect(limitOf(most)).toBeLessThanOrEqual(27_000_000n)
    expect(limitOf(most + 1)).toBeGreaterThan(27_000_000n)
  })

  it('is one in a block that hardly holds any', () => {
    expect(createGasModel().maxMembers(100_000n)).toBe(1)
  })
})
