import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface TestServer {
  url: string
  port: number
  /** How many connections were made, whether or not anything came over them. */
  connections(): number
  /** Ends the connections too. */
  close(): Promise<void>
}

/** Starts a server on loopback; on all of its addresses with the host `0.0.0.0`. */
export async function startServer(
  answer: RequestListener,
  host = '127.0.0.1',
): Promise<TestServer> {
  let connections = 0
  const server = createServer({ maxHeaderSize: 65_536 }, answer)
  server.on('connection', () => connections++)
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    connections: () => connections,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
