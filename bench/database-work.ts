import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'

/** PostgreSQL reports its statistics with this delay at most. */
const STATISTICS_MS = 1_500
/** With these a server counts its statements. */
export const countingSettings = ['shared_preload_libraries=pg_stat_statements']

/** Totals of the database since it was made. */
export interface DatabaseTotals {
  statements: number
  walWaits: number
  walBytes: number
  updates: number
  hotUpdates: number
  readRows: number
  /** Commits, and rows inserted, changed or removed: each row is locked once. */
  commits: number
  writtenRows: number
}

export async function readTotals(url: string): Promise<DatabaseTotals> {
  await delay(STATISTICS_MS)
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query('CREATE EXTENSION IF NOT EXISTS pg_stat_statements')
    const { rows } = await client.query(
      `SELECT
         (SELECT sum(calls) FROM pg_stat_statements
           WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database()))::float8 AS statements,
         (SELECT sum(fsyncs) FROM pg_stat_io WHERE object = 'wal')::float8 AS "walWaits",
         (SELECT wal_bytes FROM pg_stat_wal)::float8 AS "walBytes",
         (SELECT xact_commit FROM pg_stat_database WHERE datname = current_database())::float8 AS commits,
         (SELECT sum(n_tup_ins + n_tup_upd + n_tup_del) FROM pg_stat_user_tables)::float8 AS "writtenRows",
         n_tup_upd::float8 AS updates, n_tup_hot_upd::float8 AS "hotUpdates", seq_tup_read::float8 AS "readRows"
       FROM pg_stat_user_tables WHERE relname = 'jobs'`,
    )
    return rows[0]
  } finally {
    await client.end()
  }
}

export type CountingWire = Awaited<ReturnType<typeof startCountingWire>>

/**
 * Stands between Arcus and PostgreSQL and counts what Arcus sends and then waits for, its `Sync` and `Query` messages, and
 * the bytes of both.
 */
export async function startCountingWire(target: number) {
  let sent = 0
  let bytes = 0
  let answeredBytes = 0
  const server = createServer((client) => {
    const upstream = connect(target, '127.0.0.1')
    let rest = Buffer.alloc(0)
    let hasBegun = false
    client.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      rest = Buffer.concat([rest, chunk])
      // The first message has no type before its length.
      for (;;) {
        const at = hasBegun ? 1 : 0
        const length = rest.length < at + 4 ? Number.POSITIVE_INFINITY : rest.readInt32BE(at) + at
        if (rest.length < length) break
        if (hasBegun && 'SQ'.includes(String.fromCharCode(rest[0] as number))) sent++
        hasBegun = true
        rest = rest.subarray(length)
      }
    })
    upstream.on('data', (chunk: Buffer) => {
      answeredBytes += chunk.length
    })
    client.pipe(upstream).pipe(client)
    client.on('error', () => upstream.destroy())
    upstream.on('error', () => client.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    sent: () => sent,
    bytes: () => bytes,
    answeredBytes: () => answeredBytes,
    close: () => new Promise((resolve) => server.close(resolve)),
  }
}
