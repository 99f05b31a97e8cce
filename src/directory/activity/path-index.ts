/** Finds the endpoint of a listing that a paid URL is of. */
export interface PathIndex {
  find(url: URL): number | undefined
}

interface Candidate {
  id: number
  /** What the listed URL asks for in its query; a call may carry more. */
  query: [string, string][]
}

/**
 * Endpoints by origin and path. Where several share them, the one whose listed query is the longest part of the call's
 * is meant; a listed path such as `/weather/:city` stands for every path of its form that is not listed itself.
 */
export function createPathIndex(endpoints: readonly { id: number; url: string }[]): PathIndex {
  const exact = new Map<string, Candidate[]>()
  const templates: { id: number; origin: string; segments: string[] }[] = []
  for (const { id, url: listed } of endpoints) {
    const url = new URL(listed)
    const place = url.origin + url.pathname
    exact.set(place, [...(exact.get(place) ?? []), { id, query: [...url.searchParams] }])
    if (url.pathname.includes('/:')) {
      templates.push({ id, origin: url.origin, segments: url.pathname.split('/') })
    }
  }
  for (const candidates of exact.values()) {
    candidates.sort((a, b) => b.query.length - a.query.length)
  }

  return {
    find(url) {
      const candidates = exact.get(url.origin + url.pathname)
      const same = candidates?.find(({ query }) => isPartOf(query, url.searchParams))
      if (same !== undefined) return same.id
      if (templates.length === 0) return undefined
      const segments = url.pathname.split('/')
      return templates.find(
        (template) => template.origin === url.origin && isOfForm(segments, template.segments),
      )?.id
    },
  }
}

function isPartOf(query: readonly [string, string][], called: URLSearchParams): boolean {
  return query.every(([name, value]) => called.getAll(name).includes(value))
}

function isOfForm(segments: readonly string[], template: readonly string[]): boolean {
  return (
    segments.length === template.length &&
    template.every((part, i) => (part.startsWith(':') ? segments[i] !== '' : part === segments[i]))
  )
}
