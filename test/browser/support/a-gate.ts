import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A door between the service and its node. */
export interface Gate {
  /** What the service is told as its node's address. */
  between(chainUrl: string): Promise<string>
  /** Closed, it drops every call as a node that is gone. */
  isOpen: boolean
  stop(): void
}

export function createGate(): Gate {
  let target = ''
  const server = createServer(async (request, response) => {
    if (!gate.isOpen) return void request.socket.destroy()
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
  const gate: Gate = {
    isOpen: true,
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
  return gate
}
