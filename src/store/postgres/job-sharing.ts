import type { JobSharing } from '../job-sharing.js'
import { type JobRow, toJob } from '../rows/settlement-rows.js'
import type { Job } from '../settlement-journal.js'
import type { Database } from './database.js'

/** A process may have claimed a job and not yet have noted it. */
const UNKNOWN_AFTER_MS = 5_000
/** Lanes whose lease ended longer ago are nobody's: their keys are in no process's settings any more. */
const ABANDONED = `interval '15 seconds'`

const isOpen = `state IN ('queued', 'submitted')`

export function createJobSharing(database: Database, worker: string): JobSharing {
  const jobs = async (text: string, values: readonly unknown[]) =>
    (await database.rows<JobRow>(text, values)).map((row) => toJob(row) as Job)

  return {
    isSole: false,
    async offer(jobIds) {
      await database.run(
        `UPDATE jobs SET worker = NULL WHERE id = ANY($1) AND worker = $2 AND ${isOpen}`,
        [jobIds, worker],
      )
    },
    takeOffered: (network, limit) =>
      jobs(
        `UPDATE jobs SET worker = $1 WHERE id IN (
           SELECT id FROM jobs WHERE network = $2 AND worker IS NULL AND ${isOpen}
           ORDER BY created_at LIMIT $3 FOR UPDATE SKIP LOCKED)
         RETURNING *`,
        [worker, network, limit],
      ),
    takeOfLane: (network, relayer) =>
      jobs(
        `UPDATE jobs SET worker = $1 WHERE ${isOpen} AND id IN (
           SELECT m.job_id FROM attempts a JOIN attempt_jobs m ON m.hash = a.hash
           WHERE a.network = $2 AND a.relayer = $3 AND a.is_open = 1)
         RETURNING *`,
        [worker, network, relayer],
      ),
    takeOrphans: (network, known, limit) =>
      jobs(
        `UPDATE jobs SET worker = $1 WHERE id IN (
           SELECT j.id FROM jobs j
           WHERE j.network = $2 AND j.${isOpen} AND j.worker IS NOT NULL
             AND CASE WHEN j.worker = $1
               THEN j.updated_at < $3 AND j.id <> ALL($4)
               ELSE NOT EXISTS (SELECT 1 FROM replicas r
                 WHERE r.id = j.worker AND r.alive_until > clock_timestamp()) END
             AND NOT EXISTS (
               SELECT 1 FROM attempt_jobs m JOIN attempts a ON a.hash = m.hash AND a.is_open = 1
                 JOIN leases l ON l.name = 'lane/' || a.network || '/' || a.relayer
               WHERE m.job_id = j.id AND l.owner IS DISTINCT FROM $1
                 AND l.lease_until > clock_timestamp() - ${ABANDONED})
           ORDER BY j.created_at LIMIT $5 FOR UPDATE SKIP LOCKED)
         RETURNING *`,
        [worker, network, Date.now() - UNKNOWN_AFTER_MS, known, limit],
      ),
    async withdraw(job, { state, reason, message }, now) {
      const [row] = await jobs(
        `UPDATE jobs SET state = $1, reason = $2, message = $3, gas_cost = '0', updated_at = $4, worker = $5
         WHERE id = $6 AND round = $7 AND state = 'queued' AND "transaction" IS NULL
           AND NOT EXISTS (SELECT 1 FROM attempt_jobs m JOIN attempts a ON a.hash = m.hash
             WHERE m.job_id = jobs.id AND a.is_open = 1)
         RETURNING *`,
        [state, reason, message, now, worker, job.id, job.round],
      )
      return row
    },
    async decidedAmong(jobIds) {
      const rows = await database.rows<{ id: string }>(
        `SELECT id FROM jobs WHERE id = ANY($1) AND NOT ${isOpen}`,
        [jobIds],
      )
      return rows.map(({ id }) => id)
    },
  }
}
