import { schemasByName } from '../../x402/json-schema.js'
import { isObject } from '../../x402/json-walk.js'

/** Deeper than any schema that is let in. */
const MAX_DEPTH = 64

/** Keywords whose value is a schema, a list of schemas, or schemas by name (JSON Schema 2020-12). */
const nested = new Set([
  'items',
  'contains',
  'additionalProperties',
  'unevaluatedItems',
  'unevaluatedProperties',
  'propertyNames',
  'not',
  'if',
  'then',
  'else',
  'contentSchema',
  'allOf',
  'anyOf',
  'oneOf',
  'prefixItems',
])
/** Names that count for a whole document, which the schema no longer is. */
const ofDocument = new Set([
  '$id',
  '$schema',
  '$anchor',
  '$dynamicAnchor',
  '$vocabulary',
  '$recursiveAnchor',
])
const references = new Set(['$ref', '$dynamicRef', '$recursiveRef'])

/**
 * Copies a schema to stand at `base` of another document, such as `#/components/schemas/Input`: references to places
 * within it follow. One that leads elsewhere is left out, so that no reader fetches what a stranger names.
 */
export function rebaseSchema(schema: unknown, base: string, depth = 0): unknown {
  if (!isObject(schema)) return typeof schema === 'boolean' ? schema : {}
  if (depth > MAX_DEPTH) return {}
  const deeper = (value: unknown) => rebaseSchema(value, base, depth + 1)
  const members: [string, unknown][] = []
  for (const [key, value] of Object.entries(schema)) {
    if (ofDocument.has(key)) continue
    if (references.has(key)) {
      const isWithin = typeof value === 'string' && (value === '#' || value.startsWith('#/'))
      if (isWithin) members.push(['$ref', base + value.slice(1)])
    } else if (schemasByName.has(key) && isObject(value)) {
      const entries = Object.entries(value)
      members.push([key, Object.fromEntries(entries.map(([name, it]) => [name, deeper(it)]))])
    } else if (nested.has(key)) {
      members.push([key, Array.isArray(value) ? value.map(deeper) : deeper(value)])
    } else {
      members.push([key, value])
    }
  }
  return Object.fromEntries(members)
}
