import { httpCodes } from '@arcus/protocol/answers/errors'
import {
  type PaymentStatus,
  paymentParams,
  type SettlementStatus,
  statusParams,
  transactionParams,
  whichQuery,
} from '@arcus/protocol/answers/payments'
import { formatNative } from '@arcus/protocol/x402/amounts'
import { type ReasonKey, reasons } from '@arcus/protocol/x402/reasons'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Address, Hex } from 'viem'
import { asksForPage, type OpenPage } from '../../http/not-found.js'
import { describedAs } from '../../http/operation.js'
import { readQuery } from '../../http/query.js'
import { isReasonKey, settlementStatuses } from '../answers.js'
import type { Job, SettlementJournal } from '../journal/settlement-journal.js'
import { attestationOf } from '../methods/attestor.js'
import {
  EXACT,
  exactKey,
  isPayment,
  PERMIT2,
  readExactDetails,
  readResource,
  transferOf,
} from '../methods/exact-job.js'
import type { NetworkTerms } from '../methods/network.js'
import { reasonFor } from '../methods/permit2-checks.js'
import { permit2Key, readPermit2Details } from '../methods/permit2-job.js'
import {
  attestationOperation,
  paymentOperation,
  receiptOperation,
  statusOperation,
  transactionOperation,
} from './operations.js'
import { type PaymentRecord, receiptHeaders, renderReceipt, toReceipt } from './receipt.js'
import { createRefundFinder, type FindRefunds } from './refunds.js'

/** Distinguishes payments with one nonce: a payer may use it once in each token, and once more by Permit2. */
interface Which {
  asset?: Address | undefined
  method?: 'eip3009' | 'permit2' | undefined
}

/** Looks payments up. Several payments with the nonce are no answer: the payer chose it, and could pass one for another. */
export interface PaymentFinder {
  byNonce(
    network: string,
    payer: Address,
    nonce: Hex,
    which: Which,
  ): Promise<PaymentStatus | Ambiguous | undefined>
  /** Finds a confirmed payment with what a proof of it needs, or else the one that is not confirmed. */
  recordOf(
    network: string,
    payer: Address,
    nonce: Hex,
    which: Which,
  ): Promise<PaymentRecord | Ambiguous | undefined>
  /** Finds what became of anything that a settle answered about, by the id of its row. */
  byId(settlementId: string): Promise<SettlementStatus | undefined>
  /** Finds the payments of a batch, in its order; a payment that settled in another transaction names that one. */
  byTransaction(transaction: Hex): Promise<PaymentStatus[]>
  findRefunds: FindRefunds
}

/** The queries of several payments with one nonce. */
interface Ambiguous {
  queries: string[]
}

/**
 * A transaction is shown when it is mined, or has been out for so long: three blocks of Arc. Whoever is to strike against it
 * must not learn from here that it is out; the buyer is no exception, because the buyer is who would.
 */
const UNTOLD_MS = 1_500

export function createPaymentFinder(options: {
  journal: Pick<
    SettlementJournal,
    'findJob' | 'findJobs' | 'findJobById' | 'findByTransaction' | 'signedAt'
  >
  terms: ReadonlyMap<string, Pick<NetworkTerms, 'tokens'>>
  /** The explorer of each network; `undefined` where there is none. */
  explorerUrls: ReadonlyMap<string, string | undefined>
  checksum: (address: Address) => Address
  /** Wallets that pay refunds on behalf of another address, with that address; lower-case. */
  refundWallets?: ReadonlyMap<Address, Address> | undefined
  /** Unix milliseconds. */
  now: () => number
}): PaymentFinder {
  const { journal, terms, explorerUrls, checksum, now } = options
  const findRefunds = createRefundFinder(options)

  /** Returns a job as it is shown, and when its transaction was sent. */
  async function toShown(job: Job): Promise<{ shown: Job; sentAt: number | undefined }> {
    const sentAt = job.transaction === null ? undefined : await journal.signedAt(job.transaction)
    const isUntold = sentAt !== undefined && now() - sentAt < UNTOLD_MS
    // A row with a message names what others brought on chain.
    if (job.state !== 'submitted' || job.message !== null || !isUntold) {
      return { shown: job, sentAt }
    }
    const shown: Job = { ...job, state: 'queued', transaction: null, updatedAt: job.createdAt }
    return { shown, sentAt: undefined }
  }

  async function toStatus(job: Job): Promise<PaymentStatus> {
    const { shown, sentAt } = await toShown(job)
    const explorer = explorerUrls.get(job.network)
    const refund = job.state === 'confirmed' ? await findRefund(job) : null
    return describe(shown, { sentAt, refund }, terms.get(job.network), explorer, checksum)
  }

  /** Finds what the seller gave back of a payment. */
  async function findRefund(job: Job): Promise<PaymentStatus['refund']> {
    const { asset, payer, payTo, nonce, value } = readExactDetails(job)
    const sale = { network: job.network, asset, payer, payTo, nonce, amount: BigInt(value) }
    const [refund = null] = await findRefunds([{ ...sale, method: methodOfJob(job) }])
    return refund
  }

  async function findJobs(
    network: string,
    payer: Address,
    nonce: Hex,
    { asset, method }: Which,
  ): Promise<Job[]> {
    const assets = [...(terms.get(network)?.tokens.keys() ?? [])]
    const jobs = await Promise.all([
      ...assets.map((asset) => journal.findJob(EXACT, network, exactKey(asset, payer, nonce))),
      journal.findJob(PERMIT2, network, permit2Key(payer, nonce)),
    ])
    return jobs.filter(
      (job) =>
        job !== undefined &&
        (asset === undefined || transferOf(job).asset === asset) &&
        (method === undefined || methodOfJob(job) === method),
    ) as Job[]
  }
  const only = <Value>(jobs: readonly Job[], toValue: (job: Job) => Promise<Value>) => {
    const [job, ...others] = jobs
    if (others.length === 0) return job && toValue(job)
    return {
      queries: jobs.map(
        (it) => `asset=${checksum(transferOf(it).asset)}&method=${methodOfJob(it)}`,
      ),
    }
  }
  return {
    byNonce: async (network, payer, nonce, which) =>
      only(await findJobs(network, payer, nonce, which), toStatus),
    async recordOf(network, payer, nonce, which) {
      const found = await findJobs(network, payer, nonce, which)
      const confirmed = found.filter(({ state }) => state === 'confirmed')
      return only(confirmed.length > 0 ? confirmed : found, async (job) => ({
        status: await toStatus(job),
        attestation: attestationOf(job, transferOf(job), checksum),
        resourceUrl: readResource(job).resourceUrl,
        toolName: readResource(job).toolName,
        symbol: terms.get(network)?.tokens.get(transferOf(job).asset)?.symbol ?? '',
        scheme: isUpto(job) ? 'upto' : 'exact',
      }))
    },
    async byId(settlementId) {
      const job = await journal.findJobById(settlementId)
      if (job === undefined) return undefined
      const { shown } = await toShown(job)
      return {
        paymentId: shown.id,
        status: settlementStatuses[shown.state],
        network: shown.network,
        transaction: shown.transaction,
        updatedAt: new Date(shown.updatedAt).toISOString(),
      }
    },
    async byTransaction(transaction) {
      const jobs = await journal.findByTransaction(transaction)
      return Promise.all(jobs.filter(isPayment).map(toStatus))
    },
    findRefunds,
  }
}

function methodOfJob({ kind }: Job): 'eip3009' | 'permit2' {
  return kind === PERMIT2 ? 'permit2' : 'eip3009'
}

function describe(
  job: Job,
  { sentAt, refund }: { sentAt: number | undefined } & Pick<PaymentStatus, 'refund'>,
  terms: Pick<NetworkTerms, 'tokens'> | undefined,
  explorer: string | undefined,
  checksum: (address: Address) => Address,
): PaymentStatus {
  const details = readExactDetails(job)
  const token = terms?.tokens.get(details.asset)
  return {
    settlementId: job.id,
    paymentId: job.id,
    status: settlementStatuses[job.state],
    network: job.network,
    asset: checksum(details.asset),
    symbol: token?.symbol ?? null,
    currency: token?.currency ?? null,
    payer: checksum(details.payer),
    payTo: checksum(details.payTo),
    nonce: details.nonce,
    amount: details.value,
    state: job.usedBlock === null ? job.state : 'used',
    unusedAtBlock: job.unusedBlock,
    transaction: job.transaction,
    explorerUrl: explorer && job.transaction ? `${explorer}/tx/${job.transaction}` : null,
    blockNumber: job.blockNumber,
    errorReason: isReasonKey(job.reason) ? reasons[ownReason(job, job.reason)].code : null,
    errorMessage: job.message,
    delivered: job.deliveredAt !== null,
    createdAt: new Date(job.createdAt).toISOString(),
    sentAt: toIso(sentAt),
    deliveredAt: toIso(job.deliveredAt),
    updatedAt: new Date(job.updatedAt).toISOString(),
    validAfter: details.validAfter,
    validBefore: details.validBefore,
    gasUsd: job.gasCost === null ? null : formatNative(job.gasCost),
    refund,
  }
}

function toIso(at: number | null | undefined): string | null {
  return at == null ? null : new Date(at).toISOString()
}

function ownReason(job: Job, reason: ReasonKey): ReasonKey {
  return reasonFor(reason, { isUpto: isUpto(job), isByPermit2: job.kind === PERMIT2 })
}

/** Returns whether a payment charged a part of a ceiling: only payers of `upto` name who may settle. */
function isUpto(job: Job): boolean {
  return readPermit2Details(job).facilitator !== undefined
}

/** Finds the merchant whose listing speaks for an address (lower case). */
export type FindPaidMerchant = (payTo: Address) => Promise<{ id: string; name: string } | undefined>

/**
 * Serves `/payments`: one payment by its payer and nonce, or all payments of a transaction. A browser that opens one of
 * these addresses gets the page about it, where the console is built.
 */
export function paymentRoutes(
  app: FastifyInstance,
  payments: PaymentFinder,
  findMerchant: FindPaidMerchant = async () => undefined,
  answerPage?: OpenPage,
): void {
  const openAsPage = (request: FastifyRequest, reply: FastifyReply) => {
    reply.header('vary', 'accept')
    return answerPage !== undefined && asksForPage(request) ? answerPage(request, reply) : undefined
  }

  app.get(
    '/payments/:network/:payer/:nonce',
    describedAs(paymentOperation),
    async (request, reply) => {
      const page = openAsPage(request, reply)
      if (page !== undefined) return page
      const status = await payments.byNonce(...readKey(request))
      if (status === undefined) return notFound(reply, UNKNOWN_PAYMENT)
      if ('queries' in status) return ambiguous(reply, status)
      return reply.header('cache-control', 'no-store').send(status)
    },
  )

  app.get(
    '/payments/:network/:payer/:nonce/attestation',
    describedAs(attestationOperation),
    async (request, reply) => {
      const record = await payments.recordOf(...readKey(request))
      if (record === undefined) return notFound(reply, UNKNOWN_PAYMENT)
      if ('queries' in record) return ambiguous(reply, record)
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
      const record = await payments.recordOf(...readKey(request))
      if (record === undefined) return notFound(reply, UNKNOWN_PAYMENT)
      if ('queries' in record) return ambiguous(reply, record)
      const { status } = record
      if (status.state !== 'confirmed') return notConfirmed(reply, status)
      const merchant = await findMerchant(status.payTo.toLowerCase() as Address)
      const receipt = toReceipt(record, merchant)
      reply.headers({ 'cache-control': 'no-store', vary: 'accept' })
      if (wantsJson(request)) return reply.send(receipt)
      reply.headers(receiptHeaders).type('text/html; charset=utf-8')
      return reply.send(renderReceipt(receipt))
    },
  )

  app.get('/payments/status/:paymentId', describedAs(statusOperation), async (request, reply) => {
    const { paymentId } = readQuery(statusParams, request.params)
    const status = await payments.byId(paymentId)
    if (status === undefined) return notFound(reply, UNKNOWN_SETTLEMENT)
    return reply.header('cache-control', 'no-store').send(status)
  })

  app.get('/payments/:transaction', describedAs(transactionOperation), async (request, reply) => {
    const page = openAsPage(request, reply)
    if (page !== undefined) return page
    const { transaction } = readQuery(transactionParams, request.params)
    const hash = transaction.toLowerCase() as Hex
    const found = await payments.byTransaction(hash)
    if (found.length === 0)
      return notFound(reply, 'No payment of this transaction was settled here.')
    return reply.header('cache-control', 'no-store').send({ transaction: hash, payments: found })
  })
}

const UNKNOWN_PAYMENT = 'No payment of this payer with this nonce was settled here.'
const UNKNOWN_SETTLEMENT = 'Nothing with this id was settled here.'
const NOT_ATTESTED =
  'The payment settled, and no attestation was signed: this facilitator had no key for it then, or its database was restored.'
/** It never changes. */
const ATTESTATION_CACHE = 'public, max-age=3600'

function readKey(request: FastifyRequest): readonly [string, Address, Hex, Which] {
  const { network, payer, nonce } = readQuery(paymentParams, request.params)
  const { asset, method } = readQuery(whichQuery, request.query)
  const which = { asset: asset?.toLowerCase() as Address | undefined, method }
  return [network, payer.toLowerCase() as Address, nonce, which]
}

function wantsJson({ headers: { accept = '' } }: FastifyRequest): boolean {
  return accept.includes('application/json') && !accept.includes('text/html')
}

function ambiguous(reply: FastifyReply, { queries }: Ambiguous): FastifyReply {
  const { code, status } = httpCodes.ambiguous_nonce
  const message = `This payer used the nonce for ${queries.length} payments; add one of: ${queries.map((it) => `?${it}`).join(', ')}.`
  return reply.code(status).header('cache-control', 'no-store').send({ error: code, message })
}

/** Answers that a payment has no proof because it is under way, or has failed. */
function notConfirmed(reply: FastifyReply, { state, errorMessage }: PaymentStatus): FastifyReply {
  const { code, status } = httpCodes.payment_not_confirmed
  const message =
    state === 'failed' || state === 'used'
      ? `The payment failed: ${errorMessage ?? 'nothing settled it.'}`
      : (errorMessage ?? 'The payment is on its way and not confirmed yet; ask again in a moment.')
  return reply.code(status).header('cache-control', 'no-store').send({ error: code, message })
}

function notFound(reply: FastifyReply, message: string): FastifyReply {
  return reply.code(404).send({ error: 'not_found', message })
}
