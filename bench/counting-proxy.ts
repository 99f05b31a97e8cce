import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'undici'

export interface CountingProxy {
  url: string
  /** JSON-RPC calls by method since the last `reset`; the members of a batch count one by one. */
  counts: Map<string, number>
  /** Transfers by authorization that the node was asked to simulate, in calls of any kind. */
  simulated(): number
  reset(): void
  close(): Promise<void>
}

/** The selector of `transferWithAuthorization`, and the calls that execute without a transaction. */
const TRANSFER = 'cf092995'
const simulations = new Set(['eth_call', 'eth_estimateGas'])

/**
 * Counts what a facilitator asks its node. It slows all who ask, so times through it compare only with each other. With
 * `awayMs` each answer takes so many milliseconds longer, as from a node that is far away.
 */
export async function startCountingProxy(target: string, awayMs = 0): Promise<CountingProxy> {
  const pool = new Pool(target, { connections: 64 })
  const counts = new Map<string, number>()
  let simulated = 0
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks)
    for (const { method, params } of [JSON.parse(body.toString('utf8'))].flat()) {
      counts.set(method, (counts.get(method) ?? 0) + 1)
      if (simulations.has(method)) simulated += JSON.stringify(params).split(TRANSFER).length - 1
    }
    if (awayMs > 0) await sleep(awayMs)
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
    simulated: () => simulated,
    reset() {
      counts.clear()
      simulated = 0
    },
    async close() {
      server.closeAllConnections()
      server.close()
      await pool.destroy()
    },
  }
}
