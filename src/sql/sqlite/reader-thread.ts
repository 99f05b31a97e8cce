import { parentPort, workerData } from 'node:worker_threads'
import { openReader } from './database.js'
import type { ReadAnswer, ReadQuestion } from './reader.js'
import { createStatements } from './sql.js'

/** The thread of `createThreadedReader`: reads one statement after another over a connection of its own. */
const { file } = workerData as { file: string }
const database = openReader(file)
const { all } = createStatements(database)

parentPort?.on('message', (question: ReadQuestion | 'stop') => {
  if (question === 'stop') stop()
  else parentPort?.postMessage(answer(question))
})

function answer({ id, text, values }: ReadQuestion): ReadAnswer {
  try {
    return { id, rows: all(text, values) }
  } catch (error) {
    const { message, code } = error as { message: string; code?: string }
    return { id, message, code }
  }
}

function stop(): void {
  database.close()
  parentPort?.close()
}
