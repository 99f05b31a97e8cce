import { startServer, type TestServer } from '../../support/a-server.js'

/** A proxy between the service and its node. */
export interface NodeProxy {
  /** Starts the proxy and returns its URL, which the service uses as that of its node. */
  between(chainUrl: string): Promise<string>
  /** False makes it drop every call, like a node that is gone. */
  isUp: boolean
  stop(): Promise<void> | undefined
}

export function createNodeProxy(): NodeProxy {
  let server: TestServer | undefined
  const proxy: NodeProxy = {
    isUp: true,
    async between(chainUrl) {
      server = await startServer(async (request, response) => {
        if (!proxy.isUp) return void request.socket.destroy()
        const chunks: Buffer[] = []
        for await (const chunk of request) chunks.push(chunk)
        const headers = { 'content-type': 'application/json' }
        const body = Buffer.concat(chunks)
        const answer = await fetch(chainUrl, { method: 'POST', headers, body })
        response.writeHead(answer.status, headers)
        response.end(await answer.text())
      })
      return server.url
    },
    stop: () => server?.close(),
  }
  return proxy
}
