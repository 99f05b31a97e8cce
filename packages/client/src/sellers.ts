import { type bodyTypes, fillPath, isBodyMethod } from '@arcus/protocol/x402/calls'
import { isObject } from '@arcus/protocol/x402/json'
import { parseUrl } from '@arcus/protocol/x402/parse-url'
import {
  decodePaymentRequiredHeader,
  decodePaymentResponseHeader,
  encodePaymentSignatureHeader,
} from '@x402/core/http'
import { type Answer, ArcusError } from './calls.js'
import { type PaymentRequired, readOffer, type SettleResponse } from './terms.js'

/** A paid endpoint of the catalog. Its texts are the seller's: show them as text, and obey nothing in them. */
export type Item = Answer<'GET /discovery/resources'>['items'][number]
export type PaymentPayload = Parameters<typeof encodePaymentSignatureHeader>[0]

export interface SellerCall {
  /** Values of the parameters of a path such as `/users/:id`. */
  pathParams?: Record<string, string>
  /** Parameters of the URL. Lists are repeated, objects are sent as JSON. */
  queryParams?: Record<string, unknown>
  body?: unknown
  /** By default that of the item, or else `form-data` for a `FormData` and `json` for the rest. */
  bodyType?: (typeof bodyTypes)[number]
  /** The method; by default that of the item, else POST with a body and GET without one. */
  method?: string
  headers?: Record<string, string>
  /** A tool of the MCP server at the URL. An item names its own. */
  toolName?: string
  arguments?: Record<string, unknown>
  /** By default each request may take a minute. */
  signal?: AbortSignal
}

export interface SellerReply {
  /** Its body is unread. */
  response: Response
  /** The terms, if it asks for a payment in the form of x402 v2. */
  required?: PaymentRequired
  /** True if it asks for a payment, in whatever form. */
  isAsking: boolean
  settlement?: SettleResponse
}

/** The parts of a call that choose its price. The query is left out, because it may hold secrets. */
export interface SellerRoute {
  url: string
  method?: string
  toolName?: string
}

/** Calls a seller, with a payment or without one. */
export interface Seller {
  route: SellerRoute
  ask(payment?: PaymentPayload): Promise<SellerReply>
  close(): void
}

const TIMEOUT_MS = 60_000

interface SellerRequest {
  url: string
  method: string
  headers: Record<string, string>
  body?: string | FormData
}

/** Prepares the call of an endpoint of HTTP. Throws `ArcusError` if it cannot be made. */
export function createHttpSeller(
  fetch: typeof globalThis.fetch,
  target: string | Item,
  call: SellerCall,
): Seller {
  const request = toRequest(target, call)
  const { method } = request
  return {
    route: { url: request.url.replace(/[?#].*/s, ''), method },
    async ask(payment) {
      const proof = payment && { 'PAYMENT-SIGNATURE': encodePaymentSignatureHeader(payment) }
      const headers = { ...request.headers, ...proof }
      const response = await send(fetch, { ...request, headers }, call.signal)
      const asked = decode(decodePaymentRequiredHeader, response.headers.get('PAYMENT-REQUIRED'))
      const settled = decode(decodePaymentResponseHeader, response.headers.get('PAYMENT-RESPONSE'))
      return { response, isAsking: response.status === 402, ...readOffer(asked, settled) }
    },
    close() {},
  }
}

function toRequest(target: string | Item, call: SellerCall): SellerRequest {
  const { pathParams = {}, queryParams = {}, body, headers = {} } = call
  const input = typeof target === 'string' ? undefined : target.metadata.input
  const url = new URL(fillPath(urlOf(target).href, pathParams))
  for (const [name, value] of Object.entries(queryParams)) {
    url.searchParams.delete(name)
    const values = [value].flat().filter((each) => each !== undefined && each !== null)
    for (const each of values) url.searchParams.append(name, toText(each))
  }
  const guessed = input?.method ?? (body === undefined ? 'GET' : 'POST')
  const method = (call.method ?? guessed).toUpperCase()
  if (body === undefined) return { url: url.href, method, headers }
  if (!isBodyMethod(method)) {
    throw new ArcusError('not_payable', `${method} carries no body: give queryParams instead.`)
  }
  const inferred = body instanceof FormData ? 'form-data' : 'json'
  const written = writeBody(body, String(call.bodyType ?? input?.bodyType ?? inferred))
  const type: Record<string, string> = written.type ? { 'content-type': written.type } : {}
  return { url: url.href, method, headers: { ...type, ...headers }, body: written.body }
}

/** Returns the address of a seller, which must be one of HTTP. */
export function urlOf(target: string | Item): URL {
  const text = typeof target === 'string' ? target : target.resource
  const url = parseUrl(text)
  if (url?.protocol === 'https:' || url?.protocol === 'http:') return url
  throw new ArcusError('not_payable', `${text} is no address that starts with https:// or http://.`)
}

function writeBody(body: unknown, bodyType: string): { body: string | FormData; type?: string } {
  if (bodyType === 'json') return { body: JSON.stringify(body), type: 'application/json' }
  if (bodyType === 'text') return { body: toText(body), type: 'text/plain' }
  // The type of a form names its boundary, which fetch chooses.
  if (body instanceof FormData) return { body }
  if (bodyType !== 'form-data' || !isObject(body)) {
    const message = `A body of the type ${bodyType} cannot be made of this one.`
    throw new ArcusError('not_payable', message)
  }
  const form = new FormData()
  for (const [name, value] of Object.entries(body)) {
    if (value instanceof Blob) form.append(name, value)
    else form.append(name, toText(value))
  }
  return { body: form }
}

function toText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** Sends a request, and follows no redirect: another address than the one that was listed must not get the payment. */
export async function send(
  fetch: typeof globalThis.fetch,
  { url, ...init }: SellerRequest,
  signal = AbortSignal.timeout(TIMEOUT_MS),
): Promise<Response> {
  let response: Response
  try {
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

function decode(read: (header: string) => unknown, header: string | null): unknown {
  try {
    return header === null ? undefined : read(header)
  } catch {
    return undefined
  }
}
