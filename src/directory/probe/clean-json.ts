import { cleanText } from 'arcus-client/text'

export interface CleanLimits {
  depth: number
  /** Values in all, members and elements alike. */
  nodes: number
  stringChars: number
}

/** Names with a meaning in JavaScript. */
const closedNames = new Set(['__proto__', 'constructor', 'prototype'])
const MAX_NAME_CHARS = 128

/**
 * Copies a stranger's JSON with cleaned texts and without dangerous names. Returns `undefined` when it exceeds a limit:
 * half a schema would be worse than none.
 */
export function cleanJson(value: unknown, limits: CleanLimits): unknown {
  let nodes = 0
  const isTooLarge = (depth: number) => ++nodes > limits.nodes || depth > limits.depth
  const copy = (source: unknown, depth: number): unknown => {
    if (isTooLarge(depth)) throw new RangeError('too large')
    if (typeof source === 'string') {
      if (source.length > limits.stringChars) throw new RangeError('too long')
      return cleanText(source, limits.stringChars)
    }
    if (Array.isArray(source)) return source.map((item) => copy(item, depth + 1))
    if (typeof source !== 'object' || source === null) return source
    return Object.fromEntries(
      Object.entries(source)
        .map(
          ([name, member]) => [cleanText(name, MAX_NAME_CHARS), copy(member, depth + 1)] as const,
        )
        .filter(([name]) => !closedNames.has(name)),
    )
  }
  try {
    return copy(value, 1)
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}
