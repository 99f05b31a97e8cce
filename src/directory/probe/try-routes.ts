import { httpCodes } from '@arcus/protocol/answers/errors'
import { type TryAnswer, type TryInput, tryBody } from '@arcus/protocol/answers/try'
import { isOpenHeader, toHttpCall } from '@arcus/protocol/x402/calls'
import { defined } from '@arcus/protocol/x402/json'
import type { FastifyInstance } from 'fastify'
import { httpFault, type RequestFault } from '../../http/errors.js'
import { describedAs, type Operation } from '../../http/operation.js'
import { parameterFault } from '../../http/query.js'
import { callerOf } from '../../http/rate-limit.js'
import { aboutMerchant, readBody } from '../refusals.js'
import type { ListingReader, WrittenEndpoint } from '../store/listings.js'
import type { CallBudget, CallBudgetOptions } from './call-limits.js'
import { findEndpoint } from './endpoint-history.js'
import { type GuardedAnswer, type GuardedFetch, headOf } from './guarded-fetch.js'
import { sentMethod, whyUncalled } from './probe.js'
import { hostKey } from './target-rules.js'

/** A person waits for the answer. */
export const tryTimes = { headersMs: 25_000, bodyMs: 10_000, totalMs: 30_000 }
/**
 * A seller works and settles before it answers a payment, and a settlement alone may take half a minute. Proxies before
 * this service usually wait for a minute.
 */
export const paidTimes = { headersMs: 50_000, bodyMs: 10_000, totalMs: 55_000 }

/**
 * A payment is two calls: one for the 402, one with the signature. A person makes eight payments in a row, and then one
 * every eight seconds; a host gets one payment a second from all visitors. A call that takes seconds leaves the slots of the
 * quick ones.
 */
export const tryAllowance = {
  maxConcurrent: 12,
  slow: { afterMs: 4_000, places: 36 },
  maxConcurrentEach: 3,
  perCaller: { capacity: 16, refillMs: 4_000 },
  perHost: { capacity: 60, refillMs: 500 },
} satisfies Partial<CallBudgetOptions>

const MAX_SENT_BYTES = 64 * 1024
/** Enough for an image. The answer was paid for, so the beginning of a longer one is kept. */
const MAX_ANSWER_BYTES = 1024 * 1024
/** JSON around the body and the payment. */
const BODY_LIMIT_BYTES = MAX_SENT_BYTES + 32 * 1024

/** Headers of an answer that the page needs. */
const shownHeaders = ['content-type', 'content-encoding', 'payment-required', 'payment-response']

interface TryRoutesOptions {
  store: Pick<ListingReader, 'findMerchant' | 'entriesById'>
  fetch: GuardedFetch
  budget: CallBudget
}

const tryOperation: Operation = {
  id: 'tryEndpoint',
  tag: 'Directory',
  summary: 'Call a listed endpoint once, with a payment if there is one',
  description:
    'For “Try it” on the pages of this service, which call no other host themselves. Only listed endpoints are called, by GET, HEAD or POST. Closed to pages of other origins, and absent with `TRY_IT=false`.',
  answers: {
    200: 'What the endpoint answered, or why it did not.',
  },
  codes: [...aboutMerchant.codes, httpCodes.endpoint_not_found, httpCodes.not_callable],
}

/**
 * Serves `POST /api/try`: one call of a listed endpoint for a person at a page. The URL is that of the listing, the answer
 * is data in JSON, so that nothing of it runs under this origin.
 */
export async function tryRoutes(
  app: FastifyInstance,
  { store, fetch, budget }: TryRoutesOptions,
): Promise<void> {
  app.post(
    '/api/try',
    { ...describedAs(tryOperation), bodyLimit: BODY_LIMIT_BYTES },
    async (request, reply) => {
      const { merchantId, endpointId, input, payment } = readBody(tryBody, request.body)
      const place = { id: merchantId, endpoint: String(endpointId) }
      const { endpoint } = await findEndpoint(store, place)
      const isTool = endpoint.method === 'MCP'
      const why = isTool ? 'Tools are called over MCP.' : whyUncalled(endpoint)
      if (why !== undefined) throw httpFault('not_callable', why)
      const answer = await budget.spend(
        callerOf(request.ip),
        hostKey(endpoint.url),
        () => callListed(fetch, endpoint, input, payment),
        merchantId,
      )
      return reply.header('cache-control', 'no-store').send(answer)
    },
  )
}

async function callListed(
  fetch: GuardedFetch,
  endpoint: WrittenEndpoint,
  input: TryInput,
  payment: string | undefined,
): Promise<TryAnswer> {
  const { bodyType } = endpoint.example
  const { queryParams = {}, pathParams = {}, body } = input
  const filled = { queryParams, pathParams, body, ...(bodyType && { bodyType }) }
  const call = toHttpCall(endpoint, filled)
  if (Buffer.byteLength(call.body ?? '') > MAX_SENT_BYTES) throw tooLong()
  const answer = await fetch({
    ...call,
    method: sentMethod(endpoint.method),
    accept: '*/*',
    headers: {
      ...openHeadersOf(endpoint, input.headers ?? {}),
      ...defined({ 'payment-signature': payment }),
    },
    bodyBytes: MAX_ANSWER_BYTES,
    times: payment === undefined ? tryTimes : paidTimes,
    asBase64: true,
    keepsPart: true,
  })
  if (answer.kind === 'answer') return answered(answer.head, answer.body, answer.missing ?? null)
  // A seller may have settled before it redirects: the outcome of the payment is in the head.
  const head = headOf(answer)
  return head === undefined ? unanswered(answer) : answered(head, '', answer.message)
}

function answered(
  { status, headers }: NonNullable<ReturnType<typeof headOf>>,
  body: string,
  missing: string | null,
): TryAnswer {
  const shown = Object.entries(headers).filter(([name]) => shownHeaders.includes(name))
  return { outcome: 'answered', status, headers: Object.fromEntries(shown), body, missing }
}

/** A call that was refused or found no host was not sent. All others may have been. */
function unanswered(answer: Exclude<GuardedAnswer, { kind: 'answer' }>): TryAnswer {
  const unsent = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'ESERVFAIL', 'ETIMEOUT']
  const wasSent =
    answer.kind === 'unreachable' ? !unsent.includes(answer.code) : answer.kind !== 'blocked'
  return { outcome: 'unanswered', message: answer.message, wasSent }
}

/** Returns the headers that may be sent: those that the listing names, with names that are open. */
function openHeadersOf(
  { example }: Pick<WrittenEndpoint, 'example'>,
  given: Record<string, string>,
): Record<string, string> {
  const named = new Set(Object.keys(example.headers ?? {}).map((name) => name.toLowerCase()))
  const headers = Object.entries(given).map(([name, value]) => [name.toLowerCase(), value] as const)
  const closed = headers.find(([name]) => !named.has(name) || !isOpenHeader(name))
  if (closed === undefined) return Object.fromEntries(headers)
  const name = JSON.stringify(closed[0].slice(0, 60))
  throw parameterFault(
    `input.headers: ${name} is not a header that the listing names and Arcus sends.`,
  )
}

function tooLong(): RequestFault {
  return httpFault('body_too_large', `The call may send ${MAX_SENT_BYTES / 1024} KiB at most.`)
}
