import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Address, Hex } from 'viem'
import { httpCodes } from '../api/errors.js'
import type { PaymentStatus } from '../api/payments.js'
import { describedAs } from '../http/operation.js'
import { readQuery } from '../http/query.js'
import type { Job, SettlementJournal } from '../store/settlement-journal.js'
import { formatNative } from '../x402/amounts.js'
import { type ReasonKey, reasons } from '../x402/reasons.js'
import { isReasonKey } from './answers.js'
import { attestationOf } from './attestor.js'
import type { Terms } from './checks.js'
import { EXACT, exactKey, isPayment, PERMIT2, readExactDetails, transferOf } from './exact-job.js'
import {
  attestationOperation,
  paymentOperation,
  paymentParams,
  proofQuery,
  receiptOperation,
  transactionOperation,
  transactionParams,
} from './operations.js'
import { reasonFor } from './permit2-checks.js'
import { permit2Key, readPermit2Details } from './permit2-job.js'
import { type PaymentRecord, receiptHeaders, renderReceipt, toReceipt } from './receipt.js'

/** Looks payments up. */
export interface PaymentFinder {
  /** Finds the newest payment of a payer with this nonce, in any token that is served. */
  byNonce(network: string, payer: Address, nonce: Hex): Promise<PaymentStatus | undefined>
  /**
   * Finds a payment with what a proof of it needs. A payer may use one nonce in each token: without an `asset` it is the
   * payment that was confirmed first, so that a later one does not take its place.
   */
  recordOf(
    network: string,
    payer: Address,
    nonce: Hex,
    asset?: Address,
  ): Promise<PaymentRecord | undefined>
  /** Finds the payments of a batch, in its order; a payment that settled in another transaction names that one. */
  byTransaction(transaction: Hex): Promise<PaymentStatus[]>
}

export function createPaymentFinder(options: {
  journal: Pick<SettlementJournal, 'findJob' | 'findByTransaction'>
  terms: ReadonlyMap<string, Terms>
  /** The explorer of each network; `undefined` where there is none. */
  explorerUrls: ReadonlyMap<string, string | undefined>
  checksum: (address: Address) => Address
}): PaymentFinder {
  const { journal, terms, explorerUrls, checksum } = options
  const toStatus = (job: Job) =>
    describe(job, terms.get(job.network), explorerUrls.get(job.network), checksum)
  /** Finds the payments with a nonce, newest first: it may be used once in each token. */
  async function findJobs(network: string, payer: Address, nonce: Hex) {
    const assets = [...(terms.get(network)?.tokens.keys() ?? [])]
    const jobs = await Promise.all([
      ...assets.map((asset) => journal.findJob(EXACT, network, exactKey(asset, payer, nonce))),
      journal.findJob(PERMIT2, network, permit2Key(payer, nonce)),
    ])
    // One nonce may be used once in each token, and once more by Permit2.
    return jobs.filter((it) => it !== undefined).sort((a, b) => b.createdAt - a.createdAt)
  }
  return {
    async byNonce(network, payer, nonce) {
      const [job] = await findJobs(network, payer, nonce)
      return job && toStatus(job)
    },
    async recordOf(network, payer, nonce, asset) {
      const found = await findJobs(network, payer, nonce)
      const jobs = found.filter((it) => asset === undefined || transferOf(it).asset === asset)
      const confirmed = jobs.filter(({ state }) => state === 'confirmed')
      const job = confirmed.sort((a, b) => a.updatedAt - b.updatedAt)[0] ?? jobs[0]
      if (job === undefined) return undefined
      const token = terms.get(network)?.tokens.get(transferOf(job).asset)
      return {
        status: toStatus(job),
        attestation: attestationOf(job, transferOf(job), checksum),
        resourceUrl: readExactDetails(job).resourceUrl,
        symbol: token?.symbol ?? '',
      }
    },
    async byTransaction(transaction) {
      const jobs = await journal.findByTransaction(transaction)
      return jobs.filter(isPayment).map(toStatus)
    },
  }
}

function describe(
  job: Job,
  terms: Terms | undefined,
  explorer: string | undefined,
  checksum: (address: Address) => Address,
): PaymentStatus {
  const details = readExactDetails(job)
  const token = terms?.tokens.get(details.asset)
  return {
    settlementId: job.id,
    network: job.network,
    asset: checksum(details.asset),
    symbol: token?.symbol ?? null,
    currency: token?.currency ?? null,
    payer: checksum(details.payer),
    payTo: checksum(details.payTo),
    nonce: details.nonce,
    amount: details.value,
    state: job.state,
    transaction: job.transaction,
    explorerUrl: explorer && job.transaction ? `${explorer}/tx/${job.transaction}` : null,
    blockNumber: job.blockNumber,
    errorReason: isReasonKey(job.reason) ? reasons[ownReason(job, job.reason)].code : null,
    errorMessage: job.message,
    delivered: job.deliveredAt !== null,
    createdAt: new Date(job.createdAt).toISOString(),
    updatedAt: new Date(job.updatedAt).toISOString(),
    validAfter: details.validAfter,
    validBefore: details.validBefore,
    gasUsd: job.gasCost === null ? null : formatNative(job.gasCost),
  }
}

function ownReason(job: Job, reason: ReasonKey): ReasonKey {
  const isUpto = readPermit2Details(job).facilitator !== undefined
  return reasonFor(reason, { isUpto, isByPermit2: job.kind === PERMIT2 })
}

/** Finds the name of the merchant whose listing speaks for an address (lower case). */
export type FindMerchantName = (payTo: Address) => Promise<string | undefined>

/** Serves `/payments`: one payment by its payer and nonce, or all payments of a transaction. */
export function paymentRoutes(
  app: FastifyInstance,
  payments: PaymentFinder,
  findMerchantName: FindMerchantName,
): void {
  app.get(
    '/payments/:network/:payer/:nonce',
    describedAs(paymentOperation),
    async (request, reply) => {
      const status = await payments.byNonce(...readKey(request))
      if (status !== undefined) return reply.header('cache-control', 'no-store').send(status)
      return notFound(reply, UNKNOWN_PAYMENT)
    },
  )

  app.get(
    '/payments/:network/:payer/:nonce/attestation',
    describedAs(attestationOperation),
    async (request, reply) => {
      const record = await payments.recordOf(...readKey(request), readAsset(request))
      if (record === undefined) return notFound(reply, UNKNOWN_PAYMENT)
      const { status, attestation } = record
      if (status.state !== 'confirmed') return notConfirmed(reply, status)
      if (attestation === undefined) return notFound(reply, NOT_ATTESTED)
      return reply.header('cache-control', ATTESTATION_CACHE).send(attestation)
    },
  )

  app.get(
    '/payments/:network/:payer/:nonce/receipt',
    describedAs(receiptOperation),
    async (request, reply) => {
      const record = await payments.recordOf(...readKey(request), readAsset(request))
      if (record === undefined) return notFound(reply, UNKNOWN_PAYMENT)
      const { status } = record
      if (status.state !== 'confirmed') return notConfirmed(reply, status)
      const name = await findMerchantName(status.payTo.toLowerCase() as Address)
      const receipt = toReceipt(record, name)
      reply.headers({ 'cache-control': 'no-store', vary: 'accept' })
      if (wantsJson(request)) return reply.send(receipt)
      reply.headers(receiptHeaders).type('text/html; charset=utf-8')
      return reply.send(renderReceipt(receipt))
    },
  )

  app.get('/payments/:transaction', describedAs(transactionOperation), async (request, reply) => {
    const { transaction } = readQuery(transactionParams, request.params)
    const hash = transaction.toLowerCase() as Hex
    const found = await payments.byTransaction(hash)
    if (found.length === 0)
      return notFound(reply, 'No payment of this transaction was settled here.')
    return reply.header('cache-control', 'no-store').send({ transaction: hash, payments: found })
  })
}

const UNKNOWN_PAYMENT = 'No payment of this payer with this nonce was settled here.'
const NOT_ATTESTED =
  'The payment settled, and no attestation was signed: this facilitator had no key for it then, or its database was restored.'
/** It never changes. */
const ATTESTATION_CACHE = 'public, max-age=3600'

function readKey(request: FastifyRequest): readonly [string, Address, Hex] {
  const { network, payer, nonce } = readQuery(paymentParams, request.params)
  return [network, payer.toLowerCase() as Address, nonce]
}

function wantsJson({ headers: { accept = '' } }: FastifyRequest): boolean {
  return accept.includes('application/json') && !accept.includes('text/html')
}

function readAsset(request: FastifyRequest): Address | undefined {
  return readQuery(proofQuery, request.query).asset?.toLowerCase() as Address | undefined
}

/** Answers that a payment has no proof because it is under way, or has failed. */
function notConfirmed(reply: FastifyReply, { state, errorMessage }: PaymentStatus): FastifyReply {
  const { code, status } = httpCodes.notConfirmed
  const message =
    state === 'failed'
      ? `The payment failed: ${errorMessage ?? 'nothing settled it.'}`
      : 'The payment is on its way and not confirmed yet; ask again in a moment.'
  return reply.code(status).header('cache-control', 'no-store').send({ error: code, message })
}

function notFound(reply: FastifyReply, message: string): FastifyReply {
  return reply.code(404).send({ error: 'not_found', message })
}
