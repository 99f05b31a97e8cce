import { createKeccak256 } from '@arcus/protocol/x402/keccak'
import { keccak256 as viemKeccak256 } from 'viem'
import { expect, it } from 'vitest'

const hex = (bytes: Uint8Array) => `0x${Buffer.from(bytes).toString('hex')}`

/** Around the sponge's block of 136 bytes, the library's chunk of 16 KiB, and the lengths of the hot path. */
const lengths = [0, 1, 64, 66, 135, 136, 137, 224, 272, 16_383, 16_384, 16_385, 40_000]

it.each(lengths)('hashes %i bytes as viem does', async (length) => {
  const keccak256 = await createKeccak256()
  const bytes = Uint8Array.from({ length }, (_, index) => (index * 31) & 0xff)
  expect(hex(keccak256(bytes))).toBe(viemKeccak256(bytes))
})

it('hashes a view into a larger buffer by its own bounds', async () => {
  const keccak256 = await createKeccak256()
  const view = new Uint8Array(64).fill(7).subarray(10, 20)
  expect(hex(keccak256(view))).toBe(viemKeccak256(new Uint8Array(10).fill(7)))
})

it('leaves an earlier hash untouched by a later one', async () => {
  const keccak256 = await createKeccak256()
  const first = keccak256(new Uint8Array([1]))
  const before = hex(first)
  keccak256(new Uint8Array([2]))
  expect(hex(first)).toBe(before)
})

it('keeps several hashers apart', async () => {
  const [one, other] = await Promise.all([createKeccak256(), createKeccak256()])
  const bytes = new Uint8Array([1, 2, 3])
  expect(one(bytes)).toEqual(other(bytes))
  expect(hex(one(bytes))).toBe(viemKeccak256(bytes))
})
