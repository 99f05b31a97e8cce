import { describe, expect, it } from 'vitest'
import type { BlockFeed } from '../../../src/chain/blocks.js'
import {
  type GasBudget,
  GasBudgetError,
  requireBudget,
  SUBSIDISED,
  WASTED,
} from '../../../src/facilitator/journal/budgets.js'
import type { Job } from '../../../src/facilitator/journal/settlement-journal.js'
import { createGasBudgets, createGasModel, priceOf } from '../../../src/facilitator/relayer/gas.js'
import {
  createTrackedJobs,
  type JobKind,
  type JobProfile,
  type TrackedJob,
} from '../../../src/facilitator/relayer/jobs.js'

const wallet = '0x00000000000000000000000000000000000000a1'
const plain = '0x00000000000000000000000000000000000000b2'
const other = '0x00000000000000000000000000000000000000c3'
const fees = { maxFeePerGas: 3n, maxPriorityFeePerGas: 1n }
const BASE_FEE = 20n * 10n ** 9n
/** What a failed payment burns, without the base of its transaction, and the whole of one that was alone. */
const EACH = 45_000n * priceOf(BASE_FEE)
const ALONE = 66_000n * priceOf(BASE_FEE)
const DAY_MS = 86_400_000

function aGate({
  subsidised,
  perAccount = 100n,
}: {
  subsidised?: bigint
  perAccount?: bigint
} = {}) {
  const world = { now: 0, coded: new Set<string>() }
  let profile: JobProfile
  const kind = { profile: () => profile } as unknown as JobKind
  const jobs = createTrackedJobs({ exact: kind }, () => world.now)
  const inHand = new Set<TrackedJob>()
  const gate = createGasBudgets({
    jobs,
    queue: { isInHand: (entry) => inHand.has(entry) },
    readCoded: async () => world.coded as Set<never>,
    gasLimits: { perAccount, wasted: 500n, subsidised },
    gas: createGasModel(),
    feed: { latest: () => ({ baseFeePerGas: BASE_FEE }) } as BlockFeed,
    now: () => world.now,
  })
  let made = 0
  /** A payment; of a wallet when its payer has code, and under way when it holds a slot. */
  const pays = (
    payer: string,
    { isWallet = false, isUnderWay = false, value = 10_000_000n } = {},
  ) => {
    profile = { isAlone: isWallet, payer, payTo: 'r', accountsThatRun: [payer], value }
    const job = { id: String(++made), kind: 'exact', round: 0, transaction: null }
    const entry = jobs.track(job as Job)
    if (isUnderWay) entry.liveSlots = 1
    return entry
  }
  /** Returns how many more payments of this payer may go in one transaction. */
  const mayShare = (payer: string) => {
    const mayGo = gate.mayGo()
    const taken: TrackedJob[] = []
    for (;;) {
      const entry = pays(payer)
      if (taken.length >= 200 || !mayGo(entry, taken)) return taken.length
      taken.push(entry)
    }
  }
  const mayGo = (entry: TrackedJob) => gate.mayGo()(entry, [])
  return { world, gate, pays, mayGo, mayShare, inHand }
}

describe('a wallet with code', () => {
  const isWallet = true

  it('has at most eight transactions under way, whatever others have', () => {
    const { mayGo, pays } = aGate()
    for (let i = 0; i < 7; i++) pays(wallet, { isWallet, isUnderWay: true })
    expect(mayGo(pays(wallet, { isWallet }))).toBe(true)
    pays(wallet, { isWallet, isUnderWay: true })
    expect(mayGo(pays(wallet, { isWallet }))).toBe(false)
    expect(mayGo(pays(other, { isWallet }))).toBe(true)
  })

  it('answers for all that its transaction may burn, strictly, and so does the sum of its kind', () => {
    const { gate, pays } = aGate()
    expect(gate.budgetsOf([pays(wallet, { isWallet })], 7n, fees)).toEqual([
      { name: wallet, amount: 21n, limit: 100n, isStrict: true },
      { name: WASTED.coded, amount: 21n, limit: 500n, isStrict: true },
    ])
  })

  it('is found by its code, and answers on when the code is gone for a moment', async () => {
    const { world, gate, pays } = aGate()
    const entry = pays(wallet)
    await gate.readCodes([entry])
    expect(entry.coded).toEqual([])
    world.coded = new Set([wallet])
    await gate.readCodes([entry])
    expect(entry.coded).toEqual([wallet])
    world.coded = new Set()
    await gate.readCodes([entry])
    expect(entry.coded).toEqual([wallet])
  })

  it('answers on beside another account whose code is found later', async () => {
    const { world, gate, pays } = aGate()
    const entry = pays(wallet)
    entry.accountsThatRun = [wallet, plain]
    world.coded = new Set([wallet])
    await gate.readCodes([entry])
    world.coded = new Set([plain])
    await gate.readCodes([entry])
    expect(entry.coded).toEqual([wallet, plain])
  })

  it('gets a fee ceiling near the base fee, a plain account one that outlasts a rise', () => {
    const { gate, pays } = aGate()
    expect(gate.headroomFor([pays(plain), pays(wallet, { isWallet })])).toBe(125n)
    expect(gate.headroomFor([pays(plain)])).toBe(300n)
  })
})

describe('a plain account', () => {
  it('answers for what its payments burn when they fail, and one of them may exceed it', () => {
    const { gate, pays } = aGate()
    const asked = { name: WASTED.plain, amount: 0n, limit: 500n, isStrict: false }
    const alone = { name: plain, amount: ALONE, last: ALONE, limit: 100n, isStrict: false }
    expect(gate.budgetsOf([pays(plain)], 7n, fees)).toEqual([alone, asked])
    const each = EACH + 7_000n * priceOf(BASE_FEE)
    expect(gate.budgetsOf([pays(plain), pays(other), pays(plain)], 7n, fees)).toEqual([
      { name: plain, amount: 2n * each, last: each, limit: 100n, isStrict: false },
      { name: other, amount: each, last: each, limit: 100n, isStrict: false },
      asked,
    ])
  })

  it('answers for a replacement without being stopped by it', () => {
    const { gate, pays } = aGate()
    const [budget, ...others] = gate.budgetsOf([pays(plain), pays(plain)], 7n, fees, true)
    expect([budget?.last, others]).toEqual([budget?.amount, []])
  })

  it('has as much under way as its budget has room for, and others are not concerned', () => {
    const { mayGo, mayShare, pays, inHand } = aGate({ perAccount: 10n * EACH })
    for (let i = 0; i < 6; i++) pays(plain, { isUnderWay: true })
    inHand.add(pays(plain))
    expect([mayShare(plain), mayShare(other)]).toEqual([3, 10])
    for (let i = 0; i < 3; i++) pays(plain, { isUnderWay: true })
    expect([mayGo(pays(plain)), mayGo(pays(other))]).toEqual([false, true])
  })

  it('has fifty payments under way on the default budget at the floor of the fee', () => {
    const { mayShare } = aGate({ perAccount: 5n * 10n ** 16n })
    expect(mayShare(plain)).toBeGreaterThanOrEqual(50)
  })

  it('has never more under way than the journal keeps', () => {
    for (let room = 1n; room <= 60n; room += 3n) {
      const { gate, pays } = aGate({ perAccount: room * (EACH + 1n) })
      let reserved = 0n
      for (const most of [1, 7, 50]) {
        const mayGo = gate.mayGo()
        const taken: TrackedJob[] = []
        for (let entry = pays(plain); taken.length < most && mayGo(entry, taken); ) {
          taken.push(entry)
          entry = pays(plain)
        }
        if (taken.length === 0) break
        const [budget] = gate.budgetsOf(taken, 7n, fees) as [GasBudget]
        expect(() => requireBudget(budget, 0n, reserved)).not.toThrow()
        reserved += budget.amount
        for (const entry of taken) entry.liveSlots = 1
      }
      expect(reserved).toBeGreaterThan(0n)
    }
  })

  it('has less under way once it is known to have burnt some, until the day is over', () => {
    const { gate, world, mayShare } = aGate({ perAccount: 10n * EACH })
    const budget = { name: plain, amount: 1n, limit: 10n * EACH, isStrict: false }
    gate.pause(new GasBudgetError(budget, 4n * EACH, false), 100)
    expect(mayShare(plain)).toBe(0)
    world.now = 100
    expect(mayShare(plain)).toBe(6)
    world.now = DAY_MS
    expect(mayShare(plain)).toBe(10)
  })

  it('that moves less than its gas takes its share from the limit for such payments', () => {
    const { gate, pays } = aGate({ subsidised: 50n })
    const subsidised = (entries: TrackedJob[]) =>
      gate.budgetsOf(entries, 7n, fees).find(({ name }) => name === SUBSIDISED)
    expect(subsidised([pays(plain)])).toBeUndefined()
    const tiny = pays(plain, { value: 1n })
    expect(subsidised([tiny])).toMatchObject({ amount: 21n, limit: 50n, isStrict: true })
    expect(subsidised([tiny, pays(plain), pays(plain)])).toMatchObject({ amount: 7n })
  })
})

describe('once plain accounts have burnt their sum', () => {
  function aSlowGate() {
    const it = aGate({ perAccount: 1_000n * EACH })
    it.gate.takeTurns()
    return it
  }

  it('new payers go one at a time, alone, and wallets as ever', () => {
    const { mayGo, mayShare, pays } = aSlowGate()
    expect(mayShare(plain)).toBe(1)
    const first = pays(plain, { isUnderWay: true })
    expect([mayGo(pays(plain)), mayGo(pays(other))]).toEqual([false, false])
    expect(mayGo(pays(wallet, { isWallet: true }))).toBe(true)
    first.liveSlots = 0
    expect([mayGo(pays(plain)), mayGo(pays(other))]).toEqual([true, true])
  })

  it('new payers have as many under way together as settled since the last that failed', () => {
    const { gate, mayGo, pays } = aSlowGate()
    for (const payer of ['0x1', '0x2', '0x3']) gate.note(payer, true)
    pays(plain, { isUnderWay: true })
    pays(other, { isUnderWay: true })
    expect([mayGo(pays('0x4')), mayGo(pays(plain))]).toEqual([true, false])
    gate.note(wallet, false)
    expect(mayGo(pays('0x4'))).toBe(false)
  })

  it('a payer has as many under way as settled in a row, whatever new ones do', () => {
    const { gate, mayGo, pays } = aSlowGate()
    for (let i = 0; i < 3; i++) gate.note(plain, true)
    pays(other, { isUnderWay: true })
    for (let i = 0; i < 2; i++) pays(plain, { isUnderWay: true })
    expect(mayGo(pays(plain))).toBe(true)
    pays(plain, { isUnderWay: true })
    expect(mayGo(pays(plain))).toBe(false)
    gate.note(plain, false)
    expect(mayGo(pays(plain))).toBe(false)
  })

  it('a payer shares a transaction from fifty on, with such payers only', () => {
    const { gate, mayShare, pays } = aSlowGate()
    for (let i = 0; i < 49; i++) gate.note(plain, true)
    expect(mayShare(plain)).toBe(1)
    gate.note(plain, true)
    expect(mayShare(plain)).toBe(50)
    expect(gate.mayGo()(pays(plain), [pays(other)])).toBe(false)
    expect(gate.mayGo()(pays(other), [pays(plain)])).toBe(false)
  })

  it('the sum is not asked any more, until the day is over', () => {
    const { gate, mayShare, world, pays } = aSlowGate()
    const late = pays(plain)
    const names = () => gate.budgetsOf([late], 7n, fees).map(({ name }) => name)
    // It left the queue before the turns began, or in its turn.
    expect(names()).toEqual([plain, WASTED.plain])
    late.hasTurn = true
    expect(names()).toEqual([plain])
    late.hasTurn = false
    world.now = DAY_MS
    expect([names(), mayShare(plain)]).toEqual([[plain, WASTED.plain], 200])
  })
})

describe('a budget that is paused', () => {
  const full = (name: string) =>
    new GasBudgetError({ name, amount: 1n, limit: 1n, isStrict: true }, 0n, false)

  it('holds back its account until the time is over, and nobody else', () => {
    const { world, gate, mayGo, pays } = aGate()
    const [held, free] = [pays(wallet), pays(plain)]
    gate.pause(full(wallet), 250)
    expect([mayGo(held), mayGo(free)]).toEqual([false, true])
    world.now = 249
    expect(mayGo(held)).toBe(false)
    world.now = 250
    expect(mayGo(held)).toBe(true)
  })

  it('of all wallets holds back every wallet, and no plain account', () => {
    const { gate, mayGo, pays } = aGate()
    const entries = [pays(wallet, { isWallet: true }), pays(plain)]
    gate.pause(full(WASTED.coded), 250)
    expect(entries.map(mayGo)).toEqual([false, true])
    expect(gate.concernedBy(full(WASTED.coded).budget, entries)).toEqual([entries[0]])
  })
})
