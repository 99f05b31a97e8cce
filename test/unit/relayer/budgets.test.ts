import type { Address } from 'viem'
import { describe, expect, it } from 'vitest'
import { RpcResponseError } from '../../../src/chain/rpc-errors.js'
import { dayOf, SUBSIDISED, WASTED } from '../../../src/facilitator/journal/budgets.js'
import type { GasLimits } from '../../../src/facilitator/relayer/gas.js'
import {
  aWorld,
  DOLLAR,
  network,
  type PaymentWish,
  pass,
  type RelayerWish,
  sleep,
  usdc,
  useVirtualClock,
} from '../../support/simulated/a-relayer.js'
import { BASE_FEE } from '../../support/simulated/chain.js'
import { BASE_GAS, FAILED_GAS, PAYMENT_GAS } from '../../support/simulated/state.js'

useVirtualClock()

/** The price of a unit of gas in every block. */
const PRICE = BASE_FEE + 1_000_000n
/** What a payment of a plain account is expected to burn if it fails, without and with the base of its transaction. */
const EACH = 45_000n * PRICE
const ALONE = EACH + BASE_GAS * PRICE
/** What one that fails alone burns here. */
const FAILED = (BASE_GAS + FAILED_GAS) * PRICE
const DAY_MS = 86_400_000

async function aRelayer(gasLimits: Partial<GasLimits> = {}, wish: RelayerWish = {}) {
  const world = aWorld({ gasLimits, ...wish })
  const process = await world.start()
  const { chain } = world
  const burntBy = (name: string) => world.budgets.burntBy(network, dayOf(Date.now()), name)
  /** An account that runs code. */
  function aWallet(kind: 'agrees' | 'burns' = 'agrees'): Address {
    const address = world.anAccount()
    chain.change(({ code }) => code.set(address, kind))
    return address
  }
  /** Pays with an account that is empty by the time a block is made. */
  async function failOnChain(payer = world.anAccount(), wish: PaymentWish = {}) {
    const payment = await process.pay({ payer, ...wish })
    await pass(50)
    chain.changeUnseen(({ tokens }) => tokens.set(`${usdc}/${payer}`, 0n))
    await pass(1_000)
    chain.change(({ tokens }) => tokens.set(`${usdc}/${payer}`, 1_000_000_000n))
    return payment
  }
  const sizes = () => process.happened.signed.map(({ ids }) => ids.length)
  return { world, chain, burntBy, aWallet, failOnChain, sizes, ...process }
}

const many = (count: number, wish: PaymentWish = {}) => Array.from({ length: count }, () => wish)

describe('an account with code', () => {
  it('has at most eight transactions under way, whatever others have', async () => {
    const { chain, aWallet, pay, happened } = await aRelayer({}, { wallets: 2 })
    chain.isHalted = true
    const [payer, other] = [aWallet(), aWallet()]
    for (let i = 0; i < 10; i++) await pay({ payer, isAlone: true })
    await pass(500)
    expect(happened.signed).toHaveLength(8)
    await pay({ payer: other, isAlone: true })
    await pass(500)
    expect(happened.signed).toHaveLength(9)
    chain.isHalted = false
    await pass(1_500)
    expect(happened.signed).toHaveLength(11)
  })

  it('answers for all that its transaction may burn: of a budget for one and a half, one goes at a time', async () => {
    // The ceiling of its fee is a quarter above the base fee.
    const worst = 129_650n * ((BASE_FEE * 125n) / 100n + 1_000_000n)
    const { chain, aWallet, pay, happened } = await aRelayer({ perAccount: (worst * 3n) / 2n })
    chain.isHalted = true
    const payer = aWallet()
    const payments = [await pay({ payer, isAlone: true }), await pay({ payer, isAlone: true })]
    await pay()
    await pass(1_000)
    expect(happened.signed).toHaveLength(2)
    expect(chain.pool()[0]?.maxFeePerGas).toBe((BASE_FEE * 125n) / 100n + 1_000_000n)
    chain.isHalted = false
    await pass(2_000)
    for (const { row } of payments) expect((await row()).state).toBe('confirmed')
  })

  it('is replaced at a ceiling that is as near to the base fee, and with the payment', async () => {
    const { chain, aWallet, pay } = await aRelayer()
    chain.holdsBack = () => true
    const { row } = await pay({ payer: aWallet(), isAlone: true })
    await pass(50)
    const [first] = chain.pool()
    chain.baseFee = 10n * BASE_FEE
    await pass(2_000)
    const [second] = chain.pool()
    expect(second).toMatchObject({ to: usdc, data: first?.data })
    expect(second?.maxFeePerGas).toBe((10n * BASE_FEE * 125n) / 100n + 1_000_000n)
    chain.holdsBack = () => false
    await pass(1_000)
    expect((await row()).state).toBe('confirmed')
  })

  it('whose transaction has no room at a higher fee loses its place, and that nonce carries it never again', async () => {
    const worst = 129_650n * ((BASE_FEE * 125n) / 100n + 1_000_000n)
    const { world, chain, aWallet, payAll, journal } = await aRelayer({
      perAccount: (worst * 24n) / 10n,
    })
    const payer = aWallet()
    chain.holdsBack = () => true
    await payAll(many(2, { payer, isAlone: true }))
    await pass(1_000)
    expect(chain.pool().map(({ nonce }) => nonce)).toEqual([0, 1])
    // One transaction and a half have room beside the other one as it was, not beside it as dear.
    chain.baseFee = (BASE_FEE * 15n) / 10n
    await pass(2_000)
    const first = () => chain.pool().find(({ nonce }) => nonce === 0)
    const filling = { to: world.signers[0]?.address, data: '0x' }
    expect(first()).toMatchObject(filling)
    chain.holdsBack = ({ nonce }) => nonce === 0
    const before = first()?.hash
    chain.baseFee = (BASE_FEE * 22n) / 10n
    await pass(2_500)
    expect(first()?.hash).not.toBe(before)
    expect(await journal.findByTransaction(first()?.hash ?? '0x')).toEqual([])
    chain.holdsBack = () => false
    await pass(3_000)
    expect(chain.mined().filter(({ nonce }) => nonce === 0)).toMatchObject([filling])
  })

  it('is charged for what its code burnt, and refused once nothing is left; others are not', async () => {
    const { aWallet, pay, burntBy, happened } = await aRelayer({ perAccount: DOLLAR / 200n })
    const payer = aWallet('burns')
    const { row } = await pay({ payer, isAlone: true })
    await pass(3_000)
    const [first, ...more] = happened.spent
    expect(first?.cost).toBe(129_650n * PRICE)
    expect(first?.wasted).toEqual({ kind: 'coded', amount: first?.cost })
    expect(await burntBy(payer)).toBe(first?.cost)
    expect(await burntBy(WASTED.coded)).toBe(first?.cost)
    expect(await row()).toMatchObject({ state: 'failed', reason: 'gasBudgetExceeded' })
    expect((await row()).gasCost).toBe(first?.cost)
    expect((await row()).message).toContain(
      `Transactions of ${payer} that settled nothing burnt 0.0025`,
    )
    expect(more).toEqual([])
    const refused = await pay({ payer, isAlone: true })
    const other = await pay({ payer: aWallet(), isAlone: true })
    await pass(1_500)
    expect(await refused.row()).toMatchObject({ reason: 'gasBudgetExceeded', transaction: null })
    expect(await other.row()).toMatchObject({ state: 'confirmed' })
  })

  it('is refused with all of its kind once their sum is spent, until midnight; plain accounts go on', async () => {
    const { aWallet, pay } = await aRelayer({ wasted: DOLLAR / 200n })
    const payer = aWallet('burns')
    await pay({ payer, isAlone: true })
    await pass(3_000)
    const other = await pay({ payer: aWallet(), isAlone: true })
    const plain = await pay()
    await pass(1_500)
    expect(await other.row()).toMatchObject({ state: 'failed', reason: 'gasBudgetExceeded' })
    expect((await other.row()).message).toContain('accounts with code')
    expect(await plain.row()).toMatchObject({ state: 'confirmed' })
    sleep(DAY_MS - (Date.now() % DAY_MS))
    await pass(1_000)
    const later = await pay({ payer: aWallet(), isAlone: true })
    await pass(1_500)
    expect(await later.row()).toMatchObject({ state: 'confirmed' })
  })

  it('that appears in a shared transaction is charged for all of it, and nobody else is', async () => {
    const { world, chain, payAll, burntBy, happened } = await aRelayer()
    const [plain, payer] = [world.anAccount(), world.anAccount()]
    const payments = await payAll([{ payer: plain }, { payer }])
    await pass(50)
    chain.changeUnseen(({ code }) => code.set(payer, 'burns'))
    await pass(600)
    chain.change(({ code }) => code.delete(payer))
    await pass(2_000)
    const [failed] = happened.spent
    expect(failed?.wasted).toEqual({ kind: 'plain', amount: failed?.cost })
    expect([await burntBy(plain), await burntBy(payer)]).toEqual([0n, failed?.cost])
    for (const { row } of payments) expect((await row()).state).toBe('confirmed')
  })

  it('that came and went within a block is known by its nonces, and charged', async () => {
    const { world, chain, payAll, burntBy, happened } = await aRelayer()
    const [plain, payer] = [world.anAccount(), world.anAccount()]
    await payAll([{ payer: plain }, { payer }])
    await pass(50)
    chain.changeUnseen(({ code, counts }) => {
      code.set(payer, 'burns')
      counts.set(payer, 2)
    })
    chain.isHalted = true
    chain.mine().state.code.delete(payer)
    await pass(2_000)
    const [failed] = happened.spent
    expect([await burntBy(plain), await burntBy(payer)]).toEqual([0n, failed?.cost])
  })
})

describe('a plain account', () => {
  it.each([
    ['ten at 45,000 gas each, less the base of a transaction', 10n * EACH + 10_000n * PRICE, 10],
    ['at least one', EACH, 1],
  ])(
    'shares a transaction with as many of its own as its budget has room for: %s',
    async (_, room, most) => {
      const { world, chain, payAll, sizes } = await aRelayer({ perAccount: room })
      chain.isHalted = true
      const payer = world.anAccount()
      await payAll(many(30, { payer }))
      await pass(300)
      expect(sizes()).toEqual([most])
      await payAll(many(3, { payer: world.anAccount() }))
      await pass(300)
      expect(sizes()[1]).toBe(Math.min(3, most))
      chain.isHalted = false
      await pass(40_000)
      expect(sizes().reduce((a, b) => a + b, 0)).toBe(33)
    },
  )

  it('has fifty payments under way on the default budget at the floor of the fee', async () => {
    const { world, payAll, sizes } = await aRelayer({ perAccount: DOLLAR / 20n })
    await payAll(many(60, { payer: world.anAccount() }))
    await pass(10)
    expect(sizes()[0]).toBe(50)
  })

  it('is refused where no waste is allowed at all', async () => {
    const { pay } = await aRelayer({ perAccount: 0n })
    const { row } = await pay()
    await pass(1_500)
    expect(await row()).toMatchObject({ state: 'failed', reason: 'gasBudgetExceeded' })
  })

  it('shares a transaction with payers who have as little room', async () => {
    const { payAll, sizes } = await aRelayer({ perAccount: EACH })
    await payAll(many(5))
    await pass(10)
    expect(sizes()).toEqual([5])
  })

  it('is charged for its share of a transaction in which it failed, and others for nothing', async () => {
    const { world, chain, payAll, burntBy, happened } = await aRelayer()
    const [payer, other] = [world.anAccount(), world.anAccount()]
    await payAll([{ payer }, { payer: other }])
    await pass(50)
    chain.changeUnseen(({ tokens }) => tokens.set(`${usdc}/${payer}`, 0n))
    await pass(1_000)
    const [spent] = happened.spent
    const share = (spent?.cost ?? 0n) / 2n
    expect([await burntBy(payer), await burntBy(other)]).toEqual([share, 0n])
    expect(spent?.wasted).toEqual({ kind: 'plain', amount: share })
  })

  it('is refused once its budget is spent: one may exceed it, and the next day begins anew', async () => {
    const { world, pay, failOnChain, burntBy } = await aRelayer({ perAccount: FAILED + 1n })
    const payer = world.anAccount()
    for (let i = 0; i < 2; i++) {
      expect(await (await failOnChain(payer)).row()).toMatchObject({
        reason: 'insufficientBalance',
      })
    }
    expect(await burntBy(payer)).toBe(2n * FAILED)
    const { row } = await pay({ payer })
    await pass(1_500)
    expect(await row()).toMatchObject({
      reason: 'gasBudgetExceeded',
      transaction: null,
      gasCost: 0n,
    })
    sleep(DAY_MS)
    await pass(1_000)
    const later = await pay({ payer })
    await pass(1_500)
    expect((await later.row()).state).toBe('confirmed')
  })

  it('has less under way once it has burnt some today', async () => {
    const { world, chain, payAll, failOnChain, sizes } = await aRelayer({ perAccount: 4n * ALONE })
    const payer = world.anAccount()
    await failOnChain(payer)
    await failOnChain(payer)
    chain.isHalted = true
    await payAll(many(20, { payer }))
    await pass(1_000)
    const under = sizes()
      .slice(2)
      .reduce((a, b) => a + b, 0)
    // It burnt 90,000 gas of 264,000: what is under way may burn the rest, and the last one may exceed it.
    expect(under).toBe(4)
  })

  it.each([
    ['its own budget', { perAccount: 3n * EACH }, false],
    ['the sum of its kind, spent meanwhile', { wasted: 1n }, true],
  ])('whose transaction is replaced is not stopped by %s', async (_, limits, isSumSpent) => {
    const { world, chain, payAll, failOnChain } = await aRelayer(limits)
    const payer = world.anAccount()
    const payments = await payAll(many(2, { payer }))
    await pass(50)
    const [first] = chain.pool()
    chain.holdsBack = ({ nonce }) => nonce === 0
    if (isSumSpent) {
      // It fails once the first one has landed.
      await failOnChain()
    }
    chain.baseFee = 400n * 10n ** 9n
    await pass(3_000)
    const replaced = chain.pool().find(({ nonce }) => nonce === 0)
    expect(replaced?.hash).not.toBe(first?.hash)
    expect(replaced?.data).toBe(first?.data)
    chain.holdsBack = () => false
    await pass(1_500)
    for (const { row } of payments) expect((await row()).state).toBe('confirmed')
  })
})

describe('a payment that moves less than its gas', () => {
  it('takes from the sum for such payments, and is refused once that is spent; others are not', async () => {
    // Its transaction may cost three times the base fee, so the sum must have room for that.
    const cost = (BASE_GAS + PAYMENT_GAS) * PRICE
    const { pay, burntBy } = await aRelayer({ subsidised: 129_650n * (3n * BASE_FEE + 1_000_000n) })
    const tiny = { value: 1n }
    const first = await pay(tiny)
    await pass(1_500)
    expect((await first.row()).state).toBe('confirmed')
    expect(await burntBy(SUBSIDISED)).toBe(cost)
    const [second, dear] = [await pay(tiny), await pay()]
    await pass(1_500)
    expect(await second.row()).toMatchObject({ state: 'failed', reason: 'gasBudgetExceeded' })
    expect((await second.row()).message).toContain('move less than their gas')
    expect((await dear.row()).state).toBe('confirmed')
    expect(await burntBy(SUBSIDISED)).toBe(cost)
  })

  it('is a payment like any other without such a limit', async () => {
    const { pay, burntBy } = await aRelayer()
    const { row } = await pay({ value: 1n })
    await pass(1_500)
    expect((await row()).state).toBe('confirmed')
    expect(await burntBy(SUBSIDISED)).toBe((BASE_GAS + PAYMENT_GAS) * PRICE)
  })
})

describe('a payment that must cover its gas', () => {
  it('is not sent while it moves less', async () => {
    const { pay, happened } = await aRelayer()
    // 91,000 gas cost 1,820.091 millionths of a dollar here.
    const little = await pay({ gain: 1_820n })
    await pass(1_500)
    expect(await little.row()).toMatchObject({ state: 'failed', reason: 'amountBelowMinimum' })
    expect(happened.spent).toEqual([])
    const enough = await pay({ gain: 1_821n })
    await pass(1_500)
    expect((await enough.row()).state).toBe('confirmed')
  })

  it('and moves less on chain than it would have is charged to its payer for the rest', async () => {
    const { world, pay, burntBy, happened } = await aRelayer()
    const payer = world.anAccount()
    const gas = { least: 1n, most: 200_000n }
    const profile = { isAlone: true, value: undefined, gas }
    await pay({ payer, value: 1n, gain: 1_000_000n, profile })
    await pass(1_500)
    const amount = (BASE_GAS + PAYMENT_GAS) * PRICE - 10n ** 12n
    expect(happened.spent[0]?.wasted).toEqual({ kind: 'plain', amount })
    expect(await burntBy(payer)).toBe(amount)
  })

  it('is sent where its simulation says nothing about its gas', async () => {
    const { world, pay } = await aRelayer()
    const { request } = world.rpc
    world.rpc.request = async (method, params) => {
      if (method === 'eth_estimateGas') throw new RpcResponseError(-32_000, 'no', undefined)
      return request(method, params)
    }
    const { row } = await pay({ gain: 1_821n })
    await pass(1_500)
    expect((await row()).state).toBe('confirmed')
  })
})

describe('once plain accounts have burnt their sum', () => {
  /** The sum is spent, and the next payment that is asked for it finds that out. */
  async function spent() {
    const it = await aRelayer({ wasted: 1n })
    await it.failOnChain()
    return it
  }

  it('new payers go one at a time and alone, wallets and known payers beside them', async () => {
    const { world, chain, aWallet, payAll, pay, sizes, happened } = await spent()
    const known = world.anAccount()
    await pay({ payer: known })
    await pass(1_500)
    chain.isHalted = true
    const before = happened.signed.length
    await payAll(many(5))
    await pass(500)
    expect(happened.signed.length).toBe(before + 1)
    await payAll(many(2, { payer: known }))
    await pass(500)
    expect(happened.signed.length).toBe(before + 2)
    await pay({ payer: aWallet(), isAlone: true })
    await pass(500)
    expect(happened.signed.length).toBe(before + 2)
    chain.isHalted = false
    await pass(10_000)
    expect(new Set(sizes().slice(before))).toEqual(new Set([1]))
    expect(happened.signed.length).toBe(before + 7)
  })

  it('as many new payers go together as settled since one failed', async () => {
    const { chain, pay, payAll, failOnChain, happened } = await spent()
    for (let i = 0; i < 3; i++) {
      await pay()
      await pass(1_500)
    }
    chain.isHalted = true
    const underWay = async () => {
      const before = happened.signed.length
      await payAll(many(6))
      await pass(1_000)
      return happened.signed.length - before
    }
    expect(await underWay()).toBe(3)
    chain.isHalted = false
    await pass(10_000)
    await failOnChain()
    chain.isHalted = true
    expect(await underWay()).toBe(1)
  })

  it('a payer has as many under way as settled in a row, and shares a transaction from fifty on', async () => {
    const { world, chain, pay, payAll, failOnChain, sizes, happened } = await spent()
    const payer = world.anAccount()
    for (let settled = 1; settled <= 2; settled++) {
      await pay({ payer })
      await pass(1_500)
    }
    chain.isHalted = true
    let before = happened.signed.length
    await payAll(many(5, { payer }))
    await pass(1_000)
    expect(happened.signed.length).toBe(before + 2)
    chain.isHalted = false
    await pass(8_000)
    await payAll(many(42, { payer }))
    await pass(60_000)
    chain.isHalted = true
    before = sizes().length
    // 49 in a row: still alone.
    await payAll(many(2, { payer }))
    await pass(500)
    expect(sizes().slice(before)).toEqual([1, 1])
    chain.isHalted = false
    await pass(2_000)
    before = sizes().length
    await payAll(many(3, { payer }))
    await pass(500)
    expect(sizes().slice(before)).toEqual([3])
    await pass(2_000)
    // Code that appears at the last moment burns the gas of a new payer alone.
    before = sizes().length
    await payAll([{ payer }, { payer }, {}])
    await pass(1_500)
    expect(sizes().slice(before).sort()).toEqual([1, 2])
    await failOnChain(payer)
    chain.isHalted = true
    before = sizes().length
    await payAll(many(3, { payer }))
    await pass(1_000)
    expect(sizes().slice(before)).toEqual([1])
  })

  it('nobody is refused, and after midnight they share as before', async () => {
    const { chain, payAll, sizes, happened } = await spent()
    const payments = await payAll(many(3))
    await pass(5_000)
    for (const { row } of payments) expect((await row()).state).toBe('confirmed')
    expect(sizes()).toEqual([1, 1, 1, 1])
    sleep(DAY_MS - (Date.now() % DAY_MS))
    await pass(1_000)
    chain.isHalted = true
    const before = happened.signed.length
    await payAll(many(3))
    await pass(1_000)
    expect(sizes().slice(before)).toEqual([3])
  })

  it('what left the queue just before the turns began is asked for the sum as well', async () => {
    const it = await aRelayer({ wasted: 1n }, { wallets: 2 })
    await it.failOnChain()
    it.chain.isHalted = true
    // Two batches are being prepared when the first of them finds the sum spent.
    it.world.store.before = async (method) => {
      if (method === 'recordAttempt') await new Promise((resolve) => setTimeout(resolve, 20))
    }
    await it.pay()
    await it.pay()
    await it.pay()
    await pass(1_000)
    expect(it.sizes().slice(1)).toEqual([1])
  })

  it('a payer is not blamed for a transaction that only filled the nonce of theirs', async () => {
    const { world, chain, pay, payAll, failOnChain, happened } = await aRelayer({ wasted: 1n })
    const [payer, other] = [world.anAccount(), world.anAccount()]
    for (let i = 0; i < 3; i++) {
      await pay({ payer })
      await pass(1_500)
    }
    chain.holdsBack = ({ nonce }) => nonce === 3
    await payAll([{ payer }, { payer: other }])
    await pass(50)
    // An account with code shares no transaction, so the replacement carries neither.
    chain.change(({ code }) => code.set(other, 'agrees'))
    chain.baseFee = 4n * BASE_FEE
    await pass(2_500)
    expect(chain.pool().find(({ nonce }) => nonce === 3)?.data).toBe('0x')
    chain.holdsBack = () => false
    await pass(2_500)
    await failOnChain()
    chain.isHalted = true
    const before = happened.signed.length
    await payAll(many(6, { payer }))
    await pass(1_000)
    expect(happened.signed.length - before).toBeGreaterThanOrEqual(3)
  })
})
