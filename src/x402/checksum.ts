/*
 * EIP-55: which letters of an address are upper case follows from its hash, so that one mistyped digit shows. The hash
 * is computed here, without a library, because the rule is the same in the service, in the plugin, which loads none,
 * and in browsers.
 */

/** Said of an address after its name, wherever one is refused for its checksum. */
export const CHECKSUM_PROBLEM =
  'must have a right EIP-55 checksum, or letters of one case only: it looks mistyped'

const ADDRESS = /^0x[0-9a-fA-F]{40}$/

/** Spellings of which the verdict is remembered: a merchant states the same one in every payment. */
const MAX_REMEMBERED = 5_000
const remembered = new Map<string, boolean>()

/**
 * Whether an address is spelled in both cases, and not as EIP-55 spells it: then some digit is not the one that was
 * meant. Addresses in one case carry no checksum, and texts that are no address are for others to judge.
 */
export function hasWrongChecksum(text: string): boolean {
  if (!ADDRESS.test(text)) return false
  const digits = text.slice(2)
  const lower = digits.toLowerCase()
  if (digits === lower || digits === digits.toUpperCase()) return false
  const known = remembered.get(text)
  if (known !== undefined) return known
  const isWrong = spell(lower) !== digits
  if (remembered.size >= MAX_REMEMBERED) remembered.clear()
  remembered.set(text, isWrong)
  return isWrong
}

/** What keeps a text from being the address that somebody is paid at, in words that follow its name. */
export function addressProblem(text: unknown): string | undefined {
  if (typeof text !== 'string' || !ADDRESS.test(text)) return 'must be an address'
  return hasWrongChecksum(text) ? CHECKSUM_PROBLEM : undefined
}

/** The 40 digits as EIP-55 spells them. */
function spell(lower: string): string {
  const hash = hashDigits(lower)
  return [...lower]
    .map((digit, i) => {
      const nibble = (at(hash, i >> 3) >>> ((((i >> 1) & 3) << 3) + (i % 2 === 0 ? 4 : 0))) & 15
      return nibble >= 8 ? digit.toUpperCase() : digit
    })
    .join('')
}

/** Bytes that Keccak-256 takes up before it permutes; forty digits are less. */
const RATE_BYTES = 136

/** The first 32-bit words of the state that Keccak-256 ends in; eight of them are the hash. */
function hashDigits(digits: string): Uint32Array {
  const block = new Uint8Array(200)
  block.set(new TextEncoder().encode(digits))
  block[digits.length] = 0x01
  block[RATE_BYTES - 1] = 0x80
  const view = new DataView(block.buffer)
  const state = Uint32Array.from({ length: 50 }, (_, i) => view.getUint32(4 * i, true))
  for (const constant of roundConstants) permute(state, constant)
  return state
}

/** One round of Keccak-f[1600] over 25 lanes of 64 bits, each as a low and a high word. */
function permute(state: Uint32Array, [low, high]: readonly [number, number]): void {
  const parity = new Uint32Array(10)
  for (let i = 0; i < 50; i++) parity[i % 10] = at(parity, i % 10) ^ at(state, i)
  for (let i = 0; i < 50; i++) {
    const next = (i + 2) % 10
    // The word itself gets the parity of the next column, turned by one bit, whose carry comes from the other half.
    const turned = (at(parity, next) << 1) | (at(parity, next ^ 1) >>> 31)
    state[i] = at(state, i) ^ at(parity, (i + 8) % 10) ^ turned
  }
  const moved = new Uint32Array(50)
  for (let lane = 0; lane < 25; lane++) {
    const [to, turn] = moves[lane] as readonly [number, number]
    const swap = turn >> 5
    const bits = turn & 31
    const [a, b] = [at(state, 2 * lane + swap), at(state, 2 * lane + (swap ^ 1))]
    moved[2 * to] = bits === 0 ? a : (a << bits) | (b >>> (32 - bits))
    moved[2 * to + 1] = bits === 0 ? b : (b << bits) | (a >>> (32 - bits))
  }
  for (let i = 0; i < 50; i++) {
    const row = i - (i % 10)
    const [one, two] = [at(moved, row + ((i + 2) % 10)), at(moved, row + ((i + 4) % 10))]
    state[i] = at(moved, i) ^ (~one & two)
  }
  state[0] = at(state, 0) ^ low
  state[1] = at(state, 1) ^ high
}

/** Where each lane goes, and by how many bits it is turned. */
const moves: readonly (readonly [number, number])[] = (() => {
  const all: [number, number][] = [[0, 0]]
  for (let t = 0, x = 1, y = 0; t < 24; t++) {
    const [toX, toY] = [y, (2 * x + 3 * y) % 5]
    all[x + 5 * y] = [toX + 5 * toY, (((t + 1) * (t + 2)) / 2) % 64]
    ;[x, y] = [toX, toY]
  }
  return all
})()

/** What each round adds to the first lane: bits of a shift register, at the places 2^j - 1. */
const roundConstants: readonly (readonly [number, number])[] = (() => {
  let register = 1
  return Array.from({ length: 24 }, () => {
    const words: [number, number] = [0, 0]
    for (let j = 0; j < 7; j++) {
      const place = 2 ** j - 1
      if (register & 1) words[place >> 5] = at(words, place >> 5) | (1 << (place & 31))
      register = (register << 1) ^ (register & 0x80 ? 0x171 : 0)
    }
    return words
  })
})()

function at(words: ArrayLike<number>, index: number): number {
  return words[index] as number
}
