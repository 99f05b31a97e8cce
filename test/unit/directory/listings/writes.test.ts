import { describe, expect, it } from 'vitest'
import { checkSchemas } from '../../../../src/directory/listings/writes.js'
import type { StoredEndpoint } from '../../../../src/directory/store/listings.js'
import { aListing, anEndpoint, endpointsOf } from '../../../support/a-directory.js'

const inputSchema = { type: 'object', properties: { city: { type: 'string' } } }
const listed = (wish: object = {}) =>
  endpointsOf(aListing({ endpoints: [anEndpoint({ inputSchema, ...wish })] }))

/** Checks endpoints, and counts the schemas that were looked at. */
async function checking(endpoints: ReturnType<typeof listed>, accepted: StoredEndpoint[] = []) {
  let turns = 0
  await checkSchemas(endpoints, accepted, async (check) => {
    turns++
    return check()
  })
  return turns
}

describe('the schemas of a listing', () => {
  it('are not checked again when schema and example were accepted before', async () => {
    const before = listed() as StoredEndpoint[]
    expect(await checking(listed({ title: 'Another' }), before)).toBe(0)
    expect(await checking(listed({ example: { queryParams: { city: 'Rome' } } }), before)).toBe(1)
  })
})
