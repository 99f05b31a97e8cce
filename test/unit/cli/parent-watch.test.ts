import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect, it, type TestContext } from 'vitest'

const script = fileURLToPath(new URL('a-watched-process.ts', import.meta.url))
const command = `"${process.execPath}" --import tsx "${script}"`

/** Starts a process and gives its lines one by one, those of its children among them. */
function start(file: string, args: string[], env: NodeJS.ProcessEnv = {}, detached = false) {
  const child = spawn(file, args, {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
    detached,
  })
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream })
  const waiting = lines[Symbol.asyncIterator]()
  const next = async () => (await waiting.next()).value as string | undefined
  return { child, next }
}

/** Ends a process or a group with the test, whatever becomes of it. */
function endWithTest({ onTestFinished }: TestContext, pid: number): void {
  onTestFinished(() => {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // It has ended, as it should.
    }
  })
}

async function isUp(test: TestContext, next: () => Promise<string | undefined>): Promise<void> {
  endWithTest(test, Number(/^up (\d+)$/.exec((await next()) ?? '')?.[1]))
}

it.concurrent.for<[string, (npm: ChildProcess, shell: number) => unknown]>([
  ['npm', (npm) => npm.kill('SIGKILL')],
  ['the shell between', (_npm, shell) => process.kill(shell, 'SIGKILL')],
])('a process that npm started ends when %s is killed', async ([, kill], test) => {
  // npm starts a shell, which starts the command. The `true` behind it keeps a shell from replacing itself.
  const outer = `sh -c 'echo $$; ${command}; true'; true`
  const { child, next } = start('sh', ['-c', outer])
  const shell = Number(await next())
  await isUp(test, next)
  kill(child, shell)
  expect(await next()).toBe('gone')
})

it.concurrent('a process that npm started goes on when the parent of npm is gone, and ends with npm', async (test) => {
  const npm = `process.title = 'npm start'
    console.log(process.pid)
    require('node:child_process').spawn('sh', ['-c', process.env.COMMAND], { stdio: 'inherit' })`
  const login = ['-c', `"${process.execPath}" -e "$NPM"; true`]
  const { child, next } = start('sh', login, { NPM: npm, COMMAND: `${command}; true` })
  const npmId = Number(await next())
  await isUp(test, next)
  child.kill('SIGKILL')
  await once(child, 'exit')
  const gone = next()
  // Twice the time in which it looks.
  const wait = new Promise<string>((resolve) => setTimeout(() => resolve('still there'), 1_200))
  expect(await Promise.race([gone, wait])).toBe('still there')
  process.kill(npmId, 'SIGKILL')
  expect(await gone).toBe('gone')
})

/** Starts npm in a process group of its own, as a terminal or a supervisor does, whose command begins after a moment. */
function startSlowly(test: TestContext, shellGone = false) {
  const npm = `process.title = 'npm start'
    const { spawn } = require('node:child_process')
    const shell = spawn('sh', ['-c', process.env.COMMAND], { stdio: 'inherit' })
    console.log(shell.pid)`
  const COMMAND = `echo begun; sleep 1; ${command}; true`
  const env = { COMMAND: shellGone ? `(${COMMAND}) & wait` : COMMAND }
  const { child, next } = start(process.execPath, ['-e', npm], env, true)
  endWithTest(test, -(child.pid as number))
  /** Resolves with the id of the shell, once what it runs has begun. */
  async function begun(): Promise<number> {
    const said = [await next(), await next()]
    return Number(said.find((line) => line !== 'begun'))
  }
  return { child, next, begun }
}

it.concurrent.for([false, true])(
  'a process ends at once when npm was gone before it began, its shell %s as well',
  async (shellGone, test) => {
    const { child, next, begun } = startSlowly(test, shellGone)
    const shell = await begun()
    child.kill('SIGKILL')
    if (shellGone) process.kill(shell, 'SIGKILL')
    const said = [await next(), await next()]
    expect(said).toContain('gone')
  },
)

it.concurrent('a process in a group of its own goes on while npm is there', async (test) => {
  const { next, begun } = startSlowly(test)
  await begun()
  await isUp(test, next)
  const wait = new Promise<string>((resolve) => setTimeout(() => resolve('still there'), 1_200))
  expect(await Promise.race([next(), wait])).toBe('still there')
})
