import type { JobSharing } from '../job-sharing.js'
import { type JobRow, toJob } from '../rows/settlement-rows.js'
import type { Job } from '../settlement-journal.js'
import type { Database } from './database.js'

/** One process has the file: whatever is open at its start is its own, and nothing else ever comes. */
export function createJobSharing(database: Database): JobSharing {
  const open = database.prepare(
    `SELECT * FROM jobs WHERE network = ? AND state IN ('queued', 'submitted') ORDER BY created_at`,
  )
  const ofLane = database.prepare(
    `SELECT * FROM jobs WHERE state IN ('queued', 'submitted') AND id IN (
       SELECT m.job_id FROM attempts a JOIN attempt_jobs m ON m.hash = a.hash
       WHERE a.network = ? AND a.relayer = ? AND a.is_open = 1) ORDER BY created_at`,
  )
  const isDecided = database
    .prepare(`SELECT 1 FROM jobs WHERE id = ? AND state IN ('confirmed', 'failed')`)
    .pluck()
  const jobs = (rows: unknown[]) => (rows as JobRow[]).map((row) => toJob(row) as Job)
  const taken = new Set<string>()

  return {
    isSole: true,
    offer: async () => {},
    takeOffered: async () => [],
    takeOfLane: async (network, relayer) => jobs(ofLane.all(network, relayer)),
    async takeOrphans(network, known) {
      if (taken.has(network)) return []
      taken.add(network)
      const own = new Set(known)
      return jobs(open.all(network)).filter(({ id }) => !own.has(id))
    },
    withdraw: async () => undefined,
    decidedAmong: async (jobIds) => jobIds.filter((id) => isDecided.get(id) !== undefined),
  }
}
