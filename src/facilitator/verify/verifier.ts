import { parseRequest, readPayer } from '@arcus/protocol/x402/parse-request'
import { type ParsedPayment, toAnsweredPayment } from '@arcus/protocol/x402/payment'
import { identifierKey, readPaymentIdentifier } from '@arcus/protocol/x402/payment-identifier'
import { reject } from '@arcus/protocol/x402/reasons'
import type { Address } from 'viem'
import { RpcUnavailableError } from '../../chain/rpc-errors.js'
import { type Answered, type VerifyAnswer, verifyRejection, verifyUnavailable } from '../answers.js'
import { type DeliveryStore, describeDelivered } from '../journal/deliveries.js'
import type { Job } from '../journal/settlement-journal.js'
import { VERIFY_MARGIN_SECONDS } from '../methods/checks.js'
import { inCodesOf } from '../methods/permit2-checks.js'
import { identifierConflict, isBoundElsewhere } from './identifier.js'
import type { CheckPayment, CheckResult } from './payment-check.js'
import type { VerifiedPayments } from './verified-payments.js'

/** Answers `POST /verify` to a caller, who is left out within the process. Rejects with `RpcUnavailableError` when the chain could not be read. */
export type Verify = (body: unknown, caller?: string) => Promise<Answered<VerifyAnswer>>

/** Settle reads the sums of the budgets anew, so that verify need not. */
const BUDGETS_MAX_AGE_MS = 1_000

const purpose = {
  isSettle: false,
  marginSeconds: VERIFY_MARGIN_SECONDS,
  maxAgeMs: BUDGETS_MAX_AGE_MS,
}

export function createVerifier(options: {
  checkPayment: CheckPayment
  verified: VerifiedPayments
  /** Knows which payments the ids of the extension `payment-identifier` are bound to. */
  deliveryStore: Pick<DeliveryStore, 'findIdempotencyKey'>
  checksum: (address: Address) => Address
  /** Returns the URL where anybody can look a payment up. */
  paymentUrl: (network: string, payer: Address, nonce: string) => string
  /** Returns whether a relayer, or the very one that is named, can send transactions on this network now. */
  canSettle: (network: string, facilitator?: Address) => boolean
  now: () => number
  /** Returns whether this process is answering a caller with the job's success at this moment. */
  isDelivering: (jobId: string) => boolean
}): Verify {
  const { checkPayment, verified, checksum, paymentUrl, now } = options
  return async (body, caller = '') => {
    const parsed = parseRequest(body)
    if (!parsed.ok) {
      const payer = readPayer(body)
      return verifyRejection(parsed.rejection, payer && checksum(payer))
    }
    const { payment } = parsed
    const payer = checksum(payment.authorization.from)
    const about = { payment: toAnsweredPayment(payment) }
    const identified = readPaymentIdentifier(body)
    if (!identified.ok) return { ...verifyRejection(identified.rejection, payer), ...about }
    const result = await checkPayment(payment, { ...purpose, caller })
    const facilitator = payment.permit2?.facilitator
    if (result.state === 'valid' && !options.canSettle(payment.network, facilitator)) {
      return verifyUnavailable(payer)
    }
    const { network, authorization } = payment
    const key = identified.id && identifierKey(network, authorization.from, identified.id)
    const isTaken = await isBoundElsewhere(options.deliveryStore, key, result)
    const rejection = isTaken ? identifierConflict : rejectionOf(result, payment)
    if (result.state === 'valid' && rejection === undefined) {
      const { digest } = result.intent
      verified.note({ network: payment.network, digest, signature: payment.signature })
    }
    return rejection === undefined
      ? { status: 200, body: { isValid: true, payer }, ...about }
      : { ...verifyRejection(inCodesOf(payment, rejection), payer), ...about }
  }

  /** Answers "used" exactly when settle would: in progress, being delivered, or delivered. */
  function rejectionOf(result: CheckResult, payment: ParsedPayment) {
    switch (result.state) {
      case 'valid':
      case 'paidElsewhere':
        return undefined
      case 'rejected':
        return result.rejection
      case 'unclear':
        throw new RpcUnavailableError(
          'the chain shows the payment used, but no node its transaction yet',
        )
      case 'held':
        return used(payment, 'Another authorization with the same nonce is settled here.')
      case 'known':
        if (isUndelivered(result.job) && !options.isDelivering(result.job.id)) return undefined
        return used(payment, describeKnown(result.job))
    }
  }

  function isUndelivered({ state, deliveredAt, deliveryUntil }: Job): boolean {
    return state === 'confirmed' && deliveredAt === null && (deliveryUntil ?? 0) <= now()
  }

  function used(payment: ParsedPayment, sentence: string) {
    const { from, nonce } = payment.authorization
    const url = paymentUrl(payment.network, checksum(from), nonce)
    return reject('nonceAlreadyUsed', `${sentence} See ${url}.`)
  }
}

function describeKnown(job: Job): string {
  return job.state === 'confirmed'
    ? describeDelivered(job.transaction, job.deliveredKey)
    : 'This payment is being settled.'
}
