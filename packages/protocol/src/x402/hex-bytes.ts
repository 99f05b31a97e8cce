const NOT_A_DIGIT = 0xff

/** The value of each ASCII hexadecimal digit, by character code. */
const digitValues = new Uint8Array(128).fill(NOT_A_DIGIT)
for (let value = 0; value < 16; value++) {
  const digit = value.toString(16)
  digitValues[digit.charCodeAt(0)] = value
  digitValues[digit.toUpperCase().charCodeAt(0)] = value
}

/**
 * Writes the `length` bytes that `hex` spells into `target` at `offset` and allocates nothing. Returns `false`, with
 * `target` in an unspecified state, unless `hex` is `0x` and exactly that many bytes, in either case.
 */
export function writeHex(hex: string, target: Uint8Array, offset: number, length: number): boolean {
  if (hex.length !== 2 + 2 * length || !hex.startsWith('0x')) return false
  // Buffer's own decoder is not used: it reads only the low byte of a character, so it takes U+0130 for a zero.
  for (let index = 0; index < length; index++) {
    const high = digitValues[hex.charCodeAt(2 + 2 * index)] ?? NOT_A_DIGIT
    const low = digitValues[hex.charCodeAt(3 + 2 * index)] ?? NOT_A_DIGIT
    if (high === NOT_A_DIGIT || low === NOT_A_DIGIT) return false
    target[offset + index] = (high << 4) | low
  }
  return true
}
