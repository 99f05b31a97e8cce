import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Address } from 'viem'
import type { RateLimiter } from '../http/rate-limit.js'
import '../http/operation.js'
import { type BazaarStatus, encodeExtensionResponses } from '../x402/extension-responses.js'
import type { PaymentAnswer } from '../x402/payment-answer.js'
import { reportSettle, reportVerify } from './answer-report.js'
import type { Delivery } from './deliveries.js'
import { settleOperation, supportedOperation, verifyOperation } from './operations.js'
import { paymentRoutes } from './payment-routes.js'
import type { PaymentFinder } from './payment-status.js'
import { createSettlePace, type Leave, type SettlePace } from './settle-pace.js'
import type { Settle, SettleRequest, SettleResult } from './settler.js'
import type { TakeVerified } from './verified.js'
import type { Verify } from './verifier.js'

export interface FacilitatorRoutesOptions {
  /** What is settled at present; a scheme may come and go with its contracts. */
  kinds(): readonly SupportedKind[]
  relayerAddresses: readonly Address[]
  verify: Verify
  settle: Settle
  /** Whether this body holds a payment that was verified here: it is not refused for the caller's pace. */
  takeVerified: TakeVerified
  payments: PaymentFinder
  /** `undefined` where there is no limit. */
  limiter: RateLimiter | undefined
  /** Told of every answer about a payment that could be read. */
  onAnswer?: (answer: PaymentAnswer) => void
  /** Lists what settled payments were for. */
  catalogue?: Catalogue | undefined
}

export interface SupportedKind {
  scheme: 'exact' | 'batch-settlement'
  network: string
}

/**
 * Takes in the bazaar extension of payments: `prepare` of one that is valid, `expect` of one that may settle, `offer` of
 * one that has. None ever throws or rejects.
 */
export interface Catalogue {
  prepare(payload: unknown): void
  expect(payload: unknown): void
  offer(settled: {
    network: string
    asset: Address
    payTo: Address
    payer: Address
    amount: bigint
    requirements: unknown
    payload: unknown
    settlementId: string
  }): Promise<BazaarStatus> | undefined
}

/** `/supported`, `/verify`, `/settle` of x402 v2, and `/payments` to look one up. */
export async function facilitatorRoutes(
  app: FastifyInstance,
  options: FacilitatorRoutesOptions,
): Promise<void> {
  const supported = () => ({
    kinds: options.kinds().map(({ scheme, network }) => ({ x402Version: 2, scheme, network })),
    extensions: options.catalogue === undefined ? [] : ['bazaar'],
    signers: { 'eip155:*': options.relayerAddresses },
  })

  const tell = (answer: PaymentAnswer | undefined) => {
    if (answer !== undefined) options.onAnswer?.(answer)
  }

  app.get('/supported', { config: { limit: 'exempt', operation: supportedOperation } }, supported)

  const verifying = { family: 'verify', operation: verifyOperation } as const
  app.post('/verify', { config: verifying }, async (request, reply) => {
    const startedAt = performance.now()
    const result = await options.verify(request.body)
    await beside(request, () => {
      tell(reportVerify(result, startedAt))
      if (result.body.isValid) options.catalogue?.prepare(payloadOf(request.body))
    })
    return reply.code(result.status).send(result.body)
  })

  const { limiter, takeVerified } = options
  const enter: SettlePace =
    limiter === undefined ? async () => () => {} : createSettlePace(limiter, takeVerified)
  const settling = { family: 'settle', limit: 'manual', operation: settleOperation } as const
  app.post('/settle', { config: settling }, async (request, reply) => {
    const leave = await enter(request)
    const startedAt = performance.now()
    const asked: SettleRequest = {
      body: request.body,
      idempotencyKey: readIdempotencyKey(request),
      isConnected: () => !reply.raw.destroyed,
    }
    options.catalogue?.expect(payloadOf(request.body))
    let result = await settleBetween(leave, () => options.settle(asked))
    let success = trackDelivery(reply, result.delivery, request)
    request.log.info(
      { settlementId: result.settlementId, reason: result.body.errorReason },
      result.body.success ? 'settle answered with success' : 'settle refused',
    )
    await beside(request, async () => {
      tell(reportSettle(result, startedAt))
      const bazaar = await offerResource(options.catalogue, request.body, result)
      if (bazaar !== undefined) {
        reply.header('EXTENSION-RESPONSES', encodeExtensionResponses({ bazaar }))
      }
    })
    // The right to say "paid" may have passed to another process while this one stood still.
    while (!(await success.mayBeTold())) {
      result = await options.settle(asked)
      success = trackDelivery(reply, result.delivery, request)
    }
    return reply.code(result.status).send(result.body)
  })

  paymentRoutes(app, options.payments)
}

/** Whatever becomes of a settle that was let in, its turn is over. */
async function settleBetween(leave: Leave, settle: () => Promise<SettleResult>) {
  let result: SettleResult | undefined
  try {
    result = await settle()
    return result
  } finally {
    leave(result)
  }
}

/** Counting and listing: whatever goes wrong there, a payment that landed is answered with its hash. */
async function beside(request: FastifyRequest, work: () => void | Promise<void>): Promise<void> {
  try {
    await work()
  } catch (err) {
    request.log.error({ err }, 'an answer could not be counted or listed')
  }
}

/** Only what has settled is listed: the extension is a buyer's word. */
function offerResource(
  catalogue: Catalogue | undefined,
  body: unknown,
  { body: answer, payment, settlementId }: SettleResult,
): Promise<BazaarStatus> | undefined {
  if (!answer.success || payment === undefined || settlementId === undefined) return undefined
  const { network, asset, payTo, payer, amount } = payment
  return catalogue?.offer({
    network,
    asset,
    payTo,
    payer,
    amount,
    requirements: (body as { paymentRequirements?: unknown }).paymentRequirements,
    payload: payloadOf(body),
    settlementId,
  })
}

function payloadOf(body: unknown): unknown {
  return (body as { paymentPayload?: unknown } | null | undefined)?.paymentPayload
}

/**
 * Marks a success as told once the last byte is handed to the network, and gives the right back when the connection closes
 * before. `mayBeTold` is to be asked right before the answer is sent; after a no, the right is given back already.
 */
function trackDelivery(
  { raw }: FastifyReply,
  delivery: Delivery | undefined,
  request: FastifyRequest,
): { mayBeTold(): Promise<boolean> } {
  if (delivery === undefined) return { mayBeTold: async () => true }
  let isOver = false
  const end = (how: 'complete' | 'release') => () => {
    if (isOver) return
    isOver = true
    delivery[how]().catch((err) => request.log.error({ err }, 'delivery could not be marked'))
  }
  if (raw.destroyed) end('release')()
  raw.once('finish', end('complete'))
  raw.once('close', end('release'))
  return {
    async mayBeTold() {
      const isHeld = await delivery.isHeld().catch((err) => {
        request.log.error({ err }, 'the right to answer with success could not be confirmed')
        return false
      })
      if (!isHeld) end('release')()
      return isHeld
    },
  }
}

function readIdempotencyKey(request: FastifyRequest): string | undefined {
  const header = request.headers['idempotency-key']
  return Array.isArray(header) ? header.join(',') : header
}
