import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Rpc } from '../../../src/chain/rpc.js'
import type { Job, SettlementJournal } from '../../../src/facilitator/journal/settlement-journal.js'
import { type Cause, createExaminer } from '../../../src/facilitator/relayer/examiner.js'
import { createGasModel } from '../../../src/facilitator/relayer/gas.js'
import {
  createTrackedJobs,
  type Examination,
  type JobKind,
} from '../../../src/facilitator/relayer/jobs.js'
import { createOutcomeKeeper, noRelayerEvents } from '../../../src/facilitator/relayer/outcomes.js'
import { createJobQueue } from '../../../src/facilitator/relayer/queue.js'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

const poor: Examination = { state: 'refused', reason: 'insufficientBalance', message: 'poor' }
const over: Examination = { state: 'failed', reason: 'validBefore', message: 'over' }
const unused: Examination = { state: 'open' }
const uncertain: Examination = { state: 'uncertain', transaction: '0xf0', message: 'untraced' }
const burnt: Cause = { refusal: { reason: 'gasBudgetExceeded', message: 'enough' } }

/** A job that was signed once and is in no slot; `mayLand` is the journal's answer about it. */
function aCase(chain: Examination, mayLand: boolean) {
  const world = {
    chain,
    mayLand,
    outcome: undefined as string | undefined,
    answers: Promise.resolve(),
  }
  const kind = {
    profile: () => ({ isAlone: false, payer: 'p', payTo: 'r', accountsThatRun: [], value: 1n }),
    examine: async () => {
      const seen = world.chain
      await world.answers
      return seen
    },
    rejectionOf: () => ({ reason: 'insufficientBalance', message: 'simulated' }),
  }
  const jobs = createTrackedJobs({ exact: kind as unknown as JobKind }, Date.now)
  const silent = { info() {}, warn() {} }
  const keeper = createOutcomeKeeper({
    network: 'eip155:5042',
    journal: {
      mayLand: async () => world.mayLand,
      nameTransaction: async () => true,
      resolve: async ({ outcomes }) =>
        outcomes.map(({ id, outcome }) => {
          world.outcome = outcome.reason ?? outcome.state
          return { id, outcome }
        }),
    } as Partial<SettlementJournal> as SettlementJournal,
    jobs,
    events: noRelayerEvents,
    now: Date.now,
    log: silent,
  })
  const queue = createJobQueue()
  const { examine, watch } = createExaminer({
    keeper,
    jobs,
    queue,
    gas: createGasModel(),
    budgets: { note() {} },
    events: noRelayerEvents,
    slots: [],
    rpc: {} as Rpc,
    readCoded: async () => new Set(),
    journal: {} as SettlementJournal,
    log: silent,
  })
  const entry = jobs.track({
    id: 'a',
    kind: 'exact',
    round: 0,
    transaction: '0xab',
  } as unknown as Job)
  return {
    world,
    entry,
    queue,
    examine: (cause: Cause) => examine(entry, cause),
    watch: () => watch(entry, 1),
    /** Keeps the nodes from answering until the function returned is called. */
    holdAnswers() {
      let go = () => {}
      world.answers = new Promise<void>((resolve) => {
        go = resolve
      })
      return go
    },
    decide: () => jobs.update({ ...entry.job, state: 'confirmed' }),
  }
}

describe('a job whose transaction may land', () => {
  it.each<[string, Examination, Cause]>([
    ['for want of a balance', poor, {}],
    ['for want of a budget', unused, burnt],
    ['by a simulation', unused, { revert: 'transfer amount exceeds balance' }],
  ])('does not fail %s', async (_, chain, cause) => {
    const { world, examine } = aCase(chain, true)
    await examine(cause)
    await vi.advanceTimersByTimeAsync(5_000)
    expect(world.outcome).toBeUndefined()
  })

  it('does not fail for having been sent too often, and is not sent again', async () => {
    const { world, entry, queue, examine } = aCase(unused, true)
    entry.resends = 3
    await examine({})
    await vi.advanceTimersByTimeAsync(5_000)
    expect([world.outcome, queue.length()]).toEqual([undefined, 0])
  })

  it('fails once its time is over', async () => {
    const { world, examine } = aCase(poor, true)
    await examine({})
    world.chain = over
    await vi.advanceTimersByTimeAsync(1_000)
    expect(world.outcome).toBe('validBefore')
  })

  it('is left alone once it was decided meanwhile', async () => {
    const { world, queue, examine, decide } = aCase(poor, true)
    await examine({})
    decide()
    Object.assign(world, { chain: unused, mayLand: false })
    await vi.advanceTimersByTimeAsync(5_000)
    expect([world.outcome, queue.length()]).toEqual([undefined, 0])
  })

  it('is sent again when the cause against it has passed', async () => {
    const { world, queue, examine } = aCase(poor, true)
    await examine({ revert: 'transfer amount exceeds balance' })
    world.chain = unused
    await vi.advanceTimersByTimeAsync(1_000)
    expect([world.outcome, queue.length()]).toEqual([undefined, 1])
  })

  it('fails once no transaction of it can land', async () => {
    const { world, queue, examine } = aCase(unused, true)
    await examine(burnt)
    world.mayLand = false
    await vi.advanceTimersByTimeAsync(1_000)
    expect([world.outcome, queue.length()]).toEqual(['gasBudgetExceeded', 0])
  })
})

describe('a job that a transaction of others may have settled', () => {
  it('stays open and names it, until a node shows what it did', async () => {
    const { world, entry, queue, examine } = aCase(uncertain, false)
    await examine(burnt)
    expect(entry.job).toMatchObject({
      state: 'submitted',
      transaction: '0xf0',
      message: 'untraced',
    })
    await vi.advanceTimersByTimeAsync(600_000)
    expect([world.outcome, queue.length()]).toEqual([undefined, 0])
    world.chain = over
    await vi.advanceTimersByTimeAsync(30_000)
    expect(world.outcome).toBe('validBefore')
  })

  it('names it while a transaction of ours is under way as well', async () => {
    const { world, entry, watch } = aCase(uncertain, true)
    entry.liveSlots = 1
    await watch()
    expect([world.outcome, entry.job.transaction]).toEqual([undefined, '0xf0'])
  })
})

describe('a job whose transactions cannot land', () => {
  it.each<[string, Examination, Cause, string]>([
    ['the chain', poor, {}, 'insufficientBalance'],
    ['its budget', unused, burnt, 'gasBudgetExceeded'],
    ['a simulation', unused, { revert: 'poor' }, 'insufficientBalance'],
  ])('fails at once, by %s', async (_, chain, cause, reason) => {
    const { world, examine } = aCase(chain, false)
    await examine(cause)
    expect(world.outcome).toBe(reason)
  })
})

describe('a job whose transaction failed without a cause', () => {
  it.each([
    ['three times for a plain account', [], 3],
    ['once for a wallet, which may lie to the simulation', ['0xa1'], 1],
  ])('is sent again, %s', async (_, coded, most) => {
    const { world, entry, queue, examine } = aCase(unused, false)
    entry.coded = coded
    for (let i = 0; i < most; i++) {
      await examine({})
      expect(queue.takeOut(entry)).toBe(true)
    }
    expect([world.outcome, entry.resends]).toEqual([undefined, most])
    await examine({})
    expect([world.outcome, entry.resends]).toEqual(['transactionFailed', most])
  })
})

describe('a job that two parts of the relayer want examined', () => {
  it('is sent again once', async () => {
    const { entry, queue, examine, holdAnswers } = aCase(unused, false)
    const answer = holdAnswers()
    const both = [examine({}), examine({ atLeastBlock: 2 })]
    answer()
    await Promise.all(both)
    expect([queue.length(), entry.resends]).toEqual([1, 1])
  })
})

describe('a job whose transaction is under way', () => {
  it('neither fails nor is sent again for a cause that may pass', async () => {
    const { world, entry, queue, examine, watch } = aCase(poor, false)
    entry.liveSlots = 1
    await watch()
    await examine(burnt)
    expect([world.outcome, queue.length()]).toEqual([undefined, 0])
  })

  it('fails for a final cause', async () => {
    const { world, entry, watch } = aCase(over, true)
    entry.liveSlots = 1
    await watch()
    expect(world.outcome).toBe('validBefore')
  })

  it.each([
    ['is open', unused],
    ['is refused', poor],
  ])('stays with the lane that got it while the nodes were asked, when it %s', async (_, chain) => {
    const { world, entry, queue, watch, holdAnswers } = aCase(chain, false)
    entry.liveSlots = 1
    const answer = holdAnswers()
    const watching = watch()
    entry.liveSlots = 0
    queue.putBack(entry)
    const [taken] = queue.take(() => 1)
    answer()
    await watching
    expect([taken, world.outcome, queue.length()]).toEqual([entry, undefined, 0])
  })

  it('is examined once its slot is closed, though it was being watched then', async () => {
    const { entry, queue, examine, watch, holdAnswers } = aCase(unused, false)
    entry.liveSlots = 1
    const answer = holdAnswers()
    const watching = watch()
    entry.liveSlots = 0
    const examining = examine({})
    expect(queue.has(entry)).toBe(false)
    answer()
    await Promise.all([watching, examining])
    expect([queue.length(), entry.resends]).toEqual([1, 1])
  })
})
