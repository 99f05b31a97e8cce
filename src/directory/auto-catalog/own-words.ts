import type { CatalogEntry, DescribedEndpoint, EndpointHealth } from '../../store/listings.js'
import { isUnclaimed } from '../../store/unclaimed.js'
import { memberOf } from '../../x402/json-walk.js'
import { nextHealth } from '../probe/health.js'
import type { ProbeResult } from '../probe/probe.js'
import type { ProbeEffect } from '../probe/probe-schedule.js'
import { describeEndpoint, type SaidOfEndpoint } from './draft.js'
import type { InfoCheck } from './info-schema.js'

export interface ProbeEffectsOptions {
  infoCheck: Pick<InfoCheck, 'judge'>
  /** 0 to 1; `Math.random` unless a test gives another. */
  random?: () => number
}

/**
 * Makes what a look does to an entry. An owner's listing keeps its words and fails by and by. What was found in payments
 * is in the words of its own 402 once it is live, and the first definite wrong answer fails it: nobody vouched for it.
 */
export function createProbeEffects({ infoCheck, random = Math.random }: ProbeEffectsOptions) {
  async function describe(
    { endpoint }: CatalogEntry,
    { quote }: ProbeResult,
  ): Promise<DescribedEndpoint | undefined> {
    if (quote === undefined) return undefined
    const { quoted, chosen } = quote
    const { url, method } = endpoint
    const template = memberOf(memberOf(endpoint.extras.extensions, 'bazaar'), 'routeTemplate')
    const said: SaidOfEndpoint = {
      ...quoted.resource,
      url,
      method,
      ...(typeof template === 'string' ? { routeTemplate: template } : {}),
      ...(await agreedBazaar(quoted.bazaar, method)),
    }
    const described = describeEndpoint(said, BigInt(chosen.amount))
    return described.ok ? described.endpoint : undefined
  }

  /** What the 402 says of its parameters, if it says so of this method and its schema holds. */
  async function agreedBazaar(
    bazaar: NonNullable<ProbeResult['quote']>['quoted']['bazaar'],
    method: string,
  ) {
    if (bazaar === null || memberOf(bazaar.info.input, 'method') !== method) return {}
    const { ok } = await infoCheck.judge(bazaar).catch(() => ({ ok: false }))
    return ok ? bazaar : {}
  }

  return async (
    entry: CatalogEntry,
    result: ProbeResult,
    nowSeconds: number,
  ): Promise<ProbeEffect> => {
    const after = (previous: EndpointHealth) => nextHealth(previous, result, nowSeconds, random)
    if (!isUnclaimed(entry.merchant)) return { after }
    if (result.isDefinite) {
      return { after: (previous) => ({ ...after(previous), status: 'failing' }) }
    }
    if (result.record.verdict !== 'live') return { after }
    const described = await describe(entry, result)
    if (described !== undefined) return { after, described }
    // Live, and asks for what no listing can say: an amount of nothing, for one.
    return { after: (previous) => ({ ...after(previous), status: 'failing' }) }
  }
}
