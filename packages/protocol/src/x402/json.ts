/** A value inside a JSON document, with its name in the object that holds it and its depth. */
interface JsonNode {
  key: string | undefined
  value: unknown
  /** 0 for the document itself. */
  depth: number
}

/**
 * Walks a JSON value, the document first, without recursion: no depth can exhaust the stack. The caller leaves the loop
 * to end the walk; a value is opened only after its turn.
 */
export function* walkJson(root: unknown): Generator<JsonNode> {
  const open: JsonNode[] = [{ key: undefined, value: root, depth: 0 }]
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    yield node
    const { value, depth } = node
    if (Array.isArray(value)) {
      for (const element of value) open.push({ key: undefined, value: element, depth: depth + 1 })
    } else if (isObject(value)) {
      for (const key of Object.keys(value)) open.push({ key, value: value[key], depth: depth + 1 })
    }
  }
}

export interface JsonLimits {
  /** Bytes of the UTF-8 text, with keys and punctuation. */
  maxBytes: number
  maxDepth: number
  /** Values in all: members, elements and the root. */
  maxNodes: number
}

const encoder = new TextEncoder()

/**
 * Returns the complaint about a stranger's JSON that is too large, to follow its name. Stops at the first limit, so that
 * even a huge value costs no more than the limits.
 */
export function sizeProblem(root: unknown, limits: JsonLimits): string | undefined {
  const { maxBytes, maxDepth, maxNodes } = limits
  let bytes = 0
  let nodes = 0
  for (const { key, value, depth } of walkJson(root)) {
    if (++nodes > maxNodes) return `must have at most ${maxNodes} values`
    if (key !== undefined) bytes += byteLength(key, maxBytes - bytes) + 1
    bytes += byteLength(value, maxBytes - bytes)
    if (bytes > maxBytes) return `must be at most ${maxBytes} bytes of JSON`
    if (typeof value !== 'object' || value === null) continue
    if (depth + 1 >= maxDepth) return `must not nest deeper than ${maxDepth} levels`
    const members = Array.isArray(value) ? value.length : Object.keys(value).length
    if (members > maxNodes) return `must have at most ${maxNodes} values`
  }
  return undefined
}

/** Counts the bytes of a value without its members: the text with quotes, or brackets and one separator. */
function byteLength(value: unknown, left: number): number {
  if (typeof value !== 'string') return typeof value === 'object' && value !== null ? 3 : 6
  // A character is one byte or more, so a text longer than the rest need not be encoded.
  return (value.length > left ? value.length : encoder.encode(value).length) + 3
}

/** Deepest nesting of arrays and objects in JSON of strangers. Schemas, the deepest that anybody sends, nest 24 levels. */
export const MAX_JSON_DEPTH = 32

/** Returns whether parsed JSON nests arrays and objects deeper than a number of levels. */
export function isDeeperThan(maxDepth: number, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (maxDepth === 0) return true
  for (const member of Array.isArray(value) ? value : Object.values(value)) {
    if (isDeeperThan(maxDepth - 1, member)) return true
  }
  return false
}

/** Narrows to JSON that is an object; arrays and `null` are not. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Returns a member that the object has itself; inherited ones are not part of the data. */
export function memberOf(value: unknown, name: string): unknown {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
}

/** An object without members that are undefined: those that may be so are optional. */
type Defined<Members> = {
  [Name in keyof Members as undefined extends Members[Name] ? never : Name]: Members[Name]
} & {
  [Name in keyof Members as undefined extends Members[Name] ? Name : never]?: Exclude<
    Members[Name],
    undefined
  >
}

/** Leaves out the members that are undefined, as JSON does. */
export function defined<Members extends object>(members: Members): Defined<Members> {
  const entries = Object.entries(members).filter(([, value]) => value !== undefined)
  return Object.fromEntries(entries) as Defined<Members>
}

/** Quotes a caller's value for a message: JSON-escaped and short, so that it cannot pass for text of ours. */
export function quote(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (typeof value === 'bigint') return value.toString()
  if (Array.isArray(value)) return 'an array'
  if (isObject(value)) return 'an object'
  const shown = typeof value === 'string' && value.length > 100 ? `${value.slice(0, 100)}…` : value
  return JSON.stringify(shown)
}
