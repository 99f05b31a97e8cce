import Sqlite from 'better-sqlite3'
import { StoreUnavailableError } from '../errors.js'
import type { SqlReader, Value } from '../sql.js'
import { scriptBeside, superviseThread } from '../thread.js'
import { setsInSqlite } from './sql.js'

/** A statement that the thread reads; its answer has the same id. */
export interface ReadQuestion {
  id: number
  text: string
  values: readonly Value[]
}

/** A message from the thread. An error loses its class between threads, so its code travels with it. */
export type ReadAnswer = { id: number; rows: unknown[] } | ReadFault

interface ReadFault {
  id: number
  message: string
  /** The code of SQLite; `undefined` for another error. */
  code: string | undefined
}

/** Reads on a thread of their own, so that a long one holds up no payment. */
export interface ThreadedReader extends SqlReader {
  /** Holds all reads that have not begun until the returned function is called. */
  hold(): () => void
  /** Answers the reads that wait, and ends the thread; the last call. */
  stop(): Promise<void>
}

interface ThreadedReaderOptions {
  /** Receives the error that ends a thread. Another one is started. */
  onFault?: (error: unknown) => void
  /** The script next to this module by default. For tests. */
  script?: URL
}

interface Waiting {
  resolve(rows: unknown[]): void
  reject(error: unknown): void
}

/** The rows of one answer are all in memory. */
const MAX_HEAP_MB = 512
/** Reads that wait at once, of which each may hold a caller's request. */
const MAX_WAITING = 5_000

/**
 * Creates a reader of a file that is in use, over a connection of its own on a thread of its own. The thread starts with the
 * first read. A read sees every commit that resolved before it was asked. When the thread dies, the reads that wait reject
 * with `StoreUnavailableError`, as those do that come until the next thread is up.
 */
export function createThreadedReader(
  path: string,
  { onFault = () => {}, script }: ThreadedReaderOptions = {},
): ThreadedReader {
  const waiting = new Map<number, Waiting>()
  let lastId = 0
  let isStarted = false
  let held: Promise<void> | undefined
  const thread = superviseThread<ReadQuestion, ReadAnswer>(
    script ?? scriptBeside(import.meta.url, 'reader-thread'),
    {
      maxHeapMb: MAX_HEAP_MB,
      data: { file: path },
      onMessage(answer) {
        const asker = waiting.get(answer.id)
        waiting.delete(answer.id)
        if (waiting.size === 0) thread.keepAlive(false)
        if ('rows' in answer) asker?.resolve(answer.rows)
        else asker?.reject(toError(answer))
      },
      onFault,
      onEnd() {
        const error = gone()
        for (const { reject } of waiting.values()) reject(error)
        waiting.clear()
      },
    },
  )

  function post(text: string, values: readonly Value[]): Promise<unknown[]> {
    if (!isStarted) {
      isStarted = true
      thread.start()
    }
    return new Promise((resolve, reject) => {
      const id = ++lastId
      if (waiting.size >= MAX_WAITING) reject(gone('too many reads wait already'))
      else if (!thread.post({ id, text, values })) reject(gone())
      else {
        waiting.set(id, { resolve, reject })
        // A command of an operator may have nothing else that keeps it alive.
        thread.keepAlive(true)
      }
    })
  }

  async function all<Row>(text: string, values: readonly Value[] = []): Promise<Row[]> {
    while (held !== undefined) await held
    return (await post(text, values)) as Row[]
  }

  return {
    ...setsInSqlite,
    all,
    get: async <Row>(text: string, values?: readonly Value[]) => (await all<Row>(text, values))[0],
    hold() {
      let goOn = () => {}
      const holding = new Promise<void>((resolve) => {
        goOn = resolve
      })
      held = holding
      return () => {
        if (held === holding) held = undefined
        goOn()
      }
    },
    stop: thread.stop,
  }
}

function gone(why = 'the thread that reads the database has ended'): StoreUnavailableError {
  return new StoreUnavailableError(`${why}: try again`)
}

function toError({ message, code }: ReadFault): Error {
  if (code === undefined) return new Error(message)
  const cause = new Sqlite.SqliteError(message, code)
  return code.startsWith('SQLITE_BUSY') ? new StoreUnavailableError(message, { cause }) : cause
}
