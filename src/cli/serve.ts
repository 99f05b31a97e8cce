import { defineCommand, isRunByNpm, watchNpm } from './command-line.js'

const help = `arcus serve

Runs the service with the settings of the environment, and of .env if there is one. .env.example explains each of them.`

export const command = defineCommand(help, {}, async () => {
  if (isRunByNpm()) watchNpm(() => process.kill(process.pid, 'SIGTERM'))
  await import('../main.js')
})
