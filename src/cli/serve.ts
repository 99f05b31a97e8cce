import { existsSync } from 'node:fs'
import { isRunByNpm, watchNpm } from './command-line.js'

if (isRunByNpm('cli/serve')) watchNpm(() => process.kill(process.pid, 'SIGTERM'))
// Variables that are already in the environment take precedence over the file.
if (existsSync('.env')) process.loadEnvFile('.env')
await import('../main.js')
