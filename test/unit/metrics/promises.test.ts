import { describe, expect, it } from 'vitest'
import { createPromises } from '../../../src/metrics/promises.js'

describe('a promise', () => {
  it('ends once', () => {
    const promises = createPromises()
    promises.make('a')
    expect(promises.end('a')).toBe(true)
    expect(promises.end('a')).toBe(false)
  })

  it('ends once even when it was made in two generations', () => {
    const promises = createPromises(2)
    promises.make('a')
    promises.make('a')
    expect(promises.end('a')).toBe(true)
    expect(promises.end('a')).toBe(false)
  })

  it('is forgotten only after half the bound was made after it', () => {
    const promises = createPromises(10)
    for (let i = 0; i < 10; i++) promises.make(String(i))
    expect(promises.end('4')).toBe(false)
    for (const kept of ['5', '6', '7', '8', '9']) expect(promises.end(kept)).toBe(true)
  })
})
