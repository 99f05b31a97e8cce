import { existsSync } from 'node:fs'
import { watchParents } from './parent-watch.js'

if (process.env.npm_lifecycle_event !== undefined) {
  watchParents(() => process.kill(process.pid, 'SIGTERM'))
}
// What is already in the environment wins over the file.
if (existsSync('.env')) process.loadEnvFile('.env')
await import('../main.js')
