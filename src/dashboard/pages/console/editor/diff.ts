import type { Listing, ListingEndpoint } from 'arcus-client/listing'
import { type CallExample, parametersIn, targetKey } from '../../../../x402/calls.js'
import { atomicToUsd } from '../../../format/amounts.js'
import { sameAddress } from '../../../format/untrusted-text.js'
import { type ListedToken, tokenOf } from './draft.js'
import { words } from './words.js'

export interface FieldChange {
  field: string
  before: string | null
  after: string | null
}

/** The changes of a signature: of the merchant, and of each endpoint that is new, gone or different. */
export interface ListingDiff {
  fields: FieldChange[]
  endpoints: {
    kind: 'added' | 'removed' | 'changed'
    /** `GET https://…` as it will be. */
    name: string
    changes: FieldChange[]
  }[]
  /** The change that redirects all money, shown on its own. */
  changesPayTo: boolean
}

/** Compares the present listing (`undefined` for none) with the next one. URL and method, or tool, identify an endpoint. */
export function diffListings(
  before: Listing | undefined,
  after: Listing,
  tokens: readonly ListedToken[] = [],
): ListingDiff {
  const fieldsOf = (endpoint: ListingEndpoint) => endpointFields(endpoint, tokens)
  const old = new Map(before?.endpoints.map((endpoint) => [keyOf(endpoint), endpoint]))
  const kept = new Set<string>()
  const endpoints: ListingDiff['endpoints'] = []
  for (const endpoint of after.endpoints) {
    const key = keyOf(endpoint)
    const known = old.get(key)
    kept.add(key)
    const changes = compare(known === undefined ? {} : fieldsOf(known), fieldsOf(endpoint))
    if (known === undefined) endpoints.push({ kind: 'added', name: key, changes })
    else if (changes.length > 0) endpoints.push({ kind: 'changed', name: key, changes })
  }
  for (const [key, endpoint] of old) {
    if (kept.has(key)) continue
    endpoints.push({ kind: 'removed', name: key, changes: compare(fieldsOf(endpoint), {}) })
  }
  const fields = compare(before === undefined ? {} : merchantFields(before), merchantFields(after))
  const changesPayTo = before !== undefined && !sameAddress(before.payTo, after.payTo)
  return { fields, endpoints, changesPayTo }
}

export function isUnchanged(diff: ListingDiff): boolean {
  return diff.fields.length === 0 && diff.endpoints.length === 0
}

const { fields: named, paidTo: PAID_TO } = words.review

type Fields = Record<string, string>

function merchantFields({ name, description, payTo }: Listing): Fields {
  return { [named.name]: name, [named.description]: description ?? '', [PAID_TO]: payTo }
}

function endpointFields(endpoint: ListingEndpoint, tokens: readonly ListedToken[]): Fields {
  const { title, description, pricing, price, tags, inputSchema, output, example } = endpoint
  const main = (example as CallExample | undefined)?.[parametersIn(endpoint.method)]
  // Members beside the parameters are shown as well.
  const isAlone = example === undefined || Object.keys(example).length === 1
  const values = isAlone ? (main ?? {}) : example
  return {
    [named.title]: title,
    [named.description]: description ?? '',
    [named.pricing]: pricing ?? 'fixed',
    [named.price]: `${atomicToUsd(price)} ${tokenOf(endpoint, tokens).symbol}`,
    [named.tags]: (tags ?? []).join(', '),
    [named.example]: jsonOf(values),
    [named.inputSchema]: jsonOf(inputSchema),
    [named.output]: outputOf(output),
  }
}

function compare(before: Fields, after: Fields): FieldChange[] {
  return Object.keys({ ...before, ...after }).flatMap((field) => {
    const [was, is] = [before[field] ?? '', after[field] ?? '']
    return isSame(field, was, is) ? [] : [{ field, before: was || null, after: is || null }]
  })
}

/** Compares two texts; addresses in any case. */
function isSame(field: string, was: string, is: string): boolean {
  return field === PAID_TO ? sameAddress(was, is) : was === is
}

function keyOf(endpoint: ListingEndpoint): string {
  const { url } = endpoint
  return targetKey({ ...endpoint, url: URL.canParse(url) ? new URL(url).href : url }).trim()
}

/** Returns nothing for plain JSON without an example, which needs no line. */
function outputOf(output: ListingEndpoint['output']): string {
  const { type, example } = output ?? { type: 'json' }
  return example === undefined && type === 'json' ? '' : jsonOf({ type, example })
}

/** Writes a value the same way for every order of its members. */
function jsonOf(value: unknown): string {
  if (value === undefined || value === null) return ''
  const text = JSON.stringify(value, (_name, member) =>
    member !== null && typeof member === 'object' && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  )
  return text === '{}' ? '' : text
}
