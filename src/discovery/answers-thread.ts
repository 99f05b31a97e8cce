import type { Worker } from 'node:worker_threads'
import { StoreUnavailableError } from '../store/errors.js'
import { startThread } from '../store/thread.js'
import type { Answer, DiscoveryAnswers, Question } from './answers.js'
import type { CatalogFigures } from './catalog-reader.js'
import { createUrgency } from './pace.js'

export interface ThreadedAnswersOptions {
  /** The script of the thread. */
  script: URL
  /** The database, which the thread opens with `openListingReader`. */
  source: string
  /** Receives what went wrong on the thread. It goes on, or it is started again. */
  onFault: (error: unknown) => void
}

/** What the thread finds in `workerData`. */
export interface ThreadData {
  source: string
  /** The memory of `createUrgency`. */
  urgency: SharedArrayBuffer
}

/** A message to the thread; `stop` is the last one. */
export type ThreadQuestion =
  | { id: number; question: Question; sequence: number | undefined }
  | 'stop'

/** A message from the thread. Figures come with each answer, and when the catalog is read. */
export type ThreadMessage =
  | { kind: 'answer'; id: number; answer: Answer; figures: CatalogFigures }
  /** An error loses its class between threads. */
  | { kind: 'failed'; id: number; error: unknown; isUnavailable: boolean }
  | { kind: 'figures'; figures: CatalogFigures }
  | { kind: 'fault'; error: unknown }

interface Waiting {
  resolve(answer: Answer): void
  reject(error: unknown): void
}

/** A catalog of a million endpoints takes about a quarter of it. */
const MAX_HEAP_MB = 4_096
const MAX_WAITING = 500
const RESTART_MS = 1_000
const STOP_MS = 2_000

function toError({ error, isUnavailable }: ThreadMessage & { kind: 'failed' }): unknown {
  return isUnavailable ? new StoreUnavailableError((error as Error).message) : error
}

/**
 * Creates answers that are made on a thread of their own, so that neither reading a catalog of a million endpoints nor
 * a storm of searches holds up a payment. A thread that dies is started again, and until it has read the catalog the
 * state is `loading`.
 */
export function createThreadedAnswers(options: ThreadedAnswersOptions): DiscoveryAnswers {
  const { script, source, onFault } = options
  const shared = new SharedArrayBuffer(8)
  const urgency = createUrgency(shared)
  const waiting = new Map<number, Waiting>()
  let figures: CatalogFigures = { endpoints: 0, readSeconds: 0 }
  let thread: Worker | undefined
  let restart: NodeJS.Timeout | undefined
  let isStopped = false
  let lastId = 0

  function start(): void {
    const data: ThreadData = { source, urgency: shared }
    const started = startThread(script, { maxHeapMb: MAX_HEAP_MB, data })
    thread = started
    started.on('message', onMessage)
    started.on('error', onFault)
    started.once('exit', () => {
      thread = undefined
      figures = { ...figures, endpoints: 0 }
      for (const { resolve } of waiting.values()) resolve({ state: 'loading' })
      waiting.clear()
      if (!isStopped) restart = setTimeout(start, RESTART_MS)
    })
    // The server keeps the process alive. This comes last, because adding a listener would undo it.
    started.unref()
  }

  function onMessage(message: ThreadMessage): void {
    if (message.kind === 'answer' || message.kind === 'figures') figures = message.figures
    if (message.kind === 'fault') onFault(message.error)
    if (message.kind === 'answer') takeWaiting(message.id)?.resolve(message.answer)
    if (message.kind === 'failed') takeWaiting(message.id)?.reject(toError(message))
  }

  function takeWaiting(id: number): Waiting | undefined {
    const asker = waiting.get(id)
    waiting.delete(id)
    return asker
  }

  return {
    start,
    giveWay: urgency.raise,
    figures: () => figures,
    async answer(question, sequence) {
      if (thread === undefined) return { state: 'loading' }
      if (waiting.size >= MAX_WAITING) return { state: 'busy' }
      const id = ++lastId
      const asked: ThreadQuestion = { id, question, sequence }
      const answered = new Promise<Answer>((resolve, reject) => {
        waiting.set(id, { resolve, reject })
      })
      thread.postMessage(asked)
      return answered
    },
    async stop() {
      isStopped = true
      clearTimeout(restart)
      const ending = thread
      if (ending === undefined) return
      const ended = new Promise<void>((resolve) => ending.once('exit', () => resolve()))
      ending.postMessage('stop' satisfies ThreadQuestion)
      const timer = setTimeout(() => void ending.terminate(), STOP_MS)
      await ended
      clearTimeout(timer)
    },
  }
}
