import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { BlockFeed } from '../../../src/chain/blocks.js'
import { GasBudgetError, WASTED } from '../../../src/facilitator/journal/budgets.js'
import type { Job } from '../../../src/facilitator/journal/settlement-journal.js'
import { createDispatcher } from '../../../src/facilitator/relayer/dispatcher.js'
import { createGasBudgets, createGasModel } from '../../../src/facilitator/relayer/gas.js'
import {
  createTrackedJobs,
  type JobKind,
  type TrackedJob,
} from '../../../src/facilitator/relayer/jobs.js'
import type { Lane } from '../../../src/facilitator/relayer/lane.js'
import { noRelayerEvents, type OutcomeKeeper } from '../../../src/facilitator/relayer/outcomes.js'
import { createJobQueue } from '../../../src/facilitator/relayer/queue.js'
import { SIGN_TIMEOUT_MS, SignerError } from '../../../src/facilitator/relayer/signer.js'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

const OWN_WALLET = '0x0e'
const budget = { name: 'p', amount: 1n, limit: 1n, isStrict: true }

/** One lane on which every transaction is sent at once and stays under way until `landed` sets how many are left. */
function aDispatcher({ mayLand = false } = {}) {
  let inFlight = 0
  const underWay: TrackedJob[][] = []
  const sent: string[][] = []
  const [refused, examined]: [string[], string[]] = [[], []]
  const lanes = {
    isClosed: false,
    isSumSpent: false,
    seconds: 0,
    budget: 'fits' as 'fits' | 'wait' | 'spent',
    isUnsigned: false,
    tries: 0,
  }
  const lane = {
    address: OWN_WALLET,
    isSigning: false,
    isLeaving: false,
    isHeld: () => true,
    closedBecause: () => (lanes.isClosed ? 'no gas money' : undefined),
    inFlight: () => inFlight,
    carried: () => underWay,
    readBalance: async () => undefined,
    open: async (_call: unknown, jobIds: string[]) => {
      lanes.tries++
      if (lanes.isUnsigned) {
        // A signer takes its time, and its lane is open again by the next try.
        await new Promise((resolve) => setTimeout(resolve, SIGN_TIMEOUT_MS))
        throw new SignerError('no answer')
      }
      if (lanes.isSumSpent) {
        lanes.isSumSpent = false
        throw new GasBudgetError({ ...budget, name: WASTED.plain, isStrict: false }, 1n, true)
      }
      const isOfWallet = jobIds.some((id) => jobs.find(id)?.coded.length)
      if (lanes.budget !== 'fits' && isOfWallet) {
        throw new GasBudgetError(budget, 1n, lanes.budget === 'spent')
      }
      inFlight++
      underWay.push(jobs.findAll(jobIds))
      sent.push(jobIds)
    },
  }
  const kindOf = (isAlone: boolean) => {
    const payer = isAlone ? 'p' : 'q'
    const profile = { isAlone, payer, payTo: 'r', accountsThatRun: [payer], value: 1n }
    return { profile: () => profile } as unknown as JobKind
  }
  const kindOfPayer = (payer: string, isSingle: boolean) => {
    const profile = {
      isAlone: false,
      isSingle,
      payer,
      payTo: 'r',
      accountsThatRun: [payer],
      value: 1n,
    }
    return { profile: () => profile } as unknown as JobKind
  }
  const kindFor = (sender: string) => {
    const profile = { payer: 'q', payTo: 'r', accountsThatRun: ['q'], value: 1n, isAlone: false }
    return {
      profile: () => ({ ...profile, isSingle: true, senders: [sender] }),
    } as unknown as JobKind
  }
  const kinds = {
    plain: kindOf(false),
    wallet: kindOf(true),
    own: kindFor(OWN_WALLET),
    foreign: kindFor('0x0f'),
    honest: kindOfPayer('h', false),
    honestSingle: kindOfPayer('h', true),
    crowd: kindOfPayer('c', false),
    crowdSingle: kindOfPayer('c', true),
  }
  const jobs = createTrackedJobs(kinds, Date.now)
  const queue = createJobQueue()
  const gas = createGasModel()
  const feed = { latest: () => ({ timestamp: lanes.seconds, baseFeePerGas: 1n }) } as BlockFeed
  const gasLimits = { perAccount: 10n ** 18n, wasted: 1n, subsidised: undefined }
  const readCoded = async () => new Set<never>()
  const budgets = createGasBudgets({ jobs, queue, readCoded, gasLimits, gas, feed, now: Date.now })
  const dispatcher = createDispatcher({
    lanes: [lane as unknown as Lane],
    preparation: {
      prepare: async (_from, members) => ({ members, to: '0x', data: '0x', gasLimit: 1n }),
      dropHopeless: async (members) => members,
    },
    keeper: {
      refuse: async (entry: TrackedJob) => {
        if (!mayLand) refused.push(entry.job.id)
        return !mayLand
      },
    } as unknown as OutcomeKeeper,
    examiner: { examine: async (entry) => void examined.push(entry.job.id) },
    jobs,
    queue,
    budgets,
    feed,
    gas,
    hasMulticall3: true,
    maxBatch: 50,
    maxFeePerGas: 10n ** 12n,
    now: Date.now,
    events: noRelayerEvents,
    log: console,
  })
  const enqueue = (id: string, kind: keyof typeof kinds = 'plain') =>
    queue.add(jobs.track({ id, kind, transaction: null, expiresAt: 1_000 } as Job))
  /** Adds a job of a contract wallet; with a transaction, if it was signed before. */
  const enqueueWallet = (id: string, transaction: Job['transaction']) =>
    queue.add(jobs.track({ id, kind: 'wallet', transaction, expiresAt: 1_000 } as Job))
  const landed = (left: number) => {
    inFlight = left
    underWay.length = Math.min(underWay.length, left)
  }
  const queueLength = queue.length
  return {
    ...dispatcher,
    queueLength,
    enqueue,
    enqueueWallet,
    lanes,
    sent,
    refused,
    examined,
    landed,
  }
}

const soon = () => vi.advanceTimersByTimeAsync(1)

describe('an idle lane', () => {
  it('sends a job that comes alone at once', async () => {
    const { enqueue, sent } = aDispatcher()
    enqueue('a')
    await soon()
    expect(sent).toEqual([['a']])
  })

  it('waits for announced jobs, and sends as soon as the last has come', async () => {
    const { enqueue, expect: announce, sent } = aDispatcher()
    const [bHasCome, cHasCome] = [announce(), announce()]
    enqueue('a')
    enqueue('b')
    bHasCome()
    await soon()
    expect(sent).toEqual([])
    enqueue('c')
    cHasCome()
    await soon()
    expect(sent).toEqual([['a', 'b', 'c']])
  })

  it('sends when the last announced job was refused', async () => {
    const { enqueue, expect: announce, sent } = aDispatcher()
    const wasRefused = announce()
    enqueue('a')
    wasRefused()
    await soon()
    expect(sent).toEqual([['a']])
  })

  it('waits only a moment for an announced job that never comes', async () => {
    const { enqueue, expect: announce, sent } = aDispatcher()
    announce()
    enqueue('a')
    await vi.advanceTimersByTimeAsync(39)
    expect(sent).toEqual([])
    await vi.advanceTimersByTimeAsync(1)
    expect(sent).toEqual([['a']])
  })

  it('sends a full batch, whatever else is announced', async () => {
    const { enqueue, expect: announce, sent } = aDispatcher()
    announce()
    const ids = Array.from({ length: 50 }, (_, i) => `${i}`)
    for (const id of ids) enqueue(id)
    await soon()
    expect(sent).toEqual([ids])
  })
})

describe('a lane whose signer fails at each payment', () => {
  it('does not keep a payment for ever: after some tries it is failed, never sent', async () => {
    const { enqueue, lanes, refused, sent } = aDispatcher()
    lanes.isUnsigned = true
    enqueue('a')
    await vi.advanceTimersByTimeAsync(4_000)
    expect(refused).toEqual([])
    expect(lanes.tries).toBeGreaterThan(1)
    await vi.advanceTimersByTimeAsync(6_000)
    expect(refused).toEqual(['a'])
    expect(sent).toEqual([])
  })
})

describe('a lane with a transaction under way', () => {
  it('waits a moment for more jobs to share the next one', async () => {
    const { enqueue, sent } = aDispatcher()
    enqueue('a')
    await soon()
    enqueue('b')
    enqueue('c')
    await vi.advanceTimersByTimeAsync(30)
    expect(sent).toEqual([['a']])
    await vi.advanceTimersByTimeAsync(10)
    expect(sent).toEqual([['a'], ['b', 'c']])
  })

  it('is free again when that transaction has landed', async () => {
    const { enqueue, sent, landed } = aDispatcher()
    enqueue('a')
    await soon()
    landed(0)
    enqueue('b')
    await soon()
    expect(sent).toEqual([['a'], ['b']])
  })
})

describe('a wallet whose budget is reserved by transactions under way', () => {
  it('waits while the jobs of others are sent', async () => {
    const { enqueue, enqueueWallet, landed, lanes, queueLength, refused, sent } = aDispatcher()
    lanes.budget = 'wait'
    enqueueWallet('a', null)
    await soon()
    enqueueWallet('b', null)
    enqueue('c')
    await vi.advanceTimersByTimeAsync(60)
    expect([sent, queueLength()]).toEqual([[['c']], 1])
    lanes.budget = 'fits'
    landed(0)
    await vi.advanceTimersByTimeAsync(400)
    expect([refused, sent.slice(1).flat().sort()]).toEqual([[], ['a', 'b']])
  })
})

describe('a wallet that has burnt its budget', () => {
  it('has its job refused at once when nothing was signed for it', async () => {
    const { enqueueWallet, lanes, sent, refused, examined } = aDispatcher()
    lanes.budget = 'spent'
    enqueueWallet('a', null)
    await soon()
    expect([refused, examined, sent]).toEqual([['a'], [], []])
  })

  it('has its job examined when a transaction was signed before, which may have landed', async () => {
    const { enqueueWallet, lanes, sent, refused, examined } = aDispatcher()
    lanes.budget = 'spent'
    enqueueWallet('a', '0xab')
    await soon()
    expect([refused, examined, sent]).toEqual([[], ['a'], []])
  })

  it('has its job examined when the journal knows a signed transaction', async () => {
    const { enqueueWallet, lanes, sent, examined } = aDispatcher({ mayLand: true })
    lanes.budget = 'spent'
    enqueueWallet('a', null)
    await soon()
    expect([examined, sent]).toEqual([['a'], []])
  })
})

describe('plain accounts that have burnt their sum', () => {
  it('are not refused, but take turns', async () => {
    const { enqueue, enqueueWallet, landed, lanes, refused, sent } = aDispatcher()
    lanes.isSumSpent = true
    enqueue('a')
    enqueue('b')
    enqueueWallet('w', null)
    await vi.advanceTimersByTimeAsync(200)
    // Both were stopped; the first goes alone, and the other waits for its turn.
    expect([sent.toSorted(), refused]).toEqual([[['a'], ['w']], []])
    landed(0)
  })
})

describe('while every lane is closed', () => {
  it('a job that was never signed is given up after a while, a signed one only when its time is over', async () => {
    const { enqueueWallet, giveUpStranded, queueLength, lanes, refused, examined } = aDispatcher()
    lanes.isClosed = true
    enqueueWallet('a', null)
    enqueueWallet('b', '0xab')
    await vi.advanceTimersByTimeAsync(4_000)
    giveUpStranded()
    await soon()
    expect([refused, examined, queueLength()]).toEqual([['a'], [], 1])
    lanes.seconds = 1_000
    giveUpStranded()
    expect([examined, queueLength()]).toEqual([['b'], 0])
  })

  it('a job stays for which the journal knows a signed transaction', async () => {
    const { enqueueWallet, giveUpStranded, queueLength, lanes } = aDispatcher({ mayLand: true })
    lanes.isClosed = true
    enqueueWallet('a', null)
    await vi.advanceTimersByTimeAsync(4_000)
    giveUpStranded()
    await soon()
    expect(queueLength()).toBe(1)
  })
})

describe('jobs that name the wallet which sends them', () => {
  it('are sent by its lane at once, each alone, and hold up no other', async () => {
    const { enqueue, queueLength, sent } = aDispatcher()
    enqueue('theirs', 'foreign')
    enqueue('first', 'own')
    enqueue('second', 'own')
    enqueue('a')
    enqueue('b')
    await vi.advanceTimersByTimeAsync(100)
    expect(sent).toEqual([['first'], ['a', 'b'], ['second']])
    expect(queueLength()).toBe(1)
  })

  it('are failed as never sent while no lane has their wallet, although others are open', async () => {
    const { enqueue, giveUpStranded, queueLength, refused } = aDispatcher()
    enqueue('theirs', 'foreign')
    await vi.advanceTimersByTimeAsync(3_000)
    giveUpStranded()
    expect(refused).toEqual([])
    await vi.advanceTimersByTimeAsync(1_000)
    giveUpStranded()
    await soon()
    expect([refused, queueLength()]).toEqual([['theirs'], 0])
  })

  it('are offered to the replica that holds their wallet, and kept where it is', async () => {
    const { enqueue, takeWaiting, lanes, landed } = aDispatcher()
    landed(16)
    enqueue('theirs', 'foreign')
    enqueue('ours', 'own')
    await vi.advanceTimersByTimeAsync(1_000)
    expect(takeWaiting(1_000).map(({ job }) => job.id)).toEqual(['theirs'])
    lanes.isClosed = true
    expect(takeWaiting(1_000).map(({ job }) => job.id)).toEqual(['ours'])
  })
})

describe('a payer who has hundreds of payments at once', () => {
  /** Lets everything go that may. */
  const settled = () => vi.advanceTimersByTimeAsync(1_000)

  it('leaves places to other payers, also to those whose jobs travel alone', async () => {
    const { enqueue, sent, queueLength } = aDispatcher()
    for (let i = 0; i < 400; i++) enqueue(`c${i}`, 'crowdSingle')
    await settled()
    expect(sent).toHaveLength(7)
    enqueue('h', 'honest')
    enqueue('hs', 'honestSingle')
    await settled()
    expect(
      sent
        .slice(7)
        .map(([id]) => id)
        .sort(),
    ).toEqual(['h', 'hs'])
    expect(queueLength()).toBe(393)
  })

  it('leaves room for others in the next block', async () => {
    const { enqueue, sent } = aDispatcher()
    for (let i = 0; i < 1_000; i++) enqueue(`c${i}`, 'crowd')
    await settled()
    // Seven eighths of a block of 30 M gas, at 120,000 a payment.
    expect(sent.flat()).toHaveLength(218)
    enqueue('h', 'honest')
    await settled()
    expect(sent.at(-1)).toEqual(['h'])
  })

  it('is sent on as soon as theirs land', async () => {
    const { enqueue, landed, sent } = aDispatcher()
    for (let i = 0; i < 10; i++) enqueue(`c${i}`, 'crowdSingle')
    await settled()
    landed(0)
    enqueue('h', 'honest')
    await settled()
    expect(sent).toHaveLength(11)
  })

  it('keeps them here: they are not offered to other replicas', async () => {
    const { enqueue, takeWaiting } = aDispatcher()
    for (let i = 0; i < 200; i++) enqueue(`c${i}`, 'crowdSingle')
    await settled()
    expect(takeWaiting(500)).toEqual([])
  })
})

describe('jobs that travel alone', () => {
  it('of many payers have at most half of the places, and let one go first that shares', async () => {
    const { enqueue, sent } = aDispatcher()
    for (let i = 0; i < 5; i++) {
      enqueue(`c${i}`, 'crowdSingle')
      enqueue(`h${i}`, 'honestSingle')
      enqueue(`own${i}`, 'own')
    }
    await soon()
    enqueue('a')
    await vi.advanceTimersByTimeAsync(1_000)
    const singles = sent.flat().filter((id) => id !== 'a')
    expect(singles).toHaveLength(8)
    expect(sent.flat()).toContain('a')
  })
})

describe('a job that waited for its turn for long', () => {
  it('is not failed at the first trouble', async () => {
    const { enqueue, landed, lanes, refused, sent } = aDispatcher()
    landed(16)
    enqueue('a')
    await vi.advanceTimersByTimeAsync(10_000)
    lanes.isUnsigned = true
    landed(0)
    enqueue('b')
    await vi.advanceTimersByTimeAsync(SIGN_TIMEOUT_MS + 100)
    lanes.isUnsigned = false
    await vi.advanceTimersByTimeAsync(SIGN_TIMEOUT_MS + 100)
    expect([refused, sent.flat().sort()]).toEqual([[], ['a', 'b']])
  })
})
