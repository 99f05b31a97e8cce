import type { Worker } from 'node:worker_threads'
import type { CachedBody } from '../http/cached-reply.js'
import { StoreUnavailableError } from '../store/store-unavailable.js'
import { startThread } from '../store/thread.js'
import type { Answer, DiscoveryAnswers, Question } from './answers.js'
import type { IndexFigures } from './catalog-index.js'
import { createUrgency, processClock } from './turns.js'

export interface ThreadedAnswersOptions {
  /** The script of the thread. */
  script: URL
  /** The database, which it reads by itself, as of `openListingReader`. */
  source: string
  /** Told what went wrong on the thread, which goes on or is started again. */
  onFault: (error: unknown) => void
  /** Answers here what takes less than asking the thread, as of its call; not while something more urgent is done. */
  answerHere?: (question: Question) => Promise<CachedBody | undefined>
}

/** What the thread finds in `workerData`. */
export interface ThreadData {
  source: string
  /** Of `createUrgency`. */
  urgency: SharedArrayBuffer
}

/** To the thread; `stop` is the last one. */
export type ThreadQuestion =
  | { id: number; question: Question; sequence: number | undefined }
  | 'stop'

/** From the thread; figures travel with each answer and after each build. */
export type ThreadWord =
  | { kind: 'answer'; id: number; answer: Answer; figures: IndexFigures }
  /** An error loses its class on the way. */
  | { kind: 'failed'; id: number; error: unknown; isUnavailable: boolean }
  | { kind: 'figures'; figures: IndexFigures }
  | { kind: 'fault'; error: unknown }

interface Waiting {
  resolve(answer: Answer): void
  reject(error: unknown): void
}

/** A million endpoints take a fifth of it; the large tables lie outside of it. */
const MAX_HEAP_MB = 4_096
const MAX_WAITING = 500
const RESTART_MS = 1_000
const STOP_MS = 2_000

function toError({ error, isUnavailable }: ThreadWord & { kind: 'failed' }): unknown {
  return isUnavailable ? new StoreUnavailableError((error as Error).message) : error
}

/**
 * The same answers, made on a thread of its own: neither reading a catalog of a million endpoints nor a storm of
 * searches, nor the garbage of either, holds up a payment. While the thread starts anew it is as at the start: loading.
 */
export function createThreadedAnswers(options: ThreadedAnswersOptions): DiscoveryAnswers {
  const { script, source, onFault, answerHere } = options
  const shared = new SharedArrayBuffer(8)
  const urgency = createUrgency(processClock, shared)
  const waiting = new Map<number, Waiting>()
  let figures: IndexFigures = { endpoints: 0, changed: 0, buildSeconds: 0 }
  let thread: Worker | undefined
  let restart: NodeJS.Timeout | undefined
  let isStopped = false
  let lastId = 0

  function start(): void {
    const data: ThreadData = { source, urgency: shared }
    const started = startThread(script, { maxHeapMb: MAX_HEAP_MB, data })
    thread = started
    started.on('message', hear)
    started.on('error', onFault)
    started.once('exit', () => {
      thread = undefined
      figures = { ...figures, endpoints: 0, changed: 0 }
      for (const { resolve } of waiting.values()) resolve({ state: 'loading' })
      waiting.clear()
      if (!isStopped) restart = setTimeout(start, RESTART_MS)
    })
    // Last: a listener takes it back. The server keeps the process while anybody can ask.
    started.unref()
  }

  function hear(word: ThreadWord): void {
    if (word.kind === 'answer' || word.kind === 'figures') figures = word.figures
    if (word.kind === 'fault') onFault(word.error)
    if (word.kind === 'answer') takeWaiting(word.id)?.resolve(word.answer)
    if (word.kind === 'failed') takeWaiting(word.id)?.reject(toError(word))
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
      if (sequence !== undefined && !urgency.isRaised()) {
        const body = await answerHere?.(question)
        if (body !== undefined) return { state: 'made', body, sequence }
      }
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
