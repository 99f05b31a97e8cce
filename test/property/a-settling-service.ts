import type { Payment } from '@arcus/protocol/x402/payment'
import type { Hex } from 'viem'
import { addressWord, selectors, topics, wordOf } from '../../src/chain/abi.js'
import { createAuthorizationUses } from '../../src/chain/authorization-uses.js'
import type { Log } from '../../src/chain/receipts.js'
import type { Rpc } from '../../src/chain/rpc.js'
import { RpcResponseError } from '../../src/chain/rpc-errors.js'
import { loadSignerRecovery } from '../../src/chain/signer-recovery.js'
import {
  isDecided,
  type Job,
  type Outcome,
  type SettlementJournal,
} from '../../src/facilitator/journal/settlement-journal.js'
import { createFacilitatorStores } from '../../src/facilitator/journal/sqlite/stores.js'
import { createTrackedJobs, type JobKind } from '../../src/facilitator/relayer/jobs.js'
import type { Relayer } from '../../src/facilitator/relayer/relayer.js'
import { EXACT } from '../../src/facilitator/schemes/exact-job.js'
import { createPaymentDigest } from '../../src/facilitator/schemes/payment-method.js'
import { createDeliveries } from '../../src/facilitator/settle/deliveries.js'
import { createSettler } from '../../src/facilitator/settle/settler.js'
import { createPaymentCheck } from '../../src/facilitator/verify/payment-check.js'
import { openDatabase } from '../../src/sql/sqlite/database.js'
import type { GroupCommit } from '../../src/sql/sqlite/group-commit.js'
import { createSql } from '../../src/sql/sqlite/sql.js'
import { aNetwork, keccak256 } from '../unit/facilitator/a-network.js'
import { anOutcome } from '../unit/store/store-contract.js'
import { network, nowSeconds } from '../unit/x402/a-payment.js'

const recovery = await loadSignerRecovery(keccak256)
const transaction: Hex = `0x${'aa'.repeat(32)}`
const LANDED_BLOCK = 9
const failure = anOutcome({
  state: 'failed',
  transaction: null,
  reason: 'gasPriceTooHigh',
  message: 'Not now.',
  blockNumber: null,
  gasCost: null,
})

/** Thousands of runs share it, one after another; each removes its rows. */
const database = openDatabase(':memory:')
const removals = database
  .prepare(`SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`)
  .pluck()
  .all()
  .map((table) => database.prepare(`DELETE FROM "${table}"`))
const removeRows = database.transaction(() => {
  database.pragma('defer_foreign_keys = ON')
  for (const removal of removals) removal.run()
})

/** Belongs to the run under way. */
let currentGate: Gate
const write: GroupCommit['write'] = async (write) => {
  await currentGate('commit')
  return database.transaction(write).immediate()
}
const commit: GroupCommit = {
  write,
  writeUnsynced: write,
  hold: () => () => {},
  close: async () => {},
}
const stores = createFacilitatorStores(database, commit, createSql(database, commit))
const { journal, deliveries: deliveryStore } = stores

/** A point where a caller waits; a test decides for how long. */
export type Gate = (label: string) => Promise<void>

export interface World {
  gate: Gate
  /** The payer is a contract, which accepts every signature. */
  isContract?: boolean
  /** So many tries come to nothing before one lands. */
  failures?: number
}

/**
 * The real settler, checkPayment, deliveries and SQLite rows for one payment, over a chain and a relayer made of gates.
 * No timers and no disk: only the gates decide what happens before what.
 */
export function aSettlingService(payment: Payment, world: World) {
  const { gate } = world
  currentGate = gate
  const chain = aChain(payment, world)
  const relayer = aRelayer(journal, chain, world)
  const now = () => nowSeconds * 1_000
  const checkPayment = createPaymentCheck({
    served: new Map([[network, chain.network]]),
    journal,
    computeDigest: createPaymentDigest(keccak256),
    recovery,
    now,
  })
  const settle = createSettler({
    checkPayment,
    journal,
    deliveryStore,
    deliveries: createDeliveries({ store: deliveryStore, now, log: { error: () => {} } }),
    relayers: new Map([[network, relayer.relayer]]),
    settleWaitSeconds: 30,
    checksum: (address) => address,
    paymentUrl: (network, payer, nonce) => `http://arcus/payments/${network}/${payer}/${nonce}`,
    now,
    log: { error: () => {} },
  })
  return {
    settle,
    checkPayment,
    submitted: relayer.submitted,
    landings: chain.landings,
    close: removeRows,
  }
}

/** A chain on which the payment lands once; it answers with what was true when it was asked. */
function aChain(
  { asset, payTo, authorization }: Payment,
  { gate, isContract: payerHasCode = false }: World,
) {
  const chain = { isUsed: false, landings: 0 }
  const topic = (address: string) => `0x${addressWord(address as Hex)}` as Hex
  const logs: Log[] = [
    {
      address: asset,
      index: 0,
      topics: [topics.authorizationUsed, topic(authorization.from), authorization.nonce],
      data: '0x',
    },
    {
      address: asset,
      index: 1,
      topics: [topics.transfer, topic(authorization.from), topic(payTo)],
      data: `0x${wordOf(authorization.value)}`,
    },
  ]
  const receipt = {
    transactionHash: transaction,
    blockNumber: `0x${LANDED_BLOCK}`,
    status: '0x1',
    logs: logs.map((log) => ({ ...log, logIndex: `0x${log.index}` })),
  }
  const served = aNetwork(() => ({ payerHasCode }))
  /** The wallet is asked about the signature, the asset about the transfer. */
  function call({ to }: { to: string }): Hex {
    if (to === authorization.from) return `${selectors.isValidSignature}${'0'.repeat(56)}`
    if (!chain.isUsed) return '0x'
    throw new RpcResponseError(3, 'execution reverted: authorization is used or canceled', '0x')
  }
  const rpc: Rpc = {
    ...served.rpc,
    async request(method, params) {
      await gate(method)
      if (method === 'eth_call') return call(params[0] as { to: string })
      return chain.isUsed
        ? [{ ...logs[0], transactionHash: transaction, blockNumber: `0x${LANDED_BLOCK}` }]
        : []
    },
    async batch() {
      await gate('receipt')
      return [{ ok: true, value: chain.isUsed ? receipt : null }]
    },
  }
  return {
    land: () => {
      chain.isUsed = true
      chain.landings++
    },
    landings: () => chain.landings,
    network: {
      ...served,
      rpc,
      findUse: createAuthorizationUses(rpc),
      headBlock: () => (chain.isUsed ? LANDED_BLOCK : 7),
      async readFacts(parties: Parameters<typeof served.readFacts>[0]) {
        await gate('facts asked')
        const isNonceUsed = chain.isUsed
        const facts = await served.readFacts(parties)
        await gate('facts answered')
        return { ...facts, isNonceUsed, blockNumber: isNonceUsed ? LANDED_BLOCK : 7 }
      },
    },
  }
}

/** A relayer that signs, lands and decides, each when its gate opens. */
function aRelayer(
  journal: SettlementJournal,
  chain: { land(): void },
  { gate, failures = 0 }: World,
) {
  let failuresLeft = failures
  const submitted: string[] = []
  const kind = {
    profile: () => ({ isAlone: false, payer: '', payTo: '' }),
  } as unknown as JobKind
  const tracked = createTrackedJobs({ [EXACT]: kind }, () => 0)

  async function decide(job: Job, outcome: Outcome): Promise<void> {
    await journal.resolve({ outcomes: [{ id: job.id, round: job.round, outcome }], now: 0 })
    tracked.update((await journal.findJob(job.kind, job.network, job.key)) as Job)
  }

  async function bringOnChain(job: Job): Promise<void> {
    await gate('signed')
    if (failuresLeft-- > 0) return decide(job, failure)
    const attempt = {
      hash: transaction,
      network: job.network,
      relayer: '0x00000000000000000000000000000000000000f1',
      relayerNonce: 0,
      rawTransaction: '0x02',
      gasLimit: 1n,
      maxFeePerGas: 1n,
      maxPriorityFeePerGas: 1n,
      createdAt: 0,
    } as const
    await journal.recordAttempt({ ...attempt, jobIds: [job.id] }, 0)
    await gate('landed')
    chain.land()
    await gate('receipt seen')
    await decide(job, anOutcome({ transaction, blockNumber: LANDED_BLOCK }))
  }

  const relayer = {
    network,
    expect: () => () => {},
    submit(job: Job) {
      submitted.push(job.id)
      tracked.track(job)
      void bringOnChain(job)
    },
    untilDecided: (job: Job) => tracked.until(job, isDecided),
    isTracking: tracked.isTracking,
  } as unknown as Relayer
  return { relayer, submitted }
}
