import { parentPort, type TransferListItem, workerData } from 'node:worker_threads'
import { createDiscoveryAnswers } from '../directory/discovery/answers.js'
import type {
  ThreadData,
  ThreadMessage,
  ThreadQuestion,
} from '../directory/discovery/answers-thread.js'
import { createCatalogReader } from '../directory/discovery/catalog-reader.js'
import { createPace, createUrgency } from '../directory/discovery/pace.js'
import { StoreUnavailableError } from '../sql/errors.js'
import { lowerThreadPriority } from '../sql/thread.js'
import { openListingReader } from './stores/open-stores.js'

/** The thread of `createThreadedAnswers`. It reads the database over a connection of its own. */
const { source: from, urgency } = workerData as ThreadData
lowerThreadPriority()
const source = await openListingReader(from)
const pace = createPace(createUrgency(urgency))
const catalog = createCatalogReader({
  source,
  pace,
  onFault: (error) => post({ kind: 'fault', error }),
  onRead: () => post({ kind: 'figures', figures: catalog.figures() }),
})
const answers = createDiscoveryAnswers({ catalog, items: source, pace })

parentPort?.on('message', (asked: ThreadQuestion) => {
  if (asked === 'stop') void stop()
  else void answer(asked)
})
catalog.start()

async function answer({ id, question, sequence }: Exclude<ThreadQuestion, 'stop'>): Promise<void> {
  try {
    const made = await answers.answer(question, sequence)
    // A body is handed over instead of copied. A small one shares its memory with others and cannot be.
    const { buffer, byteLength } = made.state === 'made' ? made.body.bytes : new Uint8Array()
    const isOwn = buffer instanceof ArrayBuffer && buffer.byteLength === byteLength
    post({ kind: 'answer', id, answer: made, figures: catalog.figures() }, isOwn ? [buffer] : [])
  } catch (error) {
    post({ kind: 'failed', id, error, isUnavailable: error instanceof StoreUnavailableError })
  }
}

function post(message: ThreadMessage, transfer: TransferListItem[] = []): void {
  parentPort?.postMessage(message, transfer)
}

async function stop(): Promise<void> {
  await catalog.stop()
  await source.close()
  parentPort?.close()
}
