import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setPriority } from 'node:os'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

/** A process that answers each line with a line of JSON. */
export interface Child {
  ask<Answer>(question: unknown): Promise<Answer>
  stop(): Promise<void>
}

/** Starts a script of this folder as a process of its own. `niceness` above 0 lets all others have the processor first. */
export function startChild(script: URL, { niceness = 0 } = {}): Child {
  const child = spawn(process.execPath, ['--import', 'tsx', fileURLToPath(script), 'child'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  if (niceness !== 0 && child.pid !== undefined) setPriority(child.pid, niceness)
  const exited = once(child, 'exit')
  const lines = createInterface(child.stdout)
  return {
    async ask<Answer>(question: unknown): Promise<Answer> {
      const answered = once(lines, 'line')
      child.stdin.write(`${JSON.stringify(question)}\n`)
      const gone = exited.then(() => Promise.reject(new Error(`${script.pathname} ended early`)))
      const [line] = (await Promise.race([answered, gone])) as [string]
      return JSON.parse(line)
    },
    async stop() {
      child.stdin.end()
      await exited
    },
  }
}

/** Whether this process was started by `startChild` with that script. */
export function isChild(script: string): boolean {
  return process.argv[1] === fileURLToPath(script) && process.argv[2] === 'child'
}

/** Answers the lines of the process that started this one, one after another, and ends with it. */
export async function answerLines(answer: (question: never) => Promise<unknown>): Promise<never> {
  for await (const line of createInterface(process.stdin)) {
    const answered = await answer(JSON.parse(line) as never)
    process.stdout.write(`${JSON.stringify(answered ?? null)}\n`)
  }
  process.exit()
}
