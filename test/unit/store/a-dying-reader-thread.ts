import { parentPort } from 'node:worker_threads'
import type { ReadQuestion } from '../../../src/sql/sqlite/reader.js'

/** Dies of one question, and answers any other. */
parentPort?.on('message', (question: ReadQuestion | 'stop') => {
  if (question === 'stop') parentPort?.close()
  else if (question.text === 'die') process.exit(1)
  else parentPort?.postMessage({ id: question.id, rows: [{ one: 1 }] })
})
