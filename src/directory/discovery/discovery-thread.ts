import { parentPort, type TransferListItem, workerData } from 'node:worker_threads'
import { StoreUnavailableError } from '../../sql/errors.js'
import { openReader } from '../../sql/sqlite/database.js'
import { createSqlReader } from '../../sql/sqlite/sql.js'
import type { ListingReader } from '../store/listings.js'
import { createListingReader } from '../store/sql/listing-reader.js'
import { createDiscoveryAnswers } from './answers.js'
import type { ThreadData, ThreadMessage, ThreadQuestion } from './answers-thread.js'
import { createCatalog } from './catalog.js'

/** The thread of `createThreadedAnswers`. It reads the database over a connection of its own. */
const { source: place } = workerData as ThreadData
const source = await openListings(place)
const catalog = createCatalog({
  source,
  onFault: (error) => post({ kind: 'fault', error }),
  onRead: () => post({ kind: 'figures', figures: catalog.figures() }),
})
const answers = createDiscoveryAnswers({ catalog, items: source })

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

/** Opens listings in a file, or on a server by its URL. */
async function openListings(place: string): Promise<ListingReader & { close(): Promise<void> }> {
  if (/^postgres(ql)?:/.test(place)) {
    // The driver takes a dozen megabytes, so it is imported only if it is used.
    const { openDatabase } = await import('../../sql/postgres/database.js')
    const { createSqlReader: readPostgres } = await import('../../sql/postgres/sql.js')
    // One connection reads the whole catalog; the other may answer meanwhile.
    const database = openDatabase({ url: place, poolSize: 2 })
    return { ...createListingReader(readPostgres(database)), close: database.close }
  }
  const database = openReader(place)
  const close = async () => void database.close()
  return { ...createListingReader(createSqlReader(database)), close }
}
