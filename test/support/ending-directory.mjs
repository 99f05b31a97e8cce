// Loaded before the service, and into each of its threads. SIGUSR2 ends the thread of the directory at any moment. In the
// folder DIRECTORY_FAULTS, a file `away` keeps it from starting again, and a file `full` makes it fill its heap, which has
// DIRECTORY_HEAP_MB where that is set.
import { existsSync, rmSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import threads from 'node:worker_threads'

const LOOK_MS = 20
const folder = String(process.env.DIRECTORY_FAULTS)
const heapMb = Number(process.env.DIRECTORY_HEAP_MB ?? 0)
const [away, full] = [join(folder, 'away'), join(folder, 'full')]

if (threads.isMainThread) watchOver()
else if (threads.workerData?.socketPath !== undefined) await misbehave()

function watchOver() {
  const { Worker } = threads
  let directory
  threads.Worker = class extends Worker {
    constructor(script, options) {
      const isDirectory = String(script).includes('directory-thread')
      const { resourceLimits } = options
      const limits = { ...resourceLimits, maxOldGenerationSizeMb: heapMb }
      super(script, isDirectory && heapMb > 0 ? { ...options, resourceLimits: limits } : options)
      if (isDirectory) directory = this
    }
  }
  syncBuiltinESMExports()
  process.on('SIGUSR2', () => void directory?.terminate())
}

async function misbehave() {
  while (existsSync(away)) await sleep(LOOK_MS)
  const timer = setInterval(() => {
    if (!existsSync(full)) return
    rmSync(full)
    for (const kept = []; ; ) kept.push(new Array(10_000).fill(kept))
  }, LOOK_MS)
  timer.unref()
}
