import { hasWrongChecksum } from '@arcus/protocol/x402/address'
import fc from 'fast-check'
import { getAddress, type Hex } from 'viem'
import { describe, expect, it } from 'vitest'

const anAddress = fc
  .uint8Array({ minLength: 20, maxLength: 20 })
  .map((bytes) => `0x${Buffer.from(bytes).toString('hex')}` as Hex)

describe('the checksum of an address', () => {
  it('is right where viem spells it so, and not needed in one case', () => {
    fc.assert(
      fc.property(anAddress, (address) => {
        const upper = `0x${address.slice(2).toUpperCase()}`
        for (const text of [getAddress(address), address, upper]) {
          expect(hasWrongChecksum(text)).toBe(false)
        }
      }),
      { numRuns: 500 },
    )
  })

  it('is wrong once any letter changes its case, unless all letters are of one case then', () => {
    fc.assert(
      fc.property(anAddress, fc.nat(39), (address, at) => {
        const right = getAddress(address).slice(2)
        const digit = right[at] as string
        const flipped = digit === digit.toLowerCase() ? digit.toUpperCase() : digit.toLowerCase()
        const text = right.slice(0, at) + flipped + right.slice(at + 1)
        const isOneCase = text === text.toLowerCase() || text === text.toUpperCase()
        expect(hasWrongChecksum(`0x${text}`)).toBe(text !== right && !isOneCase)
      }),
      { numRuns: 500 },
    )
  })

  it('shows a mistyped digit', () => {
    expect(hasWrongChecksum('0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed')).toBe(false)
    expect(hasWrongChecksum('0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAec')).toBe(true)
    expect(hasWrongChecksum('0x5aAeb6053F3E94C9b9A08f33669435E7Ef1BeAed')).toBe(true)
  })

  it('says the same when it is asked again, also after many others', () => {
    const wrong = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAec'
    for (let i = 0; i < 6_000; i++) hasWrongChecksum(`0xaB${i.toString().padStart(38, '0')}`)
    expect(hasWrongChecksum(wrong)).toBe(true)
    expect(hasWrongChecksum(wrong)).toBe(true)
  })

  it('says nothing of what is no address', () => {
    for (const text of ['', '0x', 'aB', `0X${'aB'.repeat(20)}`, `0x${'aB'.repeat(21)}`]) {
      expect(hasWrongChecksum(text)).toBe(false)
    }
  })
})
