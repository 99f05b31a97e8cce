import { describe, expect, it } from 'vitest'
import { parsePaymentRequired } from '../../../../src/directory/probe/payment-required.js'
import type { ProbeResult } from '../../../../src/directory/probe/probe.js'
import { checkRequirements } from '../../../../src/directory/probe/verdict.js'
import type { InfoVerdict } from '../../../../src/directory/seen-in-payments/info-check.js'
import { createProbeEffects } from '../../../../src/directory/seen-in-payments/probe-effects.js'
import type { StoredEndpoint } from '../../../../src/directory/store/listings.js'
import {
  aPaymentRequired,
  aRequirement,
  network,
  payTo,
  toHeader,
  tokens,
} from '../../../support/directory/a-402.js'
import { aMerchant, anEndpoint } from '../probe/a-listing-store.js'
import { getInfo, getSchema, querySchema } from './an-offer.js'

const now = 1_700_000_000
const unclaimed = aMerchant({ id: `payto-${payTo}`, owner: null })
const found: Partial<StoredEndpoint> = {
  url: 'https://api.example.com/v1/weather',
  title: 'Words of a buyer',
  description: 'Words of a buyer',
  tags: ['buyer'],
  price: 1n,
  example: { queryParams: { said: 'buyer' } },
  extras: { serviceName: 'Buyer', extensions: { bazaar: { routeTemplate: '/v1/:place' } } },
}

function probed(
  result: ProbeResult,
  {
    merchant = unclaimed,
    verdict = { ok: true } as InfoVerdict,
    over = {} as Partial<StoredEndpoint>,
  } = {},
) {
  const effectOf = createProbeEffects({ infoCheck: { check: async () => verdict } })
  return effectOf(
    { endpoint: anEndpoint({ ...found, ...over }), merchant, usage: null },
    result,
    now,
  )
}

/** What a look at an endpoint with this 402 found. */
function seen(over: Record<string, unknown> = {}): ProbeResult {
  const quoted = parsePaymentRequired(
    { 'payment-required': toHeader(aPaymentRequired(over)) },
    '',
  ) as NonNullable<ProbeResult['quote']>['quoted']
  const expected = { network, tokens, payTo, hasSchema: true, method: 'GET' }
  const { chosen, accepts = [] } = checkRequirements(quoted, expected)
  const record = { verdict: 'live', message: '', warnings: [], seen: {}, checkedAt: now }
  const quote = { chosen: chosen as never, quoted }
  return { record, accepts: accepts.map((it) => ({ ...it })), isDefinite: false, extras: {}, quote }
}

const wrong = (isDefinite: boolean): ProbeResult => ({
  record: { verdict: 'seen', message: '', warnings: [], seen: {}, checkedAt: now },
  accepts: [],
  isDefinite,
  extras: {},
})

it('is live with the texts of its own 402, and no others', async () => {
  const resource = { description: 'By city', serviceName: 'Weather', tags: ['sky'] }
  const bazaar = { info: getInfo, schema: getSchema }
  const { after, described } = await probed(seen({ resource, extensions: { bazaar } }))
  expect(after(anEndpoint(found))).toMatchObject({ status: 'live', accepts: [aRequirement()] })
  expect(described).toEqual({
    url: found.url,
    method: 'GET',
    title: 'GET /v1/weather',
    description: 'By city',
    pricing: 'fixed',
    price: 10_000n,
    asset: tokens[0].address,
    symbol: 'USDC',
    tags: ['sky'],
    example: { queryParams: { city: 'Lisbon' } },
    inputSchema: querySchema,
    output: { type: 'json', example: { celsius: 21 } },
    extras: {
      serviceName: 'Weather',
      extensions: { bazaar: { ...bazaar, routeTemplate: '/v1/:place' } },
    },
  })
})

it.each([
  ['says nothing of itself', {}, undefined],
  [
    'tells of another method',
    { extensions: { bazaar: { info: { input: { type: 'http', method: 'POST' } }, schema: {} } } },
    undefined,
  ],
  [
    'has a schema that does not hold',
    { extensions: { bazaar: { info: getInfo, schema: getSchema } } },
    { ok: false, rejectedReason: 'no.' } as InfoVerdict,
  ],
])('loses the words of the buyer when its 402 %s', async (_, over, verdict) => {
  const { described } = await probed(seen(over), verdict === undefined ? {} : { verdict })
  expect(described).toMatchObject({
    description: '',
    tags: [],
    example: { queryParams: {} },
    inputSchema: null,
    extras: {},
  })
})

it('fails at the first definite wrong answer, and waits over one that is not', async () => {
  const previous = anEndpoint(found)
  const failed = (await probed(wrong(true))).after(previous)
  expect(failed).toMatchObject({ status: 'failing', failures: 1 })
  expect((await probed(wrong(false))).after(previous)).toMatchObject({ status: 'unverified' })
  expect((await probed(wrong(false))).after({ ...previous, ...failed }).status).toBe('failing')
})

it('is not live at an amount that no listing can have', async () => {
  const { after, described } = await probed(seen({ accepts: [aRequirement({ amount: '0' })] }))
  expect(after(anEndpoint(found)).status).toBe('failing')
  expect(described).toBeUndefined()
})

it("leaves an owner's listing its words, and three failures", async () => {
  const merchant = aMerchant()
  expect((await probed(seen(), { merchant })).described).toBeUndefined()
  const live = anEndpoint({ status: 'live' })
  expect((await probed(wrong(true), { merchant })).after(live).status).toBe('live')
})

describe('an entry under a template', () => {
  const over = {
    url: 'https://api.example.com/v1/:place',
    example: { queryParams: {}, pathParams: { place: 'weather' } },
  }
  const bazaar = { info: getInfo, schema: getSchema }

  it.each([
    ['names the same', { extensions: { bazaar: { ...bazaar, routeTemplate: '/v1/:place' } } }],
    ['describes nothing', {}],
  ])('is live where its 402 %s, and keeps the path that was bought', async (_, said) => {
    const { after, described } = await probed(seen(said), { over })
    expect(after(anEndpoint(over))).toMatchObject({ status: 'live' })
    expect(described?.example).toMatchObject({ pathParams: { place: 'weather' } })
    const extensions = { bazaar: { routeTemplate: '/v1/:place' } }
    if ('extensions' in said) expect(described?.extras).toMatchObject({ extensions })
  })

  it.each([
    ['another one', '/v1/:city', 'the route template /v1/:city'],
    ['none', undefined, 'no route template'],
    ['one that climbs', '/../:place', 'no route template'],
  ])('fails where its 402 describes itself with %s', async (_, routeTemplate, words) => {
    const said = { extensions: { bazaar: { ...bazaar, routeTemplate } } }
    const effect = await probed(seen(said), { over })
    expect(effect.described).toBeUndefined()
    const { status, probe } = effect.after(anEndpoint(over))
    expect([status, probe?.verdict]).toEqual(['failing', 'other_template'])
    expect(probe?.message).toBe(`Its 402 names ${words}, and the payment named /v1/:place.`)
  })
})
