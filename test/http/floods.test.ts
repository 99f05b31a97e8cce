import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { anEdgesServer, type Edges } from './edges-server.js'

let edges: Edges | undefined
const sockets: Socket[] = []

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy()
  await edges?.app.close()
})

async function listen(options: Parameters<typeof anEdgesServer>[0]): Promise<number> {
  edges = await anEdgesServer(options)
  await edges.app.listen({ host: '127.0.0.1', port: 0 })
  return (edges.app.server.address() as { port: number }).port
}

/** A connection that reads everything it receives; `closed` resolves when it is over. */
async function dial(port: number): Promise<{ socket: Socket; closed: Promise<unknown> }> {
  const socket = connect(port, '127.0.0.1').on('error', () => {})
  sockets.push(socket)
  const closed = new Promise((resolve) => socket.once('close', resolve))
  await once(socket.resume(), 'connect')
  return { socket, closed }
}

const isWell = async (port: number) =>
  (await fetch(`http://127.0.0.1:${port}/health`, { headers: { connection: 'close' } })).status

describe('a flood of connections', () => {
  it('is bounded: those past the bound are closed at once', async () => {
    const port = await listen({ maxConnections: 20 })
    await Promise.all(Array.from({ length: 20 }, () => dial(port)))
    const late = await dial(port)
    await late.closed
    expect(sockets.filter(({ destroyed }) => !destroyed)).toHaveLength(20)
  })

  it('of idle connections makes room for callers with a request', async () => {
    const port = await listen({ maxConnections: 20 })
    const idle = await Promise.all(Array.from({ length: 20 }, () => dial(port)))
    for (const { socket } of idle) {
      socket.write('GET /health HTTP/1.1\r\nHost: x\r\n\r\n')
      await once(socket, 'data')
    }
    // The first one past the bound is turned away, and those that wait for nothing with it.
    const turnedAway = await dial(port)
    await Promise.all([turnedAway, ...idle].map(({ closed }) => closed))
    expect(await isWell(port)).toBe(200)
  })

  it('of silent or endless requests ends at the time limits of a request', async () => {
    const timeouts = { requestMs: 400, headersMs: 200, checkMs: 50 }
    const port = await listen({ maxConnections: 20, timeouts })
    const silent = await Promise.all(Array.from({ length: 10 }, () => dial(port)))
    const slow = await Promise.all(Array.from({ length: 10 }, () => dial(port)))
    for (const { socket } of slow) {
      socket.write('POST /verify HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n')
    }
    await Promise.all([...silent, ...slow].map(({ closed }) => closed))
    expect(await isWell(port)).toBe(200)
  })
})
