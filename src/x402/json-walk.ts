export interface JsonLimits {
  /** Of the UTF-8 text, keys and punctuation counted. */
  maxBytes: number
  maxDepth: number
  /** Values in all: members, elements and the root. */
  maxNodes: number
}

const encoder = new TextEncoder()

/**
 * What makes a stranger's JSON too large to work with, in words that follow its name; `undefined` when nothing does.
 * Walks without recursion and stops at the first limit, so that even a huge value costs no more than the limits.
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

/** Of a value without what is inside it: quotes, or brackets and one separator. */
function byteLength(value: unknown, left: number): number {
  if (typeof value !== 'string') return typeof value === 'object' && value !== null ? 3 : 6
  // A character is one byte or more: what is longer than the rest need not be encoded to know.
  return (value.length > left ? value.length : encoder.encode(value).length) + 3
}

/** JSON that is an object; arrays and `null` are not. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A member the object has itself: what every object inherits is nobody's data. */
export function memberOf(value: unknown, name: string): unknown {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
}
