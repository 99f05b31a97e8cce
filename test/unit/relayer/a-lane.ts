import { createHash } from 'node:crypto'
import { type Hex, parseTransaction, serializeTransaction } from 'viem'
import type { Receipt } from '../../../src/chain/receipts.js'
import { RpcResponseError } from '../../../src/chain/rpc-errors.js'
import type { Attempt, Job } from '../../../src/facilitator/journal/settlement-journal.js'
import { createTrackedJobs, type JobKind } from '../../../src/facilitator/relayer/jobs.js'
import { createLane, type LaneOptions } from '../../../src/facilitator/relayer/lane.js'
import { createJobQueue } from '../../../src/facilitator/relayer/queue.js'
import type { RelayerTransaction } from '../../../src/facilitator/relayer/signer.js'
import { createSlots } from '../../../src/facilitator/relayer/slot.js'

export const wallet = '0x00000000000000000000000000000000000000f1'
export const call = { to: `0x${'36'.repeat(20)}`, data: '0x1234', gasLimit: 100_000n } as const
export const fees = { maxFeePerGas: 60n, maxPriorityFeePerGas: 1n }

const keccak256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest()

/** The bytes of a transaction as this wallet signs it, and their hash. */
export function signed(nonce: number, maxFeePerGas = 60n, data: Hex = call.data) {
  const rawTransaction = serializeTransaction({
    chainId: 5042,
    type: 'eip1559',
    nonce,
    to: call.to,
    data,
    gas: call.gasLimit,
    maxFeePerGas,
    maxPriorityFeePerGas: 1n,
  })
  const digest = keccak256(Buffer.from(rawTransaction.slice(2), 'hex'))
  return { rawTransaction, hash: `0x${digest.toString('hex')}` as Hex }
}

/** An attempt that an earlier process kept. */
export function anAttempt(changes: Partial<Attempt> = {}): Attempt {
  const { relayerNonce = 5, maxFeePerGas = 60n } = changes
  return {
    ...signed(relayerNonce, maxFeePerGas),
    network: 'eip155:5042',
    relayer: wallet,
    relayerNonce,
    gasLimit: call.gasLimit,
    maxFeePerGas,
    maxPriorityFeePerGas: 1n,
    createdAt: 1_000,
    jobIds: ['a'],
    ...changes,
  }
}

/**
 * A lane over a journal and a node that are lists: `done` says in which order things were kept and sent. Tests change
 * what the node answers, who holds the lease and what the journal has.
 */
export function aLane({ now, maxFeePerGas = 1_000n }: Partial<LaneOptions> = {}) {
  const world = {
    held: 1 as number | undefined,
    /** Runs while an attempt is written to the journal. */
    whileKept: async () => {},
    kept: [] as Attempt[],
    keptNonce: undefined as number | undefined,
    chainNonce: 0,
    /** Answers to each transaction that is sent, its hash unless set. */
    refusals: [] as (string | Hex)[],
    receipts: [] as Receipt[],
    /** No node answers how many transactions the wallet has. */
    isSilent: false,
    /** The nonces of what was sent. */
    sent: [] as number[],
    now: 0,
    block: 9,
    baseFee: 20n,
  }
  const done: string[] = []
  const landed: { hash: Hex; jobIds: string[] }[] = []
  const taken: Hex[] = []
  const lowered: number[] = []
  const attempts: { attempt: Attempt; epoch: number; budgets: unknown }[] = []
  const hashOf = (raw: Hex): Hex =>
    `0x${keccak256(Buffer.from(raw.slice(2), 'hex')).toString('hex')}`

  async function request(method: string, params: readonly unknown[]) {
    if (method !== 'eth_sendRawTransaction') throw new Error(`nobody expects ${method}`)
    const hash = hashOf(params[0] as Hex)
    done.push(`sent ${hash}`)
    world.sent.push(parseTransaction(params[0] as Hex).nonce ?? 0)
    const refusal = world.refusals.shift()
    if (refusal?.startsWith('0x')) return refusal
    if (refusal !== undefined) throw new RpcResponseError(-32_000, refusal, undefined)
    return hash
  }

  const profile = () => ({ isAlone: false, payer: 'p', payTo: 'r', accountsThatRun: [], value: 1n })
  const jobs = createTrackedJobs({ exact: { profile } as unknown as JobKind }, () => 0)
  for (const id of ['a', 'b', 'z']) {
    jobs.track({ id, kind: 'exact', round: 0, state: 'queued', transaction: null } as Job)
  }

  const slots = createSlots()
  const land = ({ transactionHash }: Receipt) => {
    const mined = slots.land(transactionHash)
    if (mined !== undefined) {
      const { hash, jobIds } = mined.attempt
      landed.push({ hash, jobIds })
    }
    return mined !== undefined
  }
  const lane = createLane({
    slots,
    network: 'eip155:5042',
    chainId: 5042,
    signer: {
      address: wallet,
      isRemote: false,
      async sign({ gasLimit, ...transaction }: RelayerTransaction) {
        return serializeTransaction({ ...transaction, type: 'eip1559', gas: gasLimit })
      },
    },
    rpc: {
      request,
      everywhere: async (method: string) =>
        method === 'eth_getTransactionCount' && !world.isSilent
          ? [{ ok: true, value: `0x${world.chainNonce.toString(16)}` }]
          : [],
      batch: async (calls: unknown[]) => calls.map((_, i) => toAnswer(world.receipts[i])),
    },
    feed: {
      latest: () => ({ number: world.block, timestamp: 0, baseFeePerGas: world.baseFee }),
      poke() {},
      setBusy() {},
    },
    journal: {
      async recordAttempt(attempt: Attempt, epoch: number, budgets: unknown) {
        await world.whileKept()
        done.push(`kept ${attempt.hash}`)
        attempts.push({ attempt, epoch, budgets })
      },
      openAttempts: async () => world.kept,
      findNextNonce: async () => world.keptNonce,
      async setNextNonce(_network: string, _relayer: string, _expected: number, next: number) {
        lowered.push(next)
        return true
      },
      resolve: async () => [],
    },
    maxFeePerGas,
    keccak256,
    now: now ?? (() => world.now),
    log: { info() {}, warn() {} },
    jobs,
    queue: createJobQueue(),
    keeper: {
      markTaken: async ({ hash }: Attempt) => void taken.push(hash),
      markRefused: async () => {},
    },
    examiner: {
      examine: async () => {},
      land,
    },
    budgets: {
      readCodes: async () => {},
      budgetsOf: (entries: readonly { job: Job }[]) => entries.map(({ job }) => ({ name: job.id })),
      headroomFor: () => 300n,
    },
    leases: { held: () => world.held },
  } as unknown as LaneOptions)

  return { world, lane, land, jobs, done, landed, taken, lowered, attempts }
}

export function aReceipt(hash: Hex): Receipt {
  return {
    transactionHash: hash,
    blockNumber: 10,
    isSuccess: true,
    gasUsed: 1n,
    effectiveGasPrice: 1n,
    logs: [],
  }
}

function toAnswer(receipt: Receipt | undefined) {
  const { transactionHash } = receipt ?? {}
  const found = { transactionHash, blockNumber: '0xa', status: '0x1', logs: [] }
  return { ok: true, value: receipt === undefined ? null : found }
}

/** Lets everything that waits for nothing but promises happen. */
export async function settled(): Promise<void> {
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve))
}
