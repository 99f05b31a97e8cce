import { parentPort, workerData } from 'node:worker_threads'
import { openDatabase } from '../../../../src/sql/sqlite/database.js'
import { createGroupCommit } from '../../../../src/sql/sqlite/group-commit.js'
import { createSecondTurns } from '../../../../src/sql/sqlite/write-turns.js'

/** What the thread does: it writes without a pause, or it stays in its first transaction. */
export interface WritingThread {
  path: string
  /** The memory of the turns. */
  shared: SharedArrayBuffer
  /** The number of transactions that it has begun. */
  begun: SharedArrayBuffer
  isStuck: boolean
}

/** The time that one of its transactions takes. */
const TRANSACTION_MS = 15

const { path, shared, begun, isStuck } = workerData as WritingThread
const count = new Int32Array(begun)
const database = openDatabase(path)
const commit = createGroupCommit(database, { turns: createSecondTurns(shared) })
const insert = database.prepare("INSERT INTO rows VALUES ('of the other thread')")

for (;;) {
  await commit.writeUnsynced(() => {
    Atomics.add(count, 0, 1)
    insert.run()
    parentPort?.postMessage('writing')
    const until = performance.now() + (isStuck ? Number.POSITIVE_INFINITY : TRANSACTION_MS)
    while (performance.now() < until);
  })
}
