import { describe, expect, it } from 'vitest'
import { checkSchemas } from '../../../../src/directory/listings/writes.js'
import type { Endpoint } from '../../../../src/directory/store/listings.js'
import { aListing, anEndpoint, endpointsOf } from '../../../support/a-directory.js'

const inputSchema = { type: 'object', properties: { city: { type: 'string' } } }
const listed = (wish: object = {}) =>
  endpointsOf(aListing({ endpoints: [anEndpoint({ inputSchema, ...wish })] }))

/** Checks endpoints, and counts the schemas that were looked at. */
async function checking(endpoints: ReturnType<typeof listed>, accepted: Endpoint[] = []) {
  let turns = 0
  await checkSchemas(endpoints, accepted, async () => void turns++)
  return turns
}

describe('the schemas of a listing', () => {
  it('are about the parameters of a GET and the body of a POST', async () => {
    expect(await checking(listed())).toBe(1)
    const body = { method: 'POST', example: { body: { city: 'Rome' } } }
    expect(await checking(listed(body))).toBe(1)
    for (const [wish, path] of [
      [{ example: { queryParams: { city: 7 } } }, 'endpoints[0].example.queryParams'],
      [{ ...body, example: { body: { city: 7 } } }, 'endpoints[0].example.body'],
      [{ inputSchema: { type: 'object', required: 7 } }, 'endpoints[0].inputSchema'],
    ] as const) {
      const refused = checking(listed(wish))
      await expect(refused).rejects.toMatchObject({ code: 'invalid_listing', statusCode: 400 })
      await expect(refused).rejects.toThrow(path)
    }
  })

  it('are not checked again when schema and example were accepted before', async () => {
    const before = listed() as Endpoint[]
    expect(await checking(listed({ title: 'Another' }), before)).toBe(0)
    expect(await checking(listed({ example: { queryParams: { city: 'Rome' } } }), before)).toBe(1)
  })
})
