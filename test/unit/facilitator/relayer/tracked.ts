import type { Job } from '../../../../src/facilitator/journal/settlement-journal.js'
import { createExactKind, EXACT } from '../../../../src/facilitator/methods/exact-job.js'
import {
  type JobKind,
  type JobProfile,
  TrackedJobs,
} from '../../../../src/facilitator/relayer/jobs.js'
import { aRow } from '../../../support/a-row.js'
import { unexpected } from '../../../support/unexpected.js'

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

/** Tracks payments of a simulated chain, with the profiles that a test gives them by their ids. */
export function createPaymentJobs(profiles: ReadonlyMap<string, Partial<JobProfile>>): TrackedJobs {
  const exact = createExactKind({
    findUse: unexpected,
    readFacts: unexpected,
    isOurs: unexpected,
  })
  const profile: JobKind['profile'] = (job) => ({ ...exact.profile(job), ...profiles.get(job.id) })
  return new TrackedJobs({ [EXACT]: { ...exact, profile } }, Date.now)
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
