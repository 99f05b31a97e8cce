import { describe, expect, it } from 'vitest'
import type { SchemaVerdict } from '../../../../src/directory/listings/schema-check.js'
import { checkSchemas } from '../../../../src/directory/listings/writes.js'
import type { Endpoint } from '../../../../src/store/listings.js'
import { aListing, anEndpoint, endpointsOf } from '../../../support/a-directory.js'

const inputSchema = { type: 'object', properties: { city: { type: 'string' } } }
const listed = (wish: object = {}) =>
  endpointsOf(aListing({ endpoints: [anEndpoint({ inputSchema, ...wish })] }))

/** A check that answers the same to all, and what it was asked. */
function aCheck(verdict: SchemaVerdict) {
  const asked: unknown[][] = []
  const check = async (...question: unknown[]) => {
    asked.push(question)
    return verdict
  }
  return { asked, check }
}

describe('the schemas of a listing', () => {
  it('are checked with the parameters of a GET and the body of a POST', async () => {
    const { asked, check } = aCheck({ ok: true })
    await checkSchemas(listed(), [], { check })
    await checkSchemas(listed({ method: 'POST', example: { body: [1] } }), [], { check })
    expect(asked).toEqual([
      [inputSchema, { city: 'Lisbon' }],
      [inputSchema, [1]],
    ])
  })

  it('are not checked again when schema and example were accepted before', async () => {
    const { asked, check } = aCheck({ ok: true })
    const before = listed() as Endpoint[]
    await checkSchemas(listed({ title: 'Another' }), before, { check })
    expect(asked).toEqual([])
    await checkSchemas(listed({ example: { queryParams: { city: 'Rome' } } }), before, { check })
    expect(asked).toHaveLength(1)
  })

  it.each([
    ['schema', { code: 'invalid_listing', statusCode: 400 }, 'endpoints[0].inputSchema'],
    ['value', { code: 'invalid_listing', statusCode: 400 }, 'endpoints[0].example.queryParams'],
    ['slow', { code: 'invalid_listing', statusCode: 400 }, 'endpoints[0].inputSchema'],
    ['busy', { code: 'busy', statusCode: 503 }, 'try again'],
  ] as const)('are refused when the fault is %s', async (fault, refusal, words) => {
    const { check } = aCheck({ ok: false, fault, message: 'so it is' })
    const refused = checkSchemas(listed(), [], { check })
    await expect(refused).rejects.toMatchObject(refusal)
    await expect(refused).rejects.toThrow(words)
  })
})
