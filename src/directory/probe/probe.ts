import { randomUUID } from 'node:crypto'
import type { Address } from 'viem'
import type { ListedEndpoint, ProbeRecord, QuotedRequirement } from '../../store/listings.js'
import { isBodyMethod, uncalledMethods } from '../../x402/calls.js'
import { isObject } from '../../x402/json.js'
import { parseUrl } from '../../x402/parse-url.js'
import type { GuardedFetch, GuardedRequest } from './guarded-fetch.js'
import type { QuotedPayment, QuotedTerms } from './payment-required.js'
import { checkTool, type ListedTool } from './tool-call.js'
import { checkAnswer, type Expected, isDefinite, type Verdict, verdict } from './verdict.js'

export type ProbedEndpoint = ProbedCall & Pick<ListedEndpoint, 'price' | 'asset' | 'inputSchema'>

export interface ProbeResult {
  record: ProbeRecord
  /** The requirements of the 402; empty unless the endpoint is live. */
  accepts: QuotedRequirement[]
  /** The endpoint is wrong, so that a save is refused. Otherwise it is live, or could not be checked now. */
  isDefinite: boolean
  /** The content of the 402 and the requirement that a buyer would choose; only for a live endpoint. */
  quote?: { chosen: QuotedTerms; quoted: QuotedPayment; tool?: ListedTool }
  /** Optional members of a discovery item, from the 402: `mimeType`, `serviceName`, `iconUrl`, `extensions`. */
  extras: Record<string, unknown>
}

/** Calls an endpoint once without payment and checks the answer. Never rejects. */
export type Probe = (endpoint: ProbedEndpoint, payTo: Address) => Promise<ProbeResult>

interface ProbeOptions {
  fetch: GuardedFetch
  /** CAIP-2. */
  network: string
  /** All that are settled on it. */
  tokens: Expected['tokens']
  /** Unix milliseconds. */
  now: () => number
}

export function createProbe({ fetch, network, tokens, now }: ProbeOptions): Probe {
  return async (endpoint, payTo) => {
    const { price, asset, method, inputSchema } = endpoint
    const hasSchema = inputSchema !== null
    const listed = tokens.filter(({ address }) => address === asset)
    const expected = { network, tokens: listed, payTo, price, hasSchema, method }
    const startedAt = performance.now()
    const verdict = await checkEndpoint(fetch, endpoint, expected)
    const ms = Math.round(performance.now() - startedAt)
    const { chosen, quoted, tool } = verdict
    const isLive = verdict.state === 'live' && chosen !== undefined && quoted !== undefined
    return {
      record: { ...toProbeRecord(verdict, Math.floor(now() / 1000)), ms },
      accepts: (verdict.accepts ?? []).map((terms) => ({ ...terms })),
      isDefinite: isDefinite(verdict.state),
      extras: isLive ? toExtras(quoted) : {},
      ...(isLive ? { quote: { chosen, quoted, ...(tool === undefined ? {} : { tool }) } } : {}),
    }
  }
}

/** Returns a verdict in the form in which the store keeps it. */
function toProbeRecord(verdict: Verdict, checkedAt: number): ProbeRecord {
  const { state, message, warnings, seen } = verdict
  return { verdict: state, message, warnings, seen, checkedAt }
}

function toExtras(quoted: QuotedPayment): Record<string, unknown> {
  const { mimeType, serviceName, iconUrl } = quoted.resource
  return {
    ...(mimeType === undefined ? {} : { mimeType }),
    ...(serviceName === undefined ? {} : { serviceName }),
    ...(iconUrl === undefined ? {} : { iconUrl }),
    ...(quoted.bazaar === null ? {} : { extensions: { bazaar: quoted.bazaar } }),
  }
}

/** An endpoint that is called or, if its method may change something, is not. */
export type ProbedCall = Pick<
  ListedEndpoint,
  'url' | 'method' | 'toolName' | 'transport' | 'example'
>

/** Calls an endpoint once without payment, in the way its method says, and checks the answer. Never rejects. */
export async function checkEndpoint(
  fetch: GuardedFetch,
  endpoint: ProbedCall,
  expected: Expected,
): Promise<Verdict & { tool?: ListedTool }> {
  const { url, method, toolName = '', example } = endpoint
  const why = whyUncalled(endpoint)
  if (why !== undefined) return verdict('not_called', why)
  if (method !== 'MCP') return checkAnswer(await fetch(toProbeRequest(endpoint)), expected)
  return checkTool(fetch, { url, toolName, arguments: example.arguments ?? {} }, expected)
}

/** Says why Arcus never calls an endpoint, in a sentence; `undefined` where it does. */
export function whyUncalled({
  method,
  transport,
}: Pick<ProbedCall, 'method' | 'transport'>): string | undefined {
  if (uncalledMethods.includes(method)) {
    return `Arcus never calls a ${method}, because it could change something: nobody has checked this endpoint.`
  }
  return transport === 'sse'
    ? 'Arcus calls MCP servers over streamable HTTP only, not over the older SSE: nobody has checked this tool.'
    : undefined
}

/** Builds the call of a probe: the example parameters in the query, and the example body. Header values are never sent. */
function toProbeRequest({ url, method, example }: ProbedCall): GuardedRequest {
  const target = withQuery(url, example.queryParams ?? {})
  if (!isBodyMethod(method)) return { url: target, method: method === 'HEAD' ? 'HEAD' : 'GET' }
  const { body = {}, bodyType } = example
  const call = { url: target, method: 'POST' } as const
  if (bodyType === 'text') return { ...call, body: toText(body), contentType: 'text/plain' }
  if (bodyType === 'form-data' && isObject(body)) return { ...call, ...toForm(body) }
  return { ...call, body: JSON.stringify(body ?? {}) }
}

/** Writes fields as `multipart/form-data`. */
function toForm(fields: Record<string, unknown>): { body: string; contentType: string } {
  const boundary = `arcus-${randomUUID()}`
  const parts = Object.entries(fields).map(
    ([name, value]) =>
      `--${boundary}\r\ncontent-disposition: form-data; name="${encodeURIComponent(name)}"\r\n\r\n${toText(value)}\r\n`,
  )
  return {
    body: `${parts.join('')}--${boundary}--\r\n`,
    contentType: `multipart/form-data; boundary=${boundary}`,
  }
}

/** Sets parameters over those of the URL. Lists become repeated parameters, nested objects become JSON. */
function withQuery(text: string, params: Record<string, unknown>): string {
  const url = parseUrl(text)
  if (url === undefined) return text
  for (const [name, value] of Object.entries(params)) {
    url.searchParams.delete(name)
    for (const item of [value].flat()) {
      if (item !== null && item !== undefined) url.searchParams.append(name, toText(item))
    }
  }
  return url.href
}

function toText(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
