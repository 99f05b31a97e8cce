import { reasons, reasonsNotProduced } from '@arcus/protocol/x402/reasons'
import { describe, expect, it } from 'vitest'

const entries = Object.entries(reasons)

describe('the table of reasons', () => {
  it('holds each code once', () => {
    const codes = entries.map(([, { code }]) => code)
    expect(new Set(codes).size).toBe(codes.length)
  })

  it.each(entries)('says in one sentence when %s is given', (_, { code, meaning }) => {
    expect(code).toMatch(/^[a-z][a-z0-9]*(_[a-z0-9]+)*$/)
    expect(meaning).toMatch(/^\S.+\.$/)
    expect(meaning).not.toMatch(/\.\s+[A-Z]/)
  })

  it('gives each meaning once', () => {
    const meanings = entries.map(([, { meaning }]) => meaning)
    expect(new Set(meanings).size).toBe(meanings.length)
  })

  it('names no code among the produced ones that it says are not produced', () => {
    const codes = new Set<string>(entries.map(([, { code }]) => code))
    for (const [code, why] of Object.entries(reasonsNotProduced)) {
      expect(codes.has(code)).toBe(false)
      expect(why).not.toBe('')
    }
  })

  it('answers failed checks with 200, and malformed, conflicting, frequent, large, unchecked or unknown payments with an error', () => {
    const others = entries.filter(([, { status }]) => status !== 200)
    expect(Object.fromEntries(others.map(([, { code, status }]) => [code, status]))).toEqual({
      invalid_x402_version: 400,
      invalid_payload: 400,
      invalid_payment_requirements: 400,
      payment_identifier_required: 400,
      payment_identifier_conflict: 409,
      body_too_large: 413,
      rate_limited: 429,
      unexpected_verify_error: 500,
      unexpected_settle_error: 500,
      screening_unavailable: 503,
      settlement_unknown: 503,
    })
  })

  it('has the code of the specification for a value that is not the amount', () => {
    expect(reasons.valueMismatch.code).toBe(
      'invalid_exact_evm_payload_authorization_value_mismatch',
    )
  })
})
