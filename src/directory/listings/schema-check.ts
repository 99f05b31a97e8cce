import type { Worker } from 'node:worker_threads'
import { scriptBeside, startThread } from '../../store/thread.js'
import type { SchemaAnswer, SchemaQuestion } from './schema-worker.js'

/** `slow` when the check took too long or too much memory; `busy` when too many checks wait. */
export type SchemaVerdict = SchemaAnswer | { ok: false; fault: 'slow' | 'busy'; message: string }

export interface SchemaCheck {
  /** Starts the thread before the first question. */
  start(): void
  /** Checks that a JSON Schema 2020-12 compiles and that `value` satisfies it. Rejects only when no thread can start. */
  check(schema: Record<string, unknown>, value: unknown): Promise<SchemaVerdict>
  close(): Promise<void>
}

/** A stranger can write a schema that takes for ever; an honest one takes a few milliseconds. */
const TIMEOUT_MS = 500
/** The first question waits for the thread to start as well. */
const START_TIMEOUT_MS = 20_000
const MAX_WAITING = 500
const MAX_HEAP_MB = 64

interface Waiting {
  question: SchemaQuestion
  resolve(verdict: SchemaVerdict): void
  reject(error: unknown): void
}

/**
 * Creates the check of schemas on a thread of its own, so that no pattern, reference or recursion in them can block the
 * service. A thread that takes too long is ended, and the next question starts another. It keeps no process alive.
 */
export function createSchemaCheck(timeoutMs = TIMEOUT_MS): SchemaCheck {
  const waiting: Waiting[] = []
  let worker: Worker | undefined
  let isStarted = false
  let isClosed = false
  let asked: { waiting: Waiting; timer: NodeJS.Timeout } | undefined

  function settle(answer: (done: Waiting) => void): void {
    const done = asked
    if (done === undefined) return
    clearTimeout(done.timer)
    asked = undefined
    answer(done.waiting)
    askNext()
  }

  function endThread(): void {
    const ended = worker
    worker = undefined
    isStarted = false
    ended?.removeAllListeners()
    // Ending a thread can make it fail, which no longer matters.
    ended?.on('error', () => {})
    void ended?.terminate()
  }

  function fail(message: string): void {
    endThread()
    settle(({ resolve }) => resolve({ ok: false, fault: 'slow', message }))
  }

  function start(): Worker {
    const script = scriptBeside(import.meta.url, 'schema-worker')
    const thread = startThread(script, { maxHeapMb: MAX_HEAP_MB })
    thread.on('message', (answer: SchemaAnswer) => {
      isStarted = true
      settle(({ resolve }) => resolve(answer))
    })
    thread.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ERR_WORKER_OUT_OF_MEMORY')
        return fail('it takes too much memory to check')
      endThread()
      settle(({ reject }) => reject(error))
    })
    // This comes last, because adding a listener would undo it. The timer of an open question keeps the process alive.
    thread.unref()
    return thread
  }

  function askNext(): void {
    const next = waiting.shift()
    if (next === undefined) return
    worker ??= start()
    const limitMs = isStarted ? timeoutMs : START_TIMEOUT_MS
    const timer = setTimeout(() => fail('it takes too long to check'), limitMs)
    asked = { waiting: next, timer }
    worker.postMessage(next.question)
  }

  return {
    start() {
      worker ??= start()
    },
    check: (schema, value) =>
      new Promise((resolve, reject) => {
        if (isClosed || waiting.length >= MAX_WAITING) {
          resolve({ ok: false, fault: 'busy', message: 'too many schemas wait to be checked' })
          return
        }
        waiting.push({ question: { schema, value }, resolve, reject })
        if (asked === undefined) askNext()
      }),
    async close() {
      isClosed = true
      const ended = worker
      while (asked !== undefined) fail('the service is stopping')
      await ended?.terminate()
    },
  }
}
