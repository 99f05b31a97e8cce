import { randomUUID } from 'node:crypto'
import type { Address, Hex } from 'viem'
import type { Relayer } from '../../relayer/relayer.js'
import type { Job, NewJob, SettlementJournal } from '../../store/settlement-journal.js'
import type { BatchRequest } from '../../x402/batch-request.js'
import type { createOutcomeWait } from '../outcome-wait.js'
import { type BatchJob, batchKinds } from './actions.js'
import type { BatchNetwork } from './ground.js'

export interface JobSenderOptions {
  journal: SettlementJournal
  relayers: ReadonlyMap<string, Relayer>
  waitForOutcome: ReturnType<typeof createOutcomeWait>
  now: () => number
}

/** What stands behind a request that comes again, and how long it may wait (Unix milliseconds). */
export interface SendTerms {
  failed: Job | undefined
  deadline: number
}

/** Makes a call of the scheme a job: claims its row or opens it again, hands it to the relayer, waits for the outcome. */
export function createJobSender({ journal, relayers, waitForOutcome, now }: JobSenderOptions) {
  return async (
    { action, key, digest, expiresAt, details }: BatchJob,
    { to, calldata }: { to: Address; calldata: Hex },
    { network, resourceUrl }: BatchRequest,
    ground: BatchNetwork,
    { failed, deadline }: SendTerms,
  ): Promise<Job> => {
    const kind = batchKinds[action]
    const seenBlock = ground.headBlock()
    const kept = JSON.stringify({ ...details, ...(resourceUrl && { resourceUrl }) })
    const content = { kind, network, key, digest, to, calldata, seenBlock, expiresAt }
    const obtained = await obtain({ id: randomUUID(), ...content, details: kept }, failed)
    if (obtained.isOurs) relayers.get(network)?.submit(obtained.job)
    return waitForOutcome(obtained.job, deadline, obtained.isOurs)
  }

  /** The row, and whether this request brought it about; another may have been quicker. */
  async function obtain(
    job: NewJob,
    failed: Job | undefined,
  ): Promise<{ job: Job; isOurs: boolean }> {
    if (failed !== undefined) {
      const reopened = await journal.reopen(failed, job, now())
      if (reopened !== undefined) return { job: reopened, isOurs: true }
      const held = await journal.findJob(job.kind, job.network, job.key)
      return { job: held as Job, isOurs: false }
    }
    const claim = await journal.claim(job, undefined, now())
    if (claim.state === 'keyConflict') throw new Error('a job without a key met a conflict of keys')
    return { job: claim.job, isOurs: claim.state === 'claimed' }
  }
}
