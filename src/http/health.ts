import './route-config.js'
import type { FastifyInstance } from 'fastify'
import { healthOperation, readyOperation } from './operations.js'

const CHECK_TIMEOUT_MS = 3_000
/** Probes of several balancers at once cost one round of checks. */
const CACHE_MS = 1_000

export interface ReadinessResult {
  ok: boolean
  /** A sentence for the operator that anybody may read: no addresses of nodes, no paths. */
  detail: string
}

export interface ReadinessCheck {
  name: string
  check(): Promise<ReadinessResult>
}

export interface Readiness {
  status: 'ready' | 'not_ready'
  checks: (ReadinessResult & { name: string })[]
}

export interface ReadinessOptions {
  checks: readonly ReadinessCheck[]
  /** Milliseconds a check may take; 3,000 if absent. */
  timeoutMs?: number
  /** Milliseconds, monotonic; for tests. */
  now?: () => number
}

/** `GET /health`: the process is alive and its event loop turns; nothing else is looked at. */
export function healthRoutes(app: FastifyInstance): void {
  app.get('/health', { config: { limit: 'exempt', operation: healthOperation } }, () => ({
    status: 'ok',
  }))
}

/** `GET /ready`: 200 when every check passes, else 503, with each check and its reason. */
export function readinessRoutes(app: FastifyInstance, readReadiness: ReadReadiness): void {
  app.get(
    '/ready',
    { config: { limit: 'exempt', operation: readyOperation } },
    async (request, reply) => {
      const result = await readReadiness((name, err) =>
        request.log.warn({ err, check: name }, 'readiness check failed'),
      )
      return reply
        .code(result.status === 'ready' ? 200 : 503)
        .header('cache-control', 'no-store')
        .send(result)
    },
  )
}

/** Runs all checks, at most once a second however often it is asked; tells what they throw. Never rejects. */
export type ReadReadiness = (onThrown: OnThrown) => Promise<Readiness>

type OnThrown = (name: string, error: unknown) => void

export function createReadiness(options: ReadinessOptions): ReadReadiness {
  const { checks, timeoutMs = CHECK_TIMEOUT_MS, now = () => performance.now() } = options
  let latest: Promise<Readiness> | undefined
  let freshUntil = 0

  const run = async (onThrown: OnThrown): Promise<Readiness> => {
    const results = await Promise.all(
      checks.map(async (check) => ({
        name: check.name,
        ...(await runBounded(check, timeoutMs, onThrown)),
      })),
    )
    freshUntil = now() + CACHE_MS
    return { status: results.every(({ ok }) => ok) ? 'ready' : 'not_ready', checks: results }
  }

  return (onThrown) => {
    if (latest === undefined || now() >= freshUntil) {
      // Nobody starts a second round while one is under way.
      freshUntil = Number.POSITIVE_INFINITY
      latest = run(onThrown)
    }
    return latest
  }
}

async function runBounded(
  { name, check }: ReadinessCheck,
  timeoutMs: number,
  onThrown: OnThrown,
): Promise<ReadinessResult> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<ReadinessResult>((resolve) => {
    timer = setTimeout(
      () => resolve({ ok: false, detail: `No answer within ${timeoutMs} ms.` }),
      timeoutMs,
    )
  })
  try {
    const { ok, detail } = await Promise.race([check(), timeout])
    return { ok, detail }
  } catch (error) {
    onThrown(name, error)
    return { ok: false, detail: 'The check failed; the log says why.' }
  } finally {
    clearTimeout(timer)
  }
}
