import pg from 'pg'
import { afterEach, describe, expect, it } from 'vitest'
import { inspectPostgres } from '../../src/app/doctor/postgres-inspection.js'
import { type PostgresServer, startPostgres } from '../support/postgres.js'
import { pause } from './support/behaviours.js'
import { findProgram } from './support/debian.js'
import { type Pooler, type PoolMode, startPooler } from './support/pgbouncer.js'
import { type Replicas, startLoad, startReplicas } from './support/replicas.js'
import { expectAllSettledAndTrue, until } from './support/world.js'

const pgbouncer = findProgram('pgbouncer')
const PATIENCE_MS = 60_000

let world: Replicas | undefined
let postgres: PostgresServer | undefined
let pooler: Promise<Pooler> | undefined

afterEach(async () => {
  await world?.close()
  await (await pooler)?.close()
  await postgres?.close()
  world = undefined
  pooler = undefined
  postgres = undefined
})

async function startBehind(mode: PoolMode): Promise<Replicas> {
  return startReplicas({
    replicas: 3,
    relayers: 3,
    async envOf(_, databaseUrl) {
      pooler ??= startPooler(pgbouncer as string, Number(new URL(databaseUrl).port), mode)
      return { DATABASE_URL: (await pooler).urlOf(databaseUrl) }
    },
  })
}

describe.skipIf(pgbouncer === undefined)(
  'three replicas behind PgBouncer (skipped without the Debian package)',
  () => {
    it.each(['session', 'transaction'] as const)(
      'in %s mode migrate, settle, and take over from one that dies',
      async (mode) => {
        const replicas = await startBehind(mode)
        world = replicas
        const load = startLoad(replicas.client, 80, PATIENCE_MS)
        await pause(2_000)
        await replicas.service(0).crash()
        await pause(3_000)
        await replicas.restart(0)
        await pause(1_000)
        await load.end()
        expect(load.payments.length).toBeGreaterThan(30)
        await expectAllSettledAndTrue(replicas, load.payments, { mayRepeat: true })
        await until(
          'no session keeps a lock',
          async () => (await leftLocks(replicas.databaseUrl)).length === 0,
        )
      },
    )
  },
)

describe.skipIf(pgbouncer === undefined)('the doctor (skipped without PgBouncer)', () => {
  it('says that a pooler stands between, and what it makes impossible', async () => {
    postgres = await startPostgres()
    const url = await postgres.createDatabase()
    pooler = startPooler(pgbouncer as string, postgres.port, 'transaction')
    const usable = await inspectPostgres((await pooler).urlOf(url))
    expect(usable).toMatchObject({ state: 'writable', server: { isPooled: true } })
    await usable.close()
    await (await pooler).close()
    pooler = startPooler(pgbouncer as string, postgres.port, 'statement')
    const unusable = await inspectPostgres((await pooler).urlOf(url))
    expect(unusable.state).toBe('unusable')
    expect(unusable.problem).toMatch(/transaction/)
    await unusable.close()
  })
})

/** Reads the advisory locks that sessions keep, past the pooler. */
async function leftLocks(databaseUrl: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    const locks = await client.query("SELECT objid FROM pg_locks WHERE locktype = 'advisory'")
    return locks.rows
  } finally {
    await client.end()
  }
}
