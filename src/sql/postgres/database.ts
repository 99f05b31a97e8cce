import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { StoreUnavailableError } from '../errors.js'
import { TransactionConflict } from '../sql.js'

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
export interface PostgresDatabase extends Queries {
  inTransaction<Result>(work: (queries: Queries) => Promise<Result>): Promise<Result>
  /** The same for what must not happen twice: it rejects with `StoreUnavailableError` at the first failure. */
  once: Queries & Pick<PostgresDatabase, 'inTransaction'>
  /** Returns whether a pooler was found between this process and the server. */
  isPooled(): boolean
  close(): Promise<void>
}

interface PoolOptions {
  url: string
  poolSize: number
  limits?: SessionLimits
  onIdleError?: (error: unknown) => void
}

interface DatabaseOptions extends PoolOptions {
  /** The time during which a call is repeated, milliseconds. */
  patienceMs?: number
}

/** Bounds that the server enforces on each session, milliseconds. The client stops waiting for a statement a little later. */
export interface SessionLimits {
  connectMs: number
  statementMs: number
  /** The longest wait for a lock that another transaction has. */
  lockMs: number
}

/** A restart of the database on the same machine takes about as long: callers wait rather than fail. */
const PATIENCE_MS = 4_000
const RETRY_MS = 100
/** A transaction whose process is paused or gone loses its locks before somebody who waits for them gives up. */
const IDLE_IN_TRANSACTION_MS = 3_000
const usualLimits: SessionLimits = { connectMs: 5_000, statementMs: 10_000, lockMs: 4_000 }
/** The time that an answer of the server may take beyond the statement. */
const ANSWER_MARGIN_MS = 2_000
/** Seconds. A machine that vanished leaves its sessions behind for less than half a minute, instead of two hours. */
const keepalive = { idle: 10, interval: 5, count: 3 }
/** Unacknowledged data ends a session after this time, milliseconds. */
const UNACKNOWLEDGED_MS = 20_000
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

/** Returns how `pg` connects to the database of a URL. Certificates are read here: a missing file throws. */
export function connectionTo(url: string): pg.ClientConfig {
  const address = new URL(url)
  const mode = address.searchParams.get('sslmode')
  // The driver treats these modes as verify-full and warns that it will not always do so. A URL keeps its meaning here.
  const isAlias = mode !== null && ['prefer', 'require', 'verify-ca'].includes(mode)
  if (isAlias) address.searchParams.set('sslmode', 'verify-full')
  return {
    connectionString: isAlias ? address.href : url,
    keepAlive: true,
    keepAliveInitialDelayMillis: keepalive.idle * 1_000,
  }
}

export function openPool({
  url,
  poolSize,
  limits = usualLimits,
  onIdleError,
}: PoolOptions): pg.Pool {
  const pool = new pg.Pool({
    ...connectionTo(url),
    max: poolSize,
    connectionTimeoutMillis: limits.connectMs,
    query_timeout: limits.statementMs + ANSWER_MARGIN_MS,
    application_name: 'arcus',
    types,
    onConnect: (client) => prepareSession(client, limits),
  })
  // A connection that breaks while nobody uses it is replaced at the next use. In use, its query rejects too.
  pool.on('error', (error) => onIdleError?.(error))
  pool.on('connect', (client) => {
    client.on('error', () => {})
  })
  return pool
}

/**
 * The bounds of transactions on connections that a pooler passes on. It may give each transaction another session of the
 * server, so nothing can be prepared or set there for longer than a transaction.
 */
const pooled = new WeakMap<object, SessionLimits>()

/** Sets the bounds of a new session, or notes that a pooler stands between: then another process id answers than greeted. */
async function prepareSession(client: pg.ClientBase, limits: SessionLimits): Promise<void> {
  const { processID } = client as pg.ClientBase & { processID: number }
  const values = Object.entries(settingsOf(limits)).map(
    ([name, value]) => `set_config('${name}', '${value}', false)`,
  )
  const { rows } = await client.query<{ is_direct: boolean }>(
    `SELECT pg_backend_pid() = ${processID} AS is_direct,
       CASE WHEN pg_backend_pid() = ${processID} THEN ARRAY[${values.join(', ')}] END AS values`,
  )
  if (rows[0]?.is_direct !== true) pooled.set(client, limits)
}

function settingsOf({ statementMs, lockMs }: SessionLimits) {
  return {
    ...boundsOf({ statementMs, lockMs }),
    tcp_keepalives_idle: keepalive.idle,
    tcp_keepalives_interval: keepalive.interval,
    tcp_keepalives_count: keepalive.count,
    tcp_user_timeout: UNACKNOWLEDGED_MS,
  }
}

function boundsOf({ statementMs, lockMs }: Omit<SessionLimits, 'connectMs'>) {
  return {
    statement_timeout: statementMs,
    lock_timeout: lockMs,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
  }
}

export function openDatabase(options: DatabaseOptions): PostgresDatabase {
  const pool = openPool(options)
  const { patienceMs = PATIENCE_MS } = options
  let isPooled = false
  pool.on('connect', (client) => {
    isPooled ||= pooled.has(client)
  })

  async function patiently<Result>(attempt: () => Promise<Result>): Promise<Result> {
    const deadline = Date.now() + patienceMs
    for (;;) {
      try {
        return await attempt()
      } catch (error) {
        if (!(error instanceof StoreUnavailableError) || Date.now() >= deadline) throw error
        await sleep(RETRY_MS)
      }
    }
  }

  const plain = queriesOfPool(pool)
  const transact = <Result>(work: (queries: Queries) => Promise<Result>) => transaction(pool, work)
  return {
    query: (text, values) => patiently(() => plain.query(text, values)),
    rows: (text, values) => patiently(() => plain.rows(text, values)),
    run: (text, values) => patiently(() => plain.run(text, values)),
    inTransaction: (work) => patiently(() => transact(work)),
    once: { ...plain, inTransaction: transact },
    isPooled: () => isPooled,
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

/** Statements on any connection of a pool, each on its own. */
export function queriesOfPool(pool: pg.Pool): Queries {
  return queriesBy(async (text, values) => {
    const client = await connect(pool)
    try {
      const answer = await ask(client, text, values)
      client.release()
      return answer
    } catch (error) {
      // After an error that the server reports the connection goes on; a broken or silent one is discarded.
      client.release(isFromServer(error) ? undefined : true)
      throw error
    }
  })
}

/** Statements on one connection. */
function queriesOf(client: pg.ClientBase): Queries {
  return queriesBy((text, values) => ask(client, text, values))
}

function queriesBy(send: (text: string, values: readonly unknown[]) => ReturnType<typeof ask>) {
  const query: Queries['query'] = async (text, values = []) => {
    try {
      const { rows, rowCount } = await send(text, values)
      return { rows, changes: rowCount ?? 0 }
    } catch (error) {
      throw toStoreError(error)
    }
  }
  return {
    query,
    rows: async <Row>(text: string, values?: readonly unknown[]) =>
      (await query(text, values)).rows as Row[],
    run: async (text: string, values?: readonly unknown[]) => (await query(text, values)).changes,
  }
}

function connect(pool: pg.Pool): Promise<pg.PoolClient> {
  return pool.connect().catch((error) => {
    throw toStoreError(error)
  })
}

function ask(client: pg.ClientBase, text: string, values: readonly unknown[]) {
  const query = { text, values: values.map(withoutNul) }
  return client.query(pooled.has(client) ? query : { ...query, name: nameOf(text) })
}

/** PostgreSQL has no U+0000 in texts. Only a text of a stranger can hold one, and it matches nothing then. */
function withoutNul(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNul)
  return typeof value === 'string' && value.includes('\0')
    ? value.replaceAll('\0', '\ufffd')
    : value
}

async function transaction<Result>(
  pool: pg.Pool,
  work: (queries: Queries) => Promise<Result>,
): Promise<Result> {
  for (let conflicts = 0; ; conflicts++) {
    const client = await connect(pool)
    try {
      const queries = queriesOf(client)
      await begin(client)
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

async function begin(client: pg.ClientBase): Promise<void> {
  const limits = pooled.get(client)
  const bounds = limits === undefined ? [] : Object.entries(boundsOf(limits))
  const settings = bounds.map(([name, value]) => `SET LOCAL ${name} = ${value}`)
  await client.query(['BEGIN', ...settings].join('; ')).catch((error) => {
    throw toStoreError(error)
  })
}

function isConflict(error: unknown): boolean {
  if (error instanceof TransactionConflict) return true
  const code = (error as { code?: unknown }).code
  return code === '40P01' || code === '40001'
}

/**
 * SQLSTATE codes of a server that is gone, stops, starts, is full, keeps others waiting, ended a transaction that stood
 * still, or is not the one that takes writes.
 */
const UNAVAILABLE = /^(08...|53...|57P..|57014|55P03|25P0[34]|58...|25006|XX000)$/
/** The server answers, and says that it waited without result: for a lock, or for the end of the statement. */
const WAITED = /^(55P03|57014)$/

/**
 * Returns a `StoreUnavailableError` for an error that may pass by itself: a connection that broke, a server that restarts, a
 * timeout. Any other error, such as that of a statement the server refuses, is returned as it is.
 */
export function toStoreError(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof StoreUnavailableError) return error
  const code = 'code' in error ? String(error.code) : ''
  if (isFromServer(error) && !UNAVAILABLE.test(code)) return error
  const state = WAITED.test(code) ? 'waits' : 'does not answer'
  return new StoreUnavailableError(`the database ${state}: ${error.message}`, { cause: error })
}

function isFromServer(error: unknown): boolean {
  return error instanceof Error && 'severity' in error
}
