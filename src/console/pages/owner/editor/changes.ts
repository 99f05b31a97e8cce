import type { Listing, ListingEndpoint } from '@arcus/protocol/listing/listing'
import { type CallExample, parametersIn, targetKey } from '@arcus/protocol/x402/calls'
import { atomicToUsd } from '../../../format/amounts.js'
import { type ListedToken, tokenOf } from './form.js'

/** Values of one field before and after, empty for none. */
export interface Change {
  field: string
  before: string
  after: string
}

/** The changes of a signature, of the seller and of each API that is new, gone or different. */
export interface Changes {
  fields: Change[]
  endpoints: {
    kind: 'added' | 'removed' | 'changed'
    /** `GET https://…` as it will be. */
    name: string
    changes: Change[]
  }[]
}

/** Compares the present listing (`undefined` for none) with the next one. URL and method, or tool, identify an API. */
export function changesOf(
  before: Listing | undefined,
  after: Listing,
  tokens: readonly ListedToken[] = [],
): Changes {
  const fieldsByName = (listing: Listing | undefined) =>
    new Map(listing?.endpoints.map((it) => [nameOf(it), endpointFields(it, tokens)]))
  const [old, next] = [fieldsByName(before), fieldsByName(after)]
  const endpoints = [...new Set([...next.keys(), ...old.keys()])].flatMap((name) => {
    const [was, is] = [old.get(name), next.get(name)]
    const changes = compare(was ?? {}, is ?? {})
    const kind = was === undefined ? 'added' : is === undefined ? 'removed' : 'changed'
    return changes.length === 0 ? [] : [{ kind, name, changes } as const]
  })
  return { fields: compare(sellerFields(before), sellerFields(after)), endpoints }
}

type Fields = Record<string, string>

function sellerFields(listing: Listing | undefined): Fields {
  if (listing === undefined) return {}
  const { name, description = '', payTo } = listing
  return { Name: name, Description: description, 'Paid to': payTo.toLowerCase() }
}

function endpointFields(endpoint: ListingEndpoint, tokens: readonly ListedToken[]): Fields {
  const { title, description, pricing, price, tags, inputSchema, output, example } = endpoint
  const main = (example as CallExample | undefined)?.[parametersIn(endpoint.method)]
  // Members next to the parameters are shown as well.
  const isAlone = example === undefined || Object.keys(example).length === 1
  const isPlain = output == null || (output.type === 'json' && output.example === undefined)
  return {
    Title: title,
    Description: description ?? '',
    Price: `${pricing === 'metered' ? 'up to ' : ''}${atomicToUsd(price)} ${tokenOf(endpoint, tokens).symbol}`,
    Tags: (tags ?? []).join(', '),
    Example: jsonOf(isAlone ? main : example),
    'Input schema': jsonOf(inputSchema),
    Output: isPlain ? '' : jsonOf(output),
  }
}

function compare(before: Fields, after: Fields): Change[] {
  return Object.keys({ ...before, ...after }).flatMap((field) => {
    const [was = '', is = ''] = [before[field], after[field]]
    return was === is ? [] : [{ field, before: was, after: is }]
  })
}

function nameOf(endpoint: ListingEndpoint): string {
  const { url } = endpoint
  return targetKey({ ...endpoint, url: URL.canParse(url) ? new URL(url).href : url }).trim()
}

/** Writes a value the same way for every order of its members; nothing for an empty one. */
function jsonOf(value: unknown): string {
  if (value === undefined || value === null) return ''
  const text = JSON.stringify(value, (_name, member) =>
    member !== null && typeof member === 'object' && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  )
  return text === '{}' ? '' : text
}
