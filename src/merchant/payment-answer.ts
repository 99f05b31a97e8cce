import { encodePaymentRequiredHeader } from '@x402/core/http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Refusal } from './cashier.js'
import { PAGE_POLICY, PAYMENT_REQUIRED, paymentPage, wantsPage } from './payment-page.js'
import { paymentRequired, type Terms } from './terms.js'

interface Asked {
  terms: Terms
  /** Origin buyers know the server by; `undefined` takes the request's own. */
  baseUrl: string | undefined
  /** Why the payment that was presented will not do. */
  error?: string | undefined
  message?: string
}

/** Answers 402: the terms in the header, for browsers a page. */
export function askForPayment(request: FastifyRequest, reply: FastifyReply, asked: Asked) {
  const { terms, baseUrl, error = PAYMENT_REQUIRED, message } = asked
  const required = paymentRequired(terms, resourceUrl(request, baseUrl), error)
  reply
    .code(402)
    .header('PAYMENT-REQUIRED', encodePaymentRequiredHeader(required))
    .header('cache-control', 'no-store')
  if (wantsPage(request.headers.accept)) {
    return reply
      .header('content-security-policy', PAGE_POLICY)
      .type('text/html; charset=utf-8')
      .send(paymentPage(required))
  }
  return sendJson(reply, { error, ...(message === undefined ? {} : { message }) })
}

/** Answers a payment that was not found valid, or could not be judged. */
export function answerRefusal(
  request: FastifyRequest,
  reply: FastifyReply,
  { refusal, ...asked }: Asked & { refusal: Refusal },
) {
  const { status, error, message } = refusal
  if (status === 402) return askForPayment(request, reply, { ...asked, error, message })
  return sendJson(reply.code(status).header('cache-control', 'no-store'), { error, message })
}

/** As text, so that no schema of the route's answers applies. */
function sendJson(reply: FastifyReply, body: { error: string; message?: string }) {
  return reply.type('application/json; charset=utf-8').send(JSON.stringify(body))
}

/** Without the query: what a caller asks is nobody's business but the merchant's. */
function resourceUrl(request: FastifyRequest, baseUrl: string | undefined): string {
  const [path = '/'] = request.url.split('?', 1)
  return `${baseUrl ?? `${request.protocol}://${request.host}`}${path}`
}
