import type { Address } from 'viem'
import { endpointBody, listingLimits } from '../../listing-client/listing.js'
import { cleanText, findUnwelcome } from '../../listing-client/text.js'
import type {
  DescribedEndpoint,
  ListedEndpoint,
  Merchant,
  QuotedRequirement,
} from '../../store/listings.js'
import { unclaimedId, unclaimedName } from '../../store/unclaimed.js'
import type { BazaarResource } from '../../x402/bazaar.js'
import { isObject, memberOf } from '../../x402/json-walk.js'
import { cleanJson } from '../probe/clean-json.js'
import { readInputSchema } from './input-schema.js'

/** A resource in the form in which the catalog keeps it, held to the limits of what owners write. */
export interface Draft {
  merchant: Pick<Merchant, 'id' | 'name' | 'network' | 'asset' | 'payTo'>
  endpoint: DescribedEndpoint
  accepts: QuotedRequirement[]
}

interface Terms {
  network: string
  /** Lower case. */
  asset: Address
  payTo: Address
  amount: bigint
  requirement: QuotedRequirement
}

/** Nobody sees them, and JSON writes them as they are. */
const zeroWidth = /[\u200b\u2060-\u2064]/g
const jsonLimits = { depth: 24, nodes: 2_000, stringChars: 8_192 }

/** Drafts the entry of a paid resource; a reason when not even its bare URL and price can be listed. */
export function draftUnclaimed(
  resource: BazaarResource,
  { network, asset, payTo, amount, requirement }: Terms,
): { ok: true; draft: Draft } | { ok: false; rejectedReason: string } {
  const described = describeEndpoint(resource, amount)
  if (!described.ok) return described
  const merchant = { id: unclaimedId(payTo), name: unclaimedName(payTo), network, asset, payTo }
  return { ok: true, draft: { merchant, endpoint: described.endpoint, accepts: [requirement] } }
}

/** What a payment or a 402 says of an endpoint: words of a stranger, bounded. */
export type SaidOfEndpoint = Pick<BazaarResource, 'url' | 'method'> &
  Partial<Omit<BazaarResource, 'example'>>

/** An endpoint in a stranger's words, in the form and within the limits of what owners write. */
export function describeEndpoint(
  said: SaidOfEndpoint,
  amount: bigint,
): { ok: true; endpoint: DescribedEndpoint } | { ok: false; rejectedReason: string } {
  const described = said.info !== undefined && said.schema !== undefined
  const bare = JSON.stringify({ info: said.info ?? {}, schema: said.schema ?? {} })
  const cleaned = cleanJson(JSON.parse(bare.replace(zeroWidth, '')), jsonLimits)
  const info = memberOf(cleaned, 'info')
  const schema = memberOf(cleaned, 'schema')
  if (!isObject(info) || !isObject(schema)) {
    return { ok: false, rejectedReason: 'info and schema hold a text that is too long.' }
  }
  const listed = readEndpoint({ ...said, info, schema }, amount)
  if (!listed.ok) return listed
  const extras = extrasOf(said, described ? { info, schema } : undefined)
  return { ok: true, endpoint: { ...listed.endpoint, extras } }
}

/** The same law as for owners; what is optional and breaks it is left out. */
function readEndpoint(
  {
    url,
    method,
    tags = [],
    description = '',
    info,
    schema,
  }: SaidOfEndpoint & Pick<BazaarResource, 'info' | 'schema'>,
  amount: bigint,
): { ok: true; endpoint: ListedEndpoint } | { ok: false; rejectedReason: string } {
  const bare = {
    url,
    method,
    title: oneLine(`${method} ${new URL(url).pathname}`, listingLimits.title.maxChars),
    description: oneLine(description, listingLimits.endpointDescription.maxChars),
    price: amount.toString(),
    tags,
  }
  const optional = {
    example: exampleOf(info, method),
    inputSchema: readInputSchema(schema, method),
    output: outputOf(info),
  }
  let kept: Partial<typeof optional> = optional
  for (;;) {
    const parsed = endpointBody.safeParse({ ...bare, ...kept })
    if (parsed.success) return { ok: true, endpoint: parsed.data }
    const [name] = parsed.error.issues[0]?.path ?? []
    if (typeof name !== 'string' || !Object.hasOwn(kept, name)) {
      const reason = parsed.error.issues[0]?.message ?? 'cannot be listed'
      return { ok: false, rejectedReason: `${String(name ?? 'the resource')} ${reason}.` }
    }
    kept = Object.fromEntries(Object.entries(kept).filter(([member]) => member !== name))
  }
}

function exampleOf(info: Record<string, unknown>, method: 'GET' | 'POST') {
  const input = memberOf(info, 'input')
  if (method === 'GET') {
    const queryParams = memberOf(input, 'queryParams')
    return isObject(queryParams) ? { queryParams } : undefined
  }
  const body = memberOf(input, 'body')
  return body === undefined ? undefined : { body }
}

function outputOf(info: Record<string, unknown>) {
  const output = memberOf(info, 'output')
  const type = memberOf(output, 'type')
  const example = memberOf(output, 'example')
  if (typeof type !== 'string') return undefined
  return { type: type.toLowerCase(), ...(example === undefined ? {} : { example }) }
}

function extrasOf(
  { serviceName, iconUrl, mimeType, routeTemplate }: SaidOfEndpoint,
  described: { info: Record<string, unknown>; schema: Record<string, unknown> } | undefined,
): Record<string, unknown> {
  const template = routeTemplate === undefined ? {} : { routeTemplate }
  return {
    ...(serviceName === undefined ? {} : { serviceName }),
    ...(iconUrl === undefined ? {} : { iconUrl }),
    ...(mimeType === undefined ? {} : { mimeType }),
    ...(described === undefined ? {} : { extensions: { bazaar: { ...described, ...template } } }),
  }
}

/** A stranger's text as an owner's would have to be; one that still is not is left out. */
function oneLine(text: string, maxChars: number): string {
  const cleaned = cleanText(text.replace(zeroWidth, ''), maxChars)
  return findUnwelcome(cleaned, 'one-line') === undefined ? cleaned : ''
}
