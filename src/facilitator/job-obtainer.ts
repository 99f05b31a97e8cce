import { randomUUID } from 'node:crypto'
import { confirmation } from '../relayer/outcomes.js'
import type { Relayer } from '../relayer/relayer.js'
import type { DeliveryStore } from '../store/deliveries.js'
import type { Job, SettlementJournal } from '../store/settlement-journal.js'
import { claimedAtOf, createExactJob } from './exact-job.js'
import type { Intent, Judgement } from './judge.js'

export interface JobObtainerOptions {
  journal: SettlementJournal
  deliveryStore: DeliveryStore
  relayers: ReadonlyMap<string, Relayer>
  now: () => number
}

/** The row that stands for a payment. */
export interface ObtainedJob {
  job: Job
  /** This request brought it about, so it may take it back. */
  isOurs: boolean
}

/** A judgement on which a settle may go on. */
export type Promising = Exclude<Judgement, { state: 'rejected' | 'held' | 'unclear' }>

export function isPromising(judgement: Judgement): judgement is Promising {
  return !['rejected', 'held', 'unclear'].includes(judgement.state)
}

/**
 * Finds, claims, opens again or records the row of a payment. `raced` when another request was quicker: judge again.
 * A key that belongs to another payment is seen before anything is claimed.
 */
export function createJobObtainer(options: JobObtainerOptions) {
  const { journal, deliveryStore, relayers, now } = options

  return async (
    judgement: Promising,
    idempotencyKey: string | undefined,
  ): Promise<ObtainedJob | 'keyConflict' | 'raced'> => {
    const holder = judgement.state === 'known' ? judgement.job : judgement.intent.failedJob
    if (holder !== undefined && !(await bindKey(idempotencyKey, holder.id))) return 'keyConflict'
    if (judgement.state === 'known') return { job: judgement.job, isOurs: false }
    const { intent } = judgement
    if (judgement.state === 'valid') {
      return intent.failedJob === undefined
        ? claim(intent, idempotencyKey)
        : reopen(intent, intent.failedJob)
    }
    const { receipt, failedJob } = judgement
    const outcome = confirmation(receipt, judgement, null)
    const found = newJob(intent, claimedAtOf(failedJob))
    const job = await journal.recordFound(found, failedJob, outcome, now())
    return job === undefined ? 'raced' : { job, isOurs: false }
  }

  async function claim(intent: Intent, idempotencyKey: string | undefined) {
    const claim = await journal.claim(newJob(intent, now()), idempotencyKey, now())
    if (claim.state === 'keyConflict') return claim.state
    return claim.state === 'held' ? 'raced' : begin(claim.job)
  }

  async function reopen(intent: Intent, failed: Job) {
    const job = await journal.reopen(failed, newJob(intent, now()), now())
    return job === undefined ? 'raced' : begin(job)
  }

  function begin(job: Job): ObtainedJob {
    relayers.get(job.network)?.submit(job)
    return { job, isOurs: true }
  }

  async function bindKey(key: string | undefined, jobId: string): Promise<boolean> {
    if (key === undefined) return true
    return (await deliveryStore.bindIdempotencyKey(key, jobId, now())) === jobId
  }
}

function newJob({ payment, digest, signature, isAlone, seenBlock }: Intent, claimedAt: number) {
  const id = randomUUID()
  return createExactJob({ id, payment, digest, signature, isAlone, seenBlock, claimedAt })
}
