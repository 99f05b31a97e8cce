import { formatAtomic } from '@arcus/protocol/x402/amounts'
import { signOfCurrency } from '@arcus/protocol/x402/currencies'
import { isNetwork, networks } from '@arcus/protocol/x402/networks'
import { encodePaymentRequiredHeader } from '@x402/core/http'
import type { PaymentRequired, PaymentRequirements } from '@x402/core/types'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { settlementHeader } from './payment-headers.js'
import { findStablecoin } from './price.js'
import type { PaymentRefusal } from './resource-server.js'
import { paymentRequired, type RouteTerms } from './terms.js'

interface PaymentRequiredOptions {
  terms: RouteTerms
  /** Origin under which buyers know the server. `undefined` takes the origin of the request. */
  baseUrl: string | undefined
  /** The reason why the presented payment is not accepted. */
  error?: string | undefined
  message?: string
  /** Default 402. */
  status?: 402 | 412
}

/** The `error` of a 402 that answers a request without payment. */
const PAYMENT_REQUIRED = 'Payment required'

/** Allows styles in the page itself and nothing else: the page loads nothing and runs nothing. */
const PAGE_POLICY = "default-src 'none'; style-src 'unsafe-inline'"

/** Answers 402, or 412: the terms in the header, and a page for browsers. */
export function askForPayment(
  request: FastifyRequest,
  reply: FastifyReply,
  asked: PaymentRequiredOptions,
) {
  const { terms, baseUrl, error = PAYMENT_REQUIRED, message, status = 402 } = asked
  const required = paymentRequired(terms, resourceUrl(request, baseUrl), error)
  reply
    .code(status)
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

/** Answers a payment that is invalid, or that the facilitator could not verify. */
export function answerRefusal(
  request: FastifyRequest,
  reply: FastifyReply,
  { refusal, ...asked }: PaymentRequiredOptions & { refusal: PaymentRefusal },
) {
  const { status, error, message, settlement } = refusal
  if (settlement !== undefined) reply.header('PAYMENT-RESPONSE', settlementHeader(settlement))
  if (status !== 502) return askForPayment(request, reply, { ...asked, error, message, status })
  return sendJson(reply.code(status).header('cache-control', 'no-store'), { error, message })
}

/** Answers a call that is not sold now, for a reason that is not its payment. */
export function answerUnsold(
  reply: FastifyReply,
  { status, body }: { status: number; body: { error: string; message?: string } },
) {
  return sendJson(reply.code(status).header('cache-control', 'no-store'), body)
}

/** Answers a request for which the facilitator offers no way to pay. */
export function answerUnpayable(reply: FastifyReply) {
  const message =
    'The facilitator settles none of the ways to pay for this now. Nothing was charged; try again later.'
  return answerUnsold(reply, { status: 502, body: { error: 'facilitator_unavailable', message } })
}

/** Sends JSON as text, so that no response schema of the route applies. */
function sendJson(reply: FastifyReply, body: { error: string; message?: string }) {
  return reply.type('application/json; charset=utf-8').send(JSON.stringify(body))
}

/** Returns the URL without its query, which concerns only the caller and the merchant. */
export function resourceUrl(request: FastifyRequest, baseUrl: string | undefined): string {
  const [path = '/'] = request.url.split('?', 1)
  return `${baseUrl ?? `${request.protocol}://${request.host}`}${path}`
}

/** Returns whether a browser asks: it accepts HTML by name, where programs accept everything by a wildcard. */
function wantsPage(accept: string | undefined): boolean {
  return accept?.toLowerCase().includes('text/html') ?? false
}

/** Returns the page for a person who opens a paid URL in a browser. */
function paymentPage({ accepts, resource, error }: PaymentRequired): string {
  const ways = accepts.filter(
    (asked, index) => accepts.findIndex((other) => isSameWay(asked, other)) === index,
  )
  const rows = [
    ...ways.flatMap(({ amount, asset, network, payTo }) => [
      ['Price', describePrice(amount, asset, network)],
      ['Network', isNetwork(network) ? `${networks[network].name} (${network})` : network],
      ['Paid to', payTo],
    ]),
    ['Resource', resource.url],
    ...(error === undefined || error === PAYMENT_REQUIRED ? [] : [['Refused', error]]),
  ]
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Payment required</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 40rem; margin: 4rem auto; padding: 0 1rem; }
dt { color: #666; } dd { margin: 0 0 1rem; overflow-wrap: anywhere; }
@media (prefers-color-scheme: dark) { body { background: #111; color: #eee; } dt { color: #aaa; } }
</style>
</head>
<body>
<h1>Payment required</h1>
<p>${escapeHtml(resource.description || 'Each call of this resource is paid.')}</p>
<dl>
${rows.map(([name = '', value = '']) => `<dt>${escapeHtml(name)}</dt><dd>${escapeHtml(value)}</dd>`).join('\n')}
</dl>
<p>Programs pay it with x402: the terms are in the header PAYMENT-REQUIRED of this answer, and a client such as
@x402/fetch signs and sends the payment.</p>
</body>
</html>
`
}

/** Returns whether two entries differ in nothing that a person is shown: schemes share network, token and address. */
function isSameWay(asked: PaymentRequirements, other: PaymentRequirements): boolean {
  const { network, asset, payTo } = asked
  return network === other.network && asset === other.asset && payTo === other.payTo
}

function describePrice(amount: string, asset: string, network: string): string {
  const token = findStablecoin(asset, network)
  if (token === undefined) return `${amount} atomic units of the token ${asset}`
  return `${signOfCurrency(token.currency) ?? ''}${formatAtomic(BigInt(amount))} in ${token.symbol}`
}

const entities: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? character)
}
