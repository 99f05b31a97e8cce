import pg from 'pg'
import { StoreUnavailableError } from '../errors.js'
import { TransactionConflict } from '../sql/sql.js'

/** Statements on one connection, inside or outside of a transaction. */
export interface Queries {
  query(text: string, values?: readonly unknown[]): Promise<{ rows: unknown[]; changes: number }>
  rows<Row>(text: string, values?: readonly unknown[]): Promise<Row[]>
  /** Resolves with how many rows it changed. */
  run(text: string, values?: readonly unknown[]): Promise<number>
}

/**
 * A pool of connections. While the database cannot be reached, a statement or transaction is tried again for a few seconds,
 * also if only its answer was lost: so it must be harmless when it happens twice.
 */
export interface Database extends Queries {
  inTransaction<Result>(work: (queries: Queries) => Promise<Result>): Promise<Result>
  /** The same for what must not happen twice: it rejects with `StoreUnavailableError` at the first failure. */
  once: Queries & Pick<Database, 'inTransaction'>
  close(): Promise<void>
}

export interface DatabaseOptions {
  url: string
  poolSize: number
  /** The time during which a call is repeated, milliseconds. */
  patienceMs?: number
  onIdleError?: (error: unknown) => void
}

/** A restart of the database on the same machine takes about as long: callers wait rather than fail. */
const PATIENCE_MS = 4_000
const RETRY_MS = 100
const CONNECT_TIMEOUT_MS = 5_000
/** The server ends a statement that takes longer; the client stops waiting a little later. */
const STATEMENT_TIMEOUT_MS = 10_000
const QUERY_TIMEOUT_MS = 12_000
/** The number of times that a transaction runs again after a conflict with another one. */
const MAX_CONFLICTS = 5
const INT8 = 20

/** Reads BIGINT as a number: values stay below 2^53, except sums, which are read as text. */
const types = {
  getTypeParser: ((id: number, format?: 'text' | 'binary') =>
    id === INT8 && format !== 'binary'
      ? Number
      : pg.types.getTypeParser(id, format)) as typeof pg.types.getTypeParser,
}

export function openPool({ url, poolSize, onIdleError }: DatabaseOptions): pg.Pool {
  const pool = new pg.Pool({
    connectionString: url,
    max: poolSize,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    query_timeout: QUERY_TIMEOUT_MS,
    keepAlive: true,
    application_name: 'arcus',
    types,
  })
  // A connection that breaks while nobody uses it is replaced at the next use. In use, its query rejects too.
  pool.on('error', (error) => onIdleError?.(error))
  pool.on('connect', (client) => {
    client.on('error', () => {})
  })
  return pool
}

export function openDatabase(options: DatabaseOptions): Database {
  const pool = openPool(options)
  const { patienceMs = PATIENCE_MS } = options

  async function patiently<Result>(attempt: () => Promise<Result>): Promise<Result> {
    const deadline = Date.now() + patienceMs
    for (;;) {
      try {
        return await attempt()
      } catch (error) {
        if (!(error instanceof StoreUnavailableError) || Date.now() >= deadline) throw error
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
      }
    }
  }

  const plain = queriesOn(pool)
  const transact = <Result>(work: (queries: Queries) => Promise<Result>) => transaction(pool, work)
  return {
    query: (text, values) => patiently(() => plain.query(text, values)),
    rows: (text, values) => patiently(() => plain.rows(text, values)),
    run: (text, values) => patiently(() => plain.run(text, values)),
    inTransaction: (work) => patiently(() => transact(work)),
    once: { ...plain, inTransaction: transact },
    close: () => pool.end(),
  }
}

/** The name of each statement text, under which a connection prepares it once. */
const names = new Map<string, string>()

function nameOf(text: string): string {
  let name = names.get(text)
  if (name === undefined) {
    name = `arcus_${names.size}`
    names.set(text, name)
  }
  return name
}

export function queriesOn(client: Pick<pg.Pool, 'query'>): Queries {
  const query: Queries['query'] = async (text, values = []) => {
    try {
      const prepared = { name: nameOf(text), text, values: values.map(withoutNul) }
      const { rows, rowCount } = await client.query(prepared)
      return { rows, changes: rowCount ?? 0 }
    } catch (error) {
      throw toStoreError(error)
    }
  }
  return {
    query,
    rows: async <Row>(text: string, values?: readonly unknown[]) =>
      (await query(text, values)).rows as Row[],
    run: async (text, values) => (await query(text, values)).changes,
  }
}

/** PostgreSQL has no U+0000 in texts. Only a text of a stranger can hold one, and it matches nothing then. */
export function withoutNul(value: unknown): unknown {
  return typeof value === 'string' && value.includes('\0')
    ? value.replaceAll('\0', '\ufffd')
    : value
}

async function transaction<Result>(
  pool: pg.Pool,
  work: (queries: Queries) => Promise<Result>,
): Promise<Result> {
  for (let conflicts = 0; ; conflicts++) {
    const client = await pool.connect().catch((error) => {
      throw toStoreError(error)
    })
    try {
      const queries = queriesOn(client as unknown as pg.Pool)
      await queries.run('BEGIN')
      const result = await work(queries)
      await queries.run('COMMIT')
      client.release()
      return result
    } catch (error) {
      // A connection that cannot even roll back is discarded.
      await client.query('ROLLBACK').then(
        () => client.release(),
        (broken) => client.release(broken),
      )
      if (!isConflict(error) || conflicts >= MAX_CONFLICTS) throw error
    }
  }
}

function isConflict(error: unknown): boolean {
  if (error instanceof TransactionConflict) return true
  const code = (error as { code?: unknown }).code
  return code === '40P01' || code === '40001'
}

/** SQLSTATE codes of a server that is gone, stops, starts, is full, or is not the one that takes writes. */
const UNAVAILABLE = /^(08...|53...|57P..|57014|58...|25006|XX000)$/

/**
 * Returns a `StoreUnavailableError` for an error that may pass by itself: a connection that broke, a server that restarts, a
 * timeout. Any other error, such as that of a statement the server refuses, is returned as it is.
 */
export function toStoreError(error: unknown): unknown {
  if (!(error instanceof Error)) return error
  const code = 'code' in error ? String(error.code) : ''
  const isFromServer = 'severity' in error
  if (isFromServer && !UNAVAILABLE.test(code)) return error
  return new StoreUnavailableError(`the database does not answer: ${error.message}`, {
    cause: error,
  })
}
