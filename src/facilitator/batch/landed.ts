import { randomUUID } from 'node:crypto'
import { batchContracts } from '../../chain/batch-settlement.js'
import { RpcUnavailableError } from '../../chain/rpc-errors.js'
import { confirmation } from '../../relayer/outcomes.js'
import type { Job, SettlementJournal } from '../../store/settlement-journal.js'
import type { BatchRequest } from '../../x402/batch-request.js'
import type { Rejection } from '../../x402/reasons.js'
import { type BatchJob, batchKinds, type DepositDetails } from './actions.js'
import type { BatchNetwork } from './ground.js'

/** Where a deposit that others brought on chain is looked for. */
const LOOK_BACK_BLOCKS = 20_000

/** Refusals that come after the payer's signature was found good. */
const looked = new Set<Rejection['reason'] | undefined>([
  'batchDepositSimulationFailed',
  'batchInsufficientBalance',
  'batchCumulativeExceedsBalance',
  'batchCumulativeBelowClaimed',
])

/**
 * Finds a deposit that is on chain although no job of ours brought it there, and keeps it. Unlike a payment it may
 * count whoever sent it and whenever: it fills this one channel, and what it pays for the merchant counts in totals.
 * Throws `RpcUnavailableError`.
 */
export function createLandedFinder(options: { journal: SettlementJournal; now: () => number }) {
  const { journal, now } = options
  return async (
    job: BatchJob,
    { network }: BatchRequest,
    ground: BatchNetwork,
    rejection: Rejection | undefined,
  ): Promise<Job | undefined> => {
    if (job.action !== 'deposit' || !isAfterSignature(rejection)) return undefined
    const use = await findLandedDeposit(job.details, ground)
    if (use === undefined) return undefined
    const { blockNumber } = use.receipt
    const { key, digest, expiresAt } = job
    const kind = batchKinds.deposit
    const failed = await journal.findJob(kind, network, key)
    const details = JSON.stringify(job.details)
    const place = { to: batchContracts.settlement, calldata: '0x', seenBlock: blockNumber } as const
    const row = { id: randomUUID(), kind, network, key, digest, expiresAt, details, ...place }
    const outcome = confirmation(use.receipt, use, null)
    const kept = await journal.recordFound(row, failed, outcome, now())
    return kept ?? journal.findJob(kind, network, key)
  }
}

/** Whether a refused deposit is on chain all the same. Throws `RpcUnavailableError`. */
export async function isLandedElsewhere(
  job: BatchJob,
  ground: BatchNetwork,
  rejection: Rejection,
): Promise<boolean> {
  if (job.action !== 'deposit' || !isAfterSignature(rejection)) return false
  return (await findLandedDeposit(job.details, ground)) !== undefined
}

function isAfterSignature(rejection: Rejection | undefined): boolean {
  return looked.has(rejection?.reason)
}

/** The transaction in which a deposit's authorization filled its channel. Throws `RpcUnavailableError`. */
async function findLandedDeposit(
  { asset, payer, amount, nonce }: DepositDetails,
  { served }: BatchNetwork,
) {
  const payTo = batchContracts.erc3009Collector
  const expected = { asset, payer, payTo, value: BigInt(amount), nonce }
  const facts = await served.readFacts(expected)
  if (!facts.isNonceUsed) return undefined
  const from = Math.max(0, facts.blockNumber - LOOK_BACK_BLOCKS)
  const use = await served.findUse(expected, from, facts.blockNumber)
  if (use.state === 'unread') {
    throw new RpcUnavailableError('the chain shows the deposit but no node its receipt yet')
  }
  return use.state === 'paid' ? use : undefined
}
