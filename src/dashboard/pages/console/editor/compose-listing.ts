import {
  isMistyped,
  type Listing,
  type ListingEndpoint,
  type QueryValue,
} from '../../../../listing-client/listing.js'
import { priceProblem, usdToAtomic } from '../../../format/amounts.js'
import type { EndpointDraft, ListingDraft } from './draft.js'

/** What is wrong with a field, by its path: `name`, `endpoints[0].price`. */
export type Problems = Record<string, string>

export type Composed =
  | { ok: true; id: string; listing: Listing }
  | { ok: false; problems: Problems }

const ID = /^[a-z0-9](?:[a-z0-9-]{1,38}[a-z0-9])$/
const FOUND_ID = /^payto-0x[0-9a-f]{40}$/
const ADDRESS = /^0x[0-9a-fA-F]{40}$/
/** Said where the letters of an address do not fit its digits. */
export const MISTYPED =
  'This address looks mistyped: its EIP-55 checksum is wrong. Copy it again, or write it in lower case if every digit is right.'
const MAX = { name: 60, description: 1_000, title: 100, tags: 10, tag: 32, endpoints: 100 }

/** Makes what is signed of what was typed, or says of each field what keeps it. The service judges again. */
export function composeListing(draft: ListingDraft): Composed {
  const problems: Problems = {}
  const id = draft.id.trim()
  if (!ID.test(id) && !FOUND_ID.test(id)) {
    problems.id = 'Use 3 to 40 lower-case letters, digits and inner hyphens.'
  }
  const name = draft.name.trim()
  if (name === '') problems.name = 'Give the merchant a name.'
  tooLong(problems, 'name', name, MAX.name)
  tooLong(problems, 'description', draft.description.trim(), MAX.description)
  if (!ADDRESS.test(draft.payTo.trim())) {
    problems.payTo = 'Give the address that is paid: 0x and 40 digits.'
  } else if (isMistyped(draft.payTo.trim())) problems.payTo = MISTYPED
  if (draft.endpoints.length === 0) problems.endpoints = 'Add at least one endpoint.'
  if (draft.endpoints.length > MAX.endpoints) {
    problems.endpoints = `A listing has at most ${MAX.endpoints} endpoints.`
  }
  const endpoints = draft.endpoints.map((endpoint, index) =>
    composeEndpoint(endpoint, `endpoints[${index}]`, problems),
  )
  markTwins(draft.endpoints, problems)
  if (Object.keys(problems).length > 0) return { ok: false, problems }
  const payTo = draft.payTo.trim() as Listing['payTo']
  return {
    ok: true,
    id,
    listing: { name, description: draft.description.trim(), payTo, endpoints },
  }
}

function composeEndpoint(draft: EndpointDraft, path: string, problems: Problems): ListingEndpoint {
  const url = draft.url.trim()
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    problems[`${path}.url`] = 'Give the whole URL, starting with https://.'
  }
  const title = draft.title.trim()
  if (title === '') problems[`${path}.title`] = 'Say in a few words what a call gives.'
  tooLong(problems, `${path}.title`, title, MAX.title)
  tooLong(problems, `${path}.description`, draft.description.trim(), MAX.description)
  const price = usdToAtomic(draft.price)
  const unusable = priceProblem(draft.price)
  if (unusable !== undefined) problems[`${path}.price`] = unusable
  const tags = readTags(draft.tags, path, problems)
  const example = readJson(draft.example, `${path}.example`, problems)
  if (draft.method === 'GET' && example !== undefined && !isRecord(example)) {
    problems[`${path}.example`] = 'Write an object of parameter names and values.'
  }
  const schema = readJson(draft.inputSchema, `${path}.inputSchema`, problems)
  if (schema !== undefined && (!isRecord(schema) || schema.type !== 'object')) {
    problems[`${path}.inputSchema`] ??= 'Write an object schema: its type must be "object".'
  }
  const rest = {
    url,
    title,
    description: draft.description.trim(),
    pricing: draft.pricing,
    price: price ?? '0',
    tags,
    inputSchema: (schema as Record<string, unknown> | undefined) ?? null,
    output: draft.output,
  }
  return draft.method === 'GET'
    ? {
        ...rest,
        method: 'GET',
        example: { queryParams: (example as Record<string, QueryValue> | undefined) ?? {} },
      }
    : { ...rest, method: 'POST', example: { body: example ?? {} } }
}

function readTags(text: string, path: string, problems: Problems): string[] {
  const tags = [
    ...new Set(
      text
        .split(',')
        .map((tag) => tag.trim())
        .filter(Boolean),
    ),
  ]
  if (tags.length > MAX.tags) problems[`${path}.tags`] = `At most ${MAX.tags} tags.`
  else if (tags.some((tag) => [...tag].length > MAX.tag)) {
    problems[`${path}.tags`] = `A tag has at most ${MAX.tag} characters.`
  }
  return tags
}

function readJson(text: string, path: string, problems: Problems): unknown {
  if (text.trim() === '') return undefined
  try {
    return JSON.parse(text)
  } catch (error) {
    problems[path] = `This is not JSON: ${(error as Error).message}`
    return undefined
  }
}

function markTwins(endpoints: readonly EndpointDraft[], problems: Problems): void {
  const seen = new Set<string>()
  for (const [index, { method, url }] of endpoints.entries()) {
    const key = `${method} ${URL.canParse(url.trim()) ? new URL(url.trim()).href : url}`
    if (seen.has(key))
      problems[`endpoints[${index}].url`] ??= 'This URL is listed above with the same method.'
    seen.add(key)
  }
}

function tooLong(problems: Problems, path: string, text: string, max: number): void {
  const length = [...text].length
  if (length > max) problems[path] = `At most ${max} characters; it has ${length}.`
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
