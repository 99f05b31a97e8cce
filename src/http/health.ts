import type { ReadinessAnswer } from '@arcus/protocol/answers/service'
import type { FastifyInstance } from 'fastify'
import { inTime } from '../async/in-time.js'
import { shareReads } from './cached-reply.js'
import type { Operation } from './operation.js'
import { formOfForwarded } from './server.js'

const CHECK_TIMEOUT_MS = 3_000
/** Several balancers that ask at once cost one round of checks. */
const CACHE_MS = 1_000

interface ReadinessResult {
  ok: boolean
  /** A sentence for the operator that anybody may read: no addresses of nodes, no paths. */
  detail: string
  /** It passes, and the operator should look at it all the same. */
  warning?: true
}

export interface ReadinessCheck {
  name: string
  check(): Promise<ReadinessResult>
  /** The detail of a check that does not answer in time. */
  late?: string
}

interface ReadinessOptions {
  checks: readonly ReadinessCheck[]
  /** Receives what a check throws. */
  log: { warn(details: object, message: string): void }
  /** Milliseconds a check may take; 3,000 if absent. */
  timeoutMs?: number
  /** Milliseconds, monotonic; for tests. */
  now?: () => number
}

/** Shows the operator what the proxies in front write. */
export const FORWARDED_FORM = 'Arcus-Forwarded-For'

export const healthOperation: Operation = {
  id: 'getHealth',
  tag: 'Service',
  summary: 'Whether the process is alive',
  answers: {
    200: {
      description: 'The process is alive.',
      headers: {
        [FORWARDED_FORM]:
          'What the request had in `X-Forwarded-For`: `none`, `addresses` or `unreadable`.',
      },
    },
  },
}

export const readyOperation: Operation = {
  id: 'getReady',
  tag: 'Service',
  summary: 'Whether payments can be settled, with each reason if not',
  answers: {
    200: 'Payments can be settled.',
    503: 'Payments cannot be settled.',
  },
}

/** Adds `GET /health`: the process is alive and its event loop turns. Nothing else is checked. */
export function healthRoutes(app: FastifyInstance): void {
  app.get(
    '/health',
    { config: { limit: 'exempt', operation: healthOperation } },
    (request, reply) =>
      reply.header(FORWARDED_FORM, formOfForwarded(request.raw)).send({ status: 'ok' }),
  )
}

const leaving: ReadinessAnswer = {
  status: 'not_ready',
  checks: [
    { name: 'stop', ok: false, detail: 'the service stops soon; send new payments elsewhere' },
  ],
}

/**
 * Adds `GET /ready`: 200 when every check passes, else 503, with each check and its reason. Once `isLeaving`, it is 503 at
 * once, and every answer of the service closes its connection, so that callers move to another replica.
 */
export function readinessRoutes(
  app: FastifyInstance,
  readReadiness: ReadReadiness,
  isLeaving: () => boolean = () => false,
): void {
  app.addHook('onRequest', (_request, reply, done) => {
    if (isLeaving()) reply.header('connection', 'close')
    done()
  })
  const config = { limit: 'exempt', operation: readyOperation } as const
  app.get('/ready', { config }, async (_request, reply) => {
    const result = isLeaving() ? leaving : await readReadiness()
    return reply
      .code(result.status === 'ready' ? 200 : 503)
      .header('cache-control', 'no-store')
      .send(result)
  })
}

/** Runs all checks, at most once a second however often it is called. Never rejects. */
export type ReadReadiness = () => Promise<ReadinessAnswer>

export function createReadiness(options: ReadinessOptions): ReadReadiness {
  const { checks, log, timeoutMs = CHECK_TIMEOUT_MS, now = () => performance.now() } = options

  async function run(): Promise<ReadinessAnswer> {
    const results = await Promise.all(
      checks.map(async (check) => ({
        name: check.name,
        ...(await runBounded(check, timeoutMs, log)),
      })),
    )
    return { status: results.every(({ ok }) => ok) ? 'ready' : 'not_ready', checks: results }
  }

  return shareReads(CACHE_MS, now, run)
}

async function runBounded(
  { name, check, late }: ReadinessCheck,
  timeoutMs: number,
  log: ReadinessOptions['log'],
): Promise<ReadinessResult> {
  const unanswered = { ok: false, detail: late ?? `No answer within ${timeoutMs} ms.` }
  try {
    return await inTime(check(), timeoutMs, () => unanswered)
  } catch (err) {
    log.warn({ err, check: name }, 'readiness check failed')
    return { ok: false, detail: 'The check failed; the log has the cause.' }
  }
}
