import type { Receipt } from '../chain/receipts.js'
import type { Outcome } from '../store/settlement-journal.js'
import type { ReasonKey } from '../x402/reasons.js'
import type { Settled } from './job-kind.js'
import type { TrackedJob } from './tracked-jobs.js'

/** What a mined transaction means for the jobs of its slot. */
export interface SlotResult {
  settled: { entry: TrackedJob; outcome: Outcome; cost: bigint }[]
  /** Nothing in the receipt bears them out; each with its share of the gas. */
  unsettled: { entry: TrackedJob; burnt: bigint }[]
}

/**
 * Reads a receipt for every job of a slot: settled by logs of the asset itself, never by the transaction's status
 * alone. The members share its cost so that the shares add up to the last unit.
 */
export function readSlotResult(
  entries: readonly TrackedJob[],
  members: readonly string[],
  receipt: Receipt,
): SlotResult {
  const share = createGasShares(receipt, members.length)
  const result: SlotResult = { settled: [], unsettled: [] }
  for (const entry of entries) {
    const position = members.indexOf(entry.job.id)
    const cost = position < 0 ? 0n : share(position)
    const settled =
      position >= 0 && receipt.isSuccess ? entry.kind.findSettled(entry.job, receipt) : undefined
    if (settled === undefined) result.unsettled.push({ entry, burnt: cost })
    else {
      const outcome = confirmation(receipt, settled, cost + entry.burntGas)
      result.settled.push({ entry, outcome, cost })
    }
  }
  return result
}

export function confirmation(
  receipt: Receipt,
  { transferLog }: Settled,
  gasCost: bigint | null,
): Outcome {
  return {
    state: 'confirmed',
    transaction: receipt.transactionHash,
    blockNumber: receipt.blockNumber,
    gasCost,
    reason: null,
    message: null,
    ...(transferLog === undefined ? {} : { transferLog }),
  }
}

/** A failure with what it burnt; `transaction` is the one that reverted, if any was sent. */
export function failure(
  reason: ReasonKey,
  message: string,
  told: { transaction?: `0x${string}` | null; gasCost?: bigint } = {},
): Outcome {
  const { transaction = null, gasCost = 0n } = told
  return { state: 'failed', reason, message, transaction, blockNumber: null, gasCost }
}

export function costOf(receipt: Receipt): bigint {
  return receipt.gasUsed * receipt.effectiveGasPrice
}

function createGasShares(receipt: Receipt, members: number): (position: number) => bigint {
  const cost = costOf(receipt)
  const count = BigInt(Math.max(1, members))
  return (position) => cost / count + (BigInt(position) < cost % count ? 1n : 0n)
}
