import { readAttestation } from '@arcus/protocol/x402/attestation'
import { describe, expect, it } from 'vitest'

const address = '0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65'
const payload = {
  version: 1,
  network: 'eip155:5042',
  transaction: `0x${'ab'.repeat(32)}`,
  payer: address,
  payee: address,
  asset: address,
  amount: '10000',
  facilitator: address,
  facilitatorFee: '0',
  observedAt: '1800000000',
}
const sound = { format: 'eip712', payload, signature: `0x${'11'.repeat(65)}` }

const problemOf = (value: unknown) => {
  const read = readAttestation(value)
  return read.ok ? undefined : read.problem
}

describe('an attestation from a stranger', () => {
  it('is read member by member, and loses what the draft does not name', () => {
    const read = readAttestation({ ...sound, types: {}, payload: { ...payload, note: 'x' } })
    expect(read).toEqual({ ok: true, attestation: sound })
  })

  it.each([
    ['version', '1'],
    ['version', 2],
    ['network', 'eip155'],
    ['transaction', `0x${'AB'.repeat(32)}`],
    ['transaction', '0x'],
    ['payer', ''],
    ['payee', '0x12'],
    ['asset', null],
    ['amount', '007'],
    ['amount', 10_000],
    ['amount', '-1'],
    ['facilitator', 'arcus'],
    ['facilitatorFee', ''],
    ['observedAt', '0'],
    ['observedAt', '1.5'],
  ])('is refused when its %s is %j', (name, value) => {
    const problem = problemOf({ ...sound, payload: { ...payload, [name]: value } })
    expect(problem).toMatch(new RegExp(`^payload\\.${name} must be `))
  })

  it('is refused when a member is missing', () => {
    for (const name of Object.keys(payload)) {
      const rest = Object.fromEntries(Object.entries(payload).filter(([it]) => it !== name))
      expect(problemOf({ ...sound, payload: rest })).toMatch(`payload.${name} `)
    }
  })

  it('is refused with another format, no payload, or a signature of another length', () => {
    expect(problemOf('x')).toMatch(/JSON object/)
    expect(problemOf({ ...sound, format: 'jws' })).toMatch(/^format /)
    expect(problemOf({ ...sound, payload: [] })).toMatch(/^payload/)
    expect(problemOf({ ...sound, signature: `0x${'11'.repeat(64)}` })).toMatch(/^signature /)
  })
})
