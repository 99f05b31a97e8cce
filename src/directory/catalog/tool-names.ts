import type { Endpoint } from '../../store/listings.js'
import { parseUrl } from '../../x402/parse-url.js'

/** What the makers of language models take as the name of a tool: `^[a-zA-Z0-9_-]{1,64}$`. */
const MAX_NAME_CHARS = 64

/** One name an endpoint, in their order: from its title, else its path; unique among them. */
export function nameTools(endpoints: readonly Endpoint[]): string[] {
  const taken = new Set<string>()
  const counts = new Map<string, number>()
  return endpoints.map((endpoint) => {
    const wanted = toName(endpoint.title) || toName(pathOf(endpoint.url)) || 'endpoint'
    let count = counts.get(wanted) ?? 1
    let name = wanted
    while (taken.has(name)) {
      const suffix = `_${++count}`
      name = wanted.slice(0, MAX_NAME_CHARS - suffix.length) + suffix
    }
    counts.set(wanted, count)
    taken.add(name)
    return name
  })
}

function toName(text: string): string {
  return text
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .slice(0, MAX_NAME_CHARS)
    .replace(/^_+|_+$/g, '')
}

function pathOf(url: string): string {
  return parseUrl(url)?.pathname ?? ''
}
