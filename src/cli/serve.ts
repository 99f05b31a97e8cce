import { existsSync } from 'node:fs'
import { watchNpm } from './parent-watch.js'

if (process.env.npm_lifecycle_event !== undefined) {
  watchNpm(() => process.kill(process.pid, 'SIGTERM'))
}
// What is already in the environment wins over the file.
if (existsSync('.env')) process.loadEnvFile('.env')
await import('../main.js')
