import type { Address } from 'viem'
import type { ListedEndpoint, ProbeRecord, QuotedRequirement } from '../../store/listings.js'
import { parseUrl } from '../../x402/parse-url.js'
import type { GuardedFetch, GuardedRequest } from './guarded-fetch.js'
import type { QuotedPayment, QuotedTerms } from './payment-required.js'
import { checkAnswer, type Expected, isDefinite, type Verdict } from './verdict.js'

export type ProbedEndpoint = Pick<
  ListedEndpoint,
  'url' | 'method' | 'example' | 'price' | 'asset' | 'inputSchema'
>

export interface ProbeResult {
  record: ProbeRecord
  /** The requirements of the 402; empty unless the endpoint is live. */
  accepts: QuotedRequirement[]
  /** The endpoint is wrong, so that a save is refused. Otherwise it is live, or could not be checked now. */
  isDefinite: boolean
  /** The content of the 402 and the requirement that a buyer would choose; only for a live endpoint. */
  quote?: { chosen: QuotedTerms; quoted: QuotedPayment }
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
    const answer = await fetch(toProbeRequest(endpoint))
    const hasSchema = inputSchema !== null
    const listed = tokens.filter(({ address }) => address === asset)
    const expected = { network, tokens: listed, payTo, price, hasSchema, method }
    const verdict = checkAnswer(answer, expected)
    const { chosen, quoted } = verdict
    const isLive = verdict.state === 'live' && chosen !== undefined && quoted !== undefined
    return {
      record: toProbeRecord(verdict, Math.floor(now() / 1000)),
      accepts: (verdict.accepts ?? []).map((terms) => ({ ...terms })),
      isDefinite: isDefinite(verdict.state),
      extras: isLive ? toExtras(quoted) : {},
      ...(isLive ? { quote: { chosen, quoted } } : {}),
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

/** Builds the call of a probe: GET with the example parameters, or POST with the example body. */
export function toProbeRequest({
  url,
  method,
  example,
}: Pick<ListedEndpoint, 'url' | 'method' | 'example'>): GuardedRequest {
  if (method === 'POST') {
    const body = 'body' in example ? example.body : {}
    return { url, method: 'POST', body: JSON.stringify(body ?? {}) }
  }
  const params = 'queryParams' in example ? example.queryParams : {}
  return { url: withQuery(url, params), method: 'GET' }
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
