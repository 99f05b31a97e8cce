import { parentPort, type TransferListItem, workerData } from 'node:worker_threads'
import { createDiscoveryAnswers } from './discovery/answers.js'
import type { ThreadData, ThreadQuestion, ThreadWord } from './discovery/answers-thread.js'
import { createCatalogIndex } from './discovery/catalog-index.js'
import { createCatalogSearch } from './discovery/catalog-search.js'
import { createTurns, createUrgency, processClock } from './discovery/turns.js'
import { openListingReader } from './store/open-listing-reader.js'
import { StoreUnavailableError } from './store/store-unavailable.js'
import { lowerThreadPriority } from './store/thread.js'

/** The thread of `createThreadedAnswers`: reads the database over a connection of its own. */
const { source: from, urgency } = workerData as ThreadData
lowerThreadPriority()
const source = await openListingReader(from)
const turns = createTurns(processClock, createUrgency(processClock, urgency))
const index = createCatalogIndex({
  source,
  turns,
  onFault: (error) => say({ kind: 'fault', error }),
  onBuilt: () => say({ kind: 'figures', figures: index.figures() }),
})
const search = createCatalogSearch(turns)
const answers = createDiscoveryAnswers({ index, search, items: source, turns })

parentPort?.on('message', (asked: ThreadQuestion) => {
  if (asked === 'stop') void stop()
  else void answer(asked)
})
answers.start()

async function answer({ id, question, sequence }: Exclude<ThreadQuestion, 'stop'>): Promise<void> {
  try {
    const made = await answers.answer(question, sequence)
    // Bodies are handed over, not copied; small ones share their memory with others and cannot be.
    const { buffer, byteLength } = made.state === 'made' ? made.body.bytes : new Uint8Array()
    const isOwn = buffer instanceof ArrayBuffer && buffer.byteLength === byteLength
    const word: ThreadWord = { kind: 'answer', id, answer: made, figures: index.figures() }
    say(word, isOwn ? [buffer] : [])
  } catch (error) {
    say({ kind: 'failed', id, error, isUnavailable: error instanceof StoreUnavailableError })
  }
}

function say(word: ThreadWord, transfer: TransferListItem[] = []): void {
  parentPort?.postMessage(word, transfer)
}

async function stop(): Promise<void> {
  await answers.stop()
  await source.close()
  parentPort?.close()
}
