import type { ChildProcess } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/** A problem that keeps the devnet from running, as one sentence for the terminal. */
export class DevnetError extends Error {
  override name = 'DevnetError'
}

/** A port that another program holds already. */
export class PortTakenError extends DevnetError {
  override name = 'PortTakenError'
}

export type ChildExit = { code: number | null; signal: NodeJS.Signals | null }

export type Child = {
  /** Sends SIGTERM, and SIGKILL after the grace period. Resolves once the process is gone. */
  stop(): Promise<void>
  /** Resolves when the process ends for any reason, also when it could not be started. */
  exited: Promise<ChildExit>
  isGone(): boolean
}

/** Supervises a spawned process, which ends with this process at the latest, unless this one is killed by SIGKILL. */
export function superviseChild(child: ChildProcess, graceMs: number): Child {
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  const exited = new Promise<ChildExit>((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }))
    child.once('error', () => resolve({ code: null, signal: null }))
  })
  void exited.then(() => process.removeListener('exit', kill))
  const isGone = () =>
    child.pid === undefined || child.exitCode !== null || child.signalCode !== null
  const stop = async () => {
    if (isGone()) return
    const force = setTimeout(kill, graceMs)
    child.kill('SIGTERM')
    await exited
    clearTimeout(force)
  }
  return { stop, exited, isGone }
}

/** Below the ports of outgoing connections, because one of those can be taken before the server listens on it. */
const LOWEST_PORT = 20_000
const PORTS = 12_000
const MAX_TRIES = 100

/** Finds a TCP port that nobody listens on at this moment. */
export async function freePort(host = '127.0.0.1'): Promise<number> {
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const port = LOWEST_PORT + randomInt(PORTS)
    if ((await problemWith(port, host)) === undefined) return port
  }
  throw new PortTakenError(`No port from ${LOWEST_PORT} to ${LOWEST_PORT + PORTS - 1} is free.`)
}

/** Rejects with a `PortTakenError` that names the port, its purpose and a remedy, such as another `--port`. */
export async function requireFreePort(
  port: number,
  purpose: string,
  host = '127.0.0.1',
  hint = 'stop the program that holds it or choose another port.',
): Promise<void> {
  const error = await problemWith(port, host)
  if (error === undefined) return
  throw new PortTakenError(`Port ${port} for ${purpose} is ${reasonOf(error)}: ${hint}`, {
    cause: error,
  })
}

/** Returns the error of listening on a port; `undefined` when it is free. */
async function problemWith(port: number, host: string): Promise<unknown> {
  const server = createServer().listen(port, host)
  try {
    await once(server, 'listening')
  } catch (error) {
    return error
  }
  server.close()
  await once(server, 'close')
  return undefined
}

function reasonOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code === 'EACCES') return 'not allowed to this user'
  return 'already taken'
}
