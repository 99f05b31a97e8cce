import { type ChildProcess, spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'

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

/**
 * A shell that keeps the numbers of the supervised processes and kills them once its input is closed. The system closes
 * it however this process ends, so that not even SIGKILL leaves one of them behind.
 */
const guardScript = `
trap '' HUP INT TERM
ids=
while read -r change id; do
  rest=
  for it in $ids; do [ "$it" = "$id" ] || rest="$rest $it"; done
  [ "$change" = add ] && rest="$rest $id"
  ids=$rest
done
[ -n "$ids" ] && kill -KILL $ids 2>/dev/null
exit 0`

let guard: ChildProcess | undefined

/** Supervises a spawned process, which ends with this process at the latest, however this one ends. */
export function superviseChild(child: ChildProcess, graceMs: number): Child {
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  tellGuard('add', child.pid)
  const exited = new Promise<ChildExit>((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }))
    child.once('error', () => resolve({ code: null, signal: null }))
  })
  void exited.then(() => {
    process.removeListener('exit', kill)
    tellGuard('remove', child.pid)
  })
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

function tellGuard(change: 'add' | 'remove', pid: number | undefined): void {
  if (pid === undefined) return
  guard ??= startGuard()
  guard.stdin?.write(`${change} ${pid}\n`)
}

/** Starts the guard in a process group of its own, so that Ctrl-C does not reach it. A system without a shell has none. */
function startGuard(): ChildProcess {
  const shell = spawn('sh', ['-c', guardScript], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  })
  shell.on('error', () => {})
  shell.stdin?.on('error', () => {})
  shell.unref()
  ;(shell.stdin as Socket | null)?.unref()
  return shell
}

/** Below the ports of outgoing connections, because one of those can be taken before the server listens on it. */
const LOWEST_PORT = 20_000
const PORTS = 12_000
const MAX_TRIES = 100

/**
 * Finds a TCP port that nobody listens on. Until this process ends no other call finds it, in any process: a server that
 * stops and starts again finds its port free.
 */
export async function freePort(host = '127.0.0.1'): Promise<number> {
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const port = LOWEST_PORT + randomInt(PORTS)
    if ((await claim(port, host)) && (await problemWith(port, host)) === undefined) return port
  }
  throw new PortTakenError(`No port from ${LOWEST_PORT} to ${LOWEST_PORT + PORTS - 1} is free.`)
}

/** Holds the UDP port of the same number, which the system gives to one process and takes back when that one ends. */
async function claim(port: number, host: string): Promise<boolean> {
  const socket = createSocket('udp4').unref()
  try {
    socket.bind({ port, address: host, exclusive: true })
    await once(socket, 'listening')
    return true
  } catch {
    socket.close()
    return false
  }
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
