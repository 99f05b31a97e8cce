import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { PortTakenError } from './devnet-error.js'

/** Below the ports that systems give to outgoing connections: one of those can be taken before it is listened on. */
const LOWEST_PORT = 20_000
const PORTS = 12_000
const MAX_TRIES = 100

/** A TCP port nobody listens on at this moment. */
export async function freePort(host = '127.0.0.1'): Promise<number> {
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const port = LOWEST_PORT + randomInt(PORTS)
    if ((await problemWith(port, host)) === undefined) return port
  }
  throw new PortTakenError(`No port from ${LOWEST_PORT} to ${LOWEST_PORT + PORTS - 1} is free.`)
}

/** Rejects with a `PortTakenError` that names the port and what it was meant for (`--port` and the like in `hint`). */
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

/** Why nobody can listen there; `undefined` when somebody can. */
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
