import { withQuery } from '@arcus/client/calls'
import type { BrowseAnswer } from '@arcus/protocol/answers/discovery'
import { useQueryClient } from '@tanstack/react-query'
import { useMemo } from 'react'
import { useSearchParams } from 'wouter'
import { listedNetwork, read, settingsQuery } from '../api/queries.js'
import { pageOf, readSearch } from '../format/search-target.js'

/** The parameters of a page, each with the values that it takes. An empty value is none. */
export type SearchSchema<Name extends string> = Record<
  Name,
  readonly string[] | ((value: string) => boolean)
>

/**
 * Keeps the state of a page in its address, so that a link leads to the same. Values that the schema does not take are
 * left out. A change replaces the present entry of the history, and leaves parameters of others alone.
 */
export function useSearchState<Name extends string>(schema: SearchSchema<Name>) {
  const [params, setParams] = useSearchParams()
  const values = useMemo(() => readParams(params, schema), [params, schema])
  const set = (next: Partial<Record<Name, string | undefined>>) =>
    setParams(
      (before) => {
        const after = new URLSearchParams(before)
        for (const name of Object.keys(schema) as Name[]) {
          const value = next[name]
          if (value) after.set(name, value)
          else after.delete(name)
        }
        return after
      },
      { replace: true },
    )
  return { values, set }
}

function readParams<Name extends string>(params: URLSearchParams, schema: SearchSchema<Name>) {
  const values: Partial<Record<Name, string>> = {}
  for (const name of Object.keys(schema) as Name[]) {
    const value = params.get(name)
    if (!value) continue
    const rule: SearchSchema<Name>[Name] = schema[name]
    const isTaken = typeof rule === 'function' ? rule(value) : rule.includes(value)
    if (isTaken) values[name] = value
  }
  return values
}

/** Returns the page that a typed text leads to. An address at which no API is paid is that of a buyer. */
export function useSearchTarget(): (typed: string) => Promise<string> {
  const client = useQueryClient()
  return async (typed) => {
    const target = readSearch(typed)
    if (target.kind === 'address') {
      const paid = read<BrowseAnswer>(
        ['paid-at', target.address],
        withQuery('/api/endpoints', { payTo: target.address, limit: 1 }),
      )
      const { items } = await client.fetchQuery(paid).catch(() => ({ items: [] }))
      if (items.length === 0) return `/buyers/${target.address}`
    }
    return pageOf(target, listedNetwork(client.getQueryData(settingsQuery.queryKey))?.network)
  }
}
