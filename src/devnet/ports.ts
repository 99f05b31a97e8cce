import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { PortTakenError } from './devnet-error.js'

/** A TCP port nobody listens on at this moment. */
export async function freePort(host = '127.0.0.1'): Promise<number> {
  const server = createServer().listen(0, host)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** Rejects with a `PortTakenError` that names the port and what it was meant for (`--port` and the like in `hint`). */
export async function requireFreePort(
  port: number,
  purpose: string,
  host = '127.0.0.1',
  hint = 'stop the program that holds it or choose another port.',
): Promise<void> {
  const server = createServer().listen(port, host)
  try {
    await once(server, 'listening')
  } catch (error) {
    throw new PortTakenError(`Port ${port} for ${purpose} is ${reasonOf(error)}: ${hint}`, {
      cause: error,
    })
  }
  server.close()
  await once(server, 'close')
}

function reasonOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code === 'EACCES') return 'not allowed to this user'
  return 'already taken'
}
