import { useMemo } from 'react'
import { useSearchParams } from 'wouter'
import type { EndpointFilters } from '../api/queries.js'

const names = [
  'query',
  'method',
  'pricing',
  'maxPrice',
  'verified',
  'official',
  'hasSchema',
  'tag',
] as const satisfies (keyof EndpointFilters)[]

/** The filters as they stand in the address, and a way to set all of them; setting does not fill the history. */
export function useFilters(): [EndpointFilters, (filters: EndpointFilters) => void] {
  const [params, setParams] = useSearchParams()
  const filters = useMemo(() => {
    const given = names.map((name) => [name, params.get(name)] as const)
    return Object.fromEntries(given.filter(([, value]) => value)) as EndpointFilters
  }, [params])
  const set = (next: EndpointFilters) =>
    setParams(
      Object.entries(next).filter((entry): entry is [string, string] => Boolean(entry[1])),
      { replace: true },
    )
  return [filters, set]
}

export function isFiltered(filters: EndpointFilters): boolean {
  return Object.keys(filters).length > 0
}
