import { existsSync } from 'node:fs'
import { watchNpm } from './parent-watch.js'

// Whatever else npm runs hands its environment on to what it starts.
if (process.env.npm_lifecycle_script?.includes('cli/serve')) {
  watchNpm(() => process.kill(process.pid, 'SIGTERM'))
}
// What is already in the environment wins over the file.
if (existsSync('.env')) process.loadEnvFile('.env')
await import('../main.js')
