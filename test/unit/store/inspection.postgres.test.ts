import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { freePort } from '../../../src/devnet/process.js'
import { inspectPostgres } from '../../../src/store/postgres/inspection.js'
import { schemaVersion } from '../../../src/store/postgres/migrations.js'
import type { DatabaseInspection } from '../../../src/store/stores.js'
import { type PostgresServer, startPostgres } from '../../support/postgres.js'

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
    const version = schemaVersion()
    expect(inspection).toMatchObject({ state: 'writable', version, wantedVersion: version })
    expect(inspection.sizeBytes).toBeGreaterThan(1_000_000)
    expect(await inspection.budgets?.spentOn('eip155:5042', '2026-11-21')).toBe(0n)
    await inspection.close()
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
