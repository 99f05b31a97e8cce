import type { Receipt } from '../chain/receipts.js'
import { RpcUnavailableError } from '../chain/rpc-errors.js'
import { isDecided } from '../store/settlement-journal.js'
import type { Rejection } from '../x402/reasons.js'
import type { OutcomeKeeper } from './outcome-keeper.js'
import { confirmation, failure } from './outcomes.js'
import type { TrackedJob } from './tracked-jobs.js'

/** Why a job is looked into. */
export interface Cause {
  /** The words in which its simulation was refused. */
  revert?: string | undefined
  /** Why no gas is risked on it any more. */
  refusal?: Rejection
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
/** What only a transaction under way may still decide is looked into again after this. */
const LATER_MS = 1_000

/**
 * Finds the truth about a job that no transaction of ours can decide any more, however long the nodes take: paid by
 * somebody, failed for a reason that is proven, or to be sent again. While a transaction that was signed for it may land,
 * only what holds for good is proven.
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
    const { kind, job } = entry
    const simulated = revert === undefined ? undefined : kind.rejectionOf(job, revert)
    const found = await keeper.persistently(async () => {
      const examination = await kind.examine(job, atLeastBlock)
      const isUnused = examination.state === 'open' || examination.state === 'refused'
      if (isUnused && simulated?.reason === 'nonceAlreadyUsed') {
        throw new RpcUnavailableError('the simulation saw a newer block than the read')
      }
      return examination
    })
    const transaction = receipt?.transactionHash ?? null
    const failedBy = ({ reason, message }: Rejection, hash = transaction) =>
      failure(reason, message, { transaction: hash, gasCost: entry.burntGas })
    if (found.state === 'confirmed') {
      const isOwn = kind.findSettled(job, found.receipt) !== undefined
      if (isOwn && land(found.receipt)) return
      // Others paid for this transaction: its gas is known as nothing of ours.
      const gasCost = entry.burntGas > 0n ? entry.burntGas : null
      return keeper.decide(entry, confirmation(found.receipt, found, gasCost))
    }
    if (found.state === 'failed') {
      return keeper.decide(entry, failedBy(found, found.transaction ?? transaction))
    }
    if (entry.liveSlots > 0) return
    const { refusal } = cause
    const against = found.state === 'refused' ? found : (refusal ?? simulated ?? worn(entry))
    if (against === undefined) return resend(entry, receipt)
    const outcome = failedBy(against, against === refusal ? job.transaction : transaction)
    if (!(await keeper.refuse(entry, outcome))) examineLater(entry, cause)
  }

  /** Why nothing is sent for it any more. */
  function worn({ resends, coded }: TrackedJob): Rejection | undefined {
    if (resends < (coded.length > 0 ? MAX_WALLET_RESENDS : MAX_RESENDS)) return undefined
    const message = `The transaction failed ${resends + 1} times without a cause the token names.`
    return { reason: 'transactionFailed', message }
  }

  function resend(entry: TrackedJob, receipt: Receipt | undefined): void {
    entry.resends++
    if (receipt === undefined) enqueue(entry)
    else resendAlone(entry)
  }

  /** What a simulation said once may not hold then; what was decided meanwhile may be under way anew. */
  function examineLater(entry: TrackedJob, cause: Cause): void {
    setTimeout(() => {
      if (!isDecided(entry.job)) void look(entry, { ...cause, revert: undefined })
    }, LATER_MS)
  }

  async function look(entry: TrackedJob, cause: Cause): Promise<void> {
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

  return look
}
