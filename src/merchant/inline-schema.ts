type JsonObject = Record<string, unknown>

/** Nested deeper, a schema refers to itself or is no description of parameters. */
const MAX_DEPTH = 16
/** Members below these are values, not schemas. */
const dataKeywords = ['const', 'enum', 'default', 'example', 'examples']
/** Members below these have names of the merchant's choice. */
const mapKeywords = ['properties', 'patternProperties', 'dependentSchemas']

/**
 * A route's schema as one plain JSON Schema that refers to nothing: catalogs follow no references out of a payment.
 * `shared` are the schemas of `addSchema`, by `$id`. `undefined` when it is no JSON Schema (a validator's own object)
 * or refers to what is not there, or to itself.
 */
export function inlineSchema(
  schema: unknown,
  shared: Record<string, unknown>,
): JsonObject | undefined {
  const root = jsonOf(schema)
  if (!isPlainObject(root)) return undefined
  try {
    return inline(root, { root, shared }, 0) as JsonObject
  } catch {
    return undefined
  }
}

/** Builders of fluent schemas keep the JSON inside. */
function jsonOf(schema: unknown): unknown {
  const { isFluentSchema } = (schema ?? {}) as { isFluentSchema?: boolean }
  return isFluentSchema === true ? (schema as object).valueOf() : schema
}

interface Scope {
  root: JsonObject
  shared: Record<string, unknown>
}

function inline(value: unknown, scope: Scope, depth: number): unknown {
  if (depth > MAX_DEPTH) throw new Error('too deep')
  if (Array.isArray(value)) return value.map((item) => inline(item, scope, depth + 1))
  if (typeof value !== 'object' || value === null) return value
  if (!isPlainObject(value)) throw new Error('not JSON')
  if (typeof value.$ref === 'string') {
    const { target, scope: inner } = resolve(value.$ref, scope)
    return inline(target, inner, depth + 1)
  }
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => !key.startsWith('$') && key !== 'definitions')
      .map(([key, item]) => [key, inlineMember(key, item, scope, depth + 1)]),
  )
}

function inlineMember(key: string, item: unknown, scope: Scope, depth: number): unknown {
  if (dataKeywords.includes(key)) return item
  if (!mapKeywords.includes(key) || !isPlainObject(item)) return inline(item, scope, depth)
  return Object.fromEntries(
    Object.entries(item).map(([name, schema]) => [name, inline(schema, scope, depth + 1)]),
  )
}

function resolve(reference: string, scope: Scope): { target: unknown; scope: Scope } {
  const [id = '', pointer = ''] = reference.split('#')
  const root = id === '' ? scope.root : jsonOf(scope.shared[id])
  if (!isPlainObject(root)) throw new Error(`no schema ${id}`)
  const keys = pointer.split('/').slice(1)
  const target = keys.reduce<unknown>((from, key) => {
    const name = decodeURIComponent(key).replaceAll('~1', '/').replaceAll('~0', '~')
    return isPlainObject(from) && Object.hasOwn(from, name) ? from[name] : undefined
  }, root)
  if (target === undefined) throw new Error(`nothing at ${reference}`)
  return { target, scope: { ...scope, root } }
}

/** What JSON would give; instances of classes are the schemas of other validators. */
export function isPlainObject(value: unknown): value is JsonObject {
  if (typeof value !== 'object' || value === null) return false
  const prototype = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}
