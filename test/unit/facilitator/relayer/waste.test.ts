import type { Address } from 'viem'
import { describe, expect, it } from 'vitest'
import { RpcResponseError } from '../../../../src/chain/rpc-errors.js'
import { dayOf, spentBy, WASTED, wastedBy } from '../../../../src/facilitator/journal/budgets.js'
import type { WasteLimits } from '../../../../src/facilitator/relayer/waste.js'
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
} from '../../../support/simulated/a-relayer.js'
import { BASE_FEE } from '../../../support/simulated/chain.js'
import {
  BASE_GAS,
  FAILED_GAS,
  GUARD,
  PAYMENT_GAS,
  SKIPPED_GAS,
} from '../../../support/simulated/state.js'

useVirtualClock()

/** The price of a unit of gas in every block. */
const PRICE = BASE_FEE + 1_000_000n
/** What a payment of a plain account is expected to burn if it fails, without and with the base of its transaction. */
const EACH = 45_000n * PRICE
const ALONE = EACH + BASE_GAS * PRICE
/** What one that fails alone burns here. */
const FAILED = (BASE_GAS + FAILED_GAS) * PRICE
const DAY_MS = 86_400_000

async function aRelayer(wasteLimits: Partial<WasteLimits> = {}, wish: RelayerWish = {}) {
  const world = aWorld({ wasteLimits, ...wish })
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
    const worst = 149_650n * ((BASE_FEE * 125n) / 100n + 1_000_000n)
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
    const worst = 149_650n * ((BASE_FEE * 125n) / 100n + 1_000_000n)
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
    expect(first?.cost).toBe(149_650n * PRICE)
    expect(first?.wasted).toEqual({ kind: 'coded', amount: first?.cost })
    expect(await burntBy(payer)).toBe(first?.cost)
    expect(await burntBy(WASTED.coded)).toBe(first?.cost)
    expect(await row()).toMatchObject({ state: 'failed', reason: 'gasBudgetExceeded' })
    expect((await row()).gasCost).toBe(first?.cost)
    expect((await row()).message).toContain(
      `Transactions of ${payer} that settled nothing burnt 0.0029`,
    )
    expect(more).toEqual([])
    const refused = await pay({ payer, isAlone: true })
    const other = await pay({ payer: aWallet(), isAlone: true })
    await pass(1_500)
    expect(await refused.row()).toMatchObject({ reason: 'gasBudgetExceeded', transaction: null })
    expect(await other.row()).toMatchObject({ state: 'confirmed' })
  })

  it('is refused with all others of its caller once the caller has had its share, until midnight', async () => {
    const { aWallet, pay } = await aRelayer({ wasted: (DOLLAR * 12n) / 1_000n })
    const payer = aWallet('burns')
    await pay({ payer, isAlone: true })
    await pass(3_000)
    const other = await pay({ payer: aWallet(), isAlone: true })
    const elsewhere = await pay({ payer: aWallet(), isAlone: true, caller: 'another' })
    const plain = await pay()
    await pass(1_500)
    expect(await other.row()).toMatchObject({ state: 'failed', reason: 'gasBudgetExceeded' })
    expect((await other.row()).message).toContain('accounts with code')
    for (const { row } of [elsewhere, plain]) expect((await row()).state).toBe('confirmed')
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

describe('a caller', () => {
  const [mine, theirs] = ['198.51.100.7', '203.0.113.9']
  const FIFTH = DOLLAR / 5n

  it('has what six fresh keys may burn at once bounded by half of the sum', async () => {
    const { world, chain, payAll, burntBy } = await aRelayer(
      { perAccount: DOLLAR / 20n, wasted: FIFTH },
      { wallets: 3 },
    )
    const keys = Array.from({ length: 6 }, () => world.anAccount())
    chain.isHalted = true
    await payAll(keys.flatMap((payer) => many(60, { payer, caller: mine, value: 1n })))
    await pass(2_000)
    chain.changeUnseen(({ tokens }) => {
      for (const key of keys) tokens.set(`${usdc}/${key}`, 0n)
    })
    chain.isHalted = false
    await pass(5_000)
    const burnt = await burntBy(WASTED.plain)
    expect(burnt).toBeGreaterThan(FIFTH / 20n)
    expect(burnt).toBeLessThanOrEqual(FIFTH / 2n)
    expect(await burntBy(wastedBy('plain', mine))).toBe(burnt)
  })

  it.each<[string, RelayerWish]>([
    ['alone', { hasMulticall3: false }],
    ['in shared transactions of Multicall3', {}],
    ['in shared transactions of the multicall of the relayers', { guard: GUARD }],
  ])(
    'has what fresh keys may burn that delegate code at once bounded by half of the sum, %s',
    async (_, wish) => {
      const limits = { perAccount: DOLLAR / 20n, wasted: FIFTH }
      const { world, chain, payAll, burntBy } = await aRelayer(limits, { wallets: 3, ...wish })
      const keys = Array.from({ length: 360 }, () => world.anAccount())
      chain.isHalted = true
      await payAll(keys.map((payer) => ({ payer, caller: mine, value: 1n })))
      await pass(2_000)
      chain.changeUnseen(({ code }) => {
        for (const key of keys) code.set(key, 'burns')
      })
      chain.isHalted = false
      await pass(5_000)
      const burnt = await burntBy(WASTED.plain)
      expect(burnt).toBeGreaterThan(0n)
      expect(burnt).toBeLessThanOrEqual(FIFTH / 2n)
      expect(await burntBy(WASTED.coded)).toBeLessThanOrEqual(FIFTH / 2n)
    },
  )

  it('that used up its share has one payment under way, alone; another one shares as before', async () => {
    const { chain, payAll, failOnChain, sizes } = await aRelayer({ wasted: 2n * FAILED })
    await failOnChain(undefined, { caller: mine })
    await failOnChain(undefined, { caller: mine })
    await pass(4_000)
    chain.isHalted = true
    const before = sizes().length
    await payAll(many(3, { caller: mine }))
    await pass(500)
    expect(sizes().slice(before)).toEqual([1])
    chain.isHalted = false
    await pass(3_000)
    expect(sizes().slice(before)).toEqual([1, 1, 1])
    await payAll(many(2, { caller: theirs }))
    await pass(1_000)
    expect(sizes().at(-1)).toBe(1)
  })

  it('that never failed does not wait for the failures of others', async () => {
    const { chain, pay, failOnChain, happened } = await aRelayer({ wasted: 4n * FAILED })
    for (let i = 0; i < 4; i++) {
      await failOnChain(undefined, { caller: mine })
      await pass(8_000)
    }
    chain.isHalted = true
    const before = happened.signed.length
    await pay({ caller: theirs })
    await pass(200)
    expect(happened.signed.length).toBe(before + 1)
  })

  it('waits for a second after a failure beyond its share, and twice as long after each further one', async () => {
    const { pay, failOnChain, happened } = await aRelayer({ wasted: 1n })
    const count = () => happened.signed.length
    await failOnChain(undefined, { caller: mine })
    await pass(1_000)
    await failOnChain(undefined, { caller: mine })
    expect(count()).toBe(2)
    await pay({ caller: mine })
    await pass(1_000)
    expect(count()).toBe(2)
    await pass(1_500)
    expect(count()).toBe(3)
    // It settled, so the next failure costs two seconds again, and not four.
    await failOnChain(undefined, { caller: mine })
    await pay({ caller: mine })
    await pass(2_500)
    expect(count()).toBe(5)
  })

  // A claim of many rows: alone, with a gas limit of its own.
  const large = { isAlone: true, gas: { least: 1_000_000n, most: 1_000_000n }, accountsThatRun: [] }
  const worst = 1_000_000n * (3n * BASE_FEE + 1_000_000n)

  it.each([
    ['goes', 'where the share of the caller has room for it', 2n * worst, 'confirmed'],
    ['is refused', 'where it has not, also as the only one', 2n * worst - 2n, 'failed'],
  ])('a job as large as many payments %s %s', async (_, __, wasted, state) => {
    const { pay, burntBy } = await aRelayer({ wasted })
    const { row } = await pay({ caller: mine, gain: 10_000_000n, profile: large })
    await pass(3_000)
    const { reason, message } = await row()
    expect((await row()).state).toBe(state)
    if (state === 'failed') {
      expect(reason).toBe('gasBudgetExceeded')
      expect(message).toContain('of your address')
    }
    // It stops nobody else, and its caller goes on paying.
    const [small, other] = [await pay({ caller: mine }), await pay({ caller: theirs })]
    await pass(3_000)
    expect([await small.row(), await other.row()]).toMatchObject([
      { state: 'confirmed' },
      { state: 'confirmed' },
    ])
    expect(await burntBy(WASTED.plain)).toBe(0n)
  })

  it('a large job of the operator takes no share', async () => {
    const { pay } = await aRelayer({ wasted: worst })
    const { row } = await pay({ standing: 'own', gain: 10_000_000n, profile: large })
    await pass(3_000)
    expect((await row()).state).toBe('confirmed')
  })

  it('keeps what it burnt over a restart', async () => {
    const { world, failOnChain, relayer } = await aRelayer({ wasted: 2n * FAILED })
    await failOnChain(undefined, { caller: mine })
    await failOnChain(undefined, { caller: mine })
    relayer.stop()
    const next = await world.start()
    world.chain.isHalted = true
    await next.payAll(many(3, { caller: mine }))
    await pass(500)
    expect(next.happened.signed.map(({ ids }) => ids.length)).toEqual([1])
  })

  it('is booked for what it settles, the recipient only for payments above their gas', async () => {
    const { pay, burntBy } = await aRelayer()
    const cost = (BASE_GAS + PAYMENT_GAS) * PRICE
    const payTo: Address = `0x${'c3'.repeat(20)}`
    for (const wish of [{ value: 1n }, {}, { standing: 'own' as const }]) {
      await pay({ caller: mine, payTo, ...wish })
      await pass(1_500)
    }
    expect(await burntBy(spentBy(mine))).toBe(2n * cost)
    expect(await burntBy(spentBy('newcomers'))).toBe(2n * cost)
    expect(await burntBy(spentBy(payTo))).toBe(cost)
  })
})

describe('the multicall of the relayers', () => {
  it('makes what fails cheap, and code that appears in a shared transaction burns nothing', async () => {
    const { world, chain, payAll, happened, burntBy } = await aRelayer({}, { guard: GUARD })
    const [empty, coded] = [world.anAccount(), world.anAccount()]
    const payments = await payAll([{ payer: empty }, { payer: coded }, {}])
    await pass(50)
    expect(chain.pool()[0]?.to).toBe(GUARD)
    chain.changeUnseen(({ tokens, code }) => {
      tokens.set(`${usdc}/${empty}`, 0n)
      code.set(coded, 'burns')
    })
    await pass(600)
    chain.change(({ code }) => code.delete(coded))
    await pass(2_000)
    const [spent] = happened.spent
    expect(spent?.cost).toBe((BASE_GAS + PAYMENT_GAS + 2n * SKIPPED_GAS) * PRICE)
    const rows = await Promise.all(payments.map(({ row }) => row()))
    expect(rows.map(({ state }) => state)).toEqual(['failed', 'confirmed', 'confirmed'])
    expect(rows[0]).toMatchObject({ reason: 'insufficientBalance' })
    expect(await burntBy(empty)).toBeGreaterThan(0n)
  })

  it('leaves payers that are short or have code out of a transaction that is not sent yet', async () => {
    const { world, aWallet, payAll, sizes } = await aRelayer({}, { guard: GUARD })
    const empty = world.anAccount(0)
    const payments = await payAll([{ payer: empty }, { payer: aWallet() }, {}, {}])
    await pass(2_000)
    const states = await Promise.all(payments.map(async ({ row }) => (await row()).state))
    expect(states).toEqual(['failed', 'confirmed', 'confirmed', 'confirmed'])
    expect(sizes().sort()).toEqual([1, 2])
  })
})
