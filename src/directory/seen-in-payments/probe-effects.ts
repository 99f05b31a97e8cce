import { type CallTarget, placesIn } from '@arcus/protocol/x402/calls'
import { defined, memberOf } from '@arcus/protocol/x402/json'
import { nextHealth } from '../probe/health.js'
import { inputHintsOf } from '../probe/payment-required.js'
import type { ProbeResult } from '../probe/probe.js'
import type { ProbeEffect } from '../probe/probe-schedule.js'
import type { CatalogEntry, DescribedEndpoint, EndpointHealth } from '../store/listings.js'
import { isUnclaimed } from '../store/ownership.js'
import { describeEndpoint, type EndpointClaims } from './draft.js'
import type { InfoCheck } from './info-check.js'

interface ProbeEffectsOptions {
  infoCheck: Pick<InfoCheck, 'check'>
}

/**
 * Creates the effects of probes on entries. An owner's listing keeps its description and becomes `failing` after several
 * failures. An entry from a payment takes the description of its own 402 once it is live, and the first definite wrong
 * answer makes it `failing`, because nobody vouches for it.
 */
export function createProbeEffects({ infoCheck }: ProbeEffectsOptions) {
  async function describe(
    { endpoint }: CatalogEntry,
    { quote }: ProbeResult,
  ): Promise<DescribedEndpoint | undefined> {
    if (quote === undefined) return undefined
    const { quoted, chosen, tool } = quote
    const { url, method, toolName, transport, asset, symbol, example } = endpoint
    const { pathParams } = example
    const template = memberOf(memberOf(endpoint.extras.extensions, 'bazaar'), 'routeTemplate')
    const claims: EndpointClaims = {
      ...quoted.resource,
      url,
      method,
      ...defined({ toolName, transport, tool, pathParams }),
      ...(typeof template === 'string' && { routeTemplate: template }),
      ...(await agreedBazaar(quoted.bazaar, endpoint)),
    }
    const asked = { amount: BigInt(chosen.amount), asset, symbol }
    const described = describeEndpoint(claims, asked)
    return described.ok ? described.endpoint : undefined
  }

  /** Returns the bazaar extension of the 402 if it is about this method or tool and matches its schema. */
  async function agreedBazaar(
    bazaar: NonNullable<ProbeResult['quote']>['quoted']['bazaar'],
    { method, toolName }: CallTarget,
  ) {
    if (bazaar === null) return {}
    const said = inputHintsOf(bazaar).target
    if (said.method !== method || said.toolName !== toolName) return {}
    const { ok } = await infoCheck.check(bazaar).catch(() => ({ ok: false }))
    return ok ? bazaar : {}
  }

  return async (
    entry: CatalogEntry,
    result: ProbeResult,
    nowSeconds: number,
  ): Promise<ProbeEffect> => {
    const after = (previous: EndpointHealth) =>
      nextHealth(previous, result, nowSeconds, Math.random)
    if (!isUnclaimed(entry.merchant)) return { after }
    if (result.isDefinite) {
      return { after: (previous) => ({ ...after(previous), status: 'failing' }) }
    }
    if (result.record.verdict !== 'live') return { after }
    const record = checkTemplate(entry, result)
    if (record !== undefined) {
      const refused = { record, accepts: [], extras: {} }
      const later = (previous: EndpointHealth) =>
        nextHealth(previous, refused, nowSeconds, Math.random)
      return { after: (previous) => ({ ...later(previous), status: 'failing' }) }
    }
    const described = await describe(entry, result)
    if (described !== undefined) return { after, described }
    // It is live with terms that no listing can have, such as an amount of zero.
    return { after: (previous) => ({ ...after(previous), status: 'failing' }) }
  }
}

/**
 * Checks the template of an entry, which a buyer wrote: a 402 that describes its own route must name the same one. Returns
 * the result of the probe if it does not.
 */
function checkTemplate(
  { endpoint }: CatalogEntry,
  { record, quote }: ProbeResult,
): ProbeResult['record'] | undefined {
  const bazaar = quote?.quoted.bazaar ?? null
  if (bazaar === null || placesIn(endpoint.url).length === 0) return undefined
  const { origin, pathname } = new URL(endpoint.url)
  const { routeTemplate = '' } = bazaar
  if (routeTemplate !== '' && new URL(origin + routeTemplate).pathname === pathname)
    return undefined
  const message = `Its 402 names ${routeTemplate === '' ? 'no route template' : `the route template ${routeTemplate}`}, and the payment named ${pathname}.`
  return { ...record, verdict: 'other_template', message, warnings: [] }
}
