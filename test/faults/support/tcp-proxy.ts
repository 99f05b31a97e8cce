import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A TCP connection in between, which can swallow everything without closing, as a broken network does. */
export interface TcpProxy {
  port: number
  /** Swallows what comes over the connections of this moment and over new ones. Returns how to let new ones through. */
  swallow(): () => void
  close(): Promise<void>
}

/** Listens on a port of its own, or on `listenPort`, and forwards to `port`. */
export async function startTcpProxy(port: number, listenPort = 0): Promise<TcpProxy> {
  const sockets = new Set<Socket>()
  const pairs = new Set<{ isSwallowed: boolean }>()
  let isSwallowing = false
  const server = createServer((from) => {
    const to = connect(port, '127.0.0.1')
    const pair = { isSwallowed: isSwallowing }
    pairs.add(pair)
    for (const [one, other] of [
      [from, to],
      [to, from],
    ] as const) {
      sockets.add(one)
      one.on('data', (bytes) => {
        if (!pair.isSwallowed) other.write(bytes)
      })
      one.on('error', () => {})
      // Nobody hears of the end of a connection whose packets are lost.
      one.on('close', () => {
        sockets.delete(one)
        if (!pair.isSwallowed) other.destroy()
      })
    }
  }).listen(listenPort, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    swallow() {
      isSwallowing = true
      for (const pair of pairs) pair.isSwallowed = true
      return () => {
        isSwallowing = false
      }
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
