import type { ProbeRecord } from '@arcus/protocol/answers/listings'
import {
  type CallMethod,
  isBodyMethod,
  placesIn,
  toHttpCall,
  uncalledMethods,
} from '@arcus/protocol/x402/calls'
import { defined } from '@arcus/protocol/x402/json'
import type { Address } from 'viem'
import type { CatalogEntry, QuotedRequirement, WrittenEndpoint } from '../store/listings.js'
import type { CallBudget, HostPace } from './call-limits.js'
import type { GuardedFetch, GuardedRequest } from './guarded-fetch.js'
import type { QuotedPayment, QuotedTerms } from './payment-required.js'
import { hostKey } from './target-rules.js'
import { checkTool, type ListedTool } from './tool-call.js'
import { checkAnswer, type Expected, isDefinite, type Verdict, verdict } from './verdict.js'

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
export type Probe = (endpoint: WrittenEndpoint, payTo: Address) => Promise<ProbeResult>

/** The network that listings are about. */
export interface Market {
  /** CAIP-2. */
  network: string
  /** All that are settled on it. */
  tokens: Expected['tokens']
}

interface ProbeOptions extends Market {
  fetch: GuardedFetch
  /** Unix milliseconds. */
  now: () => number
}

export function createProbe({ fetch, now, ...market }: ProbeOptions): Probe {
  return async (endpoint, payTo) => {
    const startedAt = performance.now()
    const found = await checkEndpoint(fetch, endpoint, expectedOf(endpoint, payTo, market))
    const ms = Math.round(performance.now() - startedAt)
    const { state, message, warnings, seen, accepts = [], chosen, quoted, tool } = found
    const checkedAt = Math.floor(now() / 1000)
    const isLive = state === 'live' && chosen !== undefined && quoted !== undefined
    return {
      record: { verdict: state, message, warnings, seen, checkedAt, ms },
      accepts: accepts.map((terms) => ({ ...terms })),
      isDefinite: isDefinite(state),
      extras: isLive ? toExtras(quoted) : {},
      ...(isLive ? { quote: { chosen, quoted, ...defined({ tool }) } } : {}),
    }
  }
}

/** Returns the terms that a listed endpoint should ask for. */
function expectedOf(
  {
    price,
    asset,
    method,
    inputSchema,
  }: Pick<WrittenEndpoint, 'price' | 'asset' | 'method' | 'inputSchema'>,
  payTo: Address,
  { network, tokens }: Market,
): Expected {
  const listed = tokens.filter(({ address }) => address === asset)
  return { network, tokens: listed, payTo, price, hasSchema: inputSchema !== null, method }
}

function toExtras({ resource, bazaar }: QuotedPayment): Record<string, unknown> {
  const { mimeType, serviceName, iconUrl } = resource
  const extensions = bazaar === null ? undefined : { bazaar }
  return defined({ mimeType, serviceName, iconUrl, extensions })
}

interface LiveTermsOptions extends Market {
  fetch: GuardedFetch
  /** The budget that probes on request share. */
  budget: CallBudget
  /** The pace that the schedule shares. */
  pace: HostPace
}

/**
 * Creates the call of a listed endpoint without payment, with the given parameters or those of its example, which checks its
 * 402 against the listing. The call counts for `caller`. It throws a 429 when the caller or the host must wait.
 */
export function createLiveTerms({ fetch, budget, pace, ...market }: LiveTermsOptions) {
  return (
    caller: string,
    { endpoint, merchant }: CatalogEntry,
    example: WrittenEndpoint['example'] = endpoint.example,
  ): Promise<Verdict> => {
    const { url } = endpoint
    const expected = expectedOf(endpoint, merchant.payTo, market)
    return budget.spend(caller, hostKey(url), () =>
      pace.inTurn(url, () => checkEndpoint(fetch, { ...endpoint, example }, expected)),
    )
  }
}

/** An endpoint that is called or, if its method may change something, is not. */
export type ProbedCall = Pick<
  WrittenEndpoint,
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
  if (method !== 'MCP') {
    const request = toProbeRequest(endpoint)
    return namePlaces(checkAnswer(await fetch(request), expected), placesIn(request.url))
  }
  return checkTool(fetch, { url, toolName, arguments: example.arguments ?? {} }, expected)
}

/** Says of a wrong answer that parameters of the path were not filled in. */
function namePlaces(found: Verdict, [place]: readonly string[]): Verdict {
  if (place === undefined || !isDefinite(found.state)) return found
  const hint = `The path was called with its place :${place}: give a value in example.pathParams.`
  return { ...found, message: `${found.message} ${hint}` }
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
