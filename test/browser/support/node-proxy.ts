import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A proxy between the service and its node. */
export interface NodeProxy {
  /** Starts the proxy and returns its URL, which the service uses as that of its node. */
  between(chainUrl: string): Promise<string>
  /** False makes it drop every call, like a node that is gone. */
  isUp: boolean
  stop(): void
}

export function createNodeProxy(): NodeProxy {
  let target = ''
  const server = createServer(async (request, response) => {
    if (!proxy.isUp) return void request.socket.destroy()
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const answer = await fetch(target, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: Buffer.concat(chunks),
    })
    response.writeHead(answer.status, { 'content-type': 'application/json' })
    response.end(await answer.text())
  })
  const proxy: NodeProxy = {
    isUp: true,
    async between(chainUrl) {
      target = chainUrl
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    },
    stop() {
      server.close()
      server.closeAllConnections()
    },
  }
  return proxy
}
