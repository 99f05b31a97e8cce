import type { Address } from 'viem'
import { RpcUnavailableError } from '../chain/rpc-errors.js'
import type { Job } from '../store/settlement-journal.js'
import type { SightingStore } from '../store/sightings.js'
import { parseRequest, readPayer } from '../x402/parse-request.js'
import type { Payment } from '../x402/payment.js'
import { toAnsweredPayment } from '../x402/payment-answer.js'
import { type Answered, type VerifyAnswer, verifyRejection } from './answers.js'
import type { Intent, Judge, Judgement } from './judge.js'
import { reject, VERIFY_MARGIN_SECONDS } from './ladder.js'

export interface VerifierOptions {
  judge: Judge
  sightings: SightingStore
  checksum: (address: Address) => Address
  /** Where anybody can look a payment up. */
  paymentUrl: (network: string, payer: Address, nonce: string) => string
  now: () => number
}

/** How long a sighting of an authorization without a sensible end is kept. */
export const MAX_SIGHTING_SECONDS = 30 * 86_400

/** Answers `POST /verify`. Rejects with `RpcUnavailableError` when the chain could not be read. */
export type Verify = (body: unknown) => Promise<Answered<VerifyAnswer>>

export function createVerifier(options: VerifierOptions): Verify {
  const { judge, sightings, checksum, paymentUrl, now } = options
  return async (body) => {
    const parsed = parseRequest(body)
    if (!parsed.ok) {
      const payer = readPayer(body)
      return verifyRejection(parsed.rejection, payer && checksum(payer))
    }
    const { payment } = parsed
    const payer = checksum(payment.authorization.from)
    const judgement = await judge(payment, VERIFY_MARGIN_SECONDS)
    const rejection = rejectionOf(judgement, payment)
    if (judgement.state === 'valid') note(judgement.intent)
    return rejection === undefined
      ? { status: 200, body: { isValid: true, payer }, payment: toAnsweredPayment(payment) }
      : { ...verifyRejection(rejection, payer), payment: toAnsweredPayment(payment) }
  }

  /** What lets it count as paid if somebody else brings it on chain from now on. */
  function note({ payment, digest, seenBlock }: Intent): void {
    const end = BigInt(Math.floor(now() / 1000) + MAX_SIGHTING_SECONDS)
    const { validBefore } = payment.authorization
    const expiresAt = Number(validBefore < end ? validBefore : end)
    sightings.note({ network: payment.network, digest, blockNumber: seenBlock, expiresAt })
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
        if (isUndelivered(judgement.job, now())) return undefined
        return used(payment, describeKnown(judgement.job))
    }
  }

  function used(payment: Payment, what: string) {
    const { from, nonce } = payment.authorization
    const url = paymentUrl(payment.network, checksum(from), nonce)
    return reject('nonceAlreadyUsed', `${what} Look it up at ${url}.`)
  }
}

function isUndelivered(job: Job, now: number): boolean {
  return job.state === 'confirmed' && job.deliveredAt === null && (job.deliveryUntil ?? 0) <= now
}

function describeKnown(job: Job): string {
  return job.state === 'confirmed'
    ? `This payment settled in ${job.transaction} and was already answered with success.`
    : 'This payment is being settled.'
}
