import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { type LoopTurns, watchTurns } from './loop-turns.js'

/** A process that does nothing but watch its event loop: what it sees is the machine, not the server. */
export interface IdleProcess {
  /** Since the last look. */
  turns(): Promise<LoopTurns>
  stop(): Promise<void>
}

/** Starts this file as a process of its own. */
export async function startIdleProcess(): Promise<IdleProcess> {
  const script = new URL(import.meta.url).pathname
  const idle = spawn(process.execPath, ['--import', 'tsx', script, 'watch'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const lines = createInterface(idle.stdout)
  async function turns(): Promise<LoopTurns> {
    const told = once(lines, 'line')
    idle.stdin.write('turns\n')
    const [line] = (await told) as [string]
    return JSON.parse(line)
  }
  await turns()
  return {
    turns,
    async stop() {
      const exited = once(idle, 'exit')
      idle.stdin.end()
      await exited
    },
  }
}

if (process.argv[1] === new URL(import.meta.url).pathname && process.argv[2] === 'watch') {
  const readTurns = watchTurns()
  for await (const _ of createInterface(process.stdin))
    process.stdout.write(`${JSON.stringify(readTurns())}\n`)
  process.exit()
}
