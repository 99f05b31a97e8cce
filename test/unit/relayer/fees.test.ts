import { describe, expect, it } from 'vitest'
import { bumpFees, quoteFees } from '../../../src/relayer/fees.js'

const GWEI = 1_000_000_000n
const BASE = 20n * GWEI
const TIP = 1_000_000n

describe('the fees of a new transaction', () => {
  it('are three times the base fee, and a tip that can be raised', () => {
    expect(quoteFees(BASE, 1_000n * GWEI)).toEqual({
      maxFeePerGas: 3n * BASE + TIP,
      maxPriorityFeePerGas: TIP,
    })
  })

  it('never exceed the cap', () => {
    const wanted = 3n * BASE + TIP
    for (const cap of [wanted, wanted - 1n, BASE + TIP]) {
      expect(quoteFees(BASE, cap)?.maxFeePerGas).toBe(cap)
    }
  })

  it('do not exist when base fee and tip are above the cap', () => {
    expect(quoteFees(BASE, BASE + TIP - 1n)).toBeUndefined()
  })

  it('exist on a chain without a base fee', () => {
    expect(quoteFees(0n, GWEI)).toEqual({ maxFeePerGas: TIP, maxPriorityFeePerGas: TIP })
  })
})

describe('the fees of a replacement', () => {
  const previous = { maxFeePerGas: 3n * BASE + TIP, maxPriorityFeePerGas: TIP }

  it('are at least ten percent up in both fields, as nodes ask, however often it is done', () => {
    let fees = previous
    for (let i = 0; i < 10; i++) {
      const next = bumpFees(fees, BASE, 10_000n * GWEI)
      if (next === undefined) return expect.unreachable('the cap leaves room')
      expect(next.maxFeePerGas * 10n).toBeGreaterThanOrEqual(fees.maxFeePerGas * 11n)
      expect(next.maxPriorityFeePerGas * 10n).toBeGreaterThanOrEqual(
        fees.maxPriorityFeePerGas * 11n,
      )
      expect(next.maxPriorityFeePerGas).toBeLessThanOrEqual(next.maxFeePerGas)
      fees = next
    }
  })

  it('follow a base fee that has risen since', () => {
    const base = 100n * GWEI
    expect(bumpFees(previous, base, 10_000n * GWEI)?.maxFeePerGas).toBe(3n * base + TIP)
  })

  it('do not exist when the cap leaves no room for ten percent more', () => {
    const raised = (previous.maxFeePerGas * 125n) / 100n + 1n
    expect(bumpFees(previous, BASE, raised)?.maxFeePerGas).toBe(raised)
    expect(bumpFees(previous, BASE, raised - 1n)).toBeUndefined()
  })

  it('raise even fees of a few units', () => {
    const tiny = { maxFeePerGas: 1n, maxPriorityFeePerGas: 1n }
    expect(bumpFees(tiny, 0n, GWEI)?.maxPriorityFeePerGas).toBe(2n)
  })
})
