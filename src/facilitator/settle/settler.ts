import { randomUUID } from 'node:crypto'
import { parseRequest, readNetwork, readPayer } from '@arcus/protocol/x402/parse-request'
import { type ParsedPayment, toAnsweredPayment } from '@arcus/protocol/x402/payment'
import {
  identifierKey,
  readPaymentIdentifier,
  readRefunded,
} from '@arcus/protocol/x402/payment-identifier'
import { type Rejection, reject } from '@arcus/protocol/x402/reasons'
import type { Address, Hex } from 'viem'
import { inTime } from '../../async/in-time.js'
import {
  isReasonKey,
  type SettleResult,
  settleRejection,
  withSettlementStatus,
} from '../answers.js'
import { type DeliveryStore, describeDelivered } from '../journal/deliveries.js'
import {
  isDecided,
  type Job,
  type NewJob,
  type SettlementJournal,
} from '../journal/settlement-journal.js'
import { attestationExtensions, attestationOf } from '../methods/attestor.js'
import { SETTLE_MARGIN_SECONDS } from '../methods/checks.js'
import { readExactDetails, refundNonceOf, transferOf } from '../methods/exact-job.js'
import { type Intent, methodOf } from '../methods/payment-method.js'
import { inCodesOf, isFreeOfCharge } from '../methods/permit2-checks.js'
import { confirmation } from '../relayer/outcomes.js'
import type { Relayer } from '../relayer/relayer.js'
import { identifierConflict, isBoundElsewhere } from '../verify/identifier.js'
import { createPayerTurns } from '../verify/payer-turns.js'
import type { CheckPayment, CheckResult } from '../verify/payment-check.js'
import type { Deliveries } from './deliveries.js'

export interface SettleRequest {
  body: unknown
  /** The `Idempotency-Key` header, if any. */
  idempotencyKey: string | undefined
  /** Names the network address that asks, for turns and shares; absent within the process. */
  caller?: string
  /** A success that was not written, because the right to answer with it was lost: its transaction is never forgotten. */
  landed?: Pick<SettleResult, 'body' | 'settlementId'>
  /** Returns whether somebody still waits for the answer. */
  isConnected(): boolean
  /** Called with the id of a row that this request claims or opens again, before the relayer gets it. */
  onClaimed?(settlementId: string): void
}

const purpose = { isSettle: true, marginSeconds: SETTLE_MARGIN_SECONDS, maxAgeMs: 0 }

export type Settle = (request: SettleRequest) => Promise<SettleResult>

interface SettlerOptions {
  checkPayment: CheckPayment
  journal: Pick<SettlementJournal, 'claim' | 'findJob' | 'findSigned' | 'recordFound' | 'reopen'>
  deliveryStore: Pick<DeliveryStore, 'bindIdempotencyKey' | 'findIdempotencyKey'>
  deliveries: Pick<Deliveries, 'take'>
  relayers: ReadonlyMap<string, SettlingRelayer>
  settleWaitSeconds: number
  checksum: (address: Address) => Address
  paymentUrl: (network: string, payer: Address, nonce: string) => string
  now: () => number
  log: { error(details: object, message: string): void }
}

/** The parts of a relayer that a settle uses. */
type SettlingRelayer = Pick<
  Relayer,
  | 'expect'
  | 'isSole'
  | 'isTracking'
  | 'openClaims'
  | 'submit'
  | 'untilDecided'
  | 'untilDecidedElsewhere'
  | 'withdraw'
>

/** Creates the function that answers `POST /settle` for `exact` and `upto`. */
export function createSettler(options: SettlerOptions): Settle {
  const settler = new Settler(options)
  return (request) => settler.settle(request)
}

/** Settles payments: one authorization, one row, one transfer, one success. */
class Settler {
  readonly #options: SettlerOptions
  readonly #obtainJob: ReturnType<typeof createJobObtainer>
  readonly #waitForOutcome: ReturnType<typeof createOutcomeWait>
  readonly #inTurn = createPayerTurns()

  constructor(options: SettlerOptions) {
    this.#options = options
    this.#obtainJob = createJobObtainer(options)
    this.#waitForOutcome = createOutcomeWait(options)
  }

  /**
   * Answers a request to settle. Rejects with `RpcUnavailableError` when the chain could not be read and nothing was sent.
   */
  async settle(request: SettleRequest): Promise<SettleResult> {
    const { checksum, now, log } = this.#options
    const parsed = parseRequest(request.body)
    if (!parsed.ok) {
      const payer = readPayer(request.body)
      const subject = { network: readNetwork(request.body), payer: payer && checksum(payer) }
      return settleRejection(parsed.rejection, subject)
    }
    const keyProblem = checkKey(request.idempotencyKey)
    if (keyProblem !== undefined) return this.#refuse(parsed.payment, keyProblem)
    const { payment } = parsed
    const identified = readPaymentIdentifier(request.body)
    if (!identified.ok) return this.#refuse(payment, identified.rejection)
    const { id } = identified
    const key = id && identifierKey(payment.network, payment.authorization.from, id)
    const waitSeconds = Math.min(this.#options.settleWaitSeconds, payment.maxTimeoutSeconds)
    const asked = { ...request, identifierKey: key }
    const deadline = now() + waitSeconds * 1000
    const result = await this.#settlePayment(payment, asked, deadline).catch((err) => {
      const { body, settlementId } = request.landed ?? {}
      if (body === undefined || settlementId === undefined) throw err
      log.error({ err, settlementId }, 'a payment that settled could not be looked up again')
      return {
        ...this.#refuse(payment, deliveryUnknown, body.transaction || undefined),
        settlementId,
      }
    })
    const answered = {
      ...result,
      payment: { ...toAnsweredPayment(payment), ...refundedBy(payment, request.body) },
    }
    return withSettlementStatus(answered, () => this.#statusUrlOf(payment))
  }

  /** Returns the address at which the payment alone is found, though its payer used the nonce for others too. */
  #statusUrlOf({ network, asset, authorization, permit2 }: ParsedPayment): string {
    const { paymentUrl, checksum } = this.#options
    const url = paymentUrl(network, checksum(authorization.from), authorization.nonce)
    return `${url}?asset=${checksum(asset)}&method=${permit2 === undefined ? 'eip3009' : 'permit2'}`
  }

  async #settlePayment(
    payment: ParsedPayment,
    request: IdentifiedRequest,
    deadline: number,
  ): Promise<SettleResult> {
    const { result, obtained } = await this.#checkAndObtain(payment, request, deadline)
    switch (result.state) {
      case 'rejected':
        return this.#refuse(
          payment,
          this.#withPaymentUrl(payment, result.rejection),
          result.transaction,
        )
      case 'unclear': {
        const { transaction, message } = result
        const isKnown = transaction !== undefined
        return this.#refuse(payment, isKnown ? pendingOnChain(message) : unseen, transaction)
      }
      case 'held':
        return this.#settleAfter(result.job, payment, request, deadline)
    }
    if (isFree(payment, result)) {
      const { deliveryStore } = this.#options
      const isTaken = await isBoundElsewhere(deliveryStore, request.identifierKey, result)
      return isTaken ? this.#refuse(payment, identifierConflict) : this.#free(payment)
    }
    // A payment that has landed is never answered without its hash.
    const known = result.state === 'known' ? result.job.transaction : undefined
    if (obtained === 'keyConflict') return this.#refuse(payment, keyConflict, known)
    if (obtained === 'identifierConflict') return this.#refuse(payment, identifierConflict, known)
    if (obtained === undefined || obtained === 'raced') {
      return this.#settlePayment(payment, request, deadline)
    }
    return this.#answer(await this.#waitSafely(obtained, deadline), payment, request)
  }

  /**
   * Checks the payment and obtains its job, when the turn of its payer has come. The payers that one caller names take turns
   * apart from those of others: before the checks anybody may have named them.
   */
  #checkAndObtain(payment: ParsedPayment, request: IdentifiedRequest, deadline: number) {
    const run = () => this.#checkAndObtainNow(payment, request, deadline)
    return this.#inTurn(`${payment.authorization.from} of ${request.caller ?? ''}`, run)
  }

  /** Checks the payment and obtains its job. The relayer expects it meanwhile, so that jobs can share a transaction. */
  async #checkAndObtainNow(
    payment: ParsedPayment,
    request: IdentifiedRequest,
    deadline: number,
  ): Promise<{ result: CheckResult; obtained?: ObtainedJob | KeyConflict | 'raced' }> {
    const stopExpecting = this.#options.relayers.get(payment.network)?.expect()
    try {
      const result = await this.#options.checkPayment(payment, {
        ...purpose,
        caller: request.caller ?? '',
      })
      if (!maySettle(result) || isFree(payment, result)) return { result }
      if (result.state === 'valid' && this.#options.now() >= deadline) {
        return { result: { state: 'rejected', rejection: turnTooLate } }
      }
      return { result, obtained: await this.#obtainJob(result, request) }
    } finally {
      stopExpecting?.()
    }
  }

  /** Waits for another authorization with the same nonce; this one may only try if that one fails for good. */
  async #settleAfter(
    first: Job,
    payment: ParsedPayment,
    request: IdentifiedRequest,
    deadline: number,
  ): Promise<SettleResult> {
    const outcome = await this.#waitForOutcome(first, deadline, false)
    if (outcome.state === 'failed') return this.#settlePayment(payment, request, deadline)
    const message =
      outcome.state === 'confirmed'
        ? `Another authorization with the same nonce settled in ${outcome.transaction}.`
        : 'Another authorization with the same nonce is being settled.'
    const rejection = this.#withPaymentUrl(payment, reject('nonceAlreadyUsed', message))
    return this.#refuse(payment, rejection, outcome.transaction)
  }

  /** Waits for the outcome. A store that fails must not hide that the payment may be on its way. */
  async #waitSafely({ job, isOurs }: ObtainedJob, deadline: number): Promise<Job> {
    try {
      return await this.#waitForOutcome(job, deadline, isOurs)
    } catch (err) {
      this.#options.log.error({ err, settlementId: job.id }, 'the outcome could not be read')
      return job
    }
  }

  async #answer(job: Job, payment: ParsedPayment, request: SettleRequest): Promise<SettleResult> {
    const settlementId = job.id
    if (job.state === 'failed') {
      const reason = isReasonKey(job.reason) ? job.reason : 'transactionFailed'
      const rejection = reject(reason, job.message ?? 'The payment did not settle.')
      return {
        ...this.#refuse(payment, this.#withPaymentUrl(payment, rejection), job.transaction),
        settlementId,
      }
    }
    if (job.state !== 'confirmed') {
      const { rejection, transaction } = await describeOpen(this.#options.journal, job)
      return { ...this.#refuse(payment, rejection, transaction), settlementId }
    }
    const key = request.idempotencyKey ?? null
    const turn = await this.#takeTurn(job, key, request)
    if (turn === 'unknown' || turn?.state === 'busy') {
      const rejection = turn === 'unknown' ? deliveryUnknown : deliveryBusy
      return { ...this.#refuse(payment, rejection, job.transaction), settlementId }
    }
    if (turn?.state === 'granted') {
      return { ...this.#success(job, payment), settlementId, delivery: turn.delivery }
    }
    if (turn !== undefined && key !== null && turn.key === key) {
      return { ...this.#success(job, payment), settlementId }
    }
    const rejection = reject('nonceAlreadyUsed', describeDelivered(job.transaction, turn?.key))
    return {
      ...this.#refuse(payment, this.#withPaymentUrl(payment, rejection), job.transaction),
      settlementId,
    }
  }

  /** Takes the right to answer with success. A store that fails must not hide that the payment settled. */
  async #takeTurn(job: Job, key: string | null, request: SettleRequest) {
    try {
      return await this.#options.deliveries.take(job.id, key, request.isConnected)
    } catch (err) {
      this.#options.log.error(
        { err, settlementId: job.id },
        'the right to answer with success could not be obtained',
      )
      return 'unknown'
    }
  }

  #success(job: Job, payment: ParsedPayment) {
    const { checksum } = this.#options
    const attestation = attestationOf(job, transferOf(job), checksum)
    return {
      status: 200,
      gasCost: job.gasCost,
      body: {
        success: true,
        transaction: job.transaction as Hex,
        network: job.network,
        payer: checksum(payment.authorization.from),
        ...(payment.scheme === 'upto' && { amount: readExactDetails(job).value }),
        ...(attestation && { extensions: attestationExtensions(attestation) }),
      },
    }
  }

  /** Answers a charge of nothing: nothing is sent, and nothing is claimed. */
  #free({ network, authorization }: ParsedPayment): SettleResult {
    const payer = this.#options.checksum(authorization.from)
    return { status: 200, body: { success: true, transaction: '', network, payer, amount: '0' } }
  }

  #refuse(payment: ParsedPayment, rejection: Rejection, transaction?: Hex | null) {
    const payer = this.#options.checksum(payment.authorization.from)
    return settleRejection(inCodesOf(payment, rejection), {
      network: payment.network,
      payer,
      transaction,
    })
  }

  #withPaymentUrl(payment: ParsedPayment, rejection: Rejection): Rejection {
    if (rejection.reason !== 'nonceAlreadyUsed') return rejection
    const { paymentUrl, checksum } = this.#options
    const { from, nonce } = payment.authorization
    const url = paymentUrl(payment.network, checksum(from), nonce)
    return reject(rejection.reason, `${rejection.message} See ${url}.`)
  }
}

function pendingOnChain(why?: string | null): Rejection {
  return reject(
    'settlementPending',
    why ??
      'A transaction was sent, and the outcome of the payment is not known yet; settle it again to wait on.',
  )
}
const pendingUntaken = reject(
  'settlementPending',
  'No node of the chain has taken the signed transaction yet; it is sent again, so settle the payment again to wait on.',
)
const unsigned = reject(
  'settlementUnknown',
  'No signed transaction of the payment is known yet, and it may still settle; settle it again to wait on.',
)
const unseen = reject(
  'settlementUnknown',
  'The authorization was used on chain, and no node shows the transaction yet; settle the payment again.',
)

/**
 * Describes a job without an outcome. Pending always names a transaction, because merchants wait on only then: the one that
 * may be on chain, or else the one whose signed bytes are kept.
 */
export async function describeOpen(
  journal: Pick<SettlementJournal, 'findSigned'>,
  { id, network, transaction, message }: Job,
): Promise<{ rejection: Rejection; transaction?: Hex }> {
  if (transaction !== null) return { rejection: pendingOnChain(message), transaction }
  const signed = await journal.findSigned(network, id).catch(() => undefined)
  return signed === undefined
    ? { rejection: unsigned }
    : { rejection: pendingUntaken, transaction: signed }
}

const deliveryBusy = reject(
  'settlementPending',
  'The payment settled, and another caller is being answered; settle the same payment again.',
)
const deliveryUnknown = reject(
  'settlementPending',
  'The payment settled, but the right to answer could not be stored; settle the same payment again.',
)
const turnTooLate = reject(
  'notSentInTime',
  'Other payments of this payer were ahead of it for too long. Nothing was sent; settle it again.',
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

/** A request with the key of its payment identifier, if it has one. */
interface IdentifiedRequest extends SettleRequest {
  identifierKey: string | undefined
}

type KeyConflict = 'keyConflict' | 'identifierConflict'

/** The row of a payment. */
interface ObtainedJob {
  job: Job
  /** Whether this request brought the job about, so that it may withdraw it. */
  isOurs: boolean
}

/** The results with which a settle goes on. */
type Settleable = Exclude<CheckResult, { state: 'rejected' | 'held' | 'unclear' }>

/** Returns whether a valid settle charges nothing, so that there is nothing to bring on chain. */
function isFree(payment: ParsedPayment, { state }: CheckResult): boolean {
  return state === 'valid' && isFreeOfCharge(payment, purpose)
}

function maySettle(result: CheckResult): result is Settleable {
  return !['rejected', 'held', 'unclear'].includes(result.state)
}

/**
 * Makes the function that finds, claims, reopens or records the row of a payment. It returns `raced` when another request
 * was quicker, and then the payment is checked again. A key of another payment is noticed before anything is claimed.
 */
function createJobObtainer(options: SettlerOptions) {
  const { journal, deliveryStore, relayers, now } = options
  return async (
    result: Settleable,
    request: IdentifiedRequest,
  ): Promise<ObtainedJob | KeyConflict | 'raced'> => {
    const holder = result.state === 'known' ? result.job : result.intent.failedJob
    const conflict = holder && (await bindKeys(request, holder.id))
    if (conflict !== undefined) return conflict
    if (result.state === 'known') return { job: result.job, isOurs: false }
    const { intent } = result
    if (result.state === 'valid') {
      const { failedJob } = intent
      const job = newJob(intent, now())
      return covered(intent, job, () =>
        failedJob === undefined
          ? claim(job, request, intent)
          : reopen(job, failedJob, request, intent),
      )
    }
    const { receipt, failedJob } = result
    const found = newJob(intent, readExactDetails(failedJob).claimedAt)
    // It is not attested: others brought it on chain.
    const outcome = confirmation(receipt, result, null)
    const job = await journal.recordFound(found, failedJob, outcome, now())
    return job === undefined ? 'raced' : { job, isOurs: false }
  }

  /** Makes the row of a payment, if its balance covers it together with what was claimed since it was checked. */
  async function covered<Result>(
    { payment, balance }: Intent,
    job: NewJob,
    make: () => Promise<Result>,
  ): Promise<Result | 'raced'> {
    const { kind, key } = job
    const { asset, payer, value } = readExactDetails(job)
    const { openClaims } = relayers.get(payment.network) as SettlingRelayer
    const taking = { kind, key, asset, payer, value: BigInt(value) }
    const uncount = openClaims.cover(taking, balance)
    if (uncount === undefined) return 'raced'
    // The relayer counts the job from here on.
    return make().finally(uncount)
  }

  async function claim(job: NewJob, request: IdentifiedRequest, intent: Intent) {
    const { idempotencyKey, identifierKey } = request
    const claim = await journal.claim(job, idempotencyKey, now(), identifierKey)
    if (claim.state === 'keyConflict') return findConflict(request)
    return claim.state === 'held' ? 'raced' : begin(claim.job, request, intent)
  }

  async function reopen(job: NewJob, failed: Job, request: SettleRequest, intent: Intent) {
    const reopened = await journal.reopen(failed, job, now())
    return reopened === undefined ? 'raced' : begin(reopened, request, intent)
  }

  function begin(job: Job, { onClaimed }: SettleRequest, { provenInBlock }: Intent): ObtainedJob {
    onClaimed?.(job.id)
    relayers.get(job.network)?.submit(job, provenInBlock)
    return { job, isOurs: true }
  }

  /** Binds the keys of a request to the row of its payment; returns the conflict if one belongs to another. */
  async function bindKeys(
    { idempotencyKey, identifierKey }: IdentifiedRequest,
    jobId: string,
  ): Promise<KeyConflict | undefined> {
    const isBound = async (key: string | undefined) =>
      key === undefined || (await deliveryStore.bindIdempotencyKey(key, jobId, now())) === jobId
    if (!(await isBound(idempotencyKey))) return 'keyConflict'
    return (await isBound(identifierKey)) ? undefined : 'identifierConflict'
  }

  /** Names the key that kept a claim from being made. */
  async function findConflict({ identifierKey }: IdentifiedRequest): Promise<KeyConflict> {
    if (identifierKey === undefined) return 'keyConflict'
    const bound = await deliveryStore.findIdempotencyKey(identifierKey)
    return bound === undefined ? 'keyConflict' : 'identifierConflict'
  }
}

function newJob(intent: Intent, claimedAt: number) {
  return methodOf(intent.payment).createJob(intent, { id: randomUUID(), claimedAt })
}

/** Names the payment that this one gives back, if its nonce is the one of such a refund. */
function refundedBy(
  { network, asset, authorization: { to: payer, nonce } }: ParsedPayment,
  body: unknown,
) {
  const refunded = readRefunded(body)
  if (refunded === undefined) return {}
  const { nonce: paymentNonce, method } = refunded
  const refundNonce = refundNonceOf({ network, asset, payer, paymentNonce, method })
  return nonce === refundNonce ? { refunded } : {}
}

/** The longest a withdrawal may take: it waits for a signature in progress, but not for a disk that fails. */
const WITHDRAW_MS = 3_000

/**
 * Makes the wait for a job's outcome. It returns the row once it is decided, or as it is at the deadline (Unix
 * milliseconds). A request that brought the job about withdraws it then, if nothing was signed; so does any other once that
 * one must have had its answer.
 */
export function createOutcomeWait({
  journal,
  relayers,
  settleWaitSeconds,
  now,
}: Pick<SettlerOptions, 'relayers' | 'settleWaitSeconds' | 'now'> & {
  journal: Pick<SettlementJournal, 'findJob'>
}) {
  const refresh = async (job: Job) => (await journal.findJob(job.kind, job.network, job.key)) ?? job

  return async (job: Job, deadline: number, mayWithdraw: boolean): Promise<Job> => {
    if (isDecided(job)) return job
    const relayer = relayers.get(job.network) as SettlingRelayer
    for (;;) {
      const left = deadline - now()
      if (relayer.isTracking(job)) {
        const decided = await inTime(relayer.untilDecided(job), left, nothing)
        if (decided !== undefined) return decided
      } else {
        const row = await refresh(job)
        if (isDecided(row)) return row
        // The job was claimed, but the request that claimed it failed before it handed the job to the relayer.
        if (left > 0 && relayer.isSole && row.state === 'queued') relayer.submit(row)
        else if (left > 0) await relayer.untilDecidedElsewhere(job.id, left)
      }
      if (now() < deadline) continue
      const isAbandoned = job.state === 'queued' && now() - job.updatedAt > settleWaitSeconds * 1000
      if (!mayWithdraw && !isAbandoned) return refresh(job)
      return (await inTime(relayer.withdraw(job), WITHDRAW_MS, nothing)) ?? refresh(job)
    }
  }
}

const nothing = () => undefined
