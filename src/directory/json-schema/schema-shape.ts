import { isObject } from '@arcus/protocol/x402/json'
import { schemasByName } from '@arcus/protocol/x402/json-schema'

/** A schema, or a part of one: `true` accepts everything and `false` nothing. */
export type CheckedSchema = boolean | Record<string, unknown>

/** Ends a check: the schema cannot be used, or its check takes too much work. */
export class SchemaFault extends Error {
  override name = 'SchemaFault'
  readonly fault: 'schema' | 'work'

  constructor(fault: 'schema' | 'work', message: string) {
    super(message)
    this.fault = fault
  }
}

const isSchema = (value: unknown): value is CheckedSchema =>
  typeof value === 'boolean' || isObject(value)

const isTextList = (value: unknown): value is string[] =>
  Array.isArray(value) &&
  value.every((it) => typeof it === 'string') &&
  new Set(value).size === value.length

const typeNames = new Set(['array', 'boolean', 'integer', 'null', 'number', 'object', 'string'])

function isTypes(value: unknown): boolean {
  const names = typeof value === 'string' ? [value] : value
  return isTextList(names) && names.length > 0 && names.every((name) => typeNames.has(name))
}

/** The form that the value of a keyword must have. */
interface Shape {
  keywords: string
  /** Follows the name of the keyword in a complaint. */
  rule: string
  fits(value: unknown): boolean
  /** Returns the schemas in a value that fits. */
  schemas?(value: unknown): CheckedSchema[]
}

/** The keywords of JSON Schema 2020-12; all others have no meaning. */
const shapes: readonly Shape[] = [
  {
    keywords:
      'not if then else items contains additionalProperties propertyNames unevaluatedItems unevaluatedProperties contentSchema',
    rule: 'must be a schema',
    fits: isSchema,
    schemas: (value) => [value as CheckedSchema],
  },
  {
    keywords: 'allOf anyOf oneOf prefixItems',
    rule: 'must be a list of schemas, with one at least',
    fits: (value) => Array.isArray(value) && value.length > 0 && value.every(isSchema),
    schemas: (value) => value as CheckedSchema[],
  },
  {
    keywords: [...schemasByName].join(' '),
    rule: 'must be an object of schemas',
    fits: (value) => isObject(value) && Object.values(value).every(isSchema),
    schemas: (value) => Object.values(value as Record<string, CheckedSchema>),
  },
  {
    keywords:
      '$schema $id $ref $anchor $dynamicRef $dynamicAnchor $comment title description format pattern contentEncoding contentMediaType',
    rule: 'must be a text',
    fits: (value) => typeof value === 'string',
  },
  {
    keywords: 'uniqueItems deprecated readOnly writeOnly',
    rule: 'must be true or false',
    fits: (value) => typeof value === 'boolean',
  },
  {
    keywords: 'maximum minimum exclusiveMaximum exclusiveMinimum',
    rule: 'must be a number',
    fits: Number.isFinite,
  },
  {
    keywords: 'multipleOf',
    rule: 'must be a number above 0',
    fits: (value) => Number.isFinite(value) && (value as number) > 0,
  },
  {
    keywords:
      'maxLength minLength maxItems minItems maxProperties minProperties maxContains minContains',
    rule: 'must be a whole number from 0 on',
    fits: (value) => Number.isInteger(value) && (value as number) >= 0,
  },
  { keywords: 'required', rule: 'must be a list of different texts', fits: isTextList },
  {
    keywords: 'dependentRequired',
    rule: 'must have a list of different texts for each name',
    fits: (value) => isObject(value) && Object.values(value).every(isTextList),
  },
  {
    keywords: 'enum',
    rule: 'must be a list, with one value at least',
    fits: (value) => Array.isArray(value) && value.length > 0,
  },
  { keywords: 'examples', rule: 'must be a list', fits: Array.isArray },
  { keywords: 'type', rule: 'must be a type of JSON, or different ones in a list', fits: isTypes },
]

const shapeOf = new Map(
  shapes.flatMap((shape) => shape.keywords.split(' ').map((keyword) => [keyword, shape])),
)

/** The parts of a schema that are known before a value is checked. */
interface SchemaParts {
  /** Texts of `pattern` and names in `patternProperties`. */
  patterns: ReadonlySet<string>
  /** The schemas that `$ref` and `$dynamicRef` lead to. There is one document, so both find the same. */
  targets: ReadonlyMap<string, CheckedSchema>
  /** Whether a keyword asks what the others have looked at. */
  hasUnevaluated: boolean
}

/**
 * Reads every schema within a schema, without recursion. Throws a `SchemaFault` if one is malformed or a reference
 * leads nowhere. `spend` is called with the keywords of each.
 */
export function readSchema(root: CheckedSchema, spend: (keywords: number) => void): SchemaParts {
  const patterns = new Set<string>()
  const anchors = new Map<string, CheckedSchema>()
  const references = new Set<string>()
  const targets = new Map<string, CheckedSchema>()
  const read = new Set<CheckedSchema>()
  let hasUnevaluated = false

  function readKeyword(
    keyword: string,
    value: unknown,
    schema: CheckedSchema,
  ): readonly CheckedSchema[] {
    const shape = shapeOf.get(keyword)
    if (shape === undefined) return []
    if (!shape.fits(value)) throw new SchemaFault('schema', `${keyword} ${shape.rule}`)
    if (keyword === 'pattern') patterns.add(value as string)
    if (keyword === 'patternProperties')
      for (const name of Object.keys(value as object)) patterns.add(name)
    if (keyword === '$anchor' || keyword === '$dynamicAnchor') anchors.set(`#${value}`, schema)
    if (keyword === '$ref' || keyword === '$dynamicRef') references.add(value as string)
    if (keyword.startsWith('unevaluated')) hasUnevaluated = true
    return shape.schemas?.(value) ?? []
  }

  function readAll(first: CheckedSchema): void {
    const open = [first]
    for (let schema = open.pop(); schema !== undefined; schema = open.pop()) {
      if (typeof schema === 'boolean' || read.has(schema)) continue
      read.add(schema)
      const members = Object.entries(schema)
      spend(members.length)
      for (const [keyword, value] of members) open.push(...readKeyword(keyword, value, schema))
    }
  }

  readAll(root)
  // A reference may lead below an unknown keyword, where there are further references.
  for (const reference of references) {
    const target = anchors.get(reference) ?? follow(root, reference)
    if (!isSchema(target)) {
      throw new SchemaFault('schema', `the reference ${reference} leads to no schema`)
    }
    targets.set(reference, target)
    readAll(target)
  }
  return { patterns, targets, hasUnevaluated }
}

/** Follows the JSON pointer in a reference such as `#/$defs/a`; `undefined` when it leads nowhere. */
function follow(root: CheckedSchema, reference: string): unknown {
  const [first, ...steps] = decoded(reference.slice(1)).split('/')
  if (first !== '' || !reference.startsWith('#')) return undefined
  let value: unknown = root
  for (const step of steps) {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~')
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
    value = (value as Record<string, unknown>)[name]
  }
  return value
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
