import { expect, it } from 'vitest'
import { encodeExtensionResponses } from '../../../src/x402/extension-responses.js'

const decode = (header: string) => JSON.parse(Buffer.from(header, 'base64').toString())

it('is base64 of JSON keyed by extension', () => {
  const header = encodeExtensionResponses({ bazaar: { status: 'processing' } })
  expect(header).toBe('eyJiYXphYXIiOnsic3RhdHVzIjoicHJvY2Vzc2luZyJ9fQ==')
  expect(decode(header)).toEqual({ bazaar: { status: 'processing' } })
})

it('tells a reason, short and printable whatever a stranger put into it', () => {
  const rejectedReason = `got "\u202e\u0007ä"${'x'.repeat(1_000)}`
  const header = encodeExtensionResponses({ bazaar: { status: 'rejected', rejectedReason } })
  const { bazaar } = decode(header)
  expect(bazaar.status).toBe('rejected')
  expect(bazaar.rejectedReason).toMatch(/^got "\?\?\?"x+$/)
  expect(bazaar.rejectedReason).toHaveLength(300)
  expect(header).toMatch(/^[A-Za-z0-9+/]+=*$/)
})
