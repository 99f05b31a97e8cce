import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'

const script = fileURLToPath(new URL('a-watched-process.ts', import.meta.url))
const command = `"${process.execPath}" --import tsx "${script}"`

/** Starts a process and gives its lines one by one, those of its children among them. */
function start(file: string, args: string[], env: NodeJS.ProcessEnv = {}) {
  const child = spawn(file, args, {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream })
  const waiting = lines[Symbol.asyncIterator]()
  const next = async () => (await waiting.next()).value as string | undefined
  /** Resolves with the id of the shell, once what it runs has begun. */
  async function begun(): Promise<number> {
    const said = [await next(), await next()]
    return Number(said.find((line) => line !== 'begun'))
  }
  return { child, next, begun }
}

/** Ends with the test whatever becomes of it. */
function endWithTest(pid: number): void {
  onTestFinished(() => {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // It has ended, as it should.
    }
  })
}

async function isUp(next: () => Promise<string | undefined>): Promise<number> {
  const pid = Number(/^up (\d+)$/.exec((await next()) ?? '')?.[1])
  endWithTest(pid)
  return pid
}

it.each([
  ['npm', (npm: ChildProcess, _shell: number) => npm.kill('SIGKILL')],
  ['the shell between', (_npm: ChildProcess, shell: number) => process.kill(shell, 'SIGKILL')],
])('a process that npm started ends when %s is killed', async (_, kill) => {
  // npm starts a shell, which starts the command. The `true` behind it keeps a shell from replacing itself.
  const outer = `sh -c 'echo $$; ${command}; true'; true`
  const { child, next } = start('sh', ['-c', outer])
  const shell = Number(await next())
  await isUp(next)
  kill(child, shell)
  expect(await next()).toBe('gone')
})

it('a process that npm started goes on when the parent of npm is gone, and ends with npm', async () => {
  const npm = `process.title = 'npm start'
    console.log(process.pid)
    require('node:child_process').spawn('sh', ['-c', process.env.COMMAND], { stdio: 'inherit' })`
  const login = ['-c', `"${process.execPath}" -e "$NPM"; true`]
  const { child, next } = start('sh', login, { NPM: npm, COMMAND: `${command}; true` })
  const npmId = Number(await next())
  await isUp(next)
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
function startSlowly(shellGone: boolean) {
  const npm = `process.title = 'npm start'
    const { spawn } = require('node:child_process')
    const shell = spawn('sh', ['-c', process.env.COMMAND], { stdio: 'inherit' })
    console.log(shell.pid)`
  const COMMAND = `echo begun; sleep 1; ${command}; true`
  const inner = shellGone ? `(${COMMAND}) & wait` : COMMAND
  const child = spawn(process.execPath, ['-e', npm], {
    env: { ...process.env, COMMAND: inner },
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  })
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream })
  const waiting = lines[Symbol.asyncIterator]()
  const next = async () => (await waiting.next()).value as string | undefined
  onTestFinished(() => {
    try {
      process.kill(-(child.pid as number), 'SIGKILL')
    } catch {
      // Everything in the group has ended.
    }
  })
  /** Resolves with the id of the shell, once what it runs has begun. */
  async function begun(): Promise<number> {
    const said = [await next(), await next()]
    return Number(said.find((line) => line !== 'begun'))
  }
  return { child, next, begun }
}

it.each([false, true])(
  'a process ends at once when npm was gone before it began, its shell %s as well',
  async (shellGone) => {
    const { child, next, begun } = startSlowly(shellGone)
    const shell = await begun()
    child.kill('SIGKILL')
    if (shellGone) process.kill(shell, 'SIGKILL')
    const said = [await next(), await next()]
    expect(said).toContain('gone')
  },
)

it('a process in a group of its own goes on while npm is there', async () => {
  const { next, begun } = startSlowly(false)
  await begun()
  await isUp(next)
  const wait = new Promise<string>((resolve) => setTimeout(() => resolve('still there'), 1_200))
  expect(await Promise.race([next(), wait])).toBe('still there')
})
