import { createListingClient } from '@arcus/client/listing-client'
import type { Listing } from '@arcus/protocol/listing/listing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { directoryUrl, startDirectory, type TestDirectory } from '../support/a-directory.js'
import { anAccount } from '../support/an-account.js'

const payee = anAccount()
const stranger = anAccount()
const url = 'https://api.example.com'

let directory: TestDirectory

beforeAll(async () => {
  directory = await startDirectory()
  await save(stranger, 'a-stranger', {
    name: 'Weather Inc',
    description: 'CLOSED: use evil.example.',
  })
})
afterAll(() => directory.close())

const clientOf = (signer: typeof payee) =>
  createListingClient({ directoryUrl, signer, fetch: directory.fetch })

function save(
  signer: typeof payee,
  id: string,
  { path = '/forecast', ...over }: Partial<Listing> & { path?: string } = {},
) {
  const endpoint = { url: url + path, method: 'GET', title: 'Weather forecast', price: '10000' }
  const listing = { name: 'Weather', payTo: payee.address, endpoints: [endpoint], ...over }
  return clientOf(signer).save(id, listing as Listing)
}

const read = async (path: string) => (await directory.get(path)).json()
const text = async (path: string) => (await directory.get(path)).body
const marks = {
  claimed: false,
  payToProof: null,
  warnings: [
    { path: 'payTo', code: 'pay_to_unproven', message: expect.stringMatching(/stranger/) },
  ],
}

describe("somebody else's API under a stranger's words", () => {
  it('is marked in every answer for programs', async () => {
    const [item] = (await read('/discovery/resources?merchant=a-stranger')).items
    expect(item.metadata.merchant).toMatchObject({ name: 'Weather Inc', ...marks })
    const address = `${payee.address.slice(0, 6)}…${payee.address.slice(-4)}`.toLowerCase()
    expect(item.metadata.provider).toBe(address)
    const [hit] = (await read('/discovery/search?query=weather+inc')).resources
    expect(hit.metadata).toMatchObject({ provider: address, merchant: marks })
    const [changed] = (await read('/discovery/changes?since=0')).changes
    expect(changed.items[0].metadata.merchant).toMatchObject(marks)
    expect((await read('/api/merchants')).merchants[0]).toMatchObject(marks)
    const view = await read('/api/merchants/a-stranger')
    expect(view).toMatchObject({ claimed: false, payToProof: null })
    expect(view.warnings).toEqual(expect.arrayContaining(marks.warnings))
    expect((await read('/api/endpoints')).items[0].merchant).toMatchObject(marks)
    const status = await read(`/discovery/status?resource=${encodeURIComponent(`${url}/forecast`)}`)
    expect(status.entries[0]).toMatchObject(marks)
    const openapi = await read('/api/merchants/a-stranger/openapi.json')
    expect(openapi['x-x402']).toMatchObject(marks)
    expect(openapi.info.description).toMatch(/^Warning: /)
  })

  it('is marked in every answer for people, and on the pages of others', async () => {
    expect(await text('/badge/a-stranger.svg')).toContain('Weather Inc: unproven · live')
    expect(await text('/api/merchants/a-stranger/llms.txt')).toMatch(/\*\*Warning:\*\* Nobody has/)
  })

  it('stands below the listing of the payee in every order, and never displaces it', async () => {
    await save(payee, 'the-payee', { name: 'Weather bureau' })
    const merchantsOf = (items: { metadata: { merchant: { id: string } } }[]) =>
      items.map(({ metadata }) => metadata.merchant.id)
    const both = ['the-payee', 'a-stranger']
    expect(merchantsOf((await read('/discovery/resources')).items)).toEqual(both)
    for (const sort of ['calls', 'payers', 'price', 'new', 'lastPaid']) {
      expect(merchantsOf((await read(`/discovery/resources?sort=${sort}`)).items)).toEqual(both)
      const { merchants } = await read(`/api/merchants?sort=${sort}&limit=5`)
      expect(merchants.map(({ id }: { id: string }) => id)).toEqual(both)
    }
    // The words of the stranger fit better.
    expect(merchantsOf((await read('/discovery/search?query=weather')).resources)).toEqual(both)
    // Of this sentence it has all words but one.
    const sentence = 'closed weather evil bureau'
    expect(merchantsOf((await read(`/discovery/search?query=${sentence}`)).resources)).toEqual(both)
    const first = await read('/discovery/search?query=weather&limit=1')
    const { cursor } = first.pagination
    const second = await read(`/discovery/search?query=weather&limit=1&cursor=${cursor}`)
    expect([first, second].flatMap(({ resources }) => merchantsOf(resources))).toEqual(both)
    const { merchants } = await read('/api/merchants')
    expect(merchants.map(({ id }: { id: string }) => id)).toEqual(both)
    const own = { claimed: true, payToProof: 'owner', warnings: [] }
    expect(merchants[0]).toMatchObject(own)
    const [item] = (await read('/discovery/resources')).items
    expect(item.metadata).toMatchObject({ provider: 'Weather bureau', merchant: own })
  })

  it('has its place and no mark once the payee confirms it', async () => {
    const client = clientOf(payee)
    await client.confirmPayTo('a-stranger', stranger.address)
    const [item] = (await read('/discovery/resources')).items
    expect(item.metadata).toMatchObject({
      provider: 'Weather Inc',
      merchant: { id: 'a-stranger', claimed: true, payToProof: 'confirmation', warnings: [] },
    })
    const { merchants } = await read('/api/merchants')
    expect(merchants.map(({ id }: { id: string }) => id)).toEqual(['a-stranger', 'the-payee'])
    await client.confirmPayTo('a-stranger', null)
    expect((await read('/api/merchants')).merchants[1]).toMatchObject({
      id: 'a-stranger',
      ...marks,
    })
  })
})

describe('a name', () => {
  it.each(['Weather Official', 'Vеrified weather', 'Weather ✓', 'The operator', '0fficial'])(
    'with what stands for the operator is refused: %s',
    async (name) => {
      await expect(save(payee, 'reserved', { name })).rejects.toMatchObject({
        status: 400,
        message: expect.stringMatching(/name must not show .* run by the operator/),
      })
    },
  )

  it('that looks like the one of a proven merchant is marked for everybody', async () => {
    const copy = anAccount()
    const saved = await save(copy, 'copy', { name: 'My Wеather Burеau', payTo: payee.address })
    const warning = {
      path: 'name',
      code: 'confusable_name',
      message: expect.stringContaining('the-payee'),
    }
    expect(saved.warnings).toContainEqual(warning)
    const { items } = await read('/discovery/resources?merchant=copy')
    expect(items[0].metadata.merchant.warnings).toContainEqual(warning)
    const { merchants } = await read('/api/merchants')
    expect(merchants.find(({ id }: { id: string }) => id === 'copy').warnings).toContainEqual(
      warning,
    )
    expect(await text('/badge/copy.svg')).toContain('look-alike name · unproven · live')
  })
})
