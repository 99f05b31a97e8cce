import { cleanJson, isRecord, type JsonLimits } from './clean-json.js'

/** The bazaar extension of a 402: how the endpoint says it is called. */
export interface QuotedBazaar {
  info: Record<string, unknown>
  /** JSON Schema of `info`. */
  schema: Record<string, unknown>
}

export interface InputHints {
  method?: string
  /** Example parameters of a GET, or body of a POST. */
  example?: unknown
  /** JSON Schema of the parameters. */
  inputSchema?: Record<string, unknown>
}

/** A description of parameters, not a document. */
const limits: JsonLimits = { depth: 16, nodes: 2_000, stringChars: 4_096 }

/**
 * Reads `extensions.bazaar` of a 402; `null` when it is missing, too large, not about HTTP, or its schema refers to
 * anything outside itself (whoever resolved that would call an address of a stranger's choice).
 */
export function readQuotedBazaar(extensions: unknown): QuotedBazaar | null {
  if (!isRecord(extensions) || !Object.hasOwn(extensions, 'bazaar')) return null
  const bazaar = cleanJson(extensions.bazaar, limits)
  if (!isRecord(bazaar) || !isRecord(bazaar.info) || !isRecord(bazaar.schema)) return null
  const { info, schema } = bazaar
  if (!isRecord(info.input) || info.input.type !== 'http') return null
  return hasOutsideReference(schema) ? null : { info, schema }
}

/** What the extension tells about calling the endpoint with one method. */
export function inputHintsOf({ info, schema }: QuotedBazaar): InputHints {
  const input = isRecord(info.input) ? info.input : {}
  const part = typeof input.method === 'string' && input.method === 'POST' ? 'body' : 'queryParams'
  const properties = memberOf(memberOf(memberOf(schema, 'properties'), 'input'), 'properties')
  const inputSchema = memberOf(properties, part)
  return {
    ...(typeof input.method === 'string' ? { method: input.method } : {}),
    ...(Object.hasOwn(input, part) ? { example: input[part] } : {}),
    ...(isRecord(inputSchema) ? { inputSchema: { type: 'object', ...inputSchema } } : {}),
  }
}

function memberOf(value: unknown, name: string): unknown {
  return isRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined
}

function hasOutsideReference(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(hasOutsideReference)
  if (!isRecord(value)) return false
  return Object.entries(value).some(([name, member]) => {
    if (/^\$(ref|id|dynamicRef|recursiveRef)$/.test(name)) {
      return typeof member !== 'string' || !member.startsWith('#')
    }
    return hasOutsideReference(member)
  })
}
