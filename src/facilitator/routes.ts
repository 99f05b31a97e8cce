import type { SupportedAnswer } from '@arcus/protocol/answers/payments'
import type { FacilitatorAnswer } from '@arcus/protocol/answers/service'
import { type BazaarStatus, encodeExtensionResponses } from '@arcus/protocol/x402/bazaar'
import { readNonce, readPayer, readPayloadSize } from '@arcus/protocol/x402/parse-request'
import type { PaymentAnswer } from '@arcus/protocol/x402/payment'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Address } from 'viem'
import { type CachedBody, sendCached, toCachedBody } from '../http/cached-reply.js'
import { rateLimitFault } from '../http/errors.js'
import type { OpenPage } from '../http/not-found.js'
import { describedAs } from '../http/operation.js'
import { partyOf, pointsAsked, type RateLimiter, tellAllowance } from '../http/rate-limit.js'
import {
  type Answered,
  reportSettle,
  reportVerify,
  type SettleResult,
  type VerifyAnswer,
} from './answers.js'
import type { DeliveryRight } from './journal/deliveries.js'
import { type FindPaidMerchant, type PaymentFinder, paymentRoutes } from './lookup/payments.js'
import {
  settleOperation,
  supportedOperation,
  verifyOperation,
  wellKnownOperation,
} from './operations.js'
import { createRefusalLog } from './refusal-log.js'
import { createSettleLimit, type Leave, type SettleLimit } from './settle/settle-limit.js'
import type { Settle, SettleRequest } from './settle/settler.js'
import type { TakeSignature, TakeVerified } from './verify/verified-payments.js'
import type { Verify } from './verify/verifier.js'

interface FacilitatorRoutesOptions extends FacilitatorLinks {
  /** Returns what is settled now. */
  supported(): SupportedAnswer
  verify: Verify
  settle: Settle
  /** Returns whether a body holds a payment that was verified here, which the rate limit does not refuse. */
  takeVerified: TakeVerified
  /** Lets a body past the rate limit be parsed for a signature that verify accepted here. */
  takeSignature: TakeSignature
  payments: PaymentFinder
  /** The part of `/.well-known/x402` that does not change. */
  about: Omit<FacilitatorAnswer, keyof SupportedAnswer | 'x402Version'>
  /** Called when a request has claimed a payment, before the payment is worked on. */
  onClaimed(request: FastifyRequest, settlementId: string): void
}

/**
 * Offers the resource of a settled payment to a catalog; returns `undefined` where the payment names none. The answer to
 * the payment does not wait for the catalog.
 */
type OfferResource = (settled: {
  network: string
  asset: Address
  payTo: Address
  payer: Address
  /** Atomic units. */
  amount: bigint
  requirements: unknown
  payload: unknown
  settlementId: string
}) => BazaarStatus | undefined

/** What a facilitator is linked to where it is mounted. All of it may be left out. */
export interface FacilitatorLinks {
  /** Receives every answer about a payment that could be read. */
  onAnswer?: ((answer: PaymentAnswer) => void) | undefined
  offerResource?: OfferResource | undefined
  /** Finds the merchant whose listing speaks for an address. */
  merchantOf?: FindPaidMerchant | undefined
  /** Answers browsers with pages. */
  answerPage?: OpenPage | undefined
  /** Limits the requests of a caller; none does unless it is given. */
  limiter?: RateLimiter | undefined
  /** Other addresses of the service that `/.well-known/x402` names. */
  resources?: Omit<FacilitatorAnswer['resources'], 'supported'>
}

/** Serves `/supported`, `/verify` and `/settle` of x402 v2, and `/payments` to look payments up. */
export async function facilitatorRoutes(
  app: FastifyInstance,
  options: FacilitatorRoutesOptions,
): Promise<void> {
  const { supported } = options
  const report = (answer: PaymentAnswer | undefined) => {
    if (answer !== undefined) options.onAnswer?.(answer)
  }

  app.get('/supported', { config: { limit: 'exempt', operation: supportedOperation } }, supported)

  const verifying = { family: 'verify', operation: verifyOperation } as const
  app.post('/verify', { config: verifying }, async (request, reply) => {
    chargeRows(request)
    const startedAt = performance.now()
    const result = await options.verify(request.body, partyOf(request.ip))
    withoutFailing(request, () => {
      report(reportVerify(result, startedAt))
      logRefusedVerify(request, result)
    })
    return reply.code(result.status).send(result.body)
  })

  await app.register(async (scope) => settleRoute(scope, options, report))

  paymentRoutes(app, options.payments, options.merchantOf, options.answerPage)
  wellKnownRoute(app, () => ({ x402Version: 2, ...supported(), ...options.about }))
}

/** Serves `/settle`, which asks the rate limit itself: a settle that ends well is not counted. */
function settleRoute(
  app: FastifyInstance,
  options: FacilitatorRoutesOptions,
  report: (answer: PaymentAnswer | undefined) => void,
): void {
  const { limiter } = options
  const limit = limiter && createSettleLimit(limiter, options)
  const logRefusal = createRefusalLog(app.log)
  if (limit !== undefined && limiter !== undefined) {
    app.addHook('onRequest', async (request, reply) =>
      tellAllowance(reply, limiter, limiter.look(request)),
    )
    parseWithin(app, limit)
  }

  async function enter(request: FastifyRequest, reply: FastifyReply): Promise<Leave> {
    if (limit === undefined || limiter === undefined) return () => {}
    try {
      return await limit.enter(request, pointsAsked(request, rowsIn(request.body)))
    } finally {
      tellAllowance(reply, limiter, limiter.look(request))
    }
  }

  const settling = { family: 'settle', limit: 'manual', operation: settleOperation } as const
  app.post('/settle', { config: settling }, async (request, reply) => {
    const leave = await enter(request, reply)
    const startedAt = performance.now()
    const asked: SettleRequest = {
      body: request.body,
      idempotencyKey: readIdempotencyKey(request),
      caller: partyOf(request.ip),
      isConnected: () => !isGone(reply.raw),
      onClaimed: (settlementId) => options.onClaimed(request, settlementId),
    }
    let result = await settleBetween(leave, () => options.settle(asked))
    let success = trackDelivery(reply, result.delivery, request)
    const { settlementId } = result
    if (result.body.success) request.log.info({ settlementId }, 'settle answered with success')
    else {
      const reason = result.body.errorReason
      logRefusal(request.log, { settlementId, reason, ...readNames(request.body) })
    }
    withoutFailing(request, () => {
      report(reportSettle(result, startedAt))
      const listed = offerResource(options.offerResource, request.body, result)
      if (listed !== undefined) {
        reply.header('EXTENSION-RESPONSES', encodeExtensionResponses({ bazaar: listed }))
      }
    })
    // The right to answer with success may have passed to another process if this one was halted.
    while (!(await success.mayBeSent())) {
      result = await options.settle({ ...asked, landed: result })
      success = trackDelivery(reply, result.delivery, request)
    }
    return reply.code(result.status).send(result.body)
  })
}

/** Parses the JSON of a body that the limit lets through. */
function parseWithin(app: FastifyInstance, limit: SettleLimit): void {
  const parse = app.getDefaultJsonParser('ignore', 'ignore')
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    try {
      limit.checkUnparsed(request, body as Buffer)
    } catch (error) {
      return done(error as Error)
    }
    void parse(request, body.toString(), done)
  })
}

/** A deposit takes as much work as so many claims. */
const DEPOSIT_ROWS = 14

/** Counts the claims in a body that nobody has checked yet. */
function rowsIn(body: unknown): number {
  const { type, claims } = readPayloadSize(body)
  return claims + (type === 'deposit' ? DEPOSIT_ROWS : 0)
}

/** Charges a verify for its claims, which are known once the body is parsed. */
function chargeRows(request: FastifyRequest): void {
  const { cost } = request.routeOptions.config
  const points = (cost?.row ?? 0) * rowsIn(request.body)
  const allowance = points > 0 ? request.server.limiter?.consume(request, points) : undefined
  if (allowance?.limited) throw rateLimitFault(allowance.resetSeconds)
}

/** Callers may keep the answer for as long. The wallet that `upto` names takes turns, and would change the tag each time. */
const KEPT_MS = 60_000

/** Serves `/.well-known/x402`: all that a stranger must know to use or to check this facilitator. */
function wellKnownRoute(app: FastifyInstance, describe: () => FacilitatorAnswer): void {
  let made: { body: CachedBody; at: number } | undefined
  app.get('/.well-known/x402', describedAs(wellKnownOperation), (request, reply) => {
    const now = performance.now()
    if (made === undefined || now - made.at >= KEPT_MS) {
      made = { body: toCachedBody(JSON.stringify(describe())), at: now }
    }
    return sendCached(request, reply, made.body)
  })
}

/** Logs a refusal at debug, because anybody may ask verify about anything, as often as they like. */
function logRefusedVerify(request: FastifyRequest, { body }: Answered<VerifyAnswer>): void {
  if (body.isValid) return
  request.log.debug({ reason: body.invalidReason, ...readNames(request.body) }, 'verify refused')
}

/** Returns the payer and the nonce for a line about a refusal; a body may have neither. */
function readNames(body: unknown) {
  return { payer: readPayer(body), nonce: readNonce(body) }
}

/** Settles, and gives the caller's turn back however it ends. */
async function settleBetween(leave: Leave, settle: () => Promise<SettleResult>) {
  let result: SettleResult | undefined
  try {
    result = await settle()
    return result
  } finally {
    leave(result)
  }
}

/** Counts and lists an answer. A fault there must not keep a settled payment from being answered with its hash. */
function withoutFailing(request: FastifyRequest, record: () => void): void {
  try {
    record()
  } catch (err) {
    request.log.error({ err }, 'an answer could not be counted or listed')
  }
}

/** Offers the resource of a settled payment to the catalog. Others are not listed, because the buyer wrote the extension. */
function offerResource(
  offer: OfferResource | undefined,
  body: unknown,
  { body: answer, payment, settlementId }: SettleResult,
): BazaarStatus | undefined {
  if (!answer.success || payment === undefined || settlementId === undefined) return undefined
  const { network, asset, payTo, payer, amount } = payment
  return offer?.({
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
 * Marks a success as delivered once the last byte is handed to the network, and gives the right back when the connection
 * closes before. `mayBeSent` must be called right before the answer is sent; when it returns `false`, the right has been
 * given back.
 */
function trackDelivery(
  { raw }: FastifyReply,
  delivery: DeliveryRight | undefined,
  request: FastifyRequest,
): { mayBeSent(): Promise<boolean> } {
  if (delivery === undefined) return { mayBeSent: async () => true }
  let isOver = false
  const end = (how: 'complete' | 'release') => () => {
    if (isOver) return
    isOver = true
    delivery[how]().catch((err) => request.log.error({ err }, 'the delivery could not be marked'))
  }
  if (isGone(raw)) end('release')()
  // A hook of the app around may have answered something else, and HTTP/2 also calls an answer finished that never began.
  raw.once('finish', () =>
    end(raw.statusCode === 200 && raw.writableEnded ? 'complete' : 'release')(),
  )
  raw.once('close', end('release'))
  return {
    async mayBeSent() {
      const isHeld = await delivery.isHeld().catch((err) => {
        request.log.error({ err }, 'the right to answer with success could not be confirmed')
        return false
      })
      if (!isHeld) end('release')()
      return isHeld
    },
  }
}

/** Returns whether nobody receives the answer. A response of HTTP/2 says so by its stream alone. */
function isGone(raw: FastifyReply['raw'] & { stream?: { destroyed: boolean } }): boolean {
  return raw.destroyed || raw.stream?.destroyed === true
}

function readIdempotencyKey(request: FastifyRequest): string | undefined {
  const header = request.headers['idempotency-key']
  return Array.isArray(header) ? header.join(',') : header
}
