import { ArcusError } from '@arcus/client/calls'
import { createListingClient } from '@arcus/client/listing-client'
import { createWalletClient, custom } from 'viem'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  aListing,
  anEndpoint,
  directoryUrl,
  startDirectory,
  type TestDirectory,
} from '../support/a-directory.js'
import { anAccount } from '../support/an-account.js'

const owner = anAccount()
const other = anAccount()

let directory: TestDirectory
beforeEach(async () => {
  directory = await startDirectory()
})
afterEach(() => directory.close())

/** Calls the directory of the test that runs. */
const fetchDirectory: typeof fetch = (url, init) => directory.fetch(url, init)

const clientOf = (signer = owner) =>
  createListingClient({ directoryUrl, signer, fetch: fetchDirectory })

async function errorOf(promise: Promise<unknown>): Promise<ArcusError> {
  const error = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(ArcusError)
  return error as ArcusError
}

describe('the client of the directory', () => {
  it('creates, replaces, deletes and lists again, each with the next revision', async () => {
    const client = clientOf()
    expect(await client.save('weather', aListing())).toMatchObject({ id: 'weather', revision: 1 })
    const renamed = await client.save('weather', aListing({ name: 'Weather of cities' }))
    expect(renamed).toMatchObject({ revision: 2, name: 'Weather of cities' })
    expect((await client.delete('weather')).revision).toBe(3)
    expect((await client.save('weather', aListing())).revision).toBe(4)
    const actions = (await directory.store.historyOf('weather', 0, 10)).map(({ action }) => action)
    expect(actions).toEqual([
      'listing.create',
      'listing.update',
      'listing.delete',
      'listing.create',
    ])
  })

  it('passes ownership on, and links an agent', async () => {
    await clientOf().save('weather', aListing())
    await clientOf().offerOwner('weather', other.address)
    expect((await clientOf(other).acceptOwner('weather')).owner).toBe(other.address)
    expect((await clientOf(other).linkAgent('weather', '0')).agentId).toBe('0')
    expect((await errorOf(clientOf().save('weather', aListing()))).code).toBe('not_owner')
  })

  it('signs with a wallet client, through whatever provider it has', async () => {
    const asked: string[] = []
    const provider = {
      request: async ({ method, params }: { method: string; params: [string, string] }) => {
        asked.push(method)
        return owner.signTypedData(JSON.parse(params[1]))
      },
    }
    const wallet = createWalletClient({ account: owner.address, transport: custom(provider) })
    const signer = { address: wallet.account.address, signTypedData: wallet.signTypedData }
    const client = createListingClient({ directoryUrl, signer, fetch: fetchDirectory })
    expect((await client.save('weather', aListing())).owner).toBe(owner.address)
    expect(asked).toEqual(['eth_signTypedData_v4'])
  })

  it('uses the clock of the directory, not its own', async () => {
    directory.clock.seconds = 2_000_000_000
    await clientOf().save('weather', aListing())
    const [write] = await directory.store.historyOf('weather', 0, 1)
    expect(JSON.parse(write?.message ?? '')).toMatchObject({
      issuedAt: 2_000_000_000,
      deadline: 2_000_000_600,
    })
  })

  it('throws the refusal of the directory: code, status, sentence and details', async () => {
    const listing = aListing({ endpoints: [anEndpoint(), anEndpoint()] })
    const error = await errorOf(clientOf().save('weather', listing))
    expect(error).toMatchObject({ code: 'invalid_listing', status: 400 })
    expect(error.message).toContain('endpoints[1].url')
    expect(error.details).toMatchObject({ issues: [{ path: 'endpoints[1].url' }] })
    const missing = await errorOf(clientOf().delete('nobody'))
    expect(missing).toMatchObject({ code: 'merchant_not_found', status: 404 })
  })

  it('does not sign for another directory than the configured one', async () => {
    const signer = { ...owner, signTypedData: () => Promise.reject(new Error('was asked')) }
    const options = { signer, fetch: fetchDirectory, directoryUrl }
    const client = createListingClient({ ...options, audience: 'https://other.example' })
    expect((await errorOf(client.save('weather', aListing()))).code).toBe('wrong_audience')
    const mirror = createListingClient({
      signer: owner,
      directoryUrl: 'https://mirror.example.org',
      fetch: (url, init) =>
        fetchDirectory(String(url).replace('https://mirror.example.org', directoryUrl), init),
      audience: directoryUrl,
    })
    expect((await mirror.save('weather', aListing())).revision).toBe(1)
  })

  it('passes on errors of the wallet, with their code', async () => {
    const rejected = Object.assign(new Error('User rejected the request'), { code: 4001 })
    const signer = { address: owner.address, signTypedData: () => Promise.reject(rejected) }
    const client = createListingClient({ directoryUrl, signer, fetch: fetchDirectory })
    await expect(client.save('weather', aListing())).rejects.toBe(rejected)
  })

  it('fails clearly when nothing answers, or another service does', async () => {
    const silent = createListingClient({
      directoryUrl,
      signer: owner,
      fetch: () => Promise.reject(new TypeError('fetch failed')),
    })
    expect((await errorOf(silent.delete('weather'))).code).toBe('unreachable')
    const html = createListingClient({
      directoryUrl,
      signer: owner,
      fetch: async () => new Response('<html>', { status: 502 }),
    })
    expect(await errorOf(html.delete('weather'))).toMatchObject({
      code: 'unexpected_answer',
      status: 502,
    })
  })
})
