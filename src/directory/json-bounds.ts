import { findUnwelcome } from './listing-text.js'
import { dataKeywords, schemasByName } from './schema-keywords.js'

export interface JsonBounds {
  maxBytes: number
  maxDepth: number
}

const encoder = new TextEncoder()

/** What is wrong with JSON that strangers will read, in words that follow its name; `undefined` when nothing. */
export function jsonProblem(value: unknown, bounds: JsonBounds): string | undefined {
  const problem = shapeProblem(value, bounds.maxDepth)
  if (problem !== undefined) return problem
  const bytes = encoder.encode(JSON.stringify(value)).length
  if (bytes > bounds.maxBytes) {
    return `must be at most ${bounds.maxBytes} bytes of JSON; it has ${bytes}`
  }
  return undefined
}

/** Walks without recursion, so that depth costs nothing: nothing after it need fear for the stack. */
function shapeProblem(root: unknown, maxDepth: number): string | undefined {
  const open: [value: unknown, depth: number][] = [[root, 0]]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [value, depth] = next
    if (typeof value === 'string') {
      const character = findUnwelcome(value, 'json')
      if (character !== undefined) return `must not contain the character ${character}`
    } else if (typeof value === 'number') {
      if (!Number.isFinite(value)) return 'must not contain a number too large to be kept'
    } else if (typeof value === 'object' && value !== null) {
      if (depth >= maxDepth) return `must not nest deeper than ${maxDepth} levels`
      for (const [key, member] of Object.entries(value)) {
        const character = findUnwelcome(key, 'json')
        if (character !== undefined) return `must not contain the character ${character}`
        open.push([member, depth + 1])
      }
    }
  }
  return undefined
}

/** Whether arrays and objects nest deeper than that, without recursion. */
export function isDeeperThan(root: unknown, maxDepth: number): boolean {
  const open: [value: unknown, depth: number][] = [[root, 0]]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [value, depth] = next
    if (typeof value !== 'object' || value === null) continue
    if (depth >= maxDepth) return true
    for (const member of Object.values(value)) open.push([member, depth + 1])
  }
  return false
}

/** The keywords by which a schema names or reaches another document. */
const references = ['$ref', '$id', '$dynamicRef', '$recursiveRef']
const DIALECT = 'https://json-schema.org/draft/2020-12/schema'

/**
 * Refuses what would have a reader of the schema fetch something, wherever in it that stands. Names of parameters and
 * data are no keywords: a parameter may be called `$ref`.
 */
export function referenceProblem(schema: unknown): string | undefined {
  const open: unknown[] = [schema]
  while (open.length > 0) {
    const value = open.pop()
    if (typeof value !== 'object' || value === null) continue
    for (const [key, member] of Object.entries(value)) {
      const problem = Array.isArray(value) ? undefined : keywordProblem(key, member)
      if (problem !== undefined) return problem
      if (dataKeywords.has(key)) continue
      if (schemasByName.has(key) && isObject(member)) open.push(...Object.values(member))
      else open.push(member)
    }
  }
  return undefined
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function keywordProblem(key: string, value: unknown): string | undefined {
  if (key === '$schema' && typeof value === 'string' && value.replace(/#$/, '') !== DIALECT) {
    return `must have ${DIALECT} as $schema, or none`
  }
  // A keyword of the validator alone: with it, checking becomes asynchronous and passes for done.
  if (key === '$async') return 'must not contain $async'
  if (!references.includes(key)) return undefined
  if (typeof value === 'string' && !value.startsWith('#')) {
    return `must not refer outside itself: ${key} must start with #`
  }
  return undefined
}
