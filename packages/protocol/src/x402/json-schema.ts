import { isObject } from './json.js'

/** Keywords of JSON Schema 2020-12 whose value holds schemas by names that an author chooses. */
export const schemasByName: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  'dependentSchemas',
  '$defs',
  'definitions',
])

/** Keywords whose value is data, even if it looks like a schema. */
export const dataKeywords: ReadonlySet<string> = new Set([
  'const',
  'enum',
  'default',
  'example',
  'examples',
  'required',
  'dependentRequired',
])

/** Keywords by which a schema refers to another document. */
const references: ReadonlySet<string> = new Set(['$ref', '$id', '$dynamicRef', '$recursiveRef'])

/**
 * Walks every keyword of a schema without recursion. Names of parameters and data are no keywords: a parameter may be
 * called `$ref`.
 */
export function* schemaKeywords(schema: unknown): Generator<[keyword: string, value: unknown]> {
  const open: unknown[] = [schema]
  while (open.length > 0) {
    const value = open.pop()
    if (Array.isArray(value)) for (const element of value) open.push(element)
    if (!isObject(value)) continue
    for (const [keyword, member] of Object.entries(value)) {
      yield [keyword, member]
      if (dataKeywords.has(keyword)) continue
      if (!schemasByName.has(keyword) || !isObject(member)) open.push(member)
      else for (const named of Object.values(member)) open.push(named)
    }
  }
}

/** Finds a keyword that leads out of the schema: following it would call an address that a stranger chose. */
export function findOutsideReference(schema: unknown): string | undefined {
  for (const [keyword, value] of schemaKeywords(schema)) {
    if (!references.has(keyword)) continue
    if (typeof value !== 'string' || !value.startsWith('#')) return keyword
  }
  return undefined
}
