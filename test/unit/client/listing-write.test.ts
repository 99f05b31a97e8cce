import { canonicalJson, hashBody } from '@arcus/protocol/listing/listing-write'
import { keccak256, stringToBytes } from 'viem'
import { describe, expect, it } from 'vitest'

describe('canonical JSON', () => {
  it('is that of RFC 8785, section 3.2.2', () => {
    const value = JSON.parse(
      String.raw`{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],"string":"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/","literals":[null,true,false]}`,
    )
    expect(canonicalJson(value)).toBe(
      String.raw`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
    )
  })

  it('sorts by UTF-16 units, as section 3.2.3 has it', () => {
    const keys = ['\u20ac', '\r', '\ufb33', '1', '\ud83d\ude00', '\u0080', '\u00f6']
    const text = canonicalJson(Object.fromEntries(keys.map((key) => [key, 0])))
    expect(Object.keys(JSON.parse(text))).toHaveLength(keys.length)
    const order = ['\r', '1', '\u0080', '\u00f6', '\u20ac', '\ud83d\ude00', '\ufb33']
    expect(text).toBe(`{${order.map((key) => `${JSON.stringify(key)}:0`).join(',')}}`)
  })

  it.each([undefined, Number.NaN, Number.POSITIVE_INFINITY, '\ud800', { a: '\udc00' }])(
    'of %j does not exist',
    (value) => {
      expect(() => canonicalJson(value)).toThrow(TypeError)
    },
  )
})

describe('the hash of a body', () => {
  it('does not depend on the order of members, and on everything else', () => {
    const hash = hashBody({ a: 1, b: [1, 2] })
    expect(hash).toBe(keccak256(stringToBytes('{"a":1,"b":[1,2]}')))
    expect(hashBody({ b: [1, 2], a: 1 })).toBe(hash)
    for (const other of [
      { a: 1, b: [2, 1] },
      { a: '1', b: [1, 2] },
      { a: 1, b: [1, 2], c: null },
    ]) {
      expect(hashBody(other)).not.toBe(hash)
    }
  })

  it('takes text as UTF-8', () => {
    expect(hashBody('é')).toBe(keccak256(new Uint8Array([0x22, 0xc3, 0xa9, 0x22])))
  })
})
