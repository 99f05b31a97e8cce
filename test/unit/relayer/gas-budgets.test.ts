import { describe, expect, it } from 'vitest'
import type { BlockFeed } from '../../../src/chain/blocks.js'
import { createGasBudgets, createGasModel } from '../../../src/relayer/gas.js'
import {
  createTrackedJobs,
  type JobKind,
  type JobProfile,
  type TrackedJob,
} from '../../../src/relayer/jobs.js'
import { SUBSIDISED, WASTED } from '../../../src/store/budgets.js'
import type { Job } from '../../../src/store/settlement-journal.js'

const wallet = '0x00000000000000000000000000000000000000a1'
const plain = '0x00000000000000000000000000000000000000b2'
const fees = { maxFeePerGas: 3n, maxPriorityFeePerGas: 1n }

function aGate({ subsidised }: { subsidised?: bigint } = {}) {
  const world = { now: 0, coded: new Set<string>() }
  let profile: JobProfile
  const kind = { profile: () => profile } as unknown as JobKind
  const jobs = createTrackedJobs({ exact: kind }, () => world.now)
  const gate = createGasBudgets({
    jobs,
    readCoded: async () => world.coded as Set<never>,
    gasLimits: { perAccount: 100n, wasted: 500n, subsidised },
    gas: createGasModel(),
    feed: { latest: () => ({ baseFeePerGas: 20n * 10n ** 9n }) } as BlockFeed,
    now: () => world.now,
  })
  let made = 0
  /** A payment; of a wallet when its payer has code, and under way when it holds a slot. */
  const pays = (
    payer: string,
    { isWallet = false, isUnderWay = false, value = 10_000_000n } = {},
  ) => {
    profile = { isAlone: isWallet, payer, payTo: 'r', runners: [payer], value }
    const job = { id: String(++made), kind: 'exact', round: 0, transaction: null }
    const entry = jobs.track(job as Job)
    if (isUnderWay) entry.liveSlots = 1
    return entry
  }
  return { world, gate, pays }
}

describe('a wallet with code', () => {
  const isWallet = true

  it('has at most eight transactions under way, whatever others have', () => {
    const { gate, pays } = aGate()
    for (let i = 0; i < 7; i++) pays(wallet, { isWallet, isUnderWay: true })
    expect(gate.mayGo()(pays(wallet, { isWallet }))).toBe(true)
    pays(wallet, { isWallet, isUnderWay: true })
    const mayGo = gate.mayGo()
    expect(mayGo(pays(wallet, { isWallet }))).toBe(false)
    expect(mayGo(pays('0x00000000000000000000000000000000000000a2', { isWallet }))).toBe(true)
    expect(mayGo(pays(wallet))).toBe(true)
  })

  it('bears all that its transaction may burn, strictly, and so does the limit of all wallets', () => {
    const { gate, pays } = aGate()
    expect(gate.bearersOf([pays(wallet, { isWallet })], 7n, fees)).toEqual([
      { name: wallet, amount: 21n, limit: 100n, isStrict: true },
      { name: WASTED, amount: 21n, limit: 500n, isStrict: true },
    ])
  })

  it('bears what it shares with others, who do not', () => {
    const { gate, pays } = aGate()
    const bearers = gate.bearersOf([pays(plain), pays(wallet, { isWallet })], 7n, fees)
    expect(bearers).toContainEqual({ name: plain, amount: 0n, limit: 100n, isStrict: false })
    expect(bearers).toContainEqual({ name: wallet, amount: 21n, limit: 100n, isStrict: true })
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
    entry.runners = [wallet, plain]
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
  it('is asked for its budget, and reserves nothing of it', () => {
    const { gate, pays } = aGate()
    expect(gate.bearersOf([pays(plain)], 7n, fees)).toEqual([
      { name: plain, amount: 0n, limit: 100n, isStrict: false },
    ])
  })

  it('that moves less than its gas takes its share from the limit for such payments', () => {
    const { gate, pays } = aGate({ subsidised: 50n })
    const subsidised = (entries: TrackedJob[]) =>
      gate.bearersOf(entries, 7n, fees).find(({ name }) => name === SUBSIDISED)
    expect(subsidised([pays(plain)])).toBeUndefined()
    const tiny = pays(plain, { value: 1n })
    expect(subsidised([tiny])).toMatchObject({ amount: 21n, limit: 50n, isStrict: true })
    expect(subsidised([tiny, pays(plain), pays(plain)])).toMatchObject({ amount: 7n })
  })
})

describe('a budget that is paused', () => {
  const bearer = (name: string) => ({ name, amount: 1n, limit: 1n, isStrict: true })

  it('holds back its account until the time is over, and nobody else', () => {
    const { world, gate, pays } = aGate()
    const [held, other] = [pays(wallet), pays(plain)]
    gate.pause(bearer(wallet), 250)
    expect([gate.mayGo()(held), gate.mayGo()(other)]).toEqual([false, true])
    world.now = 249
    expect(gate.mayGo()(held)).toBe(false)
    world.now = 250
    expect(gate.mayGo()(held)).toBe(true)
  })

  it('of all wallets holds back every wallet, and no plain account', () => {
    const { gate, pays } = aGate()
    const entries = [pays(wallet, { isWallet: true }), pays(plain)]
    gate.pause(bearer(WASTED), 250)
    expect(entries.map(gate.mayGo())).toEqual([false, true])
    expect(gate.concernedBy(bearer(WASTED), entries)).toEqual([entries[0]])
  })
})
