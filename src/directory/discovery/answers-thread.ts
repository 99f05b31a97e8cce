import { StoreUnavailableError } from '../../sql/errors.js'
import { scriptBeside, superviseThread } from '../../sql/thread.js'
import type { CatalogAnswer, CatalogQuestion, DiscoveryAnswers } from './answers.js'
import type { CatalogFigures } from './catalog.js'

interface ThreadedAnswersOptions {
  /** The script next to this module by default. For tests. */
  script?: URL
  /** The database, which the thread opens for itself. */
  source: string
  /** Receives what went wrong on the thread. It goes on, or it is started again. */
  onFault: (error: unknown) => void
}

export interface ThreadData {
  source: string
}

/** A message to the thread; `stop` is the last one. */
export type ThreadQuestion =
  | { id: number; question: CatalogQuestion; sequence: number | undefined }
  | 'stop'

/** A message from the thread. Figures come with each answer, and when the catalog is read. */
export type ThreadMessage =
  | { kind: 'answer'; id: number; answer: CatalogAnswer; figures: CatalogFigures }
  /** An error loses its class between threads. */
  | { kind: 'failed'; id: number; error: unknown; isUnavailable: boolean }
  | { kind: 'figures'; figures: CatalogFigures }
  | { kind: 'fault'; error: unknown }

interface PendingAnswer {
  resolve(answer: CatalogAnswer): void
  reject(error: unknown): void
}

/** A catalog of a million endpoints takes about a quarter of it. */
const MAX_HEAP_MB = 4_096
const MAX_WAITING = 500
const nothingRead: CatalogFigures = { endpoints: 0, readSeconds: 0 }

function toError({ error, isUnavailable }: ThreadMessage & { kind: 'failed' }): unknown {
  return isUnavailable ? new StoreUnavailableError((error as Error).message) : error
}

/**
 * Creates answers that are made on a thread of their own, so that neither reading a catalog of a million endpoints nor
 * a storm of searches holds up a payment. A thread that dies is started again, and until it has read the catalog the
 * state is `loading`.
 */
export function createThreadedAnswers(options: ThreadedAnswersOptions): DiscoveryAnswers {
  const { source, onFault } = options
  const script = options.script ?? scriptBeside(import.meta.url, 'discovery-thread')
  const waiting = new Map<number, PendingAnswer>()
  let figures = nothingRead
  let lastId = 0
  const data: ThreadData = { source }
  const thread = superviseThread<ThreadQuestion, ThreadMessage>(script, {
    maxHeapMb: MAX_HEAP_MB,
    data,
    onMessage,
    onFault,
    onEnd() {
      figures = nothingRead
      for (const { resolve } of waiting.values()) resolve({ state: 'loading' })
      waiting.clear()
    },
  })

  function onMessage(message: ThreadMessage): void {
    if (message.kind === 'answer' || message.kind === 'figures') figures = message.figures
    if (message.kind === 'fault') onFault(message.error)
    if (message.kind === 'answer') takeWaiting(message.id)?.resolve(message.answer)
    if (message.kind === 'failed') takeWaiting(message.id)?.reject(toError(message))
  }

  function takeWaiting(id: number): PendingAnswer | undefined {
    const asker = waiting.get(id)
    waiting.delete(id)
    return asker
  }

  return {
    start: thread.start,
    stop: thread.stop,
    figures: () => figures,
    async answer(question, sequence) {
      if (waiting.size >= MAX_WAITING) return { state: 'busy' }
      const id = ++lastId
      if (!thread.post({ id, question, sequence })) return { state: 'loading' }
      return new Promise<CatalogAnswer>((resolve, reject) => {
        waiting.set(id, { resolve, reject })
      })
    },
  }
}
