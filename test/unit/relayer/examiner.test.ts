import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type Cause, createExaminer } from '../../../src/relayer/examiner.js'
import type { Examination } from '../../../src/relayer/job-kind.js'
import { createOutcomeKeeper } from '../../../src/relayer/outcome-keeper.js'
import { noRelayerEvents } from '../../../src/relayer/relayer-events.js'
import { createTrackedJobs, type TrackedJob } from '../../../src/relayer/tracked-jobs.js'
import type { SettlementJournal } from '../../../src/store/settlement-journal.js'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

const poor: Examination = { state: 'refused', reason: 'insufficientBalance', message: 'poor' }
const over: Examination = { state: 'failed', reason: 'validBefore', message: 'over' }
const unused: Examination = { state: 'open' }
const burnt: Cause = { refusal: { reason: 'gasBudgetExceeded', message: 'enough' } }

/** A job that was signed once and is in no lane's hands; `mayLand` is what the journal says of it. */
function aCase(chain: Examination, mayLand: boolean) {
  const world = { chain, mayLand, fate: undefined as string | undefined, resent: 0 }
  const tracked = createTrackedJobs(Date.now)
  const silent = { info() {}, warn() {} }
  const keeper = createOutcomeKeeper({
    network: 'eip155:5042',
    journal: {
      mayLand: async () => world.mayLand,
      resolve: async ({ outcomes }) =>
        outcomes.map(({ id, outcome }) => {
          world.fate = outcome.reason ?? outcome.state
          return { id, outcome }
        }),
    } as Partial<SettlementJournal> as SettlementJournal,
    tracked,
    events: noRelayerEvents,
    now: Date.now,
    log: silent,
  })
  const examine = createExaminer({
    keeper,
    land: () => false,
    enqueue: () => world.resent++,
    resendAlone: () => world.resent++,
    log: silent,
  })
  const entry = {
    job: { id: 'a', transaction: '0xab' },
    kind: {
      examine: async () => world.chain,
      rejectionOf: () => ({ reason: 'insufficientBalance', message: 'simulated' }),
    },
    burntGas: 0n,
    coded: [],
    liveSlots: 0,
    resends: 0,
  } as unknown as TrackedJob
  return { world, entry, examine: (cause: Cause) => examine(entry, cause) }
}

describe('what was signed and may land', () => {
  it.each<[string, Examination, Cause]>([
    ['for want of a balance', poor, {}],
    ['for want of a budget', unused, burnt],
    ['by a simulation', unused, { revert: 'transfer amount exceeds balance' }],
  ])('is not called failed %s', async (_, chain, cause) => {
    const { world, examine } = aCase(chain, true)
    await examine(cause)
    await vi.advanceTimersByTimeAsync(5_000)
    expect(world.fate).toBeUndefined()
  })

  it('is not called failed for being worn out, nor sent again', async () => {
    const { world, entry, examine } = aCase(unused, true)
    entry.resends = 3
    await examine({})
    await vi.advanceTimersByTimeAsync(5_000)
    expect([world.fate, world.resent]).toEqual([undefined, 0])
  })

  it('is failed once its time is over', async () => {
    const { world, examine } = aCase(poor, true)
    await examine({})
    world.chain = over
    await vi.advanceTimersByTimeAsync(1_000)
    expect(world.fate).toBe('validBefore')
  })

  it('is left alone once it was decided meanwhile', async () => {
    const { world, entry, examine } = aCase(poor, true)
    await examine({})
    entry.job = { ...entry.job, state: 'confirmed' }
    Object.assign(world, { chain: unused, mayLand: false })
    await vi.advanceTimersByTimeAsync(5_000)
    expect(world).toMatchObject({ fate: undefined, resent: 0 })
  })

  it('is sent again when what stood against it has passed', async () => {
    const { world, examine } = aCase(poor, true)
    await examine({ revert: 'transfer amount exceeds balance' })
    world.chain = unused
    await vi.advanceTimersByTimeAsync(1_000)
    expect([world.fate, world.resent]).toEqual([undefined, 1])
  })

  it('is failed once nothing of it can land', async () => {
    const { world, examine } = aCase(unused, true)
    await examine(burnt)
    world.mayLand = false
    await vi.advanceTimersByTimeAsync(1_000)
    expect([world.fate, world.resent]).toEqual(['gasBudgetExceeded', 0])
  })
})

describe('what was signed and cannot land', () => {
  it.each<[string, Examination, Cause, string]>([
    ['the chain', poor, {}, 'insufficientBalance'],
    ['its budget', unused, burnt, 'gasBudgetExceeded'],
    ['a simulation', unused, { revert: 'poor' }, 'insufficientBalance'],
  ])('is failed at once by %s', async (_, chain, cause, reason) => {
    const { world, examine } = aCase(chain, false)
    await examine(cause)
    expect(world.fate).toBe(reason)
  })
})

describe('what failed on chain without a cause', () => {
  it.each([
    ['three times for a plain account', [], 3],
    ['once for a wallet, which may lie to the simulation', ['0xa1'], 1],
  ])('is sent again, %s', async (_, coded, most) => {
    const { world, entry, examine } = aCase(unused, false)
    entry.coded = coded
    for (let i = 0; i < most; i++) await examine({})
    expect([world.fate, world.resent]).toEqual([undefined, most])
    await examine({})
    expect([world.fate, world.resent]).toEqual(['transactionFailed', most])
  })
})

describe('what is under way', () => {
  it('is neither failed nor sent again for what may pass', async () => {
    const { world, entry, examine } = aCase(poor, false)
    entry.liveSlots = 1
    await examine({})
    await examine(burnt)
    expect([world.fate, world.resent]).toEqual([undefined, 0])
  })

  it('is failed by what holds for good', async () => {
    const { world, entry, examine } = aCase(over, true)
    entry.liveSlots = 1
    await examine({})
    expect(world.fate).toBe('validBefore')
  })
})
