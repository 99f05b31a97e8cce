import type { ListedEndpoint } from '../../store/listings.js'
import { parseUrl } from '../../x402/parse-url.js'
import type { GuardedRequest } from './guarded-fetch.js'

/** The call that shows what an endpoint asks for: GET with the example parameters, or POST with the example body. */
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

/** Sets parameters over those the URL has; lists become repeated parameters, as `JSON.stringify` nested objects. */
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
