import { writeHex } from '@arcus/protocol/x402/hex-bytes'
import { describe, expect, it } from 'vitest'

describe('writeHex', () => {
  it('writes exactly the bytes asked for, at the offset, in either case', () => {
    const target = new Uint8Array(5)
    expect(writeHex('0x00fFAb', target, 1, 3)).toBe(true)
    expect([...target]).toEqual([0, 0x00, 0xff, 0xab, 0])
  })

  it('reads the empty string of bytes', () => {
    expect(writeHex('0x', new Uint8Array(0), 0, 0)).toBe(true)
  })

  it.each([
    ['one digit short', '0x0'],
    ['one digit over', '0x000'],
    ['another length', '0x0000'],
    ['no prefix', '0000'],
    ['an upper-case prefix', '0X00'],
    ['a digit past f', '0x0g'],
    ['a blank', '0x 0'],
    ['a sign', '0x-1'],
    ['a character whose low byte is a digit', '0x\u01300'],
    ['a surrogate pair', '0x\u{1f600}'],
  ])('refuses %s', (_, hex) => {
    expect(writeHex(hex, new Uint8Array(1), 0, 1)).toBe(false)
  })
})
