import { cleanText } from '@arcus/protocol/listing/text'
import { hasWrongChecksum } from '@arcus/protocol/x402/address'
import { parseUint256 } from '@arcus/protocol/x402/amounts'
import {
  isRouteTemplate,
  readServiceMetadata,
  type ServiceMetadata,
} from '@arcus/protocol/x402/bazaar'
import {
  type CallExample,
  type CallMethod,
  callMethods,
  isOneOf,
  parametersIn,
  parseJson,
} from '@arcus/protocol/x402/calls'
import { defined, isObject, memberOf } from '@arcus/protocol/x402/json'
import { findOutsideReference, schemaKeywords } from '@arcus/protocol/x402/json-schema'
import { otherRailOf } from '@arcus/protocol/x402/rails'
import { getAddress, isAddress } from 'viem'
import { checkTarget } from './target-rules.js'

/** Requirements that are read; a 402 offers one or two. */
const MAX_ACCEPTS = 16

export interface QuotedPayment {
  kind: 'quoted'
  /** The protocol wants the header; official buyers read nothing else for version 2. `tool` is the result of an MCP tool. */
  source: 'header' | 'body' | 'tool'
  /** True if the header is base64 of the URL alphabet, which official buyers refuse. */
  isUrlSafe: boolean
  accepts: QuotedTerms[]
  /** Entries of `accepts` that no buyer could use. */
  unusable: number
  resource: QuotedResource
  bazaar: QuotedBazaar | null
}

export type PaymentRequiredAnswer =
  | QuotedPayment
  /** Version 1 only, in the body. */
  | { kind: 'version1' }
  /** No requirements where they could be; `hasHeader` when the header is there but cannot be read. */
  | { kind: 'none'; hasHeader: boolean }

/** Reads the requirements of a 402: header `PAYMENT-REQUIRED` first (x402 v2), then the body. Never throws. */
export function parsePaymentRequired(
  headers: Readonly<Record<string, string>>,
  body: string,
): PaymentRequiredAnswer {
  const header = headers['payment-required']
  const fromHeader = header === undefined ? undefined : decodeHeader(header)
  if (isVersion2(fromHeader)) {
    return toQuotedPayment(fromHeader, 'header', /[-_]/.test(header ?? ''))
  }
  return readPaymentRequired(parseJson(body), 'body', header !== undefined)
}

/** Reads the requirements in the body of a 402, or in the result of an MCP tool. Never throws. */
export function readPaymentRequired(
  required: unknown,
  source: 'body' | 'tool',
  hasHeader = false,
): PaymentRequiredAnswer {
  if (isVersion2(required)) return toQuotedPayment(required, source, false)
  if (isObject(required) && required.x402Version === 1) return { kind: 'version1' }
  return { kind: 'none', hasHeader }
}

function isVersion2(value: unknown): value is Record<string, unknown> & { accepts: unknown[] } {
  return isObject(value) && value.x402Version === 2 && Array.isArray(value.accepts)
}

function toQuotedPayment(
  required: Record<string, unknown> & { accepts: unknown[] },
  source: QuotedPayment['source'],
  isUrlSafe: boolean,
): QuotedPayment {
  const read = required.accepts.slice(0, MAX_ACCEPTS).map(readQuotedTerms)
  const accepts = read.filter((terms) => terms !== undefined)
  return {
    kind: 'quoted',
    source,
    isUrlSafe,
    accepts,
    unusable: read.length - accepts.length,
    resource: readQuotedResource(required.resource),
    bazaar: readQuotedBazaar(required.extensions),
  }
}

function decodeHeader(text: string): unknown {
  if (!/^[\w+/-]*={0,2}$/.test(text)) return undefined
  return parseJson(Buffer.from(text, 'base64').toString('utf8'))
}

/** One requirement of a 402, with the members the protocol knows and no other. */
export interface QuotedTerms {
  scheme: string
  network: string
  /** Decimal digits, atomic units. */
  amount: string
  /** On an EVM network an address with checksum. */
  asset: string
  /** With checksum too; as it was spelled if its checksum is wrong. */
  payTo: string
  maxTimeoutSeconds: number
  extra: Record<string, unknown>
}

const MAX_WORD_CHARS = 64
const MAX_EXTRA_CHARS = 128
const MAX_TIMEOUT_SECONDS = 31_536_000

/** Members of `extra` of the schemes of Arc: the EIP-712 domain, and the terms of two schemes. */
const extraNames = [
  'name',
  'version',
  'verifyingContract',
  'assetTransferMethod',
  'facilitatorAddress',
  'receiverAuthorizer',
  'withdrawDelay',
  'minDeposit',
]

/**
 * Reads one entry of `accepts`; `undefined` when a buyer could not use it. Unknown members are left behind, but for those
 * in the `extra` of another rail.
 */
export function readQuotedTerms(entry: unknown): QuotedTerms | undefined {
  if (!isObject(entry)) return undefined
  const scheme = word(entry.scheme)
  const network = word(entry.network)
  const amount = typeof entry.amount === 'string' ? parseUint256(entry.amount) : undefined
  const asset = account(entry.asset)
  // A wrong checksum is kept: the address may be mistyped.
  const spelled = word(entry.payTo) ?? ''
  const payTo = hasWrongChecksum(spelled) ? spelled : account(entry.payTo)
  const { maxTimeoutSeconds } = entry
  if (scheme === undefined || network === undefined || !network.includes(':')) return undefined
  if (amount === undefined || asset === undefined || payTo === undefined) return undefined
  if (!isSeconds(maxTimeoutSeconds)) return undefined
  const extra =
    otherRailOf(asset, entry.extra) === undefined
      ? readExtra(entry.extra)
      : cleanJson(entry.extra, otherRailLimits)
  if (!isObject(extra)) return undefined
  return { scheme, network, amount: amount.toString(), asset, payTo, maxTimeoutSeconds, extra }
}

/** The names of another rail's `extra` are its own, so it is kept whole or not at all. */
const otherRailLimits = { depth: 4, nodes: 64, stringChars: 256 }

function word(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.length > MAX_WORD_CHARS) return undefined
  return /^[\x21-\x7e]+$/.test(value) ? value : undefined
}

/** Reads an account; networks other than EVM's have other shapes. */
function account(value: unknown): string | undefined {
  const text = word(value)
  if (text === undefined) return undefined
  return isAddress(text, { strict: false }) ? getAddress(text) : text
}

function isSeconds(value: unknown): value is number {
  return (
    Number.isInteger(value) && (value as number) >= 0 && (value as number) <= MAX_TIMEOUT_SECONDS
  )
}

function readExtra(extra: unknown): QuotedTerms['extra'] {
  const kept: QuotedTerms['extra'] = {}
  if (!isObject(extra)) return kept
  for (const name of extraNames) {
    const value = Object.hasOwn(extra, name) ? extra[name] : undefined
    if (typeof value === 'string') kept[name] = cleanText(value, MAX_EXTRA_CHARS)
    else if (typeof value === 'number' && Number.isFinite(value)) kept[name] = value
  }
  return kept
}

/** Claims of a 402 about the resource it sells: texts of a stranger, bounded and cleaned. */
interface QuotedResource extends ServiceMetadata {
  url?: string
  description?: string
}

const MAX_RESOURCE_URL_CHARS = 2_048
const MAX_DESCRIPTION_CHARS = 1_000

/** Reads `resource` of a 402, without every member that breaks its rule. */
function readQuotedResource(resource: unknown): QuotedResource {
  const { iconUrl, ...metadata } = readServiceMetadata(resource)
  return {
    ...metadata,
    ...defined({
      url: clean(memberOf(resource, 'url'), MAX_RESOURCE_URL_CHARS),
      description: clean(memberOf(resource, 'description'), MAX_DESCRIPTION_CHARS),
      iconUrl: iconUrl !== undefined && isCallable(iconUrl) ? iconUrl : undefined,
    }),
  }
}

function clean(value: unknown, maxChars: number): string | undefined {
  const text = typeof value === 'string' ? cleanText(value, maxChars) : ''
  return text === '' ? undefined : text
}

/** Returns whether a page may show an icon: its reader calls that address, so it must be one that Arcus would call. */
function isCallable(iconUrl: string): boolean {
  return checkTarget(iconUrl, { allowPrivateHosts: false, ownOrigins: [] }).isAllowed
}

/** The bazaar extension of a 402: the endpoint's description of its own calls. */
interface QuotedBazaar {
  info: Record<string, unknown>
  /** JSON Schema of `info`. */
  schema: Record<string, unknown>
  /** The form of the paths that it describes. */
  routeTemplate?: string
}

/**
 * Reads `extensions.bazaar` of a 402; `null` when it is missing, too large, not about a call, or its schema refers
 * to anything outside itself.
 */
function readQuotedBazaar(extensions: unknown): QuotedBazaar | null {
  if (!isObject(extensions) || !Object.hasOwn(extensions, 'bazaar')) return null
  const bazaar = cleanJson(extensions.bazaar)
  if (!isObject(bazaar) || !isObject(bazaar.info) || !isObject(bazaar.schema)) return null
  const { info, schema } = bazaar
  if (!isObject(info.input) || !['http', 'mcp'].includes(info.input.type as string)) return null
  if (findOutsideReference(schema) !== undefined) return null
  const { routeTemplate } = bazaar
  return { info, schema, ...(isRouteTemplate(routeTemplate) && { routeTemplate }) }
}

/** Returns the parts of the extension that help to call the endpoint; `inputSchema` is that of the parameters. */
export function inputHintsOf({ info, schema }: QuotedBazaar) {
  const { input } = info
  const isTool = memberOf(input, 'type') === 'mcp'
  const said = isTool ? 'MCP' : memberOf(input, 'method')
  const method = isOneOf(callMethods, said) ? said : undefined
  const named = memberOf(input, 'toolName')
  const toolName = isTool && typeof named === 'string' ? named : undefined
  const example = exampleIn(info, method ?? 'GET')
  const inputSchema = inputSchemaIn({ info, schema }, method ?? 'GET') ?? undefined
  return { target: defined({ method, toolName }), ...defined({ example, inputSchema }) }
}

/** Returns the example of a call inside `info`; `undefined` where it has none for the method. */
export function exampleIn(
  { input }: Record<string, unknown>,
  method: CallMethod,
): CallExample | undefined {
  if (method === 'MCP') {
    const given = memberOf(input, 'example')
    return isObject(given) ? { arguments: given } : undefined
  }
  const main = parametersIn(method)
  const given = memberOf(input, main)
  if (given === undefined || (main === 'queryParams' && !isObject(given))) return undefined
  const names = main === 'body' ? ['bodyType', 'queryParams', 'headers'] : ['headers']
  const others = names.map((name) => [name, memberOf(input, name)] as const)
  return { [main]: given, ...defined(Object.fromEntries(others)) }
}

/** Returns the schema of the parameters: of a tool its own, else the part inside the schema of `info`. */
export function inputSchemaIn(
  { info, schema }: QuotedBazaar,
  method: CallMethod,
): Record<string, unknown> | null {
  if (method !== 'MCP') return readInputSchema(schema, method)
  const own = memberOf(info.input, 'inputSchema')
  return isObject(own) && isDescriptive(own) ? { ...withoutDialect(own), type: 'object' } : null
}

/** Returns a stranger's JSON Schema of parameters, cleaned; `undefined` where it is none, or too large. */
export function cleanSchema(schema: unknown): Record<string, unknown> | undefined {
  const cleaned = cleanJson(schema)
  return isObject(cleaned) ? withoutDialect(cleaned) : undefined
}

/** Leaves out the dialect: servers name draft 7, and mean schemas of parameters that are the same in 2020-12. */
function withoutDialect(schema: Record<string, unknown>): Record<string, unknown> {
  const { $schema: _, ...rest } = schema
  return rest
}

/**
 * Returns the schema of the parameters inside the schema of `info`; `null` when none can stand alone. References start at
 * the root of the document: with references into `$defs` the definitions are kept, with others there is no schema.
 */
export function readInputSchema(
  schema: Record<string, unknown>,
  method: CallMethod,
): Record<string, unknown> | null {
  const input = memberOf(memberOf(schema, 'properties'), 'input')
  const part = memberOf(memberOf(input, 'properties'), parametersIn(method))
  if (!isObject(part)) return null
  const { type = 'object' } = part
  if (type !== 'object') return null
  const alone = { ...part, type }
  const definitions = memberOf(schema, '$defs')
  const targets = referencesOf([part, { $defs: definitions }])
  if (targets.length === 0) return isDescriptive(alone) ? alone : null
  if (!isObject(definitions) || Object.hasOwn(part, '$defs')) return null
  if (!targets.every((target) => target.startsWith('#/$defs/'))) return null
  return { ...alone, $defs: definitions }
}

/** Returns whether a schema says anything about the parameters: `{type: 'object'}` alone does not. */
function isDescriptive(schema: Record<string, unknown>): boolean {
  return Object.keys(schema).some((key) => key !== 'type')
}

/** Keywords that point at a part of the document, or name one. */
const pointing = /^\$(ref|id|anchor|dynamicRef|dynamicAnchor|recursiveRef)$/

function referencesOf(schemas: unknown[]): string[] {
  return [...schemaKeywords(schemas)].flatMap(([keyword, value]) =>
    pointing.test(keyword) && typeof value === 'string' ? [value] : [],
  )
}

/** Names with a meaning in JavaScript. */
const closedNames = new Set(['__proto__', 'constructor', 'prototype'])
const MAX_NAME_CHARS = 128
/** The limits of a description of parameters, which is no document. `nodes` counts members and elements alike. */
const descriptionLimits = { depth: 16, nodes: 2_000, stringChars: 4_096 }

/**
 * Copies a stranger's JSON with cleaned texts and without dangerous names. Returns `undefined` when it exceeds a limit:
 * half a schema would be worse than none.
 */
export function cleanJson(value: unknown, limits = descriptionLimits): unknown {
  let nodes = 0
  const isTooLarge = (depth: number) => ++nodes > limits.nodes || depth > limits.depth
  const copy = (source: unknown, depth: number): unknown => {
    if (isTooLarge(depth)) throw new RangeError('too large')
    if (typeof source === 'string') {
      if (source.length > limits.stringChars) throw new RangeError('too long')
      return cleanText(source, limits.stringChars)
    }
    if (Array.isArray(source)) return source.map((item) => copy(item, depth + 1))
    if (typeof source !== 'object' || source === null) return source
    return Object.fromEntries(
      Object.entries(source)
        .map(
          ([name, member]) => [cleanText(name, MAX_NAME_CHARS), copy(member, depth + 1)] as const,
        )
        .filter(([name]) => !closedNames.has(name)),
    )
  }
  try {
    return copy(value, 1)
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}
