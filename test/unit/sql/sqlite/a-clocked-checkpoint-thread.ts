import { BroadcastChannel, parentPort } from 'node:worker_threads'

/** The thread of checkpoints by the clock of a test: it checks the log once for each time that it is told, and reports that. */
const clock = new BroadcastChannel('the clock of checkpoints')
clock.unref()
let now = 0
let check = () => {}
performance.now = () => now
Object.assign(globalThis, {
  setInterval: (run: () => void) => {
    check = run
  },
})
clock.onmessage = ({ data }) => {
  now = data as number
  check()
  // Its report comes after all that it says by itself.
  parentPort?.postMessage({ kind: 'fault', error: `checked at ${now}` })
}

await import('../../../../src/sql/sqlite/checkpoint-thread.js')
