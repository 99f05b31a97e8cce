import { endpointBody, listingLimits } from '@arcus/protocol/listing/listing'
import { cleanText } from '@arcus/protocol/listing/text'
import type { BazaarResource } from '@arcus/protocol/x402/bazaar'
import { defined, isObject, memberOf } from '@arcus/protocol/x402/json'
import { cleanJson, exampleIn, inputSchemaIn } from '../probe/payment-required.js'
import type { ListedTool } from '../probe/tool-call.js'
import type { DescribedEndpoint, WrittenEndpoint } from '../store/listings.js'

/** A price of a payment or a 402, with its token in lower case. */
type AskedPrice = Pick<WrittenEndpoint, 'asset' | 'symbol'> & { amount: bigint }

const jsonLimits = { depth: 24, nodes: 2_000, stringChars: 8_192 }

/** The description of an endpoint in a payment or a 402: texts of a stranger, bounded. */
export type EndpointClaims = Pick<BazaarResource, 'url' | 'method'> &
  Partial<BazaarResource> & {
    /** The tool as its own server lists it. */
    tool?: ListedTool
  }

/**
 * Describes an endpoint by a stranger's claims, in the form and within the limits of owners, or returns the reason why not
 * even its URL and price can be listed.
 */
export function describeEndpoint(
  claims: EndpointClaims,
  price: AskedPrice,
): { ok: true; endpoint: DescribedEndpoint } | { ok: false; rejectedReason: string } {
  const described = claims.info !== undefined && claims.schema !== undefined
  const bare = { info: claims.info ?? {}, schema: claims.schema ?? {} }
  const cleaned = cleanJson(bare, jsonLimits)
  const info = memberOf(cleaned, 'info')
  const schema = memberOf(cleaned, 'schema')
  if (!isObject(info) || !isObject(schema)) {
    return { ok: false, rejectedReason: 'info and schema hold a text that is too long.' }
  }
  const listed = readEndpoint({ ...claims, info, schema }, price)
  if (!listed.ok) return listed
  const { pathParams } = claims
  const places = pathParams !== undefined && Object.keys(pathParams).length > 0
  const example = { ...listed.endpoint.example, ...(places && { pathParams }) }
  const extras = extrasOf(claims, described ? { info, schema } : undefined)
  return { ok: true, endpoint: { ...listed.endpoint, example, extras } }
}

/** Reads an endpoint by the rules for owners. Optional members that break a rule are left out. */
function readEndpoint(
  claims: EndpointClaims & Pick<BazaarResource, 'info' | 'schema'>,
  { amount, asset, symbol }: AskedPrice,
): { ok: true; endpoint: WrittenEndpoint } | { ok: false; rejectedReason: string } {
  const { url, method, toolName, tags = [], info, tool } = claims
  const own = tool?.description ?? memberOf(info.input, 'description')
  // A server has one description for all its tools.
  const description = (method === 'MCP' && isText(own) ? own : claims.description) ?? ''
  const title = toolName ?? `${method} ${new URL(url).pathname}`
  const bare = {
    url,
    method,
    ...(toolName === undefined ? {} : { toolName }),
    title: cleanText(title, listingLimits.title.maxChars),
    description: cleanText(description, listingLimits.endpointDescription.maxChars),
    price: amount.toString(),
    tags,
  }
  const optional = {
    ...(claims.transport === undefined ? {} : { transport: claims.transport }),
    example: exampleIn(info, method),
    inputSchema: tool?.inputSchema ?? inputSchemaIn(claims, method),
    output: outputOf(info),
  }
  let kept: Partial<typeof optional> = optional
  for (;;) {
    const parsed = endpointBody.safeParse({ ...bare, ...kept })
    if (parsed.success) {
      const { currency: _, ...endpoint } = parsed.data
      return { ok: true, endpoint: { ...endpoint, asset, symbol } }
    }
    const [name] = parsed.error.issues[0]?.path ?? []
    if (typeof name !== 'string' || !Object.hasOwn(kept, name)) {
      const reason = parsed.error.issues[0]?.message ?? 'cannot be listed'
      return { ok: false, rejectedReason: `${String(name ?? 'the resource')} ${reason}.` }
    }
    kept = Object.fromEntries(Object.entries(kept).filter(([member]) => member !== name))
  }
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}

function outputOf(info: Record<string, unknown>) {
  const output = memberOf(info, 'output')
  const type = memberOf(output, 'type')
  const example = memberOf(output, 'example')
  if (typeof type !== 'string') return undefined
  return { type: type.toLowerCase(), ...defined({ example }) }
}

function extrasOf(
  { serviceName, iconUrl, mimeType, routeTemplate }: EndpointClaims,
  described: { info: Record<string, unknown>; schema: Record<string, unknown> } | undefined,
): Record<string, unknown> {
  const bazaar = described && { ...described, ...defined({ routeTemplate }) }
  const extensions = bazaar && { bazaar }
  return defined({ serviceName, iconUrl, mimeType, extensions })
}
