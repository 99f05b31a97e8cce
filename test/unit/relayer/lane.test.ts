import { createHash } from 'node:crypto'
import { type Hex, parseTransaction, serializeTransaction } from 'viem'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { BlockFeed } from '../../../src/chain/blocks.js'
import type { Rpc } from '../../../src/chain/rpc.js'
import { RpcResponseError } from '../../../src/chain/rpc-errors.js'
import type { GasBudgets } from '../../../src/relayer/gas.js'
import { createTrackedJobs, type JobKind } from '../../../src/relayer/jobs.js'
import { createLane, type LaneOptions } from '../../../src/relayer/lane.js'
import type { OutcomeKeeper } from '../../../src/relayer/outcomes.js'
import { createJobQueue } from '../../../src/relayer/queue.js'
import type { RelayerTransaction } from '../../../src/relayer/signer.js'
import { LeaseLostError } from '../../../src/store/leases.js'
import type { Attempt, Job, SettlementJournal } from '../../../src/store/settlement-journal.js'

beforeEach(() => {
  vi.useFakeTimers({ now: 0 })
})
afterEach(() => {
  vi.useRealTimers()
})

const address = `0x${'f1'.repeat(20)}` as const
const network = 'eip155:5042'
const fees = { maxFeePerGas: 100n, maxPriorityFeePerGas: 1n }
const call = { to: `0x${'02'.repeat(20)}`, data: '0x', gasLimit: 21_000n } as const
const digest = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest()
const sign = ({ gasLimit, ...fields }: RelayerTransaction): Hex =>
  serializeTransaction({ ...fields, gas: gasLimit, type: 'eip1559' })
const hashOf = (raw: Hex): Hex => `0x${digest(Buffer.from(raw.slice(2), 'hex')).toString('hex')}`
const nonceOf = (raw: Hex) => parseTransaction(raw).nonce ?? 0

/** A lane that resumed transactions under these nonces, on a chain that mines none of them. */
async function aLane(...nonces: number[]) {
  const world = {
    block: 1,
    isSilent: false,
    isHeld: true,
    refusal: undefined as string | undefined,
    /** The nonces of what was sent, and the attempts that were kept, since the lane was resumed. */
    sent: [] as number[],
    kept: [] as Attempt[],
    onKept: () => {},
  }
  const attempts = nonces.map((nonce): Attempt => {
    const rawTransaction = sign({ chainId: 5042, nonce, ...call, ...fees })
    const place = { network, relayer: address, relayerNonce: nonce, createdAt: 0, jobIds: [] }
    return { hash: hashOf(rawTransaction), rawTransaction, gasLimit: 21_000n, ...fees, ...place }
  })
  const rpc = {
    async request(_method: string, [raw]: [Hex]) {
      world.sent.push(nonceOf(raw))
      if (world.refusal !== undefined) throw new RpcResponseError(-32_000, world.refusal, undefined)
      return hashOf(raw)
    },
    batch: async (calls: unknown[]) => calls.map(() => ({ ok: true, value: null })),
    async everywhere(method: string) {
      if (world.isSilent || method !== 'eth_getTransactionCount') return []
      return [{ ok: true, value: '0x0' }]
    },
  }
  const journal: Partial<SettlementJournal> = {
    openAttempts: async () => attempts,
    findNextNonce: async () => undefined,
    async recordAttempt(attempt) {
      world.kept.push(attempt)
      world.onKept()
    },
  }
  const profile = () => ({ isAlone: false, payer: 'p', payTo: 'r', runners: [], value: 1n })
  const jobs = createTrackedJobs({ exact: { profile } as unknown as JobKind }, Date.now)
  const budgets: Partial<GasBudgets> = {
    readCodes: async () => {},
    bearersOf: () => [],
    headroomFor: () => 300n,
  }
  const keeper: Partial<OutcomeKeeper> = {
    markTaken: async () => {},
    markRefused: async () => {},
  }
  const lane = createLane({
    network,
    chainId: 5042,
    signer: { address, isRemote: false, sign: async (transaction) => sign(transaction) },
    rpc: rpc as unknown as Rpc,
    feed: {
      latest: () => ({ baseFeePerGas: 1n, number: world.block }),
      setBusy() {},
      poke() {},
    } as unknown as BlockFeed,
    journal: journal as SettlementJournal,
    jobs,
    queue: createJobQueue(),
    keeper: keeper as OutcomeKeeper,
    examiner: { examine: async () => {}, watch: async () => {}, settleSlot: async () => {} },
    budgets: budgets as GasBudgets,
    leases: { held: () => (world.isHeld ? 1 : undefined) } as unknown as LaneOptions['leases'],
    maxFeePerGas: 10n ** 12n,
    keccak256: digest,
    now: Date.now,
    log: { info() {}, warn() {} },
  })
  await lane.resume(1)
  await vi.advanceTimersByTimeAsync(0)
  world.sent = []
  /** Runs the watchdog when so many milliseconds have passed. */
  const tickAfter = async (ms: number) => {
    await vi.advanceTimersByTimeAsync(ms)
    await lane.tick()
    await vi.advanceTimersByTimeAsync(0)
  }
  return { lane, jobs, world, tickAfter }
}

describe('a gap in the nonces', () => {
  it('is filled by the next payment, else by a transaction that does nothing', async () => {
    const { lane, world, tickAfter } = await aLane(2, 3)
    await tickAfter(2_500)
    await vi.advanceTimersByTimeAsync(1_500)
    await lane.open(call, [], fees)
    expect(world.kept.map(({ relayerNonce }) => relayerNonce)).toEqual([0])
    await tickAfter(1_000)
    expect(world.kept.map(({ relayerNonce }) => relayerNonce)).toEqual([0, 1])
    await lane.open(call, [], fees)
    expect(world.kept.map(({ relayerNonce }) => relayerNonce)).toEqual([0, 1, 4])
  })

  it('is not a nonce that has a transaction, however recently that was sent', async () => {
    const { lane, world, tickAfter } = await aLane(1)
    await tickAfter(2_500)
    await vi.advanceTimersByTimeAsync(2_000)
    await lane.open(call, [], fees)
    await tickAfter(1_000)
    await tickAfter(500)
    expect(world.kept.map(({ relayerNonce }) => relayerNonce)).toEqual([0])
  })
})

describe('the watchdog', () => {
  it('raises the fee of a transaction that blocks pass over, not of one that no block could have taken', async () => {
    const { world, tickAfter } = await aLane(0)
    await tickAfter(6_000)
    expect(world.kept).toHaveLength(1)
    await tickAfter(60_000)
    expect(world.kept).toHaveLength(1)
    world.block = 2
    await tickAfter(6_000)
    expect(world.kept).toHaveLength(2)
  })

  it('checks again at the next tick when no node answers with the nonce', async () => {
    const { lane, world, tickAfter } = await aLane(0)
    await vi.advanceTimersByTimeAsync(3_000)
    world.isSilent = true
    await expect(lane.tick()).rejects.toThrow('transaction count')
    expect(world.sent).toEqual([])
    world.isSilent = false
    await tickAfter(500)
    expect(world.sent).toEqual([0])
  })
})

it('sends a transaction that was refused without a cause again, ever more slowly, then leaves it to the watchdog', async () => {
  const { lane, world } = await aLane()
  world.refusal = 'the node is on fire'
  await lane.open(call, [], fees)
  const counts: number[] = []
  for (const ms of [0, 99, 1, 200, 400, 799, 1, 10_000]) {
    await vi.advanceTimersByTimeAsync(ms)
    counts.push(world.sent.length)
  }
  expect(counts).toEqual([1, 1, 2, 3, 4, 4, 5, 5])
})

describe('a lane whose lease is lost', () => {
  it('knows a transaction that was kept although the lease was lost during the write', async () => {
    const { lane, jobs, world } = await aLane()
    jobs.track({ id: 'a', kind: 'exact', round: 0, transaction: null } as Job)
    world.onKept = () => lane.drop()
    await expect(lane.open(call, ['a'], fees)).rejects.toBeInstanceOf(LeaseLostError)
    expect(jobs.find('a')?.job).toMatchObject({ state: 'submitted' })
    expect(world.sent).toEqual([])
  })

  it('signs nothing and sends nothing', async () => {
    const { lane, world, tickAfter } = await aLane(0)
    world.isHeld = false
    await expect(lane.open(call, [], fees)).rejects.toBeInstanceOf(LeaseLostError)
    await tickAfter(10_000)
    expect([world.kept, world.sent]).toEqual([[], []])
  })

  it('does not send a transaction that it signed just before', async () => {
    const { lane, world } = await aLane()
    world.onKept = () => {
      world.isHeld = false
    }
    await lane.open(call, [], fees)
    await vi.advanceTimersByTimeAsync(1_000)
    expect([world.kept.length, world.sent]).toEqual([1, []])
  })
})
