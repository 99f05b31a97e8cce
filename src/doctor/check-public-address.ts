import { type Finding, ok, warn } from './finding.js'

const TIMEOUT_MS = 5_000

/** Whether callers find a service of ours at its public address. */
export async function checkPublicAddress(baseUrl: string): Promise<Finding> {
  const name = 'reachable'
  const mend =
    'If the service runs, look at DNS, TLS and proxy: callers come through BASE_URL. If it does not, start it.'
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS)
    const response = await fetch(`${baseUrl}/health`, { signal, redirect: 'manual' })
    const text = await response.text()
    if (response.ok && text === '{"status":"ok"}') return ok(name, `${baseUrl}/health says ok`)
    return warn(name, `${baseUrl}/health answers ${response.status}`, mend)
  } catch {
    return warn(name, `nothing answers at ${baseUrl}`, mend)
  }
}
