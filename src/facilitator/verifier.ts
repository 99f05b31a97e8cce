import type { Address } from 'viem'
import { RpcUnavailableError } from '../chain/rpc-errors.js'
import type { Job } from '../store/settlement-journal.js'
import { parseRequest, readPayer } from '../x402/parse-request.js'
import type { Payment } from '../x402/payment.js'
import { toAnsweredPayment } from '../x402/payment-answer.js'
import { type Answered, type VerifyAnswer, verifyRejection, verifyUnavailable } from './answers.js'
import { describeTold } from './deliveries.js'
import type { Judge, Judgement } from './judge.js'
import { reject, VERIFY_MARGIN_SECONDS } from './ladder.js'
import type { VerifiedPayments } from './verified.js'

export interface VerifierOptions {
  judge: Judge
  verified: VerifiedPayments
  checksum: (address: Address) => Address
  /** Where anybody can look a payment up. */
  paymentUrl: (network: string, payer: Address, nonce: string) => string
  /** Whether a wallet can bring payments of this network on chain at present. */
  canSettle: (network: string) => boolean
  now: () => number
  /** Whether this process is telling a caller of the job's success at this moment. */
  isOut: (jobId: string) => boolean
}

/** Answers `POST /verify`. Rejects with `RpcUnavailableError` when the chain could not be read. */
export type Verify = (body: unknown) => Promise<Answered<VerifyAnswer>>

export function createVerifier(options: VerifierOptions): Verify {
  const { judge, verified, checksum, paymentUrl, now } = options
  return async (body) => {
    const parsed = parseRequest(body)
    if (!parsed.ok) {
      const payer = readPayer(body)
      return verifyRejection(parsed.rejection, payer && checksum(payer))
    }
    const { payment } = parsed
    const payer = checksum(payment.authorization.from)
    const judgement = await judge(payment, VERIFY_MARGIN_SECONDS)
    if (judgement.state === 'valid' && !options.canSettle(payment.network)) {
      return verifyUnavailable(payer)
    }
    const rejection = rejectionOf(judgement, payment)
    if (judgement.state === 'valid') {
      const { digest } = judgement.intent
      verified.note({ network: payment.network, digest, signature: payment.signature })
    }
    return rejection === undefined
      ? { status: 200, body: { isValid: true, payer }, payment: toAnsweredPayment(payment) }
      : { ...verifyRejection(rejection, payer), payment: toAnsweredPayment(payment) }
  }

  /** Says "used" exactly when settle would: under way, being answered, or answered with success. */
  function rejectionOf(judgement: Judgement, payment: Payment) {
    switch (judgement.state) {
      case 'valid':
      case 'paidElsewhere':
        return undefined
      case 'rejected':
        return judgement.rejection
      case 'unclear':
        throw new RpcUnavailableError('the chain shows the payment used but not yet by whom')
      case 'held':
        return used(payment, 'Another authorization with the same nonce is settled here.')
      case 'known':
        if (isUndelivered(judgement.job) && !options.isOut(judgement.job.id)) return undefined
        return used(payment, describeKnown(judgement.job))
    }
  }

  function isUndelivered({ state, deliveredAt, deliveryUntil }: Job): boolean {
    return state === 'confirmed' && deliveredAt === null && (deliveryUntil ?? 0) <= now()
  }

  function used(payment: Payment, what: string) {
    const { from, nonce } = payment.authorization
    const url = paymentUrl(payment.network, checksum(from), nonce)
    return reject('nonceAlreadyUsed', `${what} Look it up at ${url}.`)
  }
}

function describeKnown(job: Job): string {
  return job.state === 'confirmed'
    ? describeTold(job.transaction, job.deliveredKey)
    : 'This payment is being settled.'
}
