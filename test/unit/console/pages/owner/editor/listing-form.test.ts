import { listingBody } from '@arcus/protocol/listing/listing'
import { circleTokens, type Stablecoin } from '@arcus/protocol/x402/currencies'
import { describe, expect, it } from 'vitest'
import { changesOf } from '../../../../../../src/console/pages/owner/editor/changes.js'
import {
  type EndpointValues,
  emptyEndpoint,
  type FormValues,
  fillEndpoint,
  formSchema,
  hostProblem,
  idFromName,
  notesOf,
  titleFromUrl,
  withScheme,
} from '../../../../../../src/console/pages/owner/editor/form.js'
import { parseBody } from '../../../../../../src/directory/refusals.js'

const merchantAddress = '0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65'
const [dollars, inEuros] = circleTokens['eip155:5042']
const euros = inEuros as Stablecoin
const tokens = [dollars, euros]

const anEndpoint = (wish: Partial<EndpointValues> = {}): EndpointValues => ({
  ...emptyEndpoint(),
  url: 'https://api.example.com/quote',
  title: 'A quote',
  price: '0.01',
  ...wish,
})

const aForm = (wish: Partial<FormValues> = {}): FormValues => ({
  id: 'penny-quotes',
  name: 'Penny quotes',
  description: '',
  payTo: merchantAddress,
  endpoints: [anEndpoint()],
  ...wish,
})

/** Returns the first problem of each field. */
function problemsOf(values: FormValues) {
  const problems: Record<string, string> = {}
  for (const { path, message } of formSchema(tokens).safeParse(values).error?.issues ?? []) {
    problems[path.join('.')] ??= message
  }
  return problems
}

const listingOf = (wish: Partial<FormValues> = {}) => formSchema(tokens).parse(aForm(wish)).listing

describe('a valid form', () => {
  it('becomes a listing that the service accepts', () => {
    const listing = listingOf({
      endpoints: [
        anEndpoint({ tags: ' a, b ,a,', example: '{"city":"Lisbon"}' }),
        anEndpoint({ method: 'POST', example: '[1]', inputSchema: '{"type":"object"}' }),
      ],
    })
    const { endpoints, payTo } = parseBody(listingBody, listing)
    expect(payTo).toBe(merchantAddress.toLowerCase())
    expect(endpoints).toMatchObject([
      { price: 10_000n, tags: ['a', 'b'], example: { queryParams: { city: 'Lisbon' } } },
      { method: 'POST', example: { body: [1] }, inputSchema: { type: 'object' } },
    ])
  })

  it('is signed in euros with its token and its currency', () => {
    const endpoints = [anEndpoint({ price: '€0,05', asset: euros.address })]
    expect(listingOf({ endpoints }).endpoints).toMatchObject([
      { price: '50000', asset: euros.address, currency: 'EUR' },
    ])
  })
})

describe('an invalid form', () => {
  it.each<[string, Partial<FormValues>]>([
    ['id', { id: 'No' }],
    ['name', { name: '  ' }],
    ['name', { name: 'x'.repeat(61) }],
    ['description', { description: 'x'.repeat(1_001) }],
    ['payTo', { payTo: '0x12' }],
    ['payTo', { payTo: '0x15d34AAf54267DB7D7c367839AAf71A00a2C6A66' }],
    ['endpoints', { endpoints: [] }],
  ])('has a problem at %s', (path, wish) => {
    expect(Object.keys(problemsOf(aForm(wish)))).toEqual([path])
  })

  it.each([
    ['url', { url: 'api.example.com' }],
    ['url', { url: 'ftp://api.example.com/x' }],
    ['url', { url: 'https://hello' }],
    ['title', { title: '' }],
    ['price', { price: '0' }],
    ['price', { price: 'cheap' }],
    ['price', { price: '$0.05', asset: euros.address }],
    ['price', { price: '€0.05' }],
    ['tags', { tags: 'x'.repeat(33) }],
    ['example', { example: '{oops' }],
    ['example', { example: '[1]' }],
    ['inputSchema', { inputSchema: '{"type":"string"}' }],
  ])('has a problem at the %s of an API: %j', (field, wish) => {
    const problems = problemsOf(aForm({ endpoints: [anEndpoint(wish)] }))
    expect(Object.keys(problems)).toEqual([`endpoints.0.${field}`])
  })

  it('has a problem at the second of two equal APIs', () => {
    const twins = [anEndpoint(), anEndpoint({ url: 'https://API.example.com/quote' })]
    expect(Object.keys(problemsOf(aForm({ endpoints: twins })))).toEqual(['endpoints.1.url'])
  })
})

describe('the changes of a signature', () => {
  const changes = (before: Partial<FormValues> | undefined, after: Partial<FormValues>) =>
    changesOf(before && listingOf(before), listingOf(after), tokens)

  it('are none where only spelling differs', () => {
    const before = { endpoints: [anEndpoint({ example: '{"a":1,"b":2}' })] }
    const after = {
      payTo: merchantAddress.toLowerCase(),
      endpoints: [anEndpoint({ example: '{"b":2, "a":1}', price: '0.010' })],
    }
    expect(changes(before, after)).toEqual({ fields: [], endpoints: [] })
  })

  it('are all fields of a new listing', () => {
    const { fields, endpoints } = changes(undefined, {})
    expect(fields.map(({ field }) => field)).toEqual(['Name', 'Paid to'])
    expect(endpoints).toMatchObject([{ kind: 'added', name: 'GET https://api.example.com/quote' }])
  })

  it('are each API that is new, gone or different, with old and new values', () => {
    const stays = anEndpoint({ url: 'https://api.example.com/stays' })
    const before = { endpoints: [anEndpoint({ price: '0.05' }), stays] }
    const after = {
      endpoints: [
        stays,
        anEndpoint({ method: 'POST' }),
        anEndpoint({ price: '0.05', asset: euros.address }),
      ],
    }
    expect(changes(before, after).endpoints).toMatchObject([
      { kind: 'added', name: 'POST https://api.example.com/quote' },
      {
        kind: 'changed',
        name: 'GET https://api.example.com/quote',
        changes: [{ field: 'Price', before: '0.05 USDC', after: '0.05 EURC' }],
      },
    ])
    expect(changes(after, before).endpoints).toMatchObject([
      { kind: 'changed' },
      { kind: 'removed', name: 'POST https://api.example.com/quote' },
    ])
  })
})

describe('an API filled from a live 402', () => {
  const listing = {
    url: 'https://api.example.com/air-quality',
    method: 'POST',
    pricing: 'fixed',
    price: '2500',
    asset: '0x36',
    symbol: 'USDC',
    currency: 'USD',
    payTo: '0x15',
    network: 'eip155:5042',
    description: 'Fine dust',
    example: { body: { city: 'Porto' } },
  } as const
  const quote = {
    verdict: 'live',
    message: '',
    warnings: ['schema_missing', 'amount_zero'],
    seen: {},
    checkedAt: 1,
    listing,
  }

  it('takes its values, and a title from the path if there is none', () => {
    expect(fillEndpoint(emptyEndpoint(), quote)).toMatchObject({
      method: 'POST',
      price: '0.0025',
      title: 'Air quality',
      description: 'Fine dust',
      example: '{\n  "city": "Porto"\n}',
      found: { price: '2500', payTo: '0x15', checkedAt: 1 },
    })
  })

  it('keeps the texts of the owner, but not an old price', () => {
    const written = anEndpoint({ title: 'Mine', description: 'My words', price: '9' })
    const filled = { title: 'Mine', description: 'My words', price: '0.0025' }
    expect(fillEndpoint(written, quote)).toMatchObject(filled)
  })

  it('has notes that say how much each matters, until the owner has done something about it', () => {
    const filled = fillEndpoint(emptyEndpoint(), quote)
    const levels = (values: EndpointValues, payTo: string) =>
      notesOf(values, filled.found, payTo).map(({ level }) => level)
    expect(levels(filled, '0x15')).toEqual(['info', 'bad'])
    expect(levels({ ...filled, inputSchema: '{}' }, '0x15')).toEqual(['bad'])
    expect(levels({ ...filled, price: '9' }, '0x16')).toEqual(['bad', 'bad', 'info', 'bad'])
  })
})

it('takes hosts with a dot, addresses and this machine, and no mistyped words', () => {
  const good = ['api.example.com/x', 'localhost:4022/quote', '127.0.0.1:80', 'http://[::1]:3/x']
  expect(good.map((url) => hostProblem(url))).toEqual(good.map(() => undefined))
  expect(hostProblem('hello')).toContain('“hello”')
  expect(hostProblem('https://hello/world')).toContain('“hello”')
  expect(['localhost:4022', 'a.example', 'http://b.example'].map(withScheme)).toEqual([
    'http://localhost:4022',
    'https://a.example',
    'http://b.example',
  ])
})

it('suggests ids and titles that the service accepts, or none', () => {
  expect(['Café Münster & Co.', '天気', 'a', '-- x --y'].map(idFromName)).toEqual([
    'cafe-munster-co',
    '',
    '',
    'x-y',
  ])
  expect(titleFromUrl('https://api.example.com/v1/air_quality.json')).toBe('Air quality')
  expect(titleFromUrl('nonsense')).toBe('')
})
