import type { Job } from '../../../../src/facilitator/journal/settlement-journal.js'
import {
  type JobKind,
  type JobProfile,
  TrackedJobs,
} from '../../../../src/facilitator/relayer/jobs.js'
import { aRow } from '../../../support/a-row.js'

const plain: JobProfile = {
  isAlone: false,
  payer: 'a payer',
  asset: `0x${'36'.repeat(20)}`,
  payTo: 'a recipient',
  caller: 'a caller',
  standing: 'none',
  accountsThatRun: [],
  value: 10n,
}

/** The jobs of a process, by a clock that the test sets. */
export function aTracking() {
  const profiles = new Map<string, Partial<JobProfile>>()
  const clock = { now: 1_000 }
  const kind: JobKind = {
    profile: ({ id }) => ({ ...plain, ...profiles.get(id) }),
    validAfter: () => 0,
    findSettled: () => undefined,
    movedIn: () => 0n,
    rejectionOf: (_job, message) => ({ reason: 'transactionFailed', message }),
    examine: async () => ({ state: 'open' }),
  }
  const jobs = new TrackedJobs({ exact: kind }, () => clock.now)
  return {
    jobs,
    clock,
    /** Tracks a job with an id and key of its own. */
    track(id: string, profile: Partial<JobProfile> = {}, row: Partial<Job> = {}) {
      profiles.set(id, profile)
      return jobs.track(aRow({ id, key: id, ...row }))
    },
  }
}
