import type { Address, Hex } from 'viem'
import type { Relayer } from '../relayer/relayer.js'
import type { DeliveryStore } from '../store/deliveries.js'
import type { Job, SettlementJournal } from '../store/settlement-journal.js'
import { parseRequest, readNetwork, readPayer } from '../x402/parse-request.js'
import type { Payment } from '../x402/payment.js'
import { toAnsweredPayment } from '../x402/payment-answer.js'
import type { Rejection } from '../x402/reasons.js'
import { type Answered, isReasonKey, type SettleAnswer, settleRejection } from './answers.js'
import { type Deliveries, type Delivery, describeTold } from './deliveries.js'
import { createJobObtainer, isPromising, type ObtainedJob } from './job-obtainer.js'
import type { Judge } from './judge.js'
import { reject, SETTLE_MARGIN_SECONDS } from './ladder.js'
import { createOutcomeWait } from './outcome-wait.js'

export interface SettleRequest {
  body: unknown
  /** The `Idempotency-Key` header, if any. */
  idempotencyKey: string | undefined
  /** Whether somebody still waits for the answer. */
  isConnected(): boolean
}

export interface SettleResult extends Answered<SettleAnswer> {
  /** Present with a success that must be marked as told, or given back. */
  delivery?: Delivery
  /** The row behind the answer. */
  settlementId?: string
  /** What a success cost, 18-decimal units. */
  gasCost?: bigint | null
}

export type Settle = (request: SettleRequest) => Promise<SettleResult>

export interface SettlerOptions {
  judge: Judge
  journal: SettlementJournal
  deliveryStore: DeliveryStore
  deliveries: Deliveries
  relayers: ReadonlyMap<string, Relayer>
  settleWaitSeconds: number
  checksum: (address: Address) => Address
  paymentUrl: (network: string, payer: Address, nonce: string) => string
  now: () => number
  log: { error(details: object, message: string): void }
}

/**
 * Answers `POST /settle`: one authorization, one row, one transfer, one success.
 * Rejects with `RpcUnavailableError` when the chain could not be read and nothing was sent.
 */
export function createSettler(options: SettlerOptions): Settle {
  const { judge, deliveries, checksum, now } = options
  const obtainJob = createJobObtainer(options)
  const waitForOutcome = createOutcomeWait(options)

  return async (request) => {
    const parsed = parseRequest(request.body)
    if (!parsed.ok) {
      const payer = readPayer(request.body)
      const told = { network: readNetwork(request.body), payer: payer && checksum(payer) }
      return settleRejection(parsed.rejection, told)
    }
    const keyProblem = checkKey(request.idempotencyKey)
    if (keyProblem !== undefined) return refuse(parsed.payment, keyProblem)
    const { payment } = parsed
    const waitSeconds = Math.min(options.settleWaitSeconds, payment.maxTimeoutSeconds)
    const result = await settle(payment, request, now() + waitSeconds * 1000)
    return { ...result, payment: toAnsweredPayment(payment) }
  }

  async function settle(
    payment: Payment,
    request: SettleRequest,
    deadline: number,
  ): Promise<SettleResult> {
    const { judgement, obtained } = await judgeAndObtain(payment, request.idempotencyKey)
    switch (judgement.state) {
      case 'rejected':
        return refuse(payment, withAddress(payment, judgement.rejection), judgement.transaction)
      case 'unclear':
        return refuse(payment, unclear, judgement.transaction)
      case 'held':
        return settleAfter(judgement.job, payment, request, deadline)
    }
    if (obtained === 'keyConflict') return refuse(payment, keyConflict)
    if (obtained === undefined || obtained === 'raced') return settle(payment, request, deadline)
    return answer(await seeThrough(obtained, deadline), payment, request)
  }

  /** What is ready for the chain waits a moment for what comes with it. */
  async function judgeAndObtain(payment: Payment, idempotencyKey: string | undefined) {
    const arrived = options.relayers.get(payment.network)?.expect()
    try {
      const judgement = await judge(payment, SETTLE_MARGIN_SECONDS)
      if (!isPromising(judgement)) return { judgement }
      return { judgement, obtained: await obtainJob(judgement, idempotencyKey) }
    } finally {
      arrived?.()
    }
  }

  /** Another authorization with the same nonce goes first; only its final failure lets this one try. */
  async function settleAfter(
    first: Job,
    payment: Payment,
    request: SettleRequest,
    deadline: number,
  ): Promise<SettleResult> {
    const seen = await waitForOutcome(first, deadline, false)
    if (seen.state === 'failed') return settle(payment, request, deadline)
    const what =
      seen.state === 'confirmed'
        ? `Another authorization with the same nonce settled in ${seen.transaction}.`
        : 'Another authorization with the same nonce is being settled.'
    return refuse(payment, withAddress(payment, reject('nonceAlreadyUsed', what)), seen.transaction)
  }

  /** A store that fails must not hide that the payment may be on its way. */
  async function seeThrough({ job, isOurs }: ObtainedJob, deadline: number): Promise<Job> {
    try {
      return await waitForOutcome(job, deadline, isOurs)
    } catch (err) {
      options.log.error({ err, settlementId: job.id }, 'outcome could not be read')
      return job
    }
  }

  async function answer(job: Job, payment: Payment, request: SettleRequest): Promise<SettleResult> {
    const settlementId = job.id
    if (job.state === 'failed') {
      const reason = isReasonKey(job.reason) ? job.reason : 'transactionFailed'
      const rejection = reject(reason, job.message ?? 'The payment did not settle.')
      return { ...refuse(payment, withAddress(payment, rejection), job.transaction), settlementId }
    }
    if (job.state !== 'confirmed') {
      return { ...refuse(payment, pendingOf(job), job.transaction), settlementId }
    }
    const key = request.idempotencyKey ?? null
    const turn = await takeTurn(job, key, request)
    if (turn === 'unknown' || turn?.state === 'busy') {
      const why = turn === 'unknown' ? landed : busy
      return { ...refuse(payment, why, job.transaction), settlementId }
    }
    if (turn?.state === 'granted') {
      return { ...success(job, payment), settlementId, delivery: turn.delivery }
    }
    if (turn !== undefined && key !== null && turn.key === key) {
      return { ...success(job, payment), settlementId }
    }
    const rejection = reject('nonceAlreadyUsed', describeTold(job.transaction, turn?.key))
    return { ...refuse(payment, withAddress(payment, rejection), job.transaction), settlementId }
  }

  /** A store that fails must not hide that the payment landed. */
  async function takeTurn(job: Job, key: string | null, request: SettleRequest) {
    try {
      return await deliveries.take(job.id, key, request.isConnected)
    } catch (err) {
      options.log.error({ err, settlementId: job.id }, 'success could not be handed out')
      return 'unknown'
    }
  }

  function success(job: Job, payment: Payment) {
    return {
      status: 200,
      gasCost: job.gasCost,
      body: {
        success: true,
        transaction: job.transaction as Hex,
        network: job.network,
        payer: checksum(payment.authorization.from),
      },
    }
  }

  function refuse(payment: Payment, rejection: Rejection, transaction?: Hex | null) {
    const payer = checksum(payment.authorization.from)
    return settleRejection(rejection, { network: payment.network, payer, transaction })
  }

  function withAddress(payment: Payment, rejection: Rejection): Rejection {
    if (rejection.reason !== 'nonceAlreadyUsed') return rejection
    const { from, nonce } = payment.authorization
    const url = options.paymentUrl(payment.network, checksum(from), nonce)
    return reject(rejection.reason, `${rejection.message} Look it up at ${url}.`)
  }
}

const onItsWay = reject(
  'settlementPending',
  'The payment is on its way and not mined yet; settle it again to wait on.',
)
const untaken = reject(
  'settlementPending',
  'No node of the chain has taken a transaction with it yet; settle it again to wait on.',
)

/** Of a job that is not decided: a transaction is named only while a node may have it. */
export function pendingOf({ transaction }: Job): Rejection {
  return transaction === null ? untaken : onItsWay
}

const unclear = reject(
  'settlementPending',
  'The authorization was used on chain and no node shows yet by whom; settle it again.',
)
const busy = reject(
  'settlementPending',
  'The payment landed, and another caller is being told so; settle the same payment again.',
)
const landed = reject(
  'settlementPending',
  'The payment landed, but who was told could not be kept; settle the same payment again.',
)
const keyConflict = reject(
  'idempotencyKeyConflict',
  'This Idempotency-Key was used with another payment; send a fresh one.',
)

function checkKey(key: string | undefined): Rejection | undefined {
  if (key === undefined || /^[\x21-\x7e]{16,128}$/.test(key)) return undefined
  return reject(
    'invalidPayload',
    `Idempotency-Key must be 16 to 128 visible ASCII characters, got ${key.length}.`,
  )
}
