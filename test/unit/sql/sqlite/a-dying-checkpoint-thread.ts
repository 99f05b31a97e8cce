import { parentPort } from 'node:worker_threads'

/** Asks for a moment without commits, and dies in it. */
parentPort?.postMessage({ kind: 'ready' })
parentPort?.postMessage({ kind: 'hold' })
parentPort?.on('message', () => process.exit(1))
