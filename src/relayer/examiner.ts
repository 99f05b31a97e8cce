import type { Receipt } from '../chain/receipts.js'
import { RpcUnavailableError } from '../chain/rpc-errors.js'
import type { OutcomeKeeper } from './outcome-keeper.js'
import { confirmation, failure } from './outcomes.js'
import type { TrackedJob } from './tracked-jobs.js'

/** Why a job is looked into. */
export interface Cause {
  /** The words in which its simulation was refused. */
  revert?: string | undefined
  /** The mined transaction that did not bear it out. */
  receipt?: Receipt
  /** Answers of nodes behind this block do not count. */
  atLeastBlock?: number
}

export type Examine = (entry: TrackedJob, cause: Cause) => Promise<void>

/** How often a job may travel again after a transaction that did not decide it. */
const MAX_RESENDS = 3
/** A wallet that says yes to the simulation and no on chain is believed once more. */
const MAX_WALLET_RESENDS = 1

/**
 * Finds the truth about a job that no transaction of ours can decide any more, however long the nodes take: paid by
 * somebody, failed for a reason that is proven, or to be sent again.
 */
export function createExaminer(options: {
  keeper: OutcomeKeeper
  /** Closes the slot of a lane with this receipt, where one has it; then its members are decided, each with its share. */
  land(receipt: Receipt): boolean
  enqueue(entry: TrackedJob): void
  resendAlone(entry: TrackedJob): void
  log: { warn(o: object, m: string): void }
}): Examine {
  const { keeper, land, enqueue, resendAlone, log } = options

  async function examine(entry: TrackedJob, cause: Cause): Promise<void> {
    const { revert, receipt, atLeastBlock = receipt?.blockNumber ?? 0 } = cause
    const told = { transaction: receipt?.transactionHash ?? null, gasCost: entry.burntGas }
    const refusal = revert === undefined ? undefined : entry.kind.rejectionOf(entry.job, revert)
    const found = await keeper.persistently(async () => {
      const examination = await entry.kind.examine(entry.job, atLeastBlock)
      if (examination.state === 'open' && refusal?.reason === 'nonceAlreadyUsed') {
        throw new RpcUnavailableError('the simulation saw a newer block than the read')
      }
      return examination
    })
    if (found.state === 'confirmed') {
      if (entry.kind.isSettledBy(entry.job, found.receipt) && land(found.receipt)) return
      return keeper.decide(entry, confirmation(found.receipt, entry.burntGas))
    }
    if (found.state === 'failed') {
      return keeper.decide(entry, failure(found.reason, found.message, told))
    }
    if (entry.liveSlots > 0) return
    if (refusal !== undefined) {
      return keeper.decide(entry, failure(refusal.reason, refusal.message, told))
    }
    if (entry.resends >= (entry.runsPayerCode ? MAX_WALLET_RESENDS : MAX_RESENDS)) {
      const message = `The transaction failed ${entry.resends + 1} times without a cause the token names.`
      return keeper.decide(entry, failure('transactionFailed', message, told))
    }
    entry.resends++
    if (receipt === undefined) enqueue(entry)
    else resendAlone(entry)
  }

  return async (entry, cause) => {
    if (entry.isBeingExamined) return
    entry.isBeingExamined = true
    try {
      await examine(entry, cause)
    } catch (err) {
      // Only a relayer that stops gives up asking; the next start asks again.
      log.warn({ err, settlementId: entry.job.id }, 'outcome left to the next start')
    } finally {
      entry.isBeingExamined = false
    }
  }
}
