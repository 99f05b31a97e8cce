export interface JsonLimits {
  /** Bytes of the UTF-8 text, with keys and punctuation. */
  maxBytes: number
  maxDepth: number
  /** Values in all: members, elements and the root. */
  maxNodes: number
}

const encoder = new TextEncoder()

/**
 * Returns the complaint about a stranger's JSON that is too large, to follow its name; `undefined` when it is not. Walks
 * without recursion and stops at the first limit, so that even a huge value costs no more than the limits.
 */
export function sizeProblem(root: unknown, limits: JsonLimits): string | undefined {
  let bytes = 0
  let nodes = 0
  const tooLong = `must be at most ${limits.maxBytes} bytes of JSON`
  const open: [value: unknown, depth: number][] = [[root, 1]]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [value, depth] = next
    if (++nodes > limits.maxNodes) return `must have at most ${limits.maxNodes} values`
    bytes += byteLength(value, limits.maxBytes - bytes)
    if (bytes > limits.maxBytes) return tooLong
    if (typeof value !== 'object' || value === null) continue
    if (depth >= limits.maxDepth) return `must not nest deeper than ${limits.maxDepth} levels`
    if (Array.isArray(value)) {
      if (value.length > limits.maxNodes) return `must have at most ${limits.maxNodes} values`
      for (const element of value) open.push([element, depth + 1])
      continue
    }
    const keys = Object.keys(value)
    if (keys.length > limits.maxNodes) return `must have at most ${limits.maxNodes} values`
    for (const key of keys) {
      bytes += byteLength(key, limits.maxBytes - bytes) + 1
      if (bytes > limits.maxBytes) return tooLong
      open.push([(value as Record<string, unknown>)[key], depth + 1])
    }
  }
  return undefined
}

/** Counts the bytes of a value without its members: the text with quotes, or brackets and one separator. */
function byteLength(value: unknown, left: number): number {
  if (typeof value !== 'string') return typeof value === 'object' && value !== null ? 3 : 6
  // A character is one byte or more: a text longer than what is left need not be encoded.
  return (value.length > left ? value.length : encoder.encode(value).length) + 3
}

/** Tells whether a JSON value is an object; arrays and `null` are not. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Returns a member that the object has itself; inherited ones are not part of the data. */
export function memberOf(value: unknown, name: string): unknown {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
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
