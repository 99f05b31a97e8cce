import type { Address } from 'viem'
import type { ListedEndpoint, Merchant, QuotedRequirement } from '../../store/listings.js'
import type { BazaarResource } from '../../x402/bazaar.js'
import { isObject, memberOf } from '../../x402/json-walk.js'
import { endpointBody } from '../listing-endpoint.js'
import { listingLimits } from '../listing-limits.js'
import { findUnwelcome } from '../listing-text.js'
import { cleanJson } from '../probe/clean-json.js'
import { cleanText } from '../probe/clean-text.js'
import { readInputSchema } from './input-schema.js'

/** A resource in the form in which the catalog keeps it, held to the limits of what owners write. */
export interface Draft {
  merchant: Pick<Merchant, 'id' | 'name' | 'network' | 'asset' | 'payTo'>
  endpoint: ListedEndpoint & { extras: Record<string, unknown> }
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

/** The id of the merchant nobody claimed yet who is paid at an address (lower case). */
export function unclaimedId(payTo: Address): string {
  return `payto-${payTo}`
}

/** Drafts the entry of a paid resource; a reason when not even its bare URL and price can be listed. */
export function draftUnclaimed(
  resource: BazaarResource,
  terms: Terms,
): { ok: true; draft: Draft } | { ok: false; rejectedReason: string } {
  const said = JSON.stringify({ info: resource.info, schema: resource.schema })
  const cleaned = cleanJson(JSON.parse(said.replace(zeroWidth, '')), jsonLimits)
  const info = memberOf(cleaned, 'info')
  const schema = memberOf(cleaned, 'schema')
  if (!isObject(info) || !isObject(schema)) {
    return { ok: false, rejectedReason: 'info and schema hold a text that is too long.' }
  }
  const listed = readEndpoint({ ...resource, info, schema }, terms.amount)
  if (!listed.ok) return listed
  const { network, asset, payTo, requirement } = terms
  const name = resource.serviceName?.trim() ?? hostOf(resource.url)
  return {
    ok: true,
    draft: {
      merchant: { id: unclaimedId(payTo), name, network, asset, payTo },
      endpoint: { ...listed.endpoint, extras: extrasOf(resource, { info, schema }) },
      accepts: [requirement],
    },
  }
}

/** The same law as for owners; what is optional and breaks it is left out. */
function readEndpoint(
  { url, method, tags = [], description = '', info, schema }: BazaarResource,
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
  { serviceName, iconUrl, mimeType, routeTemplate }: BazaarResource,
  described: { info: Record<string, unknown>; schema: Record<string, unknown> },
): Record<string, unknown> {
  return {
    ...(serviceName === undefined ? {} : { serviceName }),
    ...(iconUrl === undefined ? {} : { iconUrl }),
    ...(mimeType === undefined ? {} : { mimeType }),
    extensions: {
      bazaar: { ...described, ...(routeTemplate === undefined ? {} : { routeTemplate }) },
    },
  }
}

/** A stranger's text as an owner's would have to be; one that still is not is left out. */
function oneLine(text: string, maxChars: number): string {
  const cleaned = cleanText(text.replace(zeroWidth, ''), maxChars)
  return findUnwelcome(cleaned, 'one-line') === undefined ? cleaned : ''
}

function hostOf(url: string): string {
  return new URL(url).host.slice(0, listingLimits.name.maxChars)
}
