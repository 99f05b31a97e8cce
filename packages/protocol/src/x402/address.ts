import type { Address } from 'viem'

const encoder = new TextEncoder()

export const zeroAddress: Address = '0x0000000000000000000000000000000000000000'

/** The contracts of `batch-settlement`, at the addresses that x402 gives them on every chain; lower-case. */
export const channelContracts = {
  settlement: '0x4020074e9df2ce1dee5a9c1b5c3f541d02a10003',
  erc3009Collector: '0x4020806089470a89826cb9fb1f4059150b550004',
  permit2Collector: '0x4020425faf3b746c082c2f942b4e5159887b0005',
} as const satisfies Record<string, Address>

/** Permit2 and x402's proxies that call it, at their addresses on every chain; lower-case. */
export const permit2Contracts = {
  permit2: '0x000000000022d473030f116ddee9f6b43ac78ba3',
  exactProxy: '0x402085c248eea27d92e8b30b2c58ed07f9e20001',
  uptoProxy: '0x4020a4f3b7b90cca423b9fabcc0ce57c6c240002',
} as const satisfies Record<string, Address>

const paymentContracts: ReadonlySet<string> = new Set([
  ...Object.values(channelContracts),
  ...Object.values(permit2Contracts),
])

/** Returns whether a value is an address, in either case. */
export function isSameAddress(value: unknown, address: string): boolean {
  return typeof value === 'string' && value.toLowerCase() === address.toLowerCase()
}

/** Returns whether an address, in either case, is a contract of x402. A payment to one of them would be lost for good. */
export function isChannelContract(address: string): boolean {
  return paymentContracts.has(address.toLowerCase())
}

/** Addresses whose EIP-55 form is remembered: most payers pay again. */
const MAX_CHECKSUMMED = 5_000

/** Makes a function that gives lower-case addresses their EIP-55 form with the fast hash, for answers of verify and settle. */
export function createChecksum(
  keccak256: (bytes: Uint8Array) => Uint8Array,
): (address: Address) => Address {
  const remembered = new Map<Address, Address>()
  return (address) => {
    const known = remembered.get(address)
    if (known !== undefined) return known
    const checksummed = compute(address)
    if (remembered.size >= MAX_CHECKSUMMED) remembered.clear()
    remembered.set(address, checksummed)
    return checksummed
  }

  function compute(address: Address): Address {
    const digits = address.slice(2).toLowerCase()
    const hash = keccak256(encoder.encode(digits))
    return `0x${spell(digits, (i) => at(hash, i))}`
  }
}

/** The complaint about a wrong checksum; it follows the name of the field. */
export const CHECKSUM_PROBLEM =
  'must have a right EIP-55 checksum, or letters of one case only: it looks mistyped'

const ADDRESS = /^0x[0-9a-fA-F]{40}$/

/** Checked spellings that are remembered: a merchant states the same address in every payment. */
const MAX_CHECKED = 5_000
const checkedSpellings = new Map<string, boolean>()

/**
 * Returns whether an address has letters of both cases that differ from its EIP-55 form. EIP-55 derives the case of each
 * letter from the hash of the address, so a difference means a mistyped digit. Returns `false` for addresses in one case,
 * which carry no checksum, and for texts that are no address.
 */
export function hasWrongChecksum(text: string): boolean {
  if (!ADDRESS.test(text)) return false
  const digits = text.slice(2)
  const lower = digits.toLowerCase()
  if (digits === lower || digits === digits.toUpperCase()) return false
  const known = checkedSpellings.get(text)
  if (known !== undefined) return known
  const hash = hashDigits(lower)
  const isWrong = spell(lower, (i) => (at(hash, i >> 2) >>> ((i & 3) << 3)) & 255) !== digits
  if (checkedSpellings.size >= MAX_CHECKED) checkedSpellings.clear()
  checkedSpellings.set(text, isWrong)
  return isWrong
}

/** Returns the complaint about a text that is no address or has a wrong checksum; it follows the name of the field. */
export function addressProblem(text: unknown): string | undefined {
  if (typeof text !== 'string' || !ADDRESS.test(text)) return 'must be an address'
  return hasWrongChecksum(text) ? CHECKSUM_PROBLEM : undefined
}

/** Spells the 40 lower-case digits as EIP-55 does, by the bytes of their hash. */
function spell(lower: string, hashByte: (index: number) => number): string {
  let spelled = ''
  for (let i = 0; i < lower.length; i++) {
    const digit = lower[i] as string
    const nibble = i % 2 === 0 ? hashByte(i >> 1) >> 4 : hashByte(i >> 1) & 15
    spelled += nibble >= 8 ? digit.toUpperCase() : digit
  }
  return spelled
}

/*
 * Keccak-256 of a short text, without a library: the merchant's package and the browser check addresses too, and load no
 * hash library for it.
 */

/** Bytes that Keccak-256 absorbs before it permutes; forty digits are less. */
const RATE_BYTES = 136

/** Returns the final state of Keccak-256 as 32-bit words; the first eight are the hash. */
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

/** Does one round of Keccak-f[1600] over 25 lanes of 64 bits, each as a low and a high word. */
function permute(state: Uint32Array, [low, high]: readonly [number, number]): void {
  const parity = new Uint32Array(10)
  for (let i = 0; i < 50; i++) parity[i % 10] = at(parity, i % 10) ^ at(state, i)
  for (let i = 0; i < 50; i++) {
    const next = (i + 2) % 10
    // The word takes in the parity of the next column, rotated by one bit; the carry comes from the other half.
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

/** The position each lane moves to, and the bits it is rotated by. */
const moves: readonly (readonly [number, number])[] = (() => {
  const all: [number, number][] = [[0, 0]]
  for (let t = 0, x = 1, y = 0; t < 24; t++) {
    const [toX, toY] = [y, (2 * x + 3 * y) % 5]
    all[x + 5 * y] = [toX + 5 * toY, (((t + 1) * (t + 2)) / 2) % 64]
    ;[x, y] = [toX, toY]
  }
  return all
})()

/** The constants that the rounds add to the first lane: bits of a shift register, at the positions 2^j - 1. */
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
