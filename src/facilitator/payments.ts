import type { FastifyInstance, FastifyReply } from 'fastify'
import type { Address, Hex } from 'viem'
import type { PaymentStatus } from '../api/payments.js'
import { describedAs } from '../http/operation.js'
import { readQuery } from '../http/query.js'
import type { Job, SettlementJournal } from '../store/settlement-journal.js'
import { formatNative } from '../x402/amounts.js'
import { reasons } from '../x402/reasons.js'
import { isReasonKey } from './answers.js'
import type { Terms } from './checks.js'
import { EXACT, exactKey, readExactDetails } from './exact-job.js'
import {
  paymentOperation,
  paymentParams,
  transactionOperation,
  transactionParams,
} from './operations.js'

/** Looks payments up. */
export interface PaymentFinder {
  byNonce(network: string, payer: Address, nonce: Hex): Promise<PaymentStatus | undefined>
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
  const toStatus = (job: Job) => describe(job, explorerUrls.get(job.network), checksum)
  return {
    async byNonce(network, payer, nonce) {
      const asset = terms.get(network)?.token.address
      if (asset === undefined) return undefined
      const job = await journal.findJob(EXACT, network, exactKey(asset, payer, nonce))
      return job && toStatus(job)
    },
    async byTransaction(transaction) {
      const jobs = await journal.findByTransaction(transaction)
      return jobs.filter(({ kind }) => kind === EXACT).map(toStatus)
    },
  }
}

function describe(
  job: Job,
  explorer: string | undefined,
  checksum: (address: Address) => Address,
): PaymentStatus {
  const details = readExactDetails(job)
  return {
    settlementId: job.id,
    network: job.network,
    asset: checksum(details.asset),
    payer: checksum(details.payer),
    payTo: checksum(details.payTo),
    nonce: details.nonce,
    amount: details.value,
    state: job.state,
    transaction: job.transaction,
    explorerUrl: explorer && job.transaction ? `${explorer}/tx/${job.transaction}` : null,
    blockNumber: job.blockNumber,
    errorReason: isReasonKey(job.reason) ? reasons[job.reason].code : null,
    errorMessage: job.message,
    delivered: job.deliveredAt !== null,
    createdAt: new Date(job.createdAt).toISOString(),
    updatedAt: new Date(job.updatedAt).toISOString(),
    validAfter: details.validAfter,
    validBefore: details.validBefore,
    gasUsd: job.gasCost === null ? null : formatNative(job.gasCost),
  }
}

/** Serves `/payments`: one payment by its payer and nonce, or all payments of a transaction. */
export function paymentRoutes(app: FastifyInstance, payments: PaymentFinder): void {
  app.get(
    '/payments/:network/:payer/:nonce',
    describedAs(paymentOperation),
    async (request, reply) => {
      const { network, payer, nonce } = readQuery(paymentParams, request.params)
      const key = [network, payer.toLowerCase() as Address, nonce.toLowerCase() as Hex] as const
      const status = await payments.byNonce(...key)
      if (status !== undefined) return reply.header('cache-control', 'no-store').send(status)
      return notFound(reply, 'No payment of this payer with this nonce was settled here.')
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

function notFound(reply: FastifyReply, message: string): FastifyReply {
  return reply.code(404).send({ error: 'not_found', message })
}
