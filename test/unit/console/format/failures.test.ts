import { reasons } from '@arcus/protocol/x402/reasons'
import { describe, expect, it } from 'vitest'
import { failureText } from '../../../../src/console/format/failures.js'

describe('the sentence for a failure', () => {
  it.each(Object.values(reasons).map(({ code }) => code))('exists for %s, and is short', (code) => {
    const text = failureText(code)
    expect(text).toMatch(/^[A-Z][^_.]{8,70}$/)
    expect(text).not.toBe(code.replaceAll('_', ' '))
  })

  it('is the code itself for one that a newer service gives', () => {
    expect(failureText('something_new')).toBe('something new')
  })
})
