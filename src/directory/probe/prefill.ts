import type { Validation } from '../../api/discovery.js'
import type { ListedEndpoint } from '../../store/listings.js'
import { isRecord } from './clean-json.js'
import { inputHintsOf } from './quoted-bazaar.js'
import type { ValidateRequest } from './validate-body.js'
import type { Verdict } from './verdict.js'

/** A listing drafted from a live 402. Its URL has no query, which is in `example`. Its texts are the endpoint's own, unproven. */
export type PrefilledListing = NonNullable<Validation['listing']>

/** Drafts a listing from what an endpoint quoted; `null` unless it is live. */
export function prefillListing(
  request: ValidateRequest,
  verdict: Verdict,
): PrefilledListing | null {
  const { chosen, quoted } = verdict
  if (chosen === undefined || quoted === undefined) return null
  const { serviceName, description, tags } = quoted.resource
  const hints = quoted.bazaar === null ? {} : inputHintsOf(quoted.bazaar)
  const url = new URL(request.url)
  const example = exampleOf(request, url, hints.method === request.method ? hints.example : {})
  return {
    url: url.origin + url.pathname,
    method: request.method,
    // The one scheme whose amount is a ceiling by definition.
    pricing: chosen.scheme === 'upto' ? 'metered' : 'fixed',
    price: chosen.amount,
    asset: chosen.asset,
    payTo: chosen.payTo,
    network: chosen.network,
    ...(serviceName === undefined ? {} : { title: serviceName }),
    ...(description === undefined ? {} : { description }),
    ...(tags === undefined ? {} : { tags }),
    ...(hints.inputSchema === undefined ? {} : { inputSchema: hints.inputSchema }),
    ...(example === undefined ? {} : { example }),
  }
}

/** What the caller gave goes over the query of the URL, and that over what the endpoint says itself. */
function exampleOf(
  { method, example }: ValidateRequest,
  url: URL,
  hinted: unknown,
): ListedEndpoint['example'] | undefined {
  if (method === 'POST') {
    const given = 'body' in example && !isEmpty(example.body) ? example.body : hinted
    return isEmpty(given) ? undefined : { body: given }
  }
  const given = 'queryParams' in example ? example.queryParams : {}
  const queryParams = {
    ...(isRecord(hinted) ? hinted : {}),
    ...Object.fromEntries(url.searchParams),
    ...given,
  }
  return isEmpty(queryParams) ? undefined : { queryParams }
}

function isEmpty(value: unknown): boolean {
  return (
    value === undefined || value === null || (isRecord(value) && Object.keys(value).length === 0)
  )
}
