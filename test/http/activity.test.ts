import cookie from '@fastify/cookie'
import fastify, { type FastifyInstance } from 'fastify'
import { getAddress } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { createSiweMessage } from 'viem/siwe'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { RpcUnavailableError } from '../../src/chain/rpc-errors.js'
import { activityRoutes } from '../../src/directory/activity/routes.js'
import { createPublicTotals } from '../../src/directory/activity/summary.js'
import { sessionRoutes } from '../../src/directory/session/session-routes.js'
import { createSessions, createSignIn } from '../../src/directory/session/sign-in.js'
import type { ActivityStore } from '../../src/directory/store/activity.js'
import type { Endpoint, Merchant } from '../../src/directory/store/listings.js'
import { createMemorySessions } from '../../src/directory/store/sessions.js'
import { createActivityStore } from '../../src/directory/store/sql/activity.js'
import { installErrorHandling } from '../../src/http/errors.js'
import { openDatabase } from '../../src/sql/sqlite/database.js'
import { createGroupCommit } from '../../src/sql/sqlite/group-commit.js'
import { createSql } from '../../src/sql/sqlite/sql.js'
import { activityAsset, anActivity } from '../support/an-activity.js'

const owner = privateKeyToAccount(generatePrivateKey())
/** A token in another money. */
const euro = `0x${'e7'.repeat(20)}` as const
const stranger = privateKeyToAccount(generatePrivateKey())

let app: FastifyInstance
let store: ActivityStore
let clock: number
let merchant: Merchant
let directoryUrl = 'https://directory.example'
let isContractSignature: () => Promise<boolean>

async function start(): Promise<void> {
  clock = Date.parse('2026-11-20T13:00:00Z')
  const now = () => clock
  const database = openDatabase(':memory:')
  store = createActivityStore(createSql(database, createGroupCommit(database)))
  merchant = {
    id: 'weather',
    owner: owner.address.toLowerCase(),
    payTo: owner.address.toLowerCase(),
    confirmation: null,
    isOfficial: false,
    deletedAt: null,
    hiddenReason: null,
  } as Merchant
  const sessions = createSessions(createMemorySessions(), now, directoryUrl)
  const place = { domain: new URL(directoryUrl).host, uri: directoryUrl }
  isContractSignature = async () => false
  const signIn = createSignIn({
    sessions,
    ...place,
    chainIds: [5042],
    isContractSignature: () => isContractSignature(),
    now,
  })
  app = fastify()
  installErrorHandling(app)
  await app.register(cookie)
  const checksum = getAddress
  await app.register(sessionRoutes, { sessions, signIn, ...place, chainId: 5042, checksum })
  const findMerchant = async (id: string) => (id === 'weather' ? merchant : undefined)
  await app.register(activityRoutes, {
    tokens: [
      { address: activityAsset, symbol: 'USDC', currency: 'USD' },
      { address: euro, symbol: 'EURC', currency: 'EUR' },
    ],
    store,
    readTotals: createPublicTotals({ store, now }),
    listings: {
      findMerchant,
      endpointsOf: async () => [{ id: 7, title: 'Skies', method: 'GET' } as Endpoint],
    },
    sessions,
    checksum,
    retentionDays: 90,
    now,
  })
}

beforeEach(start)

afterEach(() => app.close())

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
    issuedAt: new Date(clock),
    ...over,
  })
}

const post = (payload: object) => app.inject({ method: 'POST', url: '/api/session', payload })

async function signIn(account: typeof owner): Promise<string> {
  const message = await messageFor(account)
  const answer = await post({ message, signature: await account.signMessage({ message }) })
  expect(answer.statusCode).toBe(200)
  return String(answer.headers['set-cookie']).split(';')[0] as string
}

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
    await app.close()
    directoryUrl = 'http://127.0.0.1:4021'
    await start()
    directoryUrl = 'https://directory.example'
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
    ['another site', { domain: 'evil.example' }],
    ['another chain', { chainId: 1 }],
    ['a nonce of its own', { nonce: 'a'.repeat(32) }],
    ['an end that is past', { expirationTime: new Date(Date.parse('2026-11-20T12:59:59Z')) }],
    ['an issue to come', { issuedAt: new Date(Date.parse('2026-11-20T13:05:00Z')) }],
  ])('refuses %s', async (_, over) => {
    const message = await messageFor(owner, over)
    const answer = await post({ message, signature: await owner.signMessage({ message }) })
    expect(answer.statusCode).toBe(401)
    expect(answer.json().error).toBe('not_signed_in')
  })

  it('goes on while one caller asks for more nonces than there are', async () => {
    const message = await messageFor(owner)
    const ask = (i: number) =>
      app.inject({ url: '/api/session/nonce', remoteAddress: `198.51.100.${i % 250}` })
    for (let i = 0; i < 10_500; i++) await ask(i)
    const answer = await post({ message, signature: await owner.signMessage({ message }) })
    expect(answer.statusCode).toBe(200)
  })

  it('refuses the signature of somebody else', async () => {
    const message = await messageFor(owner)
    const answer = await post({ message, signature: await stranger.signMessage({ message }) })
    expect(answer.statusCode).toBe(401)
  })

  it('asks a contract wallet, and says so when the chain cannot be asked', async () => {
    const attempt = async () => {
      const message = await messageFor(owner)
      return post({ message, signature: await stranger.signMessage({ message }) })
    }
    isContractSignature = async () => true
    expect((await attempt()).json()).toMatchObject({ address: owner.address })
    isContractSignature = async () => {
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
    clock += 3_600_000
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
    const elsewhere = '0x6666666666666666666666666666666666666666'
    merchant.payTo = elsewhere
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
    const confirmed = { owner: merchant.owner as typeof elsewhere, payTo: merchant.payTo }
    merchant.confirmation = { ...confirmed, owner: elsewhere }
    expect((await get('/api/merchants/weather/activity', cookie)).statusCode).toBe(403)
    merchant.confirmation = confirmed
    expect((await get('/api/merchants/weather/activity', cookie)).statusCode).toBe(200)
    expect(await stats()).toMatchObject({ payToProof: 'confirmation', note: null })
  })

  it('of a deleted, hidden or unknown merchant is answered with a code of its own', async () => {
    const cookie = await signIn(owner)
    const of = async (path: string) => (await get(`/api/merchants/${path}`, cookie)).json().error
    expect(await of('nobody/activity')).toBe('merchant_not_found')
    merchant.hiddenReason = 'fraud'
    expect(await of('weather/stats')).toBe('merchant_hidden')
    expect(await of('weather/activity')).toBeUndefined()
    merchant.deletedAt = 1
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
    await store.append([
      anActivity(),
      anActivity({ isSelf: true, amount: 5n }),
      anActivity({ state: 'failed', reason: 'insufficient_funds' }),
      anActivity({ kind: 'verify', state: 'valid' }),
      anActivity({ kind: 'verify', state: 'invalid', reason: 'expired' }),
      anActivity({ at: clock - 3 * 86_400_000, amount: 1_000_000n }),
    ])
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
    const parties = { payer: anActivity().payTo, payTo: anActivity().payer }
    const back = (amount: bigint, payments: 0 | 1) =>
      anActivity({ ...parties, state: 'refunded', amount, refund: { amount, payments } })
    await store.append([
      anActivity({ amount: 30_000n }),
      back(20_000n, 0),
      anActivity({ state: 'refused', reason: 'invalid_exact_evm_signature', settlementId: null }),
      anActivity({ state: 'failed', reason: 'asset_paused' }),
    ])
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
    await store.append([
      anActivity({ amount: 500n, at: clock - 3 * 86_400_000, merchantId: 'weather' }),
      back(10_000n, 1),
      back(500n, 1),
    ])
    const day = (await get('/api/merchants/weather/stats')).json()['24h']
    expect(day).toMatchObject({ settled: 0, revenue: { amount: '0' }, payers: { unique: 0 } })
    const table = await get('/api/merchants/weather/activity/table?state=refunded', cookie)
    expect(table.json().items).toHaveLength(3)
  })

  it('reads from one day to another, in sums, table and CSV', async () => {
    const at = (time: string) => Date.parse(`2026-11-${time}Z`)
    await store.append([
      anActivity({ at: at('09T23:59:59'), amount: 1n }),
      anActivity({ at: at('10T00:00:00'), amount: 20n }),
      anActivity({ at: at('11T23:59:59'), amount: 300n }),
      anActivity({ at: at('12T00:00:00'), amount: 4_000n }),
    ])
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

  it('reads by endpoint and by payer, those with most revenue first', async () => {
    const other = `0x${'5'.repeat(40)}` as const
    await store.append([
      anActivity({ endpointId: 1, amount: 100n }),
      anActivity({ endpointId: 2, amount: 700n, payer: other }),
      anActivity({ endpointId: 2, state: 'failed', reason: 'x' }),
      anActivity({ endpointId: null, amount: 200n }),
      anActivity({ endpointId: 3, isSelf: true, amount: 9_000n }),
      anActivity({ endpointId: 4, kind: 'verify', state: 'valid' }),
    ])
    const path = '/api/merchants/weather/activity/breakdown'
    expect((await get(path)).statusCode).toBe(401)
    expect((await get(path, await signIn(stranger))).statusCode).toBe(403)
    const cookie = await signIn(owner)
    const { endpoints, topPayers } = (await get(path, cookie)).json()
    expect(endpoints).toMatchObject([
      { endpointId: 2, settled: 1, failed: 1, successRate: 0.5, payers: 1 },
      { endpointId: null, settled: 1, revenue: { amount: '200' } },
      { endpointId: 1, settled: 1, successRate: 1, revenue: { amount: '100' } },
      { endpointId: 4, settled: 0, verifies: 1, successRate: null, lastPaid: null },
    ])
    const paidAt = Math.floor(anActivity().at / 1_000)
    expect(endpoints.slice(0, 3)).toMatchObject([
      { lastPaid: paidAt, verifies: 0 },
      { lastPaid: null },
      { lastPaid: paidAt },
    ])
    expect(topPayers).toEqual([
      { payer: getAddress(other), count: 1, amount: '700', usd: '0.0007', share: 0.7 },
      { payer: getAddress(anActivity().payer), count: 2, amount: '300', usd: '0.0003', share: 0.3 },
    ])
    const one = (await get(`${path}?endpoint=2&range=7d`, cookie)).json()
    expect(one).toMatchObject({
      range: '7d',
      endpoints: [{ endpointId: 2 }],
      topPayers: [{ share: 1 }],
    })
  })

  it('names the payment of each row by network, payer and nonce, failed ones too', async () => {
    const nonce = `0x${'7'.repeat(64)}` as const
    await store.append([
      anActivity({ nonce }),
      anActivity({ nonce, state: 'failed', reason: 'x', transaction: null, settlementId: null }),
      anActivity({ nonce, kind: 'verify', state: 'valid', transaction: null }),
      anActivity(),
    ])
    const path = '/api/merchants/weather/activity/table'
    const { items } = (await get(path, await signIn(owner))).json()
    const place = { network: 'eip155:5042', payer: getAddress(anActivity().payer) }
    expect(items).toMatchObject([
      { ...place, nonce: null },
      { ...place, nonce, kind: 'verify' },
      { ...place, nonce, state: 'failed' },
      { ...place, nonce, state: 'settled' },
    ])
  })

  it('pages through the table without gaps', async () => {
    await store.append(Array.from({ length: 5 }, (_, i) => anActivity({ amount: BigInt(i) })))
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
    await store.append([anActivity(), anActivity({ asset: euro, isOtherMoney: true })])
    const cookie = await signIn(owner)
    const { items } = (await get('/api/merchants/weather/activity/table', cookie)).json()
    const dollars = { usd: '0.01', symbol: 'USDC', currency: 'USD' }
    expect(items).toMatchObject([
      { usd: null, symbol: 'EURC', currency: 'EUR', asset: getAddress(euro), amount: '10000' },
      { ...dollars, asset: getAddress(activityAsset) },
    ])
    const csv = (await get('/api/merchants/weather/activity.csv', cookie)).body
    expect(csv).toContain(`,10000,,${getAddress(euro)},`)
    expect(csv).toContain(`,10000,0.01,${getAddress(activityAsset)},`)
    const { summary } = (await get('/api/merchants/weather/activity?range=all', cookie)).json()
    expect(summary).toMatchObject({ settle: { settled: 2 }, revenue: { amount: '10000' } })
  })

  it('is exported whole, with nothing that a spreadsheet would run', async () => {
    await store.append([
      anActivity({ reason: '=HYPERLINK("x")', state: 'failed' }),
      anActivity({ toolName: '=1+1', endpointId: 7 }),
    ])
    const text = (await get('/api/merchants/weather/activity.csv', await signIn(owner))).body
    const lines = text.trim().split('\r\n')
    expect(lines).toHaveLength(3)
    expect(text).toContain(`"'=HYPERLINK(""x"")"`)
    expect(text).toContain('0.01')
    expect(lines[0]).toMatch(/,tool,endpoint_title,endpoint_method$/)
    expect(lines[1]).toMatch(/,no,'=1\+1,Skies,GET$/)
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
    await store.append([
      anActivity(),
      anActivity({ isSelf: true, amount: 99n, latencyMs: 9_000 }),
      anActivity({ isSelf: true, state: 'failed', reason: 'x', latencyMs: 9_000 }),
    ])
    const figures = {
      settled: 1,
      successRate: 1,
      settleP50Ms: 540,
      settleP95Ms: 540,
      revenue: { amount: '10000', usd: '0.01' },
      refunds: { count: 0, amount: '0', usd: '0' },
      payers: { unique: 1, repeat: 0, topShare: 1 },
    }
    const mine = (await get('/api/merchants/weather/stats')).json()
    const whole = (await get('/api/stats')).json()
    for (const range of ['24h', '7d', '30d', 'all']) {
      expect(mine[range]).toEqual(figures)
      expect(whole[range]).toEqual(figures)
    }
    expect((await get('/api/merchants/nobody/stats')).json().error).toBe('merchant_not_found')
  })
})
