import type { Half, HeldLeases, LeaseStore } from '../leases.js'
import { openPool, queriesOfPool, type SessionLimits } from './database.js'

/** Long enough for a stalled event loop, short enough that a dead replica's payments wait only seconds. */
const DURATION_MS = 5_000
const duration = `interval '${DURATION_MS} milliseconds'`
/** When the row of a process that is gone is deleted. */
const FORGET_AFTER = `interval '1 hour'`

/** The row that a beat reads. */
interface Beat {
  names: string[]
  epochs: number[]
  elsewhere: string[]
  replicas: number
  now: number
}

/** A beat that comes later than this is of no use: the next one is tried, over a new connection. */
const limits: SessionLimits = { connectMs: 2_000, statementMs: 1_000, lockMs: 1_000 }
const clockMs = '(extract(epoch FROM clock_timestamp()) * 1000)::float8'

/**
 * Keeps leases over a connection of their own: a beat must not wait behind many payments. It does not wait for a payment
 * of this process either, because payments lock their lease with `FOR KEY SHARE`, which renewing passes and taking does not.
 */
export function createLeaseStore(options: {
  url: string
  owner: string
  /** The half of the service that holds the leases. They are divided among the processes of a half. */
  half: Half
  onIdleError: (error: unknown) => void
}): LeaseStore & { close(): Promise<void> } {
  const { owner, half } = options
  const pool = openPool({ ...options, poolSize: 1, limits })
  const sql = queriesOfPool(pool)

  return {
    durationMs: DURATION_MS,
    async beat(): Promise<HeldLeases> {
      const askedAt = Date.now()
      const [beaten] = await sql.rows<Beat>(
        `WITH me AS (
           INSERT INTO replicas (id, half, alive_until) VALUES ($1, $2, clock_timestamp() + ${duration})
           ON CONFLICT (id) DO UPDATE SET alive_until = excluded.alive_until),
         held AS (
           UPDATE leases SET lease_until = clock_timestamp() + ${duration} WHERE owner = $1
           RETURNING name, epoch)
         SELECT coalesce(array_agg(name), '{}') AS names, coalesce(array_agg(epoch::int), '{}') AS epochs,
           1 + (SELECT count(*) FROM replicas
             WHERE id <> $1 AND half = $2 AND alive_until > clock_timestamp()) AS replicas,
           ARRAY(SELECT name FROM leases WHERE owner <> $1 AND lease_until > clock_timestamp()) AS elsewhere,
           ${clockMs} AS now
         FROM held`,
        [owner, half],
      )
      const { names, epochs, replicas, elsewhere, now } = beaten as Beat
      return {
        epochs: new Map(names.map((name, i) => [name, epochs[i] as number])),
        elsewhere: new Set(elsewhere),
        replicas,
        // The database read its clock between these two moments of ours, which are without their parts of a millisecond.
        clockAhead: { least: askedAt - now, most: Date.now() + 1 - now },
      }
    },
    async take(names) {
      if (names.length === 0) return new Map()
      const taken = await sql.rows<{ name: string; epoch: number }>(
        `WITH free AS (
           SELECT name FROM leases
           WHERE name = ANY($2::text[]) AND (owner IS NULL OR lease_until <= clock_timestamp())
           ORDER BY name FOR UPDATE SKIP LOCKED),
         again AS (
           UPDATE leases SET owner = $1, epoch = epoch + 1, lease_until = clock_timestamp() + ${duration}
           FROM free WHERE leases.name = free.name
           RETURNING leases.name, epoch),
         first AS (
           INSERT INTO leases (name, owner, epoch, lease_until)
           SELECT name, $1, 1, clock_timestamp() + ${duration} FROM unnest($2::text[]) AS wanted (name)
           WHERE NOT EXISTS (SELECT 1 FROM leases l WHERE l.name = wanted.name)
           ORDER BY name ON CONFLICT (name) DO NOTHING
           RETURNING name, epoch)
         SELECT * FROM again UNION ALL SELECT * FROM first`,
        [owner, names],
      )
      return new Map(taken.map(({ name, epoch }) => [name, epoch]))
    },
    async release(name) {
      await sql.run('UPDATE leases SET owner = NULL WHERE name = $1 AND owner = $2', [name, owner])
    },
    async leave() {
      await sql.run('UPDATE leases SET owner = NULL WHERE owner = $1', [owner])
      await sql.run(
        `DELETE FROM replicas WHERE id = $1 OR alive_until < clock_timestamp() - ${FORGET_AFTER}`,
        [owner],
      )
    },
    close: () => pool.end(),
  }
}
