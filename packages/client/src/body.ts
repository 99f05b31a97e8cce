/** The beginning of a body, and why it is not the whole of it. */
export interface ReadBody {
  bytes: Uint8Array
  /** `long`: the body goes on. `broken`: the connection ended, or the signal of the call did. */
  cut?: 'long' | 'broken'
}

/**
 * Reads a body up to a bound, because what is small on the wire may be gigabytes once it is decompressed. Never rejects: an
 * answer that was paid for is worth its beginning.
 */
export async function readUpTo({ body }: Response, maxBytes: number): Promise<ReadBody> {
  const parts: Uint8Array[] = []
  let read = 0
  let cut: ReadBody['cut']
  const reader = body?.getReader()
  try {
    while (reader !== undefined) {
      const { done, value } = await reader.read()
      if (done) break
      parts.push(value.subarray(0, maxBytes - read))
      read += value.byteLength
      if (read <= maxBytes) continue
      cut = 'long'
      await reader.cancel()
      break
    }
  } catch {
    cut ??= 'broken'
  }
  const bytes = new Uint8Array(Math.min(read, maxBytes))
  let at = 0
  for (const part of parts) {
    bytes.set(part, at)
    at += part.byteLength
  }
  return cut === undefined ? { bytes } : { bytes, cut }
}
