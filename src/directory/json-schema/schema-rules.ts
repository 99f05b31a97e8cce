import { isObject, memberOf } from '@arcus/protocol/x402/json'
import type { CheckedSchema } from './schema-shape.js'

/** The position of a value: the member or element, and the value that has it; `undefined` for the whole. */
export type ValuePlace = { above: ValuePlace; name: string | number } | undefined

export interface SchemaProblem {
  at: ValuePlace
  message: string
}

/** Members and elements of one value that a keyword has looked at; `undefined` when no `unevaluated…` asks for them. */
export type Seen = Set<string | number> | undefined

export type Rule = (value: unknown, at: ValuePlace, seen: Seen) => SchemaProblem | undefined

/** What rules need of the check that they are part of. */
export interface SchemaCheck {
  /** Counts work; throws a `SchemaFault` when it is too much. */
  spend(units: number): void
  /** Applies a schema to a value that no other schema has looked at. */
  apply(schema: CheckedSchema, value: unknown, at: ValuePlace): SchemaProblem | undefined
  /** Applies a further schema to the same value. What it looked at counts if it accepts the value. */
  applyToo(
    schema: CheckedSchema,
    value: unknown,
    at: ValuePlace,
    seen: Seen,
  ): SchemaProblem | undefined
  target(reference: string): CheckedSchema
  isMatch(pattern: string, text: string): boolean
  /** Returns a text that is the same for equal values only. */
  keyOf(value: unknown): string
  /** Returns the names of an object's members, which are read once for all rules. */
  namesOf(value: object): readonly string[]
}

type MakeRule = (
  keyword: string,
  schema: Record<string, unknown>,
  check: SchemaCheck,
) => Rule | undefined

/** A stranger's name may be long, and a rule may complain about it many times. */
const MAX_QUOTED_CHARS = 200
const quoted = (name: string) => JSON.stringify(name.slice(0, MAX_QUOTED_CHARS))

const below = (above: ValuePlace, name: string | number): ValuePlace => ({ above, name })

/** Returns the JSON pointer to a value; empty for the whole. */
export function pointerTo(place: ValuePlace): string {
  if (place === undefined) return ''
  const step = String(place.name).replaceAll('~', '~0').replaceAll('/', '~1')
  return `${pointerTo(place.above)}/${step}`
}

/** Makes the rule of a keyword of 2020-12, whose value has its shape; `undefined` for one that decides nothing. */
export const makeRule: MakeRule = (keyword, schema, check) =>
  makeValueRule(keyword, schema, check) ??
  makeTextRule(keyword, schema, check) ??
  makeLogicRule(keyword, schema, check) ??
  makeListRule(keyword, schema, check) ??
  makeObjectRule(keyword, schema, check) ??
  makeUnevaluatedRule(keyword, schema, check)

function typeOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  return typeof value
}

const isMultiple = (value: number, of: number) => Number.isInteger(value / of)

const makeValueRule: MakeRule = (keyword, schema, { keyOf }) => {
  const argument = schema[keyword]
  const simply = (message: string, fits: (value: unknown) => boolean): Rule => {
    return (value, at) => (fits(value) ? undefined : { at, message })
  }
  const ofNumber = (message: string, fits: (value: number) => boolean) =>
    simply(`must be ${message}`, (value) => typeof value !== 'number' || fits(value))
  const limit = argument as number
  switch (keyword) {
    case 'type': {
      const names = [argument].flat() as string[]
      return simply(`must be ${names.join(' or ')}`, (value) => {
        const type = typeOf(value)
        return names.includes(type) || (names.includes('integer') && Number.isInteger(value))
      })
    }
    case 'const': {
      const key = keyOf(argument)
      return simply('must be the constant of the schema', (value) => keyOf(value) === key)
    }
    case 'enum': {
      const keys = new Set((argument as unknown[]).map(keyOf))
      return simply('must be one of the allowed values', (value) => keys.has(keyOf(value)))
    }
    case 'maximum':
      return ofNumber(`at most ${limit}`, (value) => value <= limit)
    case 'minimum':
      return ofNumber(`at least ${limit}`, (value) => value >= limit)
    case 'exclusiveMaximum':
      return ofNumber(`less than ${limit}`, (value) => value < limit)
    case 'exclusiveMinimum':
      return ofNumber(`more than ${limit}`, (value) => value > limit)
    case 'multipleOf':
      return ofNumber(`a multiple of ${limit}`, (value) => isMultiple(value, limit))
    default:
      return undefined
  }
}

/** Characters, elements or members of a value, counted by one of the six keywords; `undefined` for values of other types. */
const counted: Record<
  string,
  { of: string; count: (value: unknown, check: SchemaCheck) => number | undefined }
> = {
  Length: {
    of: 'characters',
    count: (value) => (typeof value === 'string' ? [...value].length : undefined),
  },
  Items: {
    of: 'items',
    count: (value) => (Array.isArray(value) ? value.length : undefined),
  },
  Properties: {
    of: 'members',
    count: (value, { namesOf }) => (isObject(value) ? namesOf(value).length : undefined),
  },
}

const makeTextRule: MakeRule = (keyword, schema, check) => {
  const { spend, isMatch } = check
  if (keyword === 'pattern') {
    const pattern = schema.pattern as string
    const message = `must match the pattern ${quoted(pattern)}`
    return (value, at) =>
      typeof value !== 'string' || isMatch(pattern, value) ? undefined : { at, message }
  }
  const kind = counted[keyword.slice(3)]
  if (kind === undefined) return undefined
  const isMost = keyword.startsWith('max')
  const limit = schema[keyword] as number
  const message = `must have at ${isMost ? 'most' : 'least'} ${limit} ${kind.of}`
  return (value, at) => {
    if (typeof value === 'string') spend(value.length / CHARS_AT_ONCE)
    const count = kind.count(value, check)
    if (count === undefined || (isMost ? count <= limit : count >= limit)) return undefined
    return { at, message }
  }
}

/** Characters that are counted or compared in the time of one unit of work. */
export const CHARS_AT_ONCE = 8

const makeLogicRule: MakeRule = (keyword, schema, { applyToo, target }) => {
  const argument = schema[keyword]
  const one = argument as CheckedSchema
  const several = argument as readonly CheckedSchema[]
  switch (keyword) {
    case '$ref':
    case '$dynamicRef':
      return (value, at, seen) => applyToo(target(argument as string), value, at, seen)
    case 'allOf':
      return (value, at, seen) => firstProblem(several, (it) => applyToo(it, value, at, seen))
    case 'anyOf':
      return (value, at, seen) => {
        const accepts = (it: CheckedSchema) => applyToo(it, value, at, seen) === undefined
        // Each one that accepts it may look at further members.
        const isAccepted =
          seen === undefined ? several.some(accepts) : several.filter(accepts)[0] !== undefined
        return isAccepted ? undefined : { at, message: 'must match one of anyOf' }
      }
    case 'oneOf':
      return (value, at, seen) => {
        const accepting = several.filter((it) => applyToo(it, value, at, seen) === undefined)
        return accepting.length === 1
          ? undefined
          : { at, message: 'must match exactly one of oneOf' }
      }
    case 'not':
      return (value, at) =>
        applyToo(one, value, at, undefined) ? undefined : { at, message: 'must not match "not"' }
    case 'if':
      return (value, at, seen) => {
        const next = applyToo(one, value, at, seen) === undefined ? schema.then : schema.else
        return next === undefined ? undefined : applyToo(next as CheckedSchema, value, at, seen)
      }
    default:
      return undefined
  }
}

/** Returns the first problem that is found, so that nothing further is checked. */
function firstProblem<Item>(
  items: Iterable<Item>,
  find: (item: Item) => SchemaProblem | undefined,
): SchemaProblem | undefined {
  for (const item of items) {
    const problem = find(item)
    if (problem !== undefined) return problem
  }
  return undefined
}

const makeListRule: MakeRule = (keyword, schema, check) => {
  const argument = schema[keyword]
  /** Applies schemas to the elements from an index on. */
  const eachFrom = (
    first: number,
    schemaAt: (index: number) => CheckedSchema | undefined,
  ): Rule => {
    return (value, at, seen) => {
      if (!Array.isArray(value)) return undefined
      for (let index = first; index < value.length; index++) {
        const schema = schemaAt(index)
        if (schema === undefined) return undefined
        const problem = check.apply(schema, value[index], below(at, index))
        if (problem !== undefined) return problem
        seen?.add(index)
      }
      return undefined
    }
  }
  switch (keyword) {
    case 'prefixItems':
      return eachFrom(0, (index) => (argument as CheckedSchema[])[index])
    case 'items': {
      const { prefixItems = [] } = schema as { prefixItems?: CheckedSchema[] }
      return eachFrom(prefixItems.length, () => argument as CheckedSchema)
    }
    case 'contains':
      return makeContainsRule(schema, check)
    case 'uniqueItems':
      return (value, at) => {
        if (argument !== true || !Array.isArray(value)) return undefined
        const isUnique = new Set(value.map(check.keyOf)).size === value.length
        return isUnique ? undefined : { at, message: 'must not have an item twice' }
      }
    default:
      return undefined
  }
}

function makeContainsRule(schema: Record<string, unknown>, { apply }: SchemaCheck): Rule {
  const {
    contains,
    minContains = 1,
    maxContains = Number.POSITIVE_INFINITY,
  } = schema as {
    contains: CheckedSchema
    minContains?: number
    maxContains?: number
  }
  return (value, at, seen) => {
    if (!Array.isArray(value)) return undefined
    let count = 0
    for (const [index, item] of value.entries()) {
      if (apply(contains, item, at) !== undefined) continue
      count++
      seen?.add(index)
    }
    const isEnough = count >= minContains && count <= maxContains
    return isEnough
      ? undefined
      : {
          at,
          message:
            'must contain the number of matching items that minContains and maxContains allow',
        }
  }
}

const makeObjectRule: MakeRule = (keyword, schema, check) => {
  const argument = schema[keyword]
  const one = argument as CheckedSchema
  const byName = argument as Record<string, CheckedSchema>
  const ofObject = (
    find: (value: Record<string, unknown>, at: ValuePlace, seen: Seen) => SchemaProblem | undefined,
  ): Rule => {
    return (value, at, seen) => (isObject(value) ? find(value, at, seen) : undefined)
  }
  const lacks = (names: readonly string[], value: Record<string, unknown>, at: ValuePlace) => {
    check.spend(names.length)
    const name = names.find((name) => !Object.hasOwn(value, name))
    return name === undefined ? undefined : { at, message: `must have the member ${quoted(name)}` }
  }
  switch (keyword) {
    case 'properties':
    case 'patternProperties':
    case 'additionalProperties':
      return ofObject(makeMembersRule(keyword, schema, check))
    case 'propertyNames':
      return ofObject((value, at) =>
        firstProblem(check.namesOf(value), (name) => {
          const problem = check.apply(one, name, undefined)
          return problem && { at, message: `must not have the name ${quoted(name)}` }
        }),
      )
    case 'required':
      return ofObject((value, at) => lacks(argument as string[], value, at))
    case 'dependentRequired': {
      const all = Object.entries(argument as Record<string, string[]>)
      return ofObject((value, at) =>
        firstProblem(all, ([name, names]) => {
          check.spend(1)
          return Object.hasOwn(value, name) ? lacks(names, value, at) : undefined
        }),
      )
    }
    case 'dependentSchemas': {
      const all = Object.entries(byName)
      return ofObject((value, at, seen) =>
        firstProblem(all, ([name, schema]) => {
          check.spend(1)
          return Object.hasOwn(value, name) ? check.applyToo(schema, value, at, seen) : undefined
        }),
      )
    }
    default:
      return undefined
  }
}

/** Makes the rule of one of the three keywords that give members their schemas. */
function makeMembersRule(keyword: string, schema: Record<string, unknown>, check: SchemaCheck) {
  const named = isObject(schema.properties) ? schema.properties : {}
  const patterns = Object.keys(memberOf(schema, 'patternProperties') ?? {})
  const isOther = (name: string) =>
    !Object.hasOwn(named, name) && !patterns.some((pattern) => check.isMatch(pattern, name))
  const schemasFor = (name: string): CheckedSchema[] => {
    if (keyword === 'properties')
      return Object.hasOwn(named, name) ? [named[name] as CheckedSchema] : []
    if (keyword === 'additionalProperties')
      return isOther(name) ? [schema[keyword] as CheckedSchema] : []
    const ofPatterns = schema[keyword] as Record<string, CheckedSchema>
    const matching = patterns.filter((pattern) => check.isMatch(pattern, name))
    return matching.map((pattern) => ofPatterns[pattern] as CheckedSchema)
  }
  return (value: Record<string, unknown>, at: ValuePlace, seen: Seen) =>
    firstProblem(check.namesOf(value), (name) => {
      check.spend(1)
      return firstProblem(schemasFor(name), (schema) => {
        seen?.add(name)
        if (schema === false) return { at, message: `must not have the member ${quoted(name)}` }
        return check.apply(schema, value[name], below(at, name))
      })
    })
}

const makeUnevaluatedRule: MakeRule = (keyword, schema, { spend, apply, namesOf }) => {
  if (keyword !== 'unevaluatedProperties' && keyword !== 'unevaluatedItems') return undefined
  const isOfItems = keyword === 'unevaluatedItems'
  return (value, at, seen) => {
    if (isOfItems ? !Array.isArray(value) : !isObject(value)) return undefined
    const object = value as Record<string, unknown>
    return firstProblem(namesOf(object), (name) => {
      spend(1)
      const key = isOfItems ? Number(name) : name
      if (seen?.has(key)) return undefined
      seen?.add(key)
      return apply(schema[keyword] as CheckedSchema, object[name], below(at, name))
    })
  }
}
