import { describe, expect, it } from 'vitest'
import { parseTraceparent } from '../../../src/tracing/tracing.js'

const traceId = '0af7651916cd43dd8448eb211c80319c'
const spanId = 'b7ad6b7169203331'

describe('the traceparent of a caller', () => {
  it('names trace, span and whether the trace is sampled', () => {
    expect(parseTraceparent(`00-${traceId}-${spanId}-01`)).toEqual({
      traceId,
      spanId,
      isSampled: true,
    })
    expect(parseTraceparent(`00-${traceId}-${spanId}-00`)?.isSampled).toBe(false)
    // A later version may add members, and flags that are not known here.
    expect(parseTraceparent(`cc-${traceId}-${spanId}-03-more`)?.isSampled).toBe(true)
  })

  it.each([
    ['nothing', undefined],
    ['two headers', [`00-${traceId}-${spanId}-01`]],
    ['upper case', `00-${traceId.toUpperCase()}-${spanId}-01`],
    ['a trace of zeros', `00-${'0'.repeat(32)}-${spanId}-01`],
    ['a span of zeros', `00-${traceId}-${'0'.repeat(16)}-01`],
    ['the version ff', `ff-${traceId}-${spanId}-01`],
    ['a tail after version 00', `00-${traceId}-${spanId}-01-more`],
    ['a short span', `00-${traceId}-${spanId.slice(1)}-01`],
  ])('is not taken from %s', (_, header) => {
    expect(parseTraceparent(header)).toBeUndefined()
  })
})
