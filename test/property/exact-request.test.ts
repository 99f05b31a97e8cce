import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseClosely, parseRequest, readExactRequest } from '../../src/x402/parse-request.js'
import { aSignedPayment } from '../support/a-signed-payment.js'

const sound = await aSignedPayment()

/** Every place of the body that could be another value. */
function placesOf(value: unknown, path: string[] = []): string[][] {
  if (typeof value !== 'object' || value === null) return [path]
  return [path, ...Object.entries(value).flatMap(([key, it]) => placesOf(it, [...path, key]))]
}

function replaced(body: unknown, path: readonly string[], value: unknown): unknown {
  const [key, ...rest] = path
  if (key === undefined) return value
  const members = body as Record<string, unknown>
  return { ...members, [key]: replaced(members[key], rest, value) }
}

const oddValue = fc.oneof(
  fc.anything(),
  fc.constantFrom<unknown>(
    '0',
    '00',
    '1e3',
    `${2n ** 256n}`,
    `${2n ** 256n - 1n}`,
    '9'.repeat(78),
    `0x${'A'.repeat(40)}`,
    `0x${'g'.repeat(40)}`,
    `0x${'0'.repeat(64)}`,
    'exact',
    '',
    2,
    1.5,
    null,
    undefined,
  ),
)

describe('the compiled check of a request', () => {
  it('passes the usual payment', () => {
    expect(readExactRequest(sound)).toBeDefined()
  })

  it('accepts only requests that zod accepts, and reads the same payment', () => {
    const body = fc
      .array(fc.tuple(fc.constantFrom(...placesOf(sound)), oddValue), {
        minLength: 1,
        maxLength: 2,
      })
      .map((changes) =>
        changes.reduce<unknown>((it, [path, value]) => {
          try {
            return replaced(it, path, value)
          } catch {
            return it
          }
        }, sound),
      )
    fc.assert(
      fc.property(body, (changed) => {
        if (readExactRequest(changed) === undefined) return
        expect(parseRequest(changed)).toEqual(parseClosely(changed))
        expect(parseClosely(changed).ok).toBe(true)
      }),
      { numRuns: 3_000 },
    )
  })

  it('leaves a Permit2 payload to zod', () => {
    const { payload } = sound.paymentPayload
    const permit = {
      ...sound,
      paymentPayload: {
        ...sound.paymentPayload,
        payload: { ...payload, permit2Authorization: {} },
      },
    }
    expect(readExactRequest(permit)).toBeUndefined()
  })
})
