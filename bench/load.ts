import { Pool } from 'undici'

export interface Load {
  perSecond: number
  p50Ms: number
  p99Ms: number
  failed: number
  /** Hashes told with success. */
  transactions: Set<string>
}

/** Sends each body once over so many connections, each asking again as soon as it is answered. */
export async function drive(
  url: string,
  path: string,
  bodies: readonly string[],
  connections: number,
): Promise<Load> {
  const pool = new Pool(url, { connections, headersTimeout: 120_000, bodyTimeout: 120_000 })
  const latencies: number[] = []
  const transactions = new Set<string>()
  let next = 0
  let failed = 0
  const ask = async () => {
    for (let body = bodies[next++]; body !== undefined; body = bodies[next++]) {
      const askedAt = performance.now()
      const headers = { 'content-type': 'application/json' }
      const response = await pool.request({ method: 'POST', path, headers, body })
      const answer = (await response.body.json()) as Record<string, unknown>
      latencies.push(performance.now() - askedAt)
      if (answer.isValid !== true && answer.success !== true) failed++
      if (typeof answer.transaction === 'string') transactions.add(answer.transaction)
    }
  }
  const startedAt = performance.now()
  await Promise.all(Array.from({ length: connections }, ask))
  const seconds = (performance.now() - startedAt) / 1_000
  await pool.close()
  latencies.sort((a, b) => a - b)
  const at = (share: number) => latencies[Math.floor((latencies.length - 1) * share)] ?? 0
  return {
    perSecond: bodies.length / seconds,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    failed,
    transactions,
  }
}
