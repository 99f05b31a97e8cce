import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Pool } from 'undici'

export interface CountingProxy {
  url: string
  /** JSON-RPC calls by method since the last `reset`; the members of a batch count one by one. */
  counts: Map<string, number>
  /** Round trips since then. */
  requests(): number
  reset(): void
  close(): Promise<void>
}

/** Counts what a facilitator asks its node. It slows both sides, so nothing is timed through it. */
export async function startCountingProxy(target: string): Promise<CountingProxy> {
  const pool = new Pool(target, { connections: 64 })
  const counts = new Map<string, number>()
  let requests = 0
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks)
    requests++
    for (const { method } of [JSON.parse(body.toString('utf8'))].flat()) {
      counts.set(method, (counts.get(method) ?? 0) + 1)
    }
    const headers = { 'content-type': 'application/json' }
    const answer = await pool.request({ method: 'POST', path: '/', headers, body })
    response.setHeader('content-type', 'application/json')
    response.end(Buffer.from(await answer.body.arrayBuffer()))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    counts,
    requests: () => requests,
    reset() {
      counts.clear()
      requests = 0
    },
    async close() {
      server.closeAllConnections()
      server.close()
      await pool.destroy()
    },
  }
}
