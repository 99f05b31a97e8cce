import { isNetwork } from '@arcus/protocol/x402/networks'
import { readNonce, readPayer } from '@arcus/protocol/x402/parse-request'
import { reasons } from '@arcus/protocol/x402/reasons'
import { LRUCache } from 'lru-cache'
import { Counter, Histogram, type Registry } from 'prom-client'
import type { Address, Hex } from 'viem'
import { isFree } from '../../facilitator/answers.js'
import { exactKey } from '../../facilitator/methods/exact-job.js'
import { permit2Key } from '../../facilitator/methods/permit2-job.js'
import type { FacilitatorObserver } from '../../facilitator/observer.js'
import type { RelayerEvents } from '../../facilitator/relayer/outcomes.js'

export interface AnswerMetrics {
  verified: FacilitatorObserver['verified']
  settled: FacilitatorObserver['settled']
  /** Counts an answer that neither verifier nor settler gave: a limit, a malformed body, a fault of ours. */
  countFault(family: 'verify' | 'settle', code: string, body: unknown): void
  /** Begins to count at zero for a network, so that the first answer is an increase. */
  begin(network: string): void
  /** Counts an outcome that breaks the promise of verify. */
  decided: RelayerEvents['decided']
}

/** A verify takes a chain call, or none. Seconds. */
const VERIFY_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]
/** A settle takes a block or two, and `SETTLE_WAIT_SECONDS` at most. Seconds. */
const SETTLE_BUCKETS = [0.05, 0.1, 0.25, 0.5, 0.75, 1, 1.5, 2, 3, 5, 10, 20, 30, 60]

/** The promise that alerts watch: a sound payment is answered as settled within this time. */
const PROMISED_SECONDS = 5

/** Some 3 MB at most. A promise older than the last 10,000 may be forgotten. */
const MAX_PROMISES = 20_000

/** Answers of settle that do not keep the promise, although the payment may be sound. */
const lateReasons = new Set<string>([
  reasons.settlementPending.code,
  reasons.settlementUnknown.code,
  reasons.notSentInTime.code,
  reasons.screeningUnavailable.code,
  reasons.unexpectedSettleError.code,
])

/** Refusals of settle that say nothing final about the payment. */
const openReasons = new Set<string>(
  (
    [
      'settlementPending',
      'settlementUnknown',
      'notSentInTime',
      'screeningUnavailable',
      'unexpectedSettleError',
      'idempotencyKeyConflict',
      'paymentIdentifierRequired',
      'paymentIdentifierConflict',
      'invalidPayload',
      'uptoSettlementExceedsAmount',
    ] as const
  ).map((key) => reasons[key].code),
)

/** Counts and times the answers of verify and settle, and the promises that were not kept. */
export function createAnswerMetrics(registry: Registry): AnswerMetrics {
  const { total, seconds, broken, inTime } = createInstruments(registry)
  // The payments that verify found valid and settle has not answered yet.
  const promises = new LRUCache<string, true>({ max: MAX_PROMISES })

  function breakPromise(key: string | undefined, network: string, code: string): void {
    if (key !== undefined && promises.delete(key)) broken.inc({ network, reason: code })
  }

  /** Counts a settle of a sound payment. Refusals are the payment's own fault and are not counted. */
  function countPromise(
    network: string,
    isSuccess: boolean,
    reason: string,
    tookSeconds = 0,
  ): void {
    if (!isSuccess && !lateReasons.has(reason)) return
    const isKept = isSuccess && tookSeconds <= PROMISED_SECONDS
    inTime.inc({ network, kept: isKept ? 'yes' : 'no' })
  }

  return {
    begin(network) {
      for (const kept of ['yes', 'no']) inTime.inc({ network, kept }, 0)
    },
    verified(body, answer, tookSeconds) {
      const network = networkLabel(networkOf(body))
      seconds.verify.observe({ network }, tookSeconds)
      if (answer === undefined) return
      const { isValid, invalidReason } = answer.body
      total.verify.inc({ network, reason: isValid ? 'valid' : reasonLabel(invalidReason) })
      const key = isValid ? paymentKey(body) : undefined
      if (key !== undefined) promises.set(key, true)
    },
    settled(body, result, tookSeconds) {
      const network = networkLabel(networkOf(body))
      seconds.settle.observe({ network }, tookSeconds)
      if (result === undefined) return
      const { success, errorReason = '' } = result.body
      const free = isFree(result)
      if (!free) countPromise(network, success, errorReason, tookSeconds)
      const reason = free ? 'free' : success ? 'settled' : reasonLabel(errorReason)
      total.settle.inc({ network, reason })
      const key = paymentKey(body)
      if (success && key !== undefined) promises.delete(key)
      // If there is a row, the promise ended when the row was decided.
      const isFinal = !success && result.settlementId === undefined
      if (isFinal && !openReasons.has(errorReason)) {
        breakPromise(key, network, reasonLabel(errorReason))
      }
    },
    countFault(family, code, body) {
      const network = networkLabel(networkOf(body))
      total[family].inc({ network, reason: reasonLabel(code) })
      if (family === 'settle') countPromise(network, false, code)
    },
    decided(job, { state, reason }) {
      if (state === 'confirmed') promises.delete(job.key)
      else breakPromise(job.key, networkLabel(job.network), codeOfKey(reason))
    },
  }
}

/** Translates the key of a reason, which rows keep, to its code. */
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
      verify: answers('arcus_verify_total', 'Answers of verify; reason is valid for a valid one.'),
      settle: answers(
        'arcus_settle_total',
        'Answers of settle; reason is settled for a success, free for one that charged nothing.',
      ),
    },
    seconds: {
      verify: times('arcus_verify_seconds', 'Time a verify took to be answered.', VERIFY_BUCKETS),
      settle: times('arcus_settle_seconds', 'Time a settle took to be answered.', SETTLE_BUCKETS),
    },
    inTime: new Counter({
      name: 'arcus_settle_promise_total',
      help: `Settles of sound payments; kept is yes if success was answered within ${PROMISED_SECONDS} s, and no if it came later, or the answer was pending or an error of ours.`,
      labelNames: ['network', 'kept'],
      registers,
    }),
    broken: answers(
      'arcus_broken_promises_total',
      'Payments that verify found valid and that finally failed to settle.',
    ),
  }
}

const codes = new Set<string>(Object.values(reasons).map(({ code }) => code))

/** Returns a network that this software knows, or `other`: callers must not be able to make new time series. */
function networkLabel(network: unknown): string {
  return typeof network === 'string' && isNetwork(network) ? network : 'other'
}

/** Returns a code of the reasons table, or `other`. */
function reasonLabel(code: string | null | undefined): string {
  return typeof code === 'string' && codes.has(code) ? code : 'other'
}

/** The members of a body of `/verify` or `/settle` that metrics read, whether the body is valid or not. */
interface Body {
  paymentPayload?: {
    payload?: {
      authorization?: { from?: unknown; nonce?: unknown }
      permit2Authorization?: unknown
    }
  }
  paymentRequirements?: { network?: unknown; asset?: unknown }
}

/** Returns the network that a body asks for. It may be anything at all. */
function networkOf(body: unknown): unknown {
  return (body as Body | undefined)?.paymentRequirements?.network
}

/** Returns the key of the job that this body would make; `undefined` if it does not have the shape of a payment. */
function paymentKey(body: unknown): string | undefined {
  const { paymentPayload, paymentRequirements } = (body ?? {}) as Body
  const { authorization, permit2Authorization } = paymentPayload?.payload ?? {}
  if (permit2Authorization !== undefined) {
    const [payer, nonce] = [readPayer(body), readNonce(body)]
    return payer && nonce && permit2Key(payer, nonce)
  }
  const { from, nonce } = authorization ?? {}
  const asset = paymentRequirements?.asset
  if (!isHex(asset, 42) || !isHex(from, 42) || !isHex(nonce, 66)) return undefined
  return exactKey(lower(asset), lower(from), lower(nonce))
}

function isHex(value: unknown, length: number): value is Address & Hex {
  return typeof value === 'string' && value.length === length
}

function lower<Text extends string>(text: Text): Text {
  return text.toLowerCase() as Text
}
