import type { HeldLeases, LeaseStore } from '../leases.js'
import { openPool, queriesOn } from './database.js'

/** Long enough for a stalled event loop, short enough that a dead replica's payments wait only seconds. */
const DURATION_MS = 5_000
const duration = `interval '${DURATION_MS} milliseconds'`
/** When the row of a process that is gone is deleted. */
const FORGET_AFTER = `interval '1 hour'`

/** Keeps leases over a connection of their own: a beat must not wait behind many payments. */
export function createLeaseStore(options: {
  url: string
  owner: string
  onIdleError: (error: unknown) => void
}): LeaseStore & { close(): Promise<void> } {
  const { owner } = options
  const pool = openPool({ ...options, poolSize: 1 })
  const sql = queriesOn(pool)

  return {
    durationMs: DURATION_MS,
    async beat(): Promise<HeldLeases> {
      const [beaten] = await sql.rows<{ names: string[]; epochs: number[]; replicas: number }>(
        `WITH me AS (
           INSERT INTO replicas (id, alive_until) VALUES ($1, clock_timestamp() + ${duration})
           ON CONFLICT (id) DO UPDATE SET alive_until = excluded.alive_until),
         held AS (
           UPDATE leases SET lease_until = clock_timestamp() + ${duration} WHERE owner = $1
           RETURNING name, epoch)
         SELECT coalesce(array_agg(name), '{}') AS names, coalesce(array_agg(epoch::int), '{}') AS epochs,
           1 + (SELECT count(*) FROM replicas WHERE id <> $1 AND alive_until > clock_timestamp()) AS replicas
         FROM held`,
        [owner],
      )
      const { names, epochs, replicas } = beaten as NonNullable<typeof beaten>
      return { epochs: new Map(names.map((name, i) => [name, epochs[i] as number])), replicas }
    },
    async take(names) {
      if (names.length === 0) return new Map()
      const taken = await sql.rows<{ name: string; epoch: number }>(
        `INSERT INTO leases (name, owner, epoch, lease_until)
         SELECT name, $1, 1, clock_timestamp() + ${duration} FROM unnest($2::text[]) AS wanted (name) ORDER BY name
         ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, epoch = leases.epoch + 1,
           lease_until = excluded.lease_until
         WHERE leases.owner IS NULL OR leases.lease_until <= clock_timestamp()
         RETURNING name, epoch`,
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
