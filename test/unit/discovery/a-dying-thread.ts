import { parentPort } from 'node:worker_threads'

/** Tells that it is there, and dies of the first question. */
parentPort?.postMessage({
  kind: 'figures',
  figures: { endpoints: 1, changed: 0, buildSeconds: 0.5 },
})
parentPort?.on('message', () => process.exit(1))
