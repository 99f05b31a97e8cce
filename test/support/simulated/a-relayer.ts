import { createKeccak256 } from '@arcus/protocol/x402/keccak'
import { type Address, bytesToHex, type Hex, numberToHex } from 'viem'
import { afterEach, beforeEach, vi } from 'vitest'
import { createCodedReader } from '../../../src/chain/accounts.js'
import { createAuthorizationUses } from '../../../src/chain/authorization-uses.js'
import { BlockFeed } from '../../../src/chain/blocks.js'
import { createPaymentFactsReader } from '../../../src/chain/payment-facts.js'
import { createBudgetStore } from '../../../src/facilitator/journal/budgets.js'
import type {
  Job,
  JobSharing,
  Outcome,
  SettlementJournal,
} from '../../../src/facilitator/journal/settlement-journal.js'
import {
  createFacilitatorStores,
  createJobSharing,
} from '../../../src/facilitator/journal/sqlite/stores.js'
import {
  createExactJob,
  createExactKind,
  createOwnTransactions,
  EXACT,
} from '../../../src/facilitator/methods/exact-job.js'
import { MAX_BATCH } from '../../../src/facilitator/relayer/batch-size.js'
import { createGasModel } from '../../../src/facilitator/relayer/gas.js'
import type { JobKind, JobProfile, Standing } from '../../../src/facilitator/relayer/jobs.js'
import { createRelayer, type RelayerOptions } from '../../../src/facilitator/relayer/relayer.js'
import {
  createLocalSigner,
  hashOfTransaction,
  type Signer,
} from '../../../src/facilitator/relayer/signer.js'
import type { WasteLimits } from '../../../src/facilitator/relayer/waste.js'
import { LeaseKeeper } from '../../../src/sql/lease-keeper.js'
import { createSoleLeases, type LeaseStore, laneLease } from '../../../src/sql/leases.js'
import { openDatabase, type SqliteDatabase } from '../../../src/sql/sqlite/database.js'
import type { GroupCommit } from '../../../src/sql/sqlite/group-commit.js'
import { createSql, createSqlReader } from '../../../src/sql/sqlite/sql.js'
import { aSimulatedChain, CHAIN_ID } from './chain.js'
import { createPatience } from './patience.js'
import { simulatedRpc } from './rpc.js'

export const network = `eip155:${CHAIN_ID}`
export const usdc: Address = '0x3600000000000000000000000000000000000000'
export const euro: Address = '0x89b50855aa3be2f677cd6303cec089b5f319d72a'
export const DOLLAR = 10n ** 18n
export const keccak256 = await createKeccak256()
const hashOf = (raw: Hex) => bytesToHex(hashOfTransaction(keccak256, raw))
const START_MS = 1_800_000_000_000

const ends: (() => void)[] = []

/** Runs each test of the file by a clock of its own, which stands until `pass` moves it. */
export function useVirtualClock(): void {
  beforeEach(() => {
    vi.useFakeTimers({ now: START_MS })
  })
  afterEach(() => {
    for (const end of ends.splice(0)) end()
    vi.useRealTimers()
  })
}

/** Lets so much time pass, and everything happen that falls into it. */
export async function pass(ms: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms)
}

/** Returns what a promise holds by now; `undefined` while it is open. */
export async function heard<Value>(promise: Promise<Value>): Promise<Value | undefined> {
  return Promise.race([promise, pass(0).then(() => undefined)])
}

/** Sets the clock forward, as of a machine that slept, or back: nothing happens meanwhile. */
export function sleep(ms: number): void {
  vi.setSystemTime(Date.now() + ms)
}

export interface RelayerWish {
  /** Wallets of the relayer. */
  wallets?: number
  nodes?: number
  wasteLimits?: Partial<WasteLimits>
  /** The multicall that skips what can only fail; its address. */
  guard?: Address
  hasMulticall3?: boolean
  maxBatch?: number
  maxFeePerGas?: bigint
  blockMs?: number
  /** Changes a wallet's signer. */
  signer?: (signer: Signer) => Signer
}

/** The parts by which a process differs from another one on the same database. */
export interface ProcessWish {
  leases?: LeaseStore
  sharing?: JobSharing
  journal?: (journal: SettlementJournal) => SettlementJournal
}

export interface PaymentWish {
  payer?: Address
  payTo?: Address
  caller?: string
  standing?: Standing
  asset?: Address
  value?: bigint
  /** Unix seconds. */
  validAfter?: number
  validBefore?: number
  /** Its payer was found to run code when it was verified. */
  isAlone?: boolean
  /** The block whose facts showed all that the chain asks of it. */
  provenInBlock?: number
  /** What another kind of job would say about it. */
  profile?: Partial<JobProfile>
  /** What it would move, where it must move what its gas costs; 6-decimal units. */
  gain?: bigint
}

/** A chain, its nodes, a journal in memory, and what runs relayers over them. */
export function aWorld(wish: RelayerWish = {}) {
  const chain = aSimulatedChain(keccak256, wish.blockMs)
  const { rpc, nodes, offered } = simulatedRpc(chain, wish.nodes ?? 1, hashOf)
  const database = openDatabase(':memory:')
  const signers = Array.from({ length: wish.wallets ?? 1 }, (_, i) => {
    const signer = createLocalSigner(numberToHex(i + 1_000, { size: 32 }), keccak256)
    return wish.signer?.(signer) ?? signer
  })
  chain.change(({ gasMoney }) => {
    for (const { address } of signers) gasMoney.set(address, 1_000n * DOLLAR)
  })
  const wishes = new Map<string, PaymentWish>()
  const store = aStore(database)
  let made = 0
  const world = {
    chain,
    rpc,
    nodes,
    offered,
    database,
    store,
    signers,
    budgets: createBudgetStore(createSqlReader(database)),
    /** An account with so many dollars of the token. */
    anAccount(dollars = 1_000, asset = usdc): Address {
      const address = numberToHex(0xacc000000 + ++made, { size: 20 })
      chain.change(({ tokens }) => tokens.set(`${asset}/${address}`, BigInt(dollars) * 1_000_000n))
      return address
    },
    /** The job of a payment, of one dollar by a new account unless said. */
    aJob(payment: PaymentWish = {}) {
      const { asset = usdc, value = 1_000_000n, validAfter = 0, isAlone = false } = payment
      const { payer = world.anAccount(1_000, asset) } = payment
      const { payTo = `0x${'b2'.repeat(20)}` } = payment
      const validBefore = payment.validBefore ?? Math.floor(Date.now() / 1000) + 600
      const nonce = numberToHex(++made, { size: 32 })
      const id = `payment-${made}`
      wishes.set(id, payment)
      const times = { validAfter: BigInt(validAfter), validBefore: BigInt(validBefore) }
      const authorization = { from: payer, to: payTo, value, ...times, nonce }
      return createExactJob({
        id,
        payment: { network, asset, payTo, authorization },
        isAlone,
        digest: numberToHex(made, { size: 32 }),
        signature: `0x${'ab'.repeat(65)}`,
        seenBlock: chain.head().number,
        claimedAt: Date.now(),
        caller: payment.caller ?? 'a caller',
        standing: payment.standing ?? 'none',
      })
    },
    /** Starts a process on the database. */
    async start(process: ProcessWish = {}) {
      return startProcess(world, wish, wishes, process)
    },
    end() {
      chain.stop()
      database.close()
    },
  }
  ends.push(world.end)
  return world
}

export type World = ReturnType<typeof aWorld>

/** Commits each write at once. */
export function writesOf(database: SqliteDatabase): GroupCommit {
  const write: GroupCommit['write'] = async (write) => database.transaction(write).immediate()
  return { write, writeUnsynced: write, hold: () => () => {}, close: async () => {} }
}

/** The journal in memory. `before` runs first in each of its calls, so that a test can make one fail or wait. */
function aStore(database: SqliteDatabase) {
  const commit = writesOf(database)
  const { journal } = createFacilitatorStores(database, commit, createSql(database, commit))
  const patience = createPatience()
  const guarded: SettlementJournal = { ...journal }
  const store = {
    before: async (_method: string, _args: unknown[]): Promise<void> => {},
    journal: guarded,
  }
  for (const [method, call] of Object.entries(journal)) {
    Object.assign(guarded, {
      async [method](...args: unknown[]) {
        if (patience.isOver()) await patience.never
        await store.before(method, args)
        return (call as (...args: unknown[]) => unknown)(...args)
      },
    })
  }
  return store
}

async function startProcess(
  world: World,
  wish: RelayerWish,
  wishes: ReadonlyMap<string, PaymentWish>,
  process: ProcessWish,
) {
  const { rpc, database, signers } = world
  const journal = process.journal?.(world.store.journal) ?? world.store.journal
  const said: { line: string; level: 'info' | 'warn'; [field: string]: unknown }[] = []
  const log = {
    info: (fields: object, line: string) => void said.push({ ...fields, line, level: 'info' }),
    warn: (fields: object, line: string) => void said.push({ ...fields, line, level: 'warn' }),
  }
  const leases = new LeaseKeeper(process.leases ?? createSoleLeases(), log)
  await leases.start([signers.map(({ address }) => laneLease(network, address))])
  const feed = new BlockFeed(rpc)
  const readFacts = createPaymentFactsReader(
    rpc,
    [usdc, euro].map((address) => ({ address, hasBlocklist: true, hasPause: false })),
    () => feed.latest()?.number ?? 0,
  )
  const readCoded = createCodedReader(rpc)
  const findUse = createAuthorizationUses(rpc)
  const exact = createExactKind({ findUse, readFacts, isOurs: createOwnTransactions(journal) })
  const kind: JobKind = {
    ...exact,
    profile: (job) => ({ ...exact.profile(job), ...wishes.get(job.id)?.profile }),
    gain: async ({ id }) => wishes.get(id)?.gain as bigint,
  }
  const happened = {
    taken: [] as string[][],
    signed: [] as { ids: string[]; transaction: Hex }[],
    decided: [] as Outcome[],
    spent: [] as { cost: bigint; wasted: unknown }[],
  }
  const options: RelayerOptions = {
    network,
    chainId: CHAIN_ID,
    rpc,
    feed,
    journal,
    leases,
    signers,
    keccak256,
    log,
    sharing: process.sharing ?? createJobSharing(database),
    readCoded,
    kinds: { [EXACT]: kind },
    gas: createGasModel(),
    wasteLimits: { perAccount: 100n * DOLLAR, wasted: 1_000n * DOLLAR, ...wish.wasteLimits },
    books: world.budgets,
    guard: () => wish.guard,
    hasMulticall3: wish.hasMulticall3 ?? true,
    maxBatch: wish.maxBatch ?? MAX_BATCH,
    maxFeePerGas: wish.maxFeePerGas ?? 10n ** 12n,
    now: Date.now,
    events: {
      taken: (ids) => void happened.taken.push([...ids]),
      signed: (ids, transaction) => void happened.signed.push({ ids: [...ids], transaction }),
      decided: (_job, outcome) => void happened.decided.push(outcome),
      spent: (cost, wasted) => void happened.spent.push({ cost, wasted }),
    },
  }
  const relayer = createRelayer(options)
  const starting = relayer.start()
  starting.catch(() => {})
  await pass(0)
  await starting
  await pass(0)

  async function claim(payment: PaymentWish = {}): Promise<Job> {
    const claimed = await journal.claim(world.aJob(payment), undefined, Date.now())
    if (claimed.state !== 'claimed') throw new Error(claimed.state)
    return claimed.job
  }

  return {
    relayer,
    leases,
    journal,
    /** The chain as this process reads it. */
    reads: { rpc, feed, readFacts, findUse, readCoded },
    said,
    happened,
    claim,
    /** Claims a payment and hands it to the relayer. `row` is what the journal says of it now. */
    async pay(payment: PaymentWish = {}) {
      const job = await claim(payment)
      relayer.submit(job, payment.provenInBlock)
      return { job, row: () => journal.findJobById(job.id) as Promise<Job> }
    },
    /** Claims payments, and hands them to the relayer at the same moment: they may share a transaction. */
    async payAll(payments: readonly PaymentWish[]) {
      const haveCome = relayer.expect()
      const jobs: Job[] = []
      for (const payment of payments) jobs.push(await claim(payment))
      for (const [i, job] of jobs.entries()) relayer.submit(job, payments[i]?.provenInBlock)
      haveCome()
      return jobs.map((job) => ({ job, row: () => journal.findJobById(job.id) as Promise<Job> }))
    },
    /** The process is gone at this moment, as by SIGKILL. */
    async stop() {
      relayer.stop()
      await leases.stop()
    },
  }
}

export type Process = Awaited<ReturnType<World['start']>>
