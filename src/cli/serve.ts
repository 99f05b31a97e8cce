import { existsSync } from 'node:fs'
import { isRunByNpm, watchNpm } from './parent-watch.js'

if (isRunByNpm('cli/serve')) watchNpm(() => process.kill(process.pid, 'SIGTERM'))
// What is already in the environment wins over the file.
if (existsSync('.env')) process.loadEnvFile('.env')
await import('../main.js')
