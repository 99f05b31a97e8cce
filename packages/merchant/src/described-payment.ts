import { isObject, memberOf } from '@arcus/protocol/x402/json'
import type { PaymentPayload } from '@x402/core/types'
import type { RouteOffer } from './terms.js'

/**
 * Returns the offer with what the buyer's client left out of its payment: the route's own `resource`, with this URL, and
 * its bazaar extension. No buyer signs either, and a catalog lists nothing without them. What the buyer sent stays as it is.
 */
export function describePayment(offer: RouteOffer, url: string): RouteOffer {
  const { payload, terms } = offer
  const described = { ...payload }
  const resource: unknown = payload.resource ?? terms.resource
  if (isObject(resource) && (memberOf(resource, 'url') ?? null) === null) {
    described.resource = { ...resource, url }
  }
  const extensions: unknown = payload.extensions ?? {}
  const bazaar = terms.extensions?.bazaar
  const isMissing = isObject(extensions) && (memberOf(extensions, 'bazaar') ?? null) === null
  if (bazaar !== undefined && isMissing) {
    described.extensions = { ...extensions, bazaar } as NonNullable<PaymentPayload['extensions']>
  }
  return { ...offer, payload: described }
}
