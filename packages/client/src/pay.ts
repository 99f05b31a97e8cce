import { x402Client, x402HTTPClient } from '@x402/core/client'
import { decodePaymentRequiredHeader, decodePaymentResponseHeader } from '@x402/core/http'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import { ArcusError } from './calls.js'
import type { components } from './openapi.js'

type Hex = `0x${string}`
type Item = components['schemas']['DiscoveryItem']
type PaymentRequired = ReturnType<typeof decodePaymentRequiredHeader>
type Requirement = PaymentRequired['accepts'][number]

/** A viem account fits as it is. It signs and needs no gas. */
export interface PaymentSigner {
  address: Hex
  signTypedData(typedData: {
    domain: Record<string, unknown>
    types: Record<string, unknown>
    primaryType: string
    message: Record<string, unknown>
  }): Promise<Hex>
}

export interface PayOptions {
  signer: PaymentSigner
  /** The most that this call may cost, in atomic units of the asset: `"10000"` is one cent of USDC. */
  maxAmount: bigint | string
  /** Parameters of the URL. */
  queryParams?: Record<string, unknown>
  /** JSON body. */
  body?: unknown
  /** The method; by default that of the item, else POST with a body and GET without one. */
  method?: string
  /** Headers for the seller. */
  headers?: Record<string, string>
  /** Network to pay on, Arc by default. */
  network?: `${string}:${string}`
  /** Token to pay with, USDC of Arc by default. `maxAmount` is in its units. */
  asset?: Hex
  /** By default each of the two requests may take a minute. */
  signal?: AbortSignal
}

/** The name of a payment, by which `GET /payments/{network}/{payer}/{nonce}` finds it. */
export interface PaymentName {
  network: string
  payer: Hex
  nonce: Hex
}

export interface Paid {
  /** The answer of the seller, its body unread. Check `ok`: a seller may refuse a payment. */
  response: Response
  /** Atomic units that were signed; 0 if the seller asked for nothing. */
  amount: bigint
  /** Absent if nothing was signed. */
  payment?: PaymentName
  /** The settlement as the seller tells it. */
  settlement?: ReturnType<typeof decodePaymentResponseHeader>
  /** The reason why the seller refused the payment. */
  refusal?: string
}

/**
 * Calls a seller, and pays if asked: once, by `exact` and EIP-3009, and never above `maxAmount`. The limit, the token,
 * the network and for an item the recipient are checked before anything is signed. Redirects are not followed.
 *
 * Rejects with `ArcusError`: `not_http` for a tool of an MCP server, `no_limit`, `not_payable`, `not_as_listed` and `too_dear` before anything is signed.
 * `unreachable` and `redirected` come before or after; after it, `details` name the payment. Look it up before you pay
 * again.
 */
export type Pay = (target: string | Item, options: PayOptions) => Promise<Paid>

const ARC = 'eip155:5042'
const USDC = '0x3600000000000000000000000000000000000000'
const TIMEOUT_MS = 60_000
/** A seller could use an authorization until it ends, so one that is valid for longer is not signed. */
const MAX_TIMEOUT_SECONDS = 3_600

/** Creates `pay` over a `fetch`. */
export function createPay(fetch: typeof globalThis.fetch): Pay {
  return async (target, options) => {
    const maxAmount = readLimit(options.maxAmount)
    const request = toRequest(target, options)

    const first = await send(fetch, request, options)
    if (first.status !== 402) return { response: first, amount: 0n }
    await first.body?.cancel()
    const required = readTerms(first)
    const chosen = choose(required, { ...options, maxAmount }, target)

    const { headers, payment } = await sign({ ...required, accepts: [chosen] }, options)
    const paid = { ...request, headers: { ...request.headers, ...headers } }
    const response = await send(fetch, paid, options).catch((error) => {
      throw error instanceof ArcusError
        ? new ArcusError(error.code, error.message, 0, payment)
        : new ArcusError('unreachable', 'The call ended after it was paid.', 0, payment)
    })
    return { response, amount: BigInt(chosen.amount), payment, ...readOutcome(response) }
  }
}

interface SellerRequest {
  url: string
  method: string
  headers: Record<string, string>
  body?: string
}

function toRequest(target: string | Item, options: PayOptions): SellerRequest {
  const { queryParams = {}, body, headers = {} } = options
  const isItem = typeof target !== 'string'
  const input = isItem ? target.metadata.input : undefined
  const bodyType = input?.bodyType ?? 'json'
  if (input?.type === 'mcp' || bodyType !== 'json') {
    const isTool = input?.type === 'mcp'
    const form = isTool ? 'by the Model Context Protocol' : `with a body of ${bodyType}`
    throw new ArcusError('not_payable', `The endpoint is called ${form}, and pay sends JSON.`)
  }
  const url = new URL(isItem ? target.resource : target)
  for (const [name, value] of Object.entries(queryParams)) {
    url.searchParams.delete(name)
    for (const each of [value].flat()) url.searchParams.append(name, String(each))
  }
  if (isItem && target.type === 'mcp') {
    const message =
      'A tool is called by a client of MCP, with the payment in _meta["x402/payment"].'
    throw new ArcusError('not_http', message)
  }
  const said = isItem ? target.metadata.input.method : undefined
  const guessed = said ?? (body === undefined ? 'GET' : 'POST')
  const method = options.method ?? guessed
  if (body === undefined) return { url: url.href, method, headers }
  const json = { 'content-type': 'application/json', ...headers }
  return { url: url.href, method, headers: json, body: JSON.stringify(body) }
}

async function send(
  fetch: typeof globalThis.fetch,
  { url, ...init }: SellerRequest,
  { signal = AbortSignal.timeout(TIMEOUT_MS) }: PayOptions,
): Promise<Response> {
  let response: Response
  try {
    // Another address than the one that was listed must not get the payment.
    response = await fetch(url, { ...init, signal, redirect: 'manual' })
  } catch (cause) {
    if (signal.aborted) throw cause
    const error = new ArcusError('unreachable', `${new URL(url).host} does not answer.`)
    error.cause = cause
    throw error
  }
  if (response.type !== 'opaqueredirect' && (response.status < 300 || response.status > 399)) {
    return response
  }
  await response.body?.cancel()
  throw new ArcusError('redirected', `${new URL(url).host} leads to another address.`)
}

function readLimit(maxAmount: unknown): bigint {
  if (typeof maxAmount === 'bigint' && maxAmount > 0n) return maxAmount
  if (isAmount(maxAmount) && BigInt(maxAmount) > 0n) return BigInt(maxAmount)
  const message = 'Give maxAmount, the most that the call may cost, in atomic units of the asset.'
  throw new ArcusError('no_limit', message)
}

/** Reads the terms of a 402. A seller wrote them, so their form is checked here and in `choose`. */
function readTerms(response: Response): PaymentRequired {
  try {
    const required = decodePaymentRequiredHeader(response.headers.get('PAYMENT-REQUIRED') ?? '')
    const accepts = required.accepts.filter((offer) => typeof offer === 'object' && offer !== null)
    if (required.x402Version === 2) return { ...required, accepts }
  } catch {
    // The header is missing, or is none.
  }
  const message = 'The seller asks for a payment and does not say how, in the form of x402 v2.'
  throw new ArcusError('not_payable', message, 402)
}

/** Returns the cheapest way to pay that is allowed. */
function choose(
  { accepts }: PaymentRequired,
  options: PayOptions & { maxAmount: bigint },
  target: string | Item,
): Requirement {
  const { network = ARC, asset = USDC, maxAmount } = options
  const payable = accepts.filter(
    (offer) =>
      offer.scheme === 'exact' &&
      offer.network === network &&
      isSame(offer.asset, asset) &&
      isAmount(offer.amount) &&
      (offer.extra?.assetTransferMethod ?? 'eip3009') === 'eip3009' &&
      Number.isInteger(offer.maxTimeoutSeconds) &&
      offer.maxTimeoutSeconds <= MAX_TIMEOUT_SECONDS,
  )
  if (payable.length === 0) {
    const message = `The seller takes no exact payment on ${network} in ${asset}.`
    throw new ArcusError('not_payable', message, 402, { accepts })
  }
  const listed = typeof target === 'string' ? undefined : target.accepts
  const known = payable.filter(
    ({ payTo }) => listed === undefined || listed.some((offer) => isSame(offer.payTo, payTo)),
  )
  if (known.length === 0) {
    const message = 'The seller asks to pay an address that the catalog does not name.'
    throw new ArcusError('not_as_listed', message, 402, { accepts })
  }
  const cheapest = known.reduce((a, b) => (BigInt(b.amount) < BigInt(a.amount) ? b : a))
  if (BigInt(cheapest.amount) <= maxAmount) return cheapest
  const message = `The seller asks for ${cheapest.amount}, and the limit is ${maxAmount}.`
  throw new ArcusError('too_dear', message, 402, { accepts })
}

/** Signs one requirement, once more within the limits of the official client. */
async function sign(required: PaymentRequired, options: PayOptions) {
  const { network = ARC, asset = USDC, maxAmount, signer } = options
  // Nothing but this is handed on: an account could also sign transactions.
  const { address } = signer
  const account = { address, signTypedData: signer.signTypedData.bind(signer) }
  const client = x402Client.fromConfig({
    schemes: [{ network, client: new ExactEvmScheme(account) }],
    spendControls: {
      allowedAssets: [{ network, asset, maxAmountPerPayment: String(maxAmount) }],
    },
  })
  const payload = await client.createPaymentPayload(required)
  const { nonce } = payload.payload.authorization as { nonce: Hex }
  const headers = new x402HTTPClient(client).encodePaymentSignatureHeader(payload)
  return { headers, payment: { network, payer: address, nonce } }
}

/** Reads what the seller says of the payment. A malformed header says nothing. */
function readOutcome({ status, headers }: Response): Pick<Paid, 'settlement' | 'refusal'> {
  const settled = headers.get('PAYMENT-RESPONSE')
  const refused = status === 402 ? headers.get('PAYMENT-REQUIRED') : null
  try {
    if (settled !== null) return { settlement: decodePaymentResponseHeader(settled) }
    const { error } = refused === null ? {} : decodePaymentRequiredHeader(refused)
    return error === undefined ? {} : { refusal: error }
  } catch {
    return {}
  }
}

function isAmount(value: unknown): value is string {
  return typeof value === 'string' && /^\d{1,78}$/.test(value)
}

function isSame(a: unknown, b: string): boolean {
  return typeof a === 'string' && a.toLowerCase() === b.toLowerCase()
}
