import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Block } from './page.js'

/** Runs a block of commands to its end. Rejects with what it printed if it fails. */
export async function run(command: string, cwd: string, env: Record<string, string> = {}) {
  const { child, printed } = start(command, cwd, env)
  const code = await new Promise<number | null>((resolve) => child.once('exit', resolve))
  if (code !== 0) throw new Error(`${command.trim()} ended with ${code}:\n${printed()}`)
  return printed()
}

/** Starts a command that goes on; `stop` ends it with all that it started. */
export function start(command: string, cwd: string, env: Record<string, string> = {}) {
  const child = spawn('sh', ['-e', '-c', command], {
    cwd,
    env: { ...ownEnv(), ...env },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let text = ''
  child.stdout.on('data', (chunk) => {
    text += chunk
  })
  child.stderr.on('data', (chunk) => {
    text += chunk
  })
  return { child, printed: () => text, stop: () => stop(child) }
}

/** The environment of a person's terminal: the test runner adds settings of its own, such as BASE_URL. */
function ownEnv(): Record<string, string> {
  const isKept = (name: string) => ['PATH', 'HOME', 'TMPDIR'].includes(name) || /^npm_/i.test(name)
  return Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) =>
      isKept(name) && value !== undefined ? [[name, value]] : [],
    ),
  )
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.pid === undefined) return
  const group = -child.pid
  process.kill(group, 'SIGTERM')
  await until(
    () => !isAlive(group),
    () => 'a command goes on after SIGTERM',
    20_000,
  ).catch(() => process.kill(group, 'SIGKILL'))
}

/** Whether any process of a group lives. */
function isAlive(group: number): boolean {
  try {
    return process.kill(group, 0)
  } catch {
    return false
  }
}

/** An empty folder with the files of a section. */
export function openFolder(blocks: readonly Block[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'quickstart-'))
  for (const block of blocks) {
    if (block.kind !== 'file') continue
    const path = join(folder, block.name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, block.text)
  }
  return folder
}

export function removeFolder(folder: string): Promise<void> {
  return rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 })
}

/** Resolves once the condition holds. Throws with `describe()` after the time given. */
export async function until(
  isTrue: () => Promise<boolean> | boolean,
  describe: () => string,
  ms = 90_000,
): Promise<void> {
  const deadline = Date.now() + ms
  while (!(await isTrue())) {
    if (Date.now() > deadline) throw new Error(describe())
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
}

export async function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}
