export type Json = Record<string, unknown>

/** References within references: enough for what people send, and a bound for what refers to itself all over. */
const MAX_DEPTH = 6

/** A copy with every `$ref` into the same document replaced by what it names; what names itself or nothing is `{}`. */
export function inlineRefs(node: unknown, document: Json, within: readonly string[] = []): unknown {
  if (Array.isArray(node)) return node.map((each) => inlineRefs(each, document, within))
  if (!isRecord(node)) return node
  const { $ref } = node
  if (typeof $ref === 'string') {
    if (within.includes($ref) || within.length === MAX_DEPTH) return {}
    return inlineRefs(find($ref, document) ?? {}, document, [...within, $ref])
  }
  const entries = Object.entries(node).map(
    ([name, value]) => [name, inlineRefs(value, document, within)] as const,
  )
  return Object.fromEntries(entries)
}

/** `#/components/schemas/Quote`, by RFC 6901. */
function find(ref: string, document: Json): unknown {
  if (!ref.startsWith('#/')) return undefined
  let at: unknown = document
  for (const token of ref.slice(2).split('/')) {
    const name = decodeURIComponent(token).replaceAll('~1', '/').replaceAll('~0', '~')
    if (!isRecord(at) || !Object.hasOwn(at, name)) return undefined
    at = at[name]
  }
  return at
}

export function isRecord(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
