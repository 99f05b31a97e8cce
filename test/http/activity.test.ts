import { createListingClient } from '@arcus/client/listing-client'
import type { ActivityRow } from '@arcus/protocol/answers/activity'
import { type Address, getAddress, type Hex } from 'viem'
import { createSiweMessage } from 'viem/siwe'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { RpcUnavailableError } from '../../src/chain/rpc-errors.js'
import { refundNonceOf } from '../../src/facilitator/methods/exact-job.js'
import {
  asset,
  directoryUrl,
  startDirectory,
  type TestDirectory,
  tokens,
} from '../support/a-directory.js'
import { anAccount } from '../support/an-account.js'
import { anActivity } from '../support/an-activity.js'
import { save } from '../support/directory/a-catalog.js'
import { type PaymentWish, payer } from '../support/directory/payments.js'

const owner = anAccount()
const stranger = anAccount()
const lower = ({ address }: { address: Address }) => address.toLowerCase() as Address
const relayer: Address = `0x${'7'.repeat(40)}`
/** Pays the refunds of the owner. */
const refundWallet: Address = `0x${'6'.repeat(40)}`
const euro = tokens[1]?.address as Address
const at = (time: string) => Date.parse(`2026-11-${time}Z`)
const noon = at('20T12:00:00')
const DAY = 86_400_000
const urls = ['weather', 'tides', 'skies', 'winds'].map((it) => `https://api.example.com/${it}`)

let directory: TestDirectory
let app: TestDirectory['app']

async function start(publicUrl = directoryUrl): Promise<void> {
  directory = await startDirectory({
    settings: { directoryUrl: publicUrl },
    ports: {
      isRelayer: (address) => address === relayer,
      refundWallets: new Map([[refundWallet, lower(owner)]]),
    },
    startSeconds: at('20T13:00:00') / 1_000,
  })
  app = directory.app
}

const list = (over: Parameters<typeof save>[1] = {}) =>
  save(
    directory.store,
    { id: 'weather', owner: lower(owner), payTo: lower(owner), ...over },
    urls.map((url) => ({ url, title: 'Skies' })),
  )

/** Pays the owner at noon. */
const pay = (...wishes: PaymentWish[]) =>
  directory.pay(...wishes.map((wish) => ({ payTo: lower(owner), at: noon, ...wish })))

const clientOf = (signer: typeof owner) =>
  createListingClient({ directoryUrl, signer, fetch: directory.fetch })

beforeEach(async () => {
  await start()
  await list()
})

afterEach(() => directory.close())

async function messageFor(
  account: typeof owner,
  over: Partial<Parameters<typeof createSiweMessage>[0]> = {},
) {
  const { nonce, domain, uri, chainId } = (await app.inject('/api/session/nonce')).json()
  return createSiweMessage({
    address: account.address,
    nonce,
    domain,
    uri,
    chainId,
    version: '1',
    issuedAt: new Date(directory.clock.ms),
    ...over,
  })
}

const post = (payload: object) => app.inject({ method: 'POST', url: '/api/session', payload })

const signIn = (account: typeof owner) => directory.signIn(account)

const get = (url: string, cookie?: string) =>
  app.inject({ url, ...(cookie === undefined ? {} : { headers: { cookie } }) })

describe('signing in', () => {
  it('gives a cookie no script can read, short-lived and for this site alone', async () => {
    const message = await messageFor(owner)
    const answer = await post({ message, signature: await owner.signMessage({ message }) })
    expect(answer.json()).toMatchObject({ address: owner.address })
    const set = String(answer.headers['set-cookie'])
    for (const part of ['HttpOnly', 'SameSite=Strict', 'Secure', 'Path=/;', 'Max-Age=3600']) {
      expect(`${set};`).toContain(part)
    }
    // Browsers let no neighbouring subdomain set a cookie of this name.
    expect(set).toMatch(/^__Host-arcus_session=/)
    expect(set).not.toContain('Domain')
  })

  it('takes no cookie under the name that a page of a neighbouring subdomain could set', async () => {
    const cookie = await signIn(owner)
    expect((await get('/api/session', cookie)).statusCode).toBe(200)
    expect((await get('/api/session', cookie.replace('__Host-', ''))).statusCode).toBe(401)
    expect((await get('/api/session', `${cookie}; arcus_signed_out=1`)).statusCode).toBe(200)
  })

  it('gives a cookie that browsers keep where the directory has no https', async () => {
    await directory.close()
    await start('http://127.0.0.1:4021')
    const cookie = await signIn(owner)
    expect(cookie).toMatch(/^arcus_session=/)
    expect((await get('/api/session', cookie)).statusCode).toBe(200)
    expect((await get('/api/session', `${cookie}; arcus_signed_out=1`)).statusCode).toBe(401)
  })

  it('uses a nonce up', async () => {
    const message = await messageFor(owner)
    const signature = await owner.signMessage({ message })
    expect((await post({ message, signature })).statusCode).toBe(200)
    expect((await post({ message, signature })).statusCode).toBe(401)
  })

  it.each([
    ['another site', { domain: 'evil.example' }, /must be for directory\.example/],
    ['another URI', { uri: 'https://evil.example' }, /must name the URI/],
    ['another chain', { chainId: 1 }, /must name chain 5042/],
    ['a nonce of its own', { nonce: 'a'.repeat(32) }, /nonce was not issued here/],
    ['an end that is now', { expirationTime: new Date(at('20T13:00:00')) }, /has expired/],
    ['an issue to come', { issuedAt: new Date(at('20T13:01:01')) }, /in the future/],
    ['a beginning to come', { notBefore: new Date(at('20T13:01:01')) }, /not valid yet/],
  ])('refuses %s', async (_, over, reason) => {
    const message = await messageFor(owner, over)
    const answer = await post({ message, signature: await owner.signMessage({ message }) })
    expect(answer.statusCode).toBe(401)
    const sentence = expect.stringMatching(reason)
    expect(answer.json()).toMatchObject({ error: 'not_signed_in', message: sentence })
  })

  it.each([
    [299_999, 200],
    [300_000, 401],
  ])('answers a message that is %i ms old with %i', async (age, status) => {
    const message = await messageFor(owner)
    directory.clock.ms += age
    const answer = await post({ message, signature: await owner.signMessage({ message }) })
    expect(answer.statusCode).toBe(status)
  })

  it('goes on while one caller asks for more nonces than there are', async () => {
    const message = await messageFor(owner)
    const ask = (i: number) =>
      app.inject({ url: '/api/session/nonce', remoteAddress: `198.51.100.${i % 250}` })
    for (let i = 0; i < 10_500; i++) await ask(i)
    const answer = await post({ message, signature: await owner.signMessage({ message }) })
    expect(answer.statusCode).toBe(200)
  })

  it('refuses the signature of somebody else, which uses the nonce up', async () => {
    const message = await messageFor(owner)
    for (const signer of [stranger, owner]) {
      const answer = await post({ message, signature: await signer.signMessage({ message }) })
      expect(answer.statusCode).toBe(401)
    }
  })

  it('asks a contract wallet, and says so when the chain cannot be asked', async () => {
    const attempt = async () => {
      const message = await messageFor(owner)
      return post({ message, signature: await stranger.signMessage({ message }) })
    }
    directory.chain.isContractSignature = async () => true
    expect((await attempt()).json()).toMatchObject({ address: owner.address })
    directory.chain.isContractSignature = async () => {
      throw new RpcUnavailableError('no node')
    }
    const answer = await attempt()
    expect(answer.statusCode).toBe(503)
    expect(answer.json()).toMatchObject({ error: 'chain_unavailable' })
    expect(answer.headers['retry-after']).toBe('5')
    expect(answer.headers['set-cookie']).toBeUndefined()
  })

  it('ends after an hour, or on request', async () => {
    const cookie = await signIn(owner)
    expect((await get('/api/session', cookie)).json().address).toBe(owner.address)
    directory.clock.ms += 3_599_999
    expect((await get('/api/session', cookie)).statusCode).toBe(200)
    directory.clock.ms += 1
    expect((await get('/api/session', cookie)).statusCode).toBe(401)
    const again = await signIn(owner)
    await app.inject({ method: 'DELETE', url: '/api/session', headers: { cookie: again } })
    expect((await get('/api/session', again)).statusCode).toBe(401)
  })

  it('ends for good once a page sets its own sign-out cookie, until a new sign-in', async () => {
    const cookie = await signIn(owner)
    const left = `${cookie}; __Host-arcus_signed_out=1`
    for (const path of ['/api/session', '/api/merchants/weather/activity']) {
      expect((await get(path, left)).statusCode).toBe(401)
      expect((await get(path, cookie)).statusCode).toBe(401)
    }
    const message = await messageFor(owner)
    const answer = await app.inject({
      method: 'POST',
      url: '/api/session',
      headers: { cookie: left },
      payload: { message, signature: await owner.signMessage({ message }) },
    })
    const [session, signedOut] = answer.headers['set-cookie'] as string[]
    expect(signedOut).toMatch(/^__Host-arcus_signed_out=; Max-Age=0; Path=\/; Secure/)
    expect((await get('/api/session', session?.split(';')[0])).statusCode).toBe(200)
    const ended = await app.inject({
      method: 'DELETE',
      url: '/api/session',
      headers: { cookie: `${session?.split(';')[0]}; __Host-arcus_signed_out=1` },
    })
    expect(ended.headers['set-cookie']).toContainEqual(
      expect.stringMatching(/^__Host-arcus_signed_out=; Max-Age=0/),
    )
  })

  it('ends when the same browser signs in again', async () => {
    const cookie = await signIn(owner)
    const message = await messageFor(stranger)
    const payload = { message, signature: await stranger.signMessage({ message }) }
    await app.inject({ method: 'POST', url: '/api/session', headers: { cookie }, payload })
    expect((await get('/api/session', cookie)).statusCode).toBe(401)
  })
})

describe('activity', () => {
  it('is shown to the owner alone', async () => {
    for (const path of ['', '/table', '.csv']) {
      const url = `/api/merchants/weather/activity${path}`
      expect((await get(url)).statusCode).toBe(401)
      expect((await get(url, await signIn(stranger))).statusCode).toBe(403)
      const answer = await get(url, await signIn(owner))
      expect(answer.statusCode).toBe(200)
      expect(answer.headers['cache-control']).toBe('no-store')
    }
  })

  it('is shown to an owner with another payTo once its key confirmed them', async () => {
    const cookie = await signIn(owner)
    const treasury = anAccount()
    const elsewhere = treasury.address
    await list({ payTo: lower(treasury) })
    const refused = await get('/api/merchants/weather/activity/table', cookie)
    expect(refused.statusCode).toBe(403)
    expect(refused.json()).toEqual({
      error: 'pay_to_unproven',
      message: expect.stringMatching(/Have the key of that address sign payto\.confirm/),
      details: {
        action: 'payto.confirm',
        method: 'POST',
        path: '/api/merchants/weather/payto-confirmation',
        signer: elsewhere,
        body: { owner: owner.address },
      },
    })
    const stats = async () => (await get('/api/merchants/weather/stats')).json()
    expect(await stats()).toMatchObject({
      payToProof: null,
      note: expect.stringMatching(/do not count for weather yet/),
      all: { settled: 0 },
    })
    await clientOf(treasury).confirmPayTo('weather', owner.address)
    expect((await get('/api/merchants/weather/activity', cookie)).statusCode).toBe(200)
    expect(await stats()).toMatchObject({ payToProof: 'confirmation', note: null })
    // It was confirmed for another owner.
    await list({ owner: lower(stranger), payTo: lower(treasury) })
    const other = await signIn(stranger)
    expect((await get('/api/merchants/weather/activity', other)).statusCode).toBe(403)
  })

  it('of a deleted, hidden or unknown merchant is answered with a code of its own', async () => {
    const cookie = await signIn(owner)
    const of = async (path: string) => (await get(`/api/merchants/${path}`, cookie)).json().error
    expect(await of('nobody/activity')).toBe('merchant_not_found')
    await directory.store.setFlags('weather', { hiddenReason: 'fraud' }, 2_000)
    expect(await of('weather/stats')).toBe('merchant_hidden')
    expect(await of('weather/activity')).toBeUndefined()
    await directory.store.setFlags('weather', { hiddenReason: null }, 3_000)
    await clientOf(owner).delete('weather')
    for (const path of [
      'activity',
      'activity/breakdown',
      'activity/table',
      'activity.csv',
      'stats',
    ]) {
      expect(await of(`weather/${path}`)).toBe('merchant_deleted')
    }
  })

  it('sums up a range: counts, success, revenue, payers, failures', async () => {
    await pay(
      {},
      { payer: lower(owner), amount: 5n },
      { state: 'failed', reason: 'insufficient_funds' },
      { kind: 'verify' },
      { kind: 'verify', state: 'invalid', reason: 'expired' },
      { at: noon - 3 * DAY, amount: 1_000_000n },
    )
    const cookie = await signIn(owner)
    const read = async (range: string) =>
      (await get(`/api/merchants/weather/activity?range=${range}`, cookie)).json()
    const day = await read('24h')
    expect(day.summary).toMatchObject({
      verify: { count: 2, valid: 1 },
      settle: { count: 2, settled: 1, failed: 1, successRate: 1 / 2, p50Ms: 540 },
      revenue: { amount: '10000', usd: '0.01' },
      selfPayments: { verifies: 0, count: 1, failed: 0, amount: '5', usd: '0.000005' },
      payers: { unique: 1, repeat: 0, topShare: 1 },
      failures: expect.arrayContaining([
        { kind: 'settle', reason: 'insufficient_funds', count: 1 },
      ]),
    })
    expect(day.series).toEqual([
      {
        at: Date.parse('2026-11-20T12:00:00Z') / 1000,
        verifies: 2,
        settled: 1,
        failed: 1,
        amount: '10000',
        usd: '0.01',
      },
    ])
    expect((await read('7d')).summary.revenue.usd).toBe('1.01')
    expect((await read('7d')).summary.payers).toMatchObject({ unique: 1, repeat: 1 })
  })

  it('is net of refunds, and keeps refusals apart from failures', async () => {
    const back = (refunds: Hex | undefined, amount: bigint) =>
      pay({ payer: lower(owner), payTo: payer, amount, refunds })
    const [sale] = await pay(
      { amount: 30_000n },
      { state: 'failed', reason: 'invalid_exact_evm_signature', settlementId: null },
      { state: 'failed', reason: 'asset_paused' },
    )
    await back(sale, 20_000n)
    const cookie = await signIn(owner)
    const { summary, series } = (await get('/api/merchants/weather/activity', cookie)).json()
    expect(summary).toMatchObject({
      settle: { count: 3, settled: 1, failed: 1, refused: 1, successRate: 1 / 2 },
      revenue: { amount: '10000', usd: '0.01' },
      refunds: { count: 1, amount: '20000', usd: '0.02' },
      failures: [{ kind: 'settle', reason: 'asset_paused', count: 1 }],
      refusals: [{ kind: 'settle', reason: 'invalid_exact_evm_signature', count: 1 }],
    })
    expect(series).toMatchObject([{ settled: 1, failed: 1, amount: '10000' }])
    // What was sold before a range may be given back in it: its figures end at nothing.
    const [earlier] = await pay({ amount: 500n, at: noon - 3 * DAY })
    await back(sale, 10_000n)
    await back(earlier, 500n)
    const day = (await get('/api/merchants/weather/stats')).json()['24h']
    expect(day).toMatchObject({ settled: 0, revenue: { amount: '0' }, payers: { unique: 0 } })
    const table = await get('/api/merchants/weather/activity/table?state=refunded', cookie)
    expect(table.json().items).toHaveLength(3)
  })

  describe('with refunds', () => {
    const back = (refunds: Hex | undefined, over: PaymentWish = {}) =>
      pay({ payer: lower(owner), payTo: payer, resourceUrl: undefined, refunds, ...over })
    const read = async (path: string) =>
      (await get(`/api/merchants/weather/${path}`, await signIn(owner))).json()

    it('takes them off the endpoint that was bought, from the paid address or its wallet', async () => {
      const merchant = { id: 'weather', owner: lower(owner), payTo: lower(owner) }
      const resourceUrl = `${urls[0]}?kind=news&city=Lisbon`
      await save(directory.store, merchant, [{ url: `${urls[0]}?kind=news` }, {}])
      const [endpoint] = await directory.store.endpointsOf('weather')
      for (const from of [lower(owner), refundWallet]) {
        const [sale] = await pay({ resourceUrl }, { resourceUrl })
        await back(sale, { payer: from })
      }
      const { endpoints } = await read('activity/breakdown')
      expect(endpoints).toMatchObject([
        { endpointId: endpoint?.id, settled: 2, revenue: { amount: '20000' } },
      ])
      // After a restart the kept URL has lost its query, and is of no endpoint.
      const [sale] = await pay({ resourceUrl })
      const other = await startDirectory({ stores: directory.stores })
      await other.pay({ payer: lower(owner), payTo: payer, refunds: sale, at: noon })
      await other.close()
      const { items } = await read('activity/table?state=refunded')
      const places = items.map((it: { endpointId: number | null }) => it.endpointId)
      expect(places).toEqual([null, endpoint?.id, endpoint?.id])
    })

    it('names what was given back in the row of the payment, and in the file', async () => {
      const [nonce = '0x'] = await pay({ amount: 30_000n }, { amount: 5n })
      const network = 'eip155:5042'
      const refundNonce = refundNonceOf({ network, asset, payer, paymentNonce: nonce })
      await back(nonce, { amount: 20_000n, nonce: refundNonce })
      const { items } = await read('activity/table?state=settled')
      expect(items.map((it: ActivityRow) => [it.amount, it.refunded])).toEqual([
        ['5', null],
        ['30000', '20000'],
      ])
      const csv = await get(
        '/api/merchants/weather/activity.csv?state=settled',
        await signIn(owner),
      )
      const [columns = '', ...lines] = csv.body.trim().split('\r\n')
      const at = columns.split(',').indexOf('refunded_atomic')
      expect(lines.map((line) => line.split(',')[at])).toEqual(['', '20000'])
    })

    it('takes no more off than was paid, and a part as no whole payment', async () => {
      const [small, large] = await pay({ amount: 7n }, { amount: 11n })
      await back(small, { amount: 10n })
      await back(large, { amount: 10n })
      const { summary } = await read('activity')
      expect(summary).toMatchObject({
        settle: { settled: 1 },
        revenue: { amount: '1' },
        refunds: { count: 2, amount: '17' },
      })
    })

    it('counts the money of anybody else, and what names nothing, as a payment', async () => {
      const [sale, open] = await pay({}, { state: 'pending' })
      await back(sale, { payer: lower(stranger) })
      await back(open)
      await back(undefined)
      await back(`0x${'12'.repeat(32)}`)
      const { summary } = await read('activity')
      expect(summary).toMatchObject({ settle: { settled: 1 }, refunds: { count: 0 } })
      expect((await get('/api/stats')).json()['24h']).toMatchObject({ settled: 5 })
    })
  })

  it('leaves out what owner, recipient and relayers pay, and keeps no query of a paid URL', async () => {
    const treasury = anAccount()
    await list({ payTo: lower(treasury) })
    await clientOf(treasury).confirmPayTo('weather', owner.address)
    const payers = [lower(owner), lower(treasury), relayer, payer]
    const resourceUrl = `${urls[0]}?city=Lisbon`
    await pay(...payers.map((it) => ({ payer: it, payTo: lower(treasury), resourceUrl })))
    const cookie = await signIn(owner)
    const { summary } = (await get('/api/merchants/weather/activity', cookie)).json()
    expect(summary).toMatchObject({ settle: { settled: 1 }, selfPayments: { count: 3 } })
    const { items } = (await get('/api/merchants/weather/activity/table', cookie)).json()
    const [endpoint] = await directory.store.endpointsOf('weather')
    expect(items[0]).toMatchObject({
      payer: getAddress(payer),
      amount: '10000',
      resource: urls[0],
      endpointId: endpoint?.id,
    })
  })

  it('reads from one day to another, in sums, table and CSV', async () => {
    await pay(
      { at: at('09T23:59:59'), amount: 1n },
      { at: at('10T00:00:00'), amount: 20n },
      { at: at('11T23:59:59'), amount: 300n },
      { at: at('12T00:00:00'), amount: 4_000n },
    )
    const cookie = await signIn(owner)
    const read = (path: string, from: string, to: string) =>
      get(`/api/merchants/weather/${path}?range=custom&from=${from}&to=${to}`, cookie)
    const two = (await read('activity', '2026-11-10', '2026-11-11')).json()
    expect(two).toMatchObject({ range: 'custom', stepSeconds: 86_400 })
    expect([two.since, two.until]).toEqual([at('10T00:00'), at('12T00:00')].map((ms) => ms / 1000))
    expect(two.summary).toMatchObject({ revenue: { amount: '320' }, settle: { settled: 2 } })
    expect(two.series).toHaveLength(2)
    const table = (await read('activity/table', '2026-11-10', '2026-11-11')).json()
    expect(table.items.map((it: { amount: string }) => it.amount)).toEqual(['300', '20'])
    const csv = (await read('activity.csv', '2026-11-10', '2026-11-11')).body
    expect(csv.trim().split('\r\n')).toHaveLength(3)
    const one = (await read('activity', '2026-11-11', '2026-11-11')).json()
    expect(one).toMatchObject({ stepSeconds: 3_600, series: [{ at: at('11T23:00') / 1000 }] })
  })

  it('has every row of a long file once, newest first', async () => {
    const { activity } = directory.stores
    const amounts = Array.from({ length: 401 }, (_, i) => i + 1)
    const payTo = lower(owner)
    await activity.append(amounts.map((it) => anActivity({ payTo, at: noon, amount: BigInt(it) })))
    const { list } = activity
    let reads = 0
    activity.list = async (filter) => {
      if (++reads > amounts.length) throw new Error('the file has no end')
      return list(filter)
    }
    const { body } = await get('/api/merchants/weather/activity.csv', await signIn(owner))
    const [columns = '', ...lines] = body.trim().split('\r\n')
    const column = columns.split(',').indexOf('amount_atomic')
    expect(lines.map((line) => Number(line.split(',')[column]))).toEqual(amounts.reverse())
  })

  it('reads by endpoint and by payer, those with most revenue first', async () => {
    const other = `0x${'5'.repeat(40)}` as const
    const [one, two, three, four] = urls as [string, string, string, string]
    await pay(
      { resourceUrl: one, amount: 100n },
      { resourceUrl: two, amount: 700n, payer: other },
      { resourceUrl: two, state: 'failed', reason: 'x' },
      { resourceUrl: 'https://elsewhere.example/', amount: 200n },
      { resourceUrl: three, payer: lower(owner), amount: 9_000n },
      { resourceUrl: four, kind: 'verify' },
    )
    const ids = (await directory.store.endpointsOf('weather')).map(({ id }) => id)
    const path = '/api/merchants/weather/activity/breakdown'
    expect((await get(path)).statusCode).toBe(401)
    expect((await get(path, await signIn(stranger))).statusCode).toBe(403)
    const cookie = await signIn(owner)
    const { endpoints, topPayers } = (await get(path, cookie)).json()
    expect(endpoints).toMatchObject([
      { endpointId: ids[1], settled: 1, failed: 1, successRate: 0.5, payers: 1 },
      { endpointId: null, settled: 1, revenue: { amount: '200' } },
      { endpointId: ids[0], settled: 1, successRate: 1, revenue: { amount: '100' } },
      { endpointId: ids[3], settled: 0, verifies: 1, successRate: null, lastPaid: null },
    ])
    const paidAt = noon / 1_000
    expect(endpoints.slice(0, 3)).toMatchObject([
      { lastPaid: paidAt, verifies: 0 },
      { lastPaid: null },
      { lastPaid: paidAt },
    ])
    expect(topPayers).toEqual([
      { payer: getAddress(other), count: 1, amount: '700', usd: '0.0007', share: 0.7 },
      { payer: getAddress(payer), count: 2, amount: '300', usd: '0.0003', share: 0.3 },
    ])
    const alone = (await get(`${path}?endpoint=${ids[1]}&range=7d`, cookie)).json()
    expect(alone).toMatchObject({
      range: '7d',
      endpoints: [{ endpointId: ids[1] }],
      topPayers: [{ share: 1 }],
    })
  })

  it('names the payment of each row by network, payer and nonce, failed ones too', async () => {
    const nonce = `0x${'7'.repeat(64)}` as const
    await pay(
      // A call that is paid through a channel has no nonce.
      { nonce: null },
      { nonce, kind: 'verify' },
      { nonce, state: 'failed', reason: 'x', settlementId: null },
      { nonce },
    )
    const path = '/api/merchants/weather/activity/table'
    const { items } = (await get(path, await signIn(owner))).json()
    const place = { network: 'eip155:5042', payer: getAddress(payer) }
    expect(items).toMatchObject([
      { ...place, nonce, state: 'settled' },
      { ...place, nonce, state: 'failed' },
      { ...place, nonce, kind: 'verify' },
      { ...place, nonce: null },
    ])
  })

  it('pages through the table without gaps', async () => {
    await pay(...Array.from({ length: 5 }, (_, i) => ({ amount: BigInt(i) })))
    const cookie = await signIn(owner)
    const seen: string[] = []
    let next: number | null = null
    do {
      const before: string = next === null ? '' : `&before=${next}`
      const page = (
        await get(`/api/merchants/weather/activity/table?limit=2${before}`, cookie)
      ).json()
      seen.push(...page.items.map((it: { amount: string }) => it.amount))
      next = page.next
    } while (next !== null)
    expect(seen).toEqual(['4', '3', '2', '1', '0'])
  })

  it('says in which token each payment was, and gives no dollars for euros', async () => {
    await pay({}, { asset: euro })
    const cookie = await signIn(owner)
    const { items } = (await get('/api/merchants/weather/activity/table', cookie)).json()
    const dollars = { usd: '0.01', symbol: 'USDC', currency: 'USD' }
    expect(items).toMatchObject([
      { usd: null, symbol: 'EURC', currency: 'EUR', asset: getAddress(euro), amount: '10000' },
      { ...dollars, asset: getAddress(asset) },
    ])
    const csv = (await get('/api/merchants/weather/activity.csv', cookie)).body
    expect(csv).toContain(`,10000,,${getAddress(euro)},`)
    expect(csv).toContain(`,10000,0.01,${getAddress(asset)},`)
    const { summary } = (await get('/api/merchants/weather/activity?range=all', cookie)).json()
    expect(summary).toMatchObject({ settle: { settled: 2 }, revenue: { amount: '10000' } })
  })

  it('is exported whole, with nothing that a spreadsheet would run', async () => {
    await pay({ reason: '=HYPERLINK("x")', state: 'failed' }, { toolName: '=1+1' })
    const text = (await get('/api/merchants/weather/activity.csv', await signIn(owner))).body
    const lines = text.trim().split('\r\n')
    expect(lines).toHaveLength(3)
    expect(text).toContain(`"'=HYPERLINK(""x"")"`)
    expect(text).toContain('0.01')
    expect(lines[0]).toMatch(/,tool,endpoint_title,endpoint_method,refunded_atomic$/)
    expect(lines[1]).toMatch(/,no,'=1\+1,Skies,GET,$/)
  })

  it.each([
    ['range=1y', 'range'],
    ['limit=0', 'limit'],
    ['limit=1e1', 'limit'],
    ['state=gone', 'state'],
    ['endpoint=-1', 'endpoint'],
    ['colour=red', 'colour'],
    ['range=custom', 'from'],
    ['range=custom&from=2026-11-01', 'to'],
    ['from=2026-11-01&to=2026-11-02', 'range=custom'],
    ['range=custom&from=2026-11-31&to=2026-12-01', 'from'],
    ['range=custom&from=2026-11-1&to=2026-11-02', 'from'],
    ['range=custom&from=2026-11-03&to=2026-11-02', 'before'],
    ['range=custom&from=2026-11-03&to=2026-11-21', '2026-11-20'],
    ['range=custom&from=2026-08-21&to=2026-11-20', '2026-08-22'],
  ])('names the parameter that is wrong: %s', async (query, name) => {
    const url = `/api/merchants/weather/activity/table?${query}`
    const answer = await get(url, await signIn(owner))
    expect(answer.statusCode).toBe(400)
    expect(answer.json()).toMatchObject({ error: 'invalid_request' })
    expect(answer.json().message).toContain(name)
  })
})

describe('totals', () => {
  it('are public, and leave self-payments out of every figure', async () => {
    const self = { payer: lower(owner), latencyMs: 9_000 }
    await pay(
      // Listings are about one network.
      { network: 'eip155:1' },
      ...[{}, { ...self, amount: 99n }, { ...self, state: 'failed' as const, reason: 'x' }],
    )
    const figures = {
      settled: 1,
      successRate: 1,
      settleP50Ms: 540,
      settleP95Ms: 540,
      revenue: { amount: '10000', usd: '0.01' },
      refunds: { count: 0, amount: '0', usd: '0' },
      payers: { unique: 1, elsewhere: 0, repeat: 0, topShare: 1 },
    }
    const mine = (await get('/api/merchants/weather/stats')).json()
    const whole = (await get('/api/stats')).json()
    for (const range of ['24h', '7d', '30d', 'all']) {
      expect(mine[range]).toEqual(figures)
      const payers = { ...figures.payers, elsewhere: null }
      expect(whole[range]).toEqual({ ...figures, payers })
    }
    expect((await get('/api/merchants/nobody/stats')).json().error).toBe('merchant_not_found')
  })
})
