import type { FastifyInstance, FastifyReply } from 'fastify'
import type { Address, Hex } from 'viem'
import { describedAs } from '../http/operation.js'
import { readQuery } from '../http/query.js'
import {
  paymentOperation,
  paymentParams,
  transactionOperation,
  transactionParams,
} from './payment-operations.js'
import type { PaymentFinder } from './payment-status.js'

/** `/payments`: one by what names it before it is on chain, or all of a transaction. */
export function paymentRoutes(app: FastifyInstance, payments: PaymentFinder): void {
  app.get(
    '/payments/:network/:payer/:nonce',
    describedAs(paymentOperation),
    async (request, reply) => {
      const { network, payer, nonce } = readQuery(paymentParams, request.params)
      const key = [network, payer.toLowerCase() as Address, nonce.toLowerCase() as Hex] as const
      const status = await payments.byNonce(...key)
      if (status !== undefined) return reply.header('cache-control', 'no-store').send(status)
      return miss(reply, 'No payment of this payer with this nonce was settled here.')
    },
  )

  app.get('/payments/:transaction', describedAs(transactionOperation), async (request, reply) => {
    const { transaction } = readQuery(transactionParams, request.params)
    const hash = transaction.toLowerCase() as Hex
    const found = await payments.byTransaction(hash)
    if (found.length === 0) return miss(reply, 'No payment of this transaction was settled here.')
    return reply.header('cache-control', 'no-store').send({ transaction: hash, payments: found })
  })
}

function miss(reply: FastifyReply, message: string): FastifyReply {
  return reply.code(404).send({ error: 'not_found', message })
}
