import type { EventEmitter } from 'node:events'
import { defineCommand, isRunByNpm, watchNpm } from './command-line.js'

const help = `arcus serve [--only facilitator|directory]

Runs the service with the settings of the environment, and of .env if there is one. .env.example explains each of them.

  --only HALF   runs the facilitator or the directory alone, over a PostgreSQL that both share, like SERVE_ONLY`

export const command = defineCommand(
  help,
  { options: { only: { type: 'string' } } },
  async (given) => {
    const { only } = given.values
    if (only !== undefined) process.env.SERVE_ONLY = only
    if (isRunByNpm()) watchNpm(endOrphan)
    await import('../main.js')
  },
)

function endOrphan(): void {
  // While nothing listens for it, nothing is open that must be closed in order.
  const isHeard = (process as EventEmitter).emit('orphaned')
  if (!isHeard) process.kill(process.pid, 'SIGTERM')
}
