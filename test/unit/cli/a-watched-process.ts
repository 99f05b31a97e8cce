import { watchNpm } from '../../../src/cli/command-line.js'

/** Says its own number, and ends once whatever started it as npm does is gone. */
const timer = setInterval(() => {}, 1_000)
watchNpm(() => {
  clearInterval(timer)
  process.stdout.write('gone\n')
})
process.stdout.write(`up ${process.pid}\n`)
