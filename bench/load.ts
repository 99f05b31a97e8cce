import { Pool } from 'undici'
import type { Hex } from 'viem'
import type { SignedPayment } from './payments.js'

export interface Load {
  perSecond: number
  p50Ms: number
  p99Ms: number
  failed: number
  /** Transaction by nonce, as told with success. */
  told: Map<Hex, Hex>
}

/** Sends each payment once over so many connections, each asking again as soon as it is answered. */
export async function drive(
  url: string,
  path: '/verify' | '/settle',
  payments: readonly SignedPayment[],
  connections: number,
): Promise<Load> {
  const pool = new Pool(url, { connections, headersTimeout: 120_000, bodyTimeout: 120_000 })
  const latencies: number[] = []
  const told = new Map<Hex, Hex>()
  let next = 0
  let failed = 0
  const ask = async () => {
    for (let it = payments[next++]; it !== undefined; it = payments[next++]) {
      const askedAt = performance.now()
      const headers = { 'content-type': 'application/json' }
      const request = pool.request({ method: 'POST', path, headers, body: it.body })
      // One that is not answered at all has failed like one that is answered with no.
      const answer = await request
        .then((response) => response.body.json() as Promise<Record<string, unknown>>)
        .catch((): Record<string, unknown> => ({}))
      latencies.push(performance.now() - askedAt)
      if (answer.isValid !== true && answer.success !== true) failed++
      if (answer.success === true) told.set(it.nonce, answer.transaction as Hex)
    }
  }
  const startedAt = performance.now()
  await Promise.all(Array.from({ length: connections }, ask))
  const seconds = (performance.now() - startedAt) / 1_000
  await pool.close()
  latencies.sort((a, b) => a - b)
  const at = (share: number) => latencies[Math.floor((latencies.length - 1) * share)] ?? 0
  return { perSecond: payments.length / seconds, p50Ms: at(0.5), p99Ms: at(0.99), failed, told }
}
