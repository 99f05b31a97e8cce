const template = /^\/[a-zA-Z0-9_/:.\-~%]+$/
/** Once is what an honest template needs; each more catches one more layer of disguise. */
const MAX_DECODE_PASSES = 5
const MAX_CHARS = 1_024

/**
 * Whether a route template such as `/weather/:city` may stand for a path. A buyer could have altered it, so decoded
 * as often as it can be it must neither climb (`..`) nor lead to another host (`://`). Source: bazaar extension.
 */
export function isRouteTemplate(value: unknown): value is string {
  if (typeof value !== 'string' || value.length > MAX_CHARS || !template.test(value)) return false
  const decoded = decodeToFixedPoint(value)
  return decoded !== undefined && !decoded.includes('..') && !decoded.includes('://')
}

/** `undefined` when an escape is malformed, or when five passes do not reach an end. */
function decodeToFixedPoint(value: string): string | undefined {
  let decoded = value
  for (let pass = 0; pass < MAX_DECODE_PASSES; pass++) {
    let next: string
    try {
      next = decodeURIComponent(decoded)
    } catch {
      return undefined
    }
    if (next === decoded) return decoded
    decoded = next
  }
  return undefined
}
