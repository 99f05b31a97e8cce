import { isRunByNpm, loadEnvFile, watchNpm } from './command-line.js'

if (isRunByNpm('cli/serve')) watchNpm(() => process.kill(process.pid, 'SIGTERM'))
loadEnvFile()
await import('../main.js')
