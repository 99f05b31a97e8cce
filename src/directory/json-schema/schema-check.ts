import { isObject } from '@arcus/protocol/x402/json'
import { compilePattern } from './schema-pattern.js'
import {
  CHARS_AT_ONCE,
  makeRule,
  pointerTo,
  type Rule,
  type SchemaCheck,
  type SchemaProblem,
  type Seen,
  type ValuePlace,
} from './schema-rules.js'
import { type CheckedSchema, readSchema, SchemaFault } from './schema-shape.js'

/** `schema` when the schema cannot be used, `value` when the value does not satisfy it, `work` when the check was given up. */
export type SchemaVerdict =
  | { ok: true }
  | { ok: false; fault: 'schema' | 'value' | 'work'; message: string }

/** Units of some 0.1 µs. An honest schema takes a hundredth of this. */
const MAX_WORK = 60_000

/** Units that a schema takes in addition to one for each keyword, value and name that is looked at. */
const PER_SCHEMA = 3
/** Parts of a message come from a stranger. */
const MAX_MESSAGE_CHARS = 300
/** A value nests some thirty levels, and the schema for each of them hardly; references alone lead on for ever. */
const MAX_LEVELS = 400

/**
 * Checks that a JSON Schema 2020-12 can be used and that `value` satisfies it. Both are bounded JSON of a stranger. The
 * schema is interpreted, its patterns by RE2, and all work is counted, so that no schema takes longer than some
 * milliseconds. Unknown keywords and `format` mean nothing, as the standard says. References lead within the schema.
 */
export function checkSchema(
  schema: Record<string, unknown>,
  value: unknown,
  maxWork = MAX_WORK,
): SchemaVerdict {
  let work = 0
  const spend = (units: number) => {
    work += units
    if (work > maxWork) throw new SchemaFault('work', 'it takes too much work to check')
  }
  const refused = (fault: 'schema' | 'value' | 'work', message: string): SchemaVerdict => {
    return { ok: false, fault, message: message.slice(0, MAX_MESSAGE_CHARS) }
  }
  try {
    const problem = createCheck(schema, spend).apply(schema, value, undefined)
    if (problem === undefined) return { ok: true }
    return refused('value', `${pointerTo(problem.at) || 'it'} ${problem.message}`)
  } catch (error) {
    if (error instanceof SchemaFault) return refused(error.fault, error.message)
    throw error
  }
}

/** Creates the check of one schema. Throws a `SchemaFault` if it cannot be used. */
function createCheck(root: Record<string, unknown>, spend: SchemaCheck['spend']): SchemaCheck {
  const { patterns, targets, hasUnevaluated } = readSchema(root, (keywords) =>
    spend(PER_SCHEMA + keywords),
  )
  const compiled = new Map(
    [...patterns].map((pattern) => [pattern, compilePattern(pattern, spend)]),
  )
  const rules = new Map<CheckedSchema, readonly Rule[]>()
  const nothingSeen = (): Seen => (hasUnevaluated ? new Set() : undefined)
  let level = 0

  function rulesOf(schema: Record<string, unknown>): readonly Rule[] {
    const known = rules.get(schema)
    if (known !== undefined) return known
    const made = Object.keys(schema)
      // The type is the most helpful problem, and `unevaluated…` asks what all others have looked at.
      .sort((a, b) => placeOf(a) - placeOf(b))
      .flatMap((keyword) => makeRule(keyword, schema, check) ?? [])
    rules.set(schema, made)
    return made
  }

  function applyRules(
    schema: CheckedSchema,
    value: unknown,
    at: ValuePlace,
    seen: Seen,
  ): SchemaProblem | undefined {
    if (schema === true) return undefined
    if (schema === false) return { at, message: 'must not be there' }
    if (++level > MAX_LEVELS) {
      throw new SchemaFault('schema', 'its references form a loop')
    }
    const all = rulesOf(schema)
    spend(PER_SCHEMA + all.length)
    let problem: SchemaProblem | undefined
    for (let index = 0; index < all.length && problem === undefined; index++) {
      problem = all[index]?.(value, at, seen)
    }
    level--
    return problem
  }

  function keyOf(value: unknown): string {
    spend(1)
    if (Array.isArray(value)) return `[${value.map(keyOf)}]`
    if (isObject(value)) {
      const names = Object.keys(value).sort()
      return `{${names.map((name) => `${keyOf(name)}:${keyOf(value[name])}`)}}`
    }
    if (typeof value === 'string') spend(value.length / CHARS_AT_ONCE)
    return JSON.stringify(value)
  }

  const names = new WeakMap<object, readonly string[]>()
  function namesOf(value: object): readonly string[] {
    const known = names.get(value)
    if (known !== undefined) return known
    const read = Object.keys(value)
    spend(read.length)
    names.set(value, read)
    return read
  }

  const check: SchemaCheck = {
    spend,
    namesOf,
    apply: (schema, value, at) => applyRules(schema, value, at, nothingSeen()),
    applyToo(schema, value, at, seen) {
      const seenToo = nothingSeen()
      const problem = applyRules(schema, value, at, seenToo)
      if (problem === undefined && seenToo !== undefined) {
        spend(seenToo.size)
        for (const part of seenToo) seen?.add(part)
      }
      return problem
    },
    target: (reference) => targets.get(reference) as CheckedSchema,
    isMatch: (pattern, text) => compiled.get(pattern)?.(text) === true,
    keyOf,
  }
  return check
}

function placeOf(keyword: string): number {
  if (keyword === 'type') return 0
  return keyword.startsWith('unevaluated') ? 2 : 1
}
