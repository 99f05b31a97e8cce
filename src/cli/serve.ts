import type { EventEmitter } from 'node:events'
import { isRunByNpm, loadEnvFile, watchNpm } from './command-line.js'

if (isRunByNpm('cli/serve')) {
  watchNpm(() => {
    // While nothing listens for it, nothing is open that must be closed in order.
    const isHeard = (process as EventEmitter).emit('orphaned')
    if (!isHeard) process.kill(process.pid, 'SIGTERM')
  })
}
loadEnvFile()
await import('../main.js')
