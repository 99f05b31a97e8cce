import type { Address } from 'viem'
import type { ListedEndpoint, ProbeRecord, QuotedRequirement } from '../../store/listings.js'
import { type CallMethod, isBodyMethod, toHttpCall, uncalledMethods } from '../../x402/calls.js'
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

/** Builds the call of a probe from the example. Header values are never sent. */
function toProbeRequest({ url, method, example }: ProbedCall): GuardedRequest {
  const { method: _, ...call } = toHttpCall({ url, method }, example)
  return { ...call, method: sentMethod(method) }
}

/** Returns the method of a call of Arcus; others than these three are never called. */
export function sentMethod(method: CallMethod): GuardedRequest['method'] {
  return method === 'HEAD' ? 'HEAD' : isBodyMethod(method) ? 'POST' : 'GET'
}
