import '../http/route-config.js'
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { Address, Hex } from 'viem'
import type { PaymentFinder } from './payment-status.js'

/** `/payments`: one by what names it before it is on chain, or all of a transaction. */
export function paymentRoutes(app: FastifyInstance, payments: PaymentFinder): void {
  app.get<{ Params: { network: string; payer: string; nonce: string } }>(
    '/payments/:network/:payer/:nonce',
    async (request, reply) => {
      const { network, payer, nonce } = request.params
      if (!/^0x[0-9a-fA-F]{40}$/.test(payer)) {
        return refuse(reply, 'payer must be a 20-byte hex address with 0x prefix.')
      }
      if (!isBytes32(nonce)) return refuse(reply, 'nonce must be 32 bytes of hex with 0x prefix.')
      const key = [network, payer.toLowerCase() as Address, nonce.toLowerCase() as Hex] as const
      const status = await payments.byNonce(...key)
      if (status !== undefined) return reply.header('cache-control', 'no-store').send(status)
      return miss(reply, 'No payment of this payer with this nonce was settled here.')
    },
  )

  app.get<{ Params: { transaction: string } }>('/payments/:transaction', async (request, reply) => {
    const { transaction } = request.params
    if (!isBytes32(transaction)) {
      return refuse(reply, 'transaction must be 32 bytes of hex with 0x prefix.')
    }
    const hash = transaction.toLowerCase() as Hex
    const found = await payments.byTransaction(hash)
    if (found.length === 0) return miss(reply, 'No payment of this transaction was settled here.')
    return reply.header('cache-control', 'no-store').send({ transaction: hash, payments: found })
  })
}

function isBytes32(text: string): boolean {
  return /^0x[0-9a-fA-F]{64}$/.test(text)
}

function refuse(reply: FastifyReply, message: string): FastifyReply {
  return reply.code(400).send({ error: 'invalid_request', message })
}

function miss(reply: FastifyReply, message: string): FastifyReply {
  return reply.code(404).send({ error: 'not_found', message })
}
