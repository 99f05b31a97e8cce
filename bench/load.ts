import { Pool } from 'undici'
import type { Hex } from 'viem'
import { quantile } from './figures.js'
import type { SignedPayment } from './payments.js'

export interface Load {
  perSecond: number
  p50Ms: number
  p99Ms: number
  failed: number
  /** Transaction by nonce, as told with success. */
  told: Map<Hex, Hex>
  answers: readonly Answered[]
}

export interface Answered {
  /** By the clock of `performance.now()`. */
  askedAt: number
  ms: number
}

/** Where nobody was answered for this long nobody will be: a lost nonce holds up all that come after it. */
const STALLED_MS = 30_000

/**
 * Sends each payment once over so many connections, each asking again as soon as it is answered. When the answers stop
 * the run ends: what was not answered has failed, and the pace is that of the answers there were.
 */
export async function drive(
  url: string,
  path: '/verify' | '/settle',
  payments: readonly SignedPayment[],
  connections: number,
): Promise<Load> {
  const pool = new Pool(url, { connections, headersTimeout: 120_000, bodyTimeout: 120_000 })
  const startedAt = performance.now()
  let answeredAt = startedAt
  let isStalled = false
  const watch = setInterval(() => {
    if (performance.now() - answeredAt < STALLED_MS) return
    isStalled = true
    void pool.destroy()
  }, 1_000)
  const answers: Answered[] = []
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
      if (!isStalled) {
        answeredAt = performance.now()
        answers.push({ askedAt, ms: answeredAt - askedAt })
      }
      if (answer.isValid !== true && answer.success !== true) failed++
      if (answer.success === true) told.set(it.nonce, answer.transaction as Hex)
    }
  }
  await Promise.all(Array.from({ length: connections }, ask))
  const seconds = (answeredAt - startedAt) / 1_000
  clearInterval(watch)
  await pool.close().catch(() => undefined)
  const latencies = answers.map(({ ms }) => ms)
  return {
    perSecond: answers.length / seconds,
    p50Ms: quantile(latencies, 0.5),
    p99Ms: quantile(latencies, 0.99),
    failed,
    told,
    answers,
  }
}
