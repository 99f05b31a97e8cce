import type { Address } from 'viem'
import type { ListedEndpoint, ProbeRecord, QuotedRequirement } from '../../store/listings.js'
import type { GuardedFetch } from './guarded-fetch.js'
import type { QuotedPayment } from './payment-required.js'
import { toProbeRequest } from './probe-request.js'
import type { QuotedTerms } from './quoted-terms.js'
import { type Expected, isDefinite, judgeAnswer, type Verdict } from './verdict.js'

export type ProbedEndpoint = Pick<
  ListedEndpoint,
  'url' | 'method' | 'example' | 'price' | 'inputSchema'
>

export interface ProbeResult {
  record: ProbeRecord
  /** What the 402 quotes; empty unless the endpoint is live. */
  accepts: QuotedRequirement[]
  /** The endpoint is wrong: a save is refused. Otherwise it is live, or could not be judged now. */
  isDefinite: boolean
  /** What the 402 said beside, and the requirement a buyer would choose; only of a live endpoint. */
  quote?: { chosen: QuotedTerms; quoted: QuotedPayment }
  /** Optional members of a discovery item, from the 402: `mimeType`, `serviceName`, `iconUrl`, `extensions`. */
  extras: Record<string, unknown>
}

/** Calls an endpoint once without payment and judges the answer. Never rejects. */
export type Probe = (endpoint: ProbedEndpoint, payTo: Address) => Promise<ProbeResult>

export interface ProbeOptions {
  fetch: GuardedFetch
  /** CAIP-2. */
  network: string
  asset: Expected['asset']
  /** Unix milliseconds. */
  now: () => number
}

export function createProbe({ fetch, network, asset, now }: ProbeOptions): Probe {
  return async (endpoint, payTo) => {
    const { price, method, inputSchema } = endpoint
    const answer = await fetch(toProbeRequest(endpoint))
    const hasSchema = inputSchema !== null
    const verdict = judgeAnswer(answer, { network, asset, payTo, price, hasSchema, method })
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

/** A verdict as the store keeps it. */
export function toProbeRecord(verdict: Verdict, checkedAt: number): ProbeRecord {
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
