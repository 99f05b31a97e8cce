import { LRUCache } from 'lru-cache'
import { Counter, Histogram, type Registry } from 'prom-client'
import type { Settle } from '../facilitator/settler.js'
import type { Verify } from '../facilitator/verifier.js'
import type { RelayerEvents } from '../relayer/relayer-events.js'
import { reasons } from '../x402/reasons.js'
import { networkLabel, reasonLabel } from './labels.js'
import { networkOf, paymentKey } from './paid-body.js'

export interface AnswerMetrics {
  measureVerify(verify: Verify): Verify
  measureSettle(settle: Settle): Settle
  /** Counts what was answered without verifier or settler: a limit, a body that is none, a fault of ours. */
  countFault(family: 'verify' | 'settle', code: string, body: unknown): void
  /** Counts an outcome that breaks what verify promised. */
  decided: RelayerEvents['decided']
}

/** Judging takes a chain call, or none. */
const VERIFY_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]
/** Settling takes a block or two; `SETTLE_WAIT_SECONDS` ends it. */
const SETTLE_BUCKETS = [0.05, 0.1, 0.25, 0.5, 0.75, 1, 1.5, 2, 3, 5, 10, 20, 30, 60]

/** Some 3 MB at most; what is older than the last 10,000 promises made may be forgotten. */
const MAX_PROMISES = 20_000

/** Refusals of settle that say nothing final about the payment. */
const openReasons = new Set<string>(
  (
    [
      'settlementPending',
      'unexpectedSettleError',
      'idempotencyKeyConflict',
      'invalidPayload',
    ] as const
  ).map((key) => reasons[key].code),
)

/** Counts and times the answers of verify and settle, and the promises that were not kept. */
export function createAnswerMetrics(registry: Registry): AnswerMetrics {
  const { total, seconds, broken } = createInstruments(registry)
  // The payments verify said yes to and settle has not answered yet.
  const promises = new LRUCache<string, true>({ max: MAX_PROMISES })

  function breakPromise(key: string | undefined, network: string, code: string): void {
    if (key !== undefined && promises.delete(key)) broken.inc({ network, reason: code })
  }

  return {
    measureVerify: (verify) => async (body) => {
      const network = networkLabel(networkOf(body))
      const startedAt = performance.now()
      try {
        const answer = await verify(body)
        const { isValid, invalidReason } = answer.body
        total.verify.inc({ network, reason: isValid ? 'valid' : reasonLabel(invalidReason) })
        const key = isValid ? paymentKey(body) : undefined
        if (key !== undefined) promises.set(key, true)
        return answer
      } finally {
        seconds.verify.observe({ network }, (performance.now() - startedAt) / 1000)
      }
    },
    measureSettle: (settle) => async (request) => {
      const network = networkLabel(networkOf(request.body))
      const startedAt = performance.now()
      try {
        const result = await settle(request)
        const { success, errorReason = '' } = result.body
        total.settle.inc({ network, reason: success ? 'settled' : reasonLabel(errorReason) })
        const key = paymentKey(request.body)
        if (success && key !== undefined) promises.delete(key)
        // With a row behind it the promise ended when the row was decided.
        const isFinal = !success && result.settlementId === undefined
        if (isFinal && !openReasons.has(errorReason)) {
          breakPromise(key, network, reasonLabel(errorReason))
        }
        return result
      } finally {
        seconds.settle.observe({ network }, (performance.now() - startedAt) / 1000)
      }
    },
    countFault: (family, code, body) =>
      total[family].inc({ network: networkLabel(networkOf(body)), reason: reasonLabel(code) }),
    decided(job, { state, reason }) {
      if (state === 'confirmed') promises.delete(job.key)
      else breakPromise(job.key, networkLabel(job.network), codeOfKey(reason))
    },
  }
}

/** Rows keep the key of the reason, answers its code. */
function codeOfKey(reason: string | null): string {
  const entry = Object.entries(reasons).find(([key]) => key === reason)
  return entry?.[1].code ?? 'other'
}

function createInstruments(registry: Registry) {
  const registers = [registry]
  const labelNames = ['network', 'reason'] as const
  const answers = (name: string, help: string) => new Counter({ name, help, labelNames, registers })
  const times = (name: string, help: string, buckets: number[]) =>
    new Histogram({ name, help, buckets, labelNames: ['network'], registers })
  return {
    total: {
      verify: answers('arcus_verify_total', 'Answers of verify; reason is valid for a yes.'),
      settle: answers('arcus_settle_total', 'Answers of settle; reason is settled for a success.'),
    },
    seconds: {
      verify: times('arcus_verify_seconds', 'Time a verify took to judge.', VERIFY_BUCKETS),
      settle: times('arcus_settle_seconds', 'Time a settle took to be answered.', SETTLE_BUCKETS),
    },
    broken: answers(
      'arcus_broken_promises_total',
      'Payments that verify said yes to and settle finally failed.',
    ),
  }
}
