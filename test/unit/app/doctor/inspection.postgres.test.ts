import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { DatabaseInspection } from '../../../../src/app/doctor/inspection.js'
import { inspectPostgres } from '../../../../src/app/doctor/postgres-inspection.js'
import { freePort } from '../../../../src/devnet/process.js'
import { schemaVersion } from '../../../../src/sql/migration-files.js'
import { type PostgresServer, startPostgres } from '../../../support/postgres.js'

let server: PostgresServer

beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.close())

async function look(url: string): Promise<DatabaseInspection> {
  const inspection = await inspectPostgres(url)
  await inspection.close()
  return inspection
}

async function run(url: string, text: string): Promise<void> {
  const client = new pg.Client(url)
  await client.connect()
  await client.query(text)
  await client.end()
}

describe('the inspection of a PostgreSQL', () => {
  it('finds one that is empty, and leaves it so', async () => {
    const url = await server.createDatabase({ isEmpty: true })
    for (const _ of [1, 2]) expect(await look(url)).toMatchObject({ state: 'absent', version: 0 })
  })

  it('finds the schema, and the gas that was booked', async () => {
    const inspection = await inspectPostgres(await server.createDatabase())
    const version = schemaVersion('postgres')
    expect(inspection).toMatchObject({ state: 'writable', version, wantedVersion: version })
    expect(inspection.sizeBytes).toBeGreaterThan(1_000_000)
    expect(await inspection.budgets?.spentOn('eip155:5042', '2026-11-21')).toBe(0n)
    await inspection.close()
  })

  it('reads how the server is set, and its clock', async () => {
    const url = await server.createDatabase()
    const { server: facts } = await look(url)
    expect(facts).toMatchObject({
      isDurable: false,
      maxConnections: 197,
      live: { facilitator: 0, directory: 0 },
      isEncrypted: false,
      isPooled: false,
      timeouts: { idleInTransactionMs: 0, statementMs: 0 },
    })
    expect(facts?.majorVersion).toBeGreaterThanOrEqual(14)
    expect(facts?.clockAhead.least).toBeLessThanOrEqual(0)
    expect(facts?.clockAhead.most).toBeGreaterThanOrEqual(0)
    await run(url, "INSERT INTO replicas VALUES ('a', 'directory', now() + interval '1 minute')")
    await run(url, "ALTER ROLE postgres SET statement_timeout = '9s'")
    const later = await look(url)
    await run(url, 'ALTER ROLE postgres RESET statement_timeout')
    expect(later.server).toMatchObject({
      live: { facilitator: 0, directory: 1 },
      timeouts: { statementMs: 9_000 },
    })
  })

  it('sees a newer schema, and a server that takes no writes', async () => {
    const url = await server.createDatabase()
    await run(url, "INSERT INTO schema_migrations (version, file) VALUES (999, 'later')")
    expect(await look(url)).toMatchObject({ state: 'writable', version: 999 })
    const name = new URL(url).pathname.slice(1)
    await run(url, `ALTER DATABASE "${name}" SET default_transaction_read_only = on`)
    expect(await look(url)).toMatchObject({ state: 'unusable' })
  })

  it('tells of one that is not there without its password', async () => {
    const url = `postgres://arcus:hunter2@127.0.0.1:${await freePort()}/arcus`
    const { state, problem } = await look(url)
    expect(state).toBe('unusable')
    expect(problem).toContain('does not answer')
    expect(problem).not.toContain('hunter2')
  })
})
