import type { Relayer } from '../relayer/relayer.js'
import { isDecided, type Job, type SettlementJournal } from '../store/settlement-journal.js'

export interface OutcomeWaitOptions {
  journal: SettlementJournal
  relayers: ReadonlyMap<string, Relayer>
  now: () => number
}

/** What taking a job back may take: a signature on its way is waited for, a disk that refuses is not. */
const WITHDRAW_MS = 3_000

/**
 * Waits for a job's outcome: gives the row once it is decided, or as it stands at the deadline (Unix milliseconds).
 * What was never signed by then is taken back, if the one who waits is the one who brought it.
 */
export function createOutcomeWait({ journal, relayers, now }: OutcomeWaitOptions) {
  const refresh = async (job: Job) => (await journal.findJob(job.kind, job.network, job.key)) ?? job

  return async (job: Job, deadline: number, mayWithdraw: boolean): Promise<Job> => {
    if (isDecided(job)) return job
    const relayer = relayers.get(job.network) as Relayer
    for (;;) {
      const left = deadline - now()
      if (relayer.isTracking(job)) {
        const decided = await withinMs(relayer.untilDecided(job), left)
        if (decided !== undefined) return decided
      } else {
        const row = await refresh(job)
        if (isDecided(row)) return row
        // Claimed, but the claim's own request failed before it was handed over.
        if (left > 0 && relayer.isSole && row.state === 'queued') relayer.submit(row)
        else if (left > 0) await relayer.untilDecidedElsewhere(job.id, left)
      }
      if (now() < deadline) continue
      const withdrawn = mayWithdraw ? await withinMs(relayer.withdraw(job), WITHDRAW_MS) : undefined
      return withdrawn ?? refresh(job)
    }
  }
}

/** The value, or `undefined` when it takes longer. */
async function withinMs<Value>(promise: Promise<Value>, ms: number): Promise<Value | undefined> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), Math.max(0, ms))
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}
