import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Address } from 'viem'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createLogger } from '../../src/app/logger.js'
import { createGasWatch } from '../../src/app/metrics/gas-watch.js'
import { openSqliteStores } from '../../src/app/stores/sqlite.js'
import type { EventType } from '../../src/directory/store/events.js'
import type { HookCall } from '../../src/directory/store/hooks.js'
import {
  aSignedWrite,
  asset,
  type DirectoryWish,
  network,
  startDirectory,
  startSeconds,
  type TestDirectory,
} from '../support/a-directory.js'
import {
  agreeing,
  type Delivery,
  type Receiver,
  refusalOf,
  startReceiver,
} from '../support/a-receiver.js'
import { anAccount } from '../support/an-account.js'

const owner = anAccount()
const ownerAddress = owner.address.toLowerCase() as Address
const path = '/api/merchants/weather/hooks'
const DAY_MS = 86_400_000

let directory: TestDirectory
let app: TestDirectory['app']
let stores: TestDirectory['stores']
let clock: TestDirectory['clock']
let receiver: Receiver
let warnings: string[]
let cookies: Map<typeof owner, { cookie: string; until: number }>
/** Closes the processes of a test. */
const closing: (() => Promise<void>)[] = []

/** A process over the database of the test, which delivers once it is started. */
async function startProcess({ settings, ports, ...wish }: DirectoryWish = {}) {
  const write = (line: string) => void warnings.push(JSON.parse(line).msg)
  const started = await startDirectory({
    stores,
    isIdle: true,
    ...wish,
    settings: { baseUrl: 'https://arcus.example', ...settings },
    ports: { log: createLogger({ level: 'warn', destination: { write } }), ...ports },
  })
  closing.push(started.close)
  return started
}

/** Begins to deliver. */
const startSender = () => directory.start()

beforeEach(async () => {
  warnings = []
  cookies = new Map()
  stores = openSqliteStores(':memory:')
  directory = await startProcess()
  ;({ app, clock } = directory)
  receiver = await startReceiver()
  await stores.listings.saveByOperator(merchantOf('weather', ownerAddress), [], 1)
})
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()))
  await receiver.close()
  await stores.close()
  expect(warnings.filter((it) => it.includes('webhook'))).toEqual([])
})

function merchantOf(id: string, by: Address, payTo: Address = by) {
  const flags = { isOfficial: false, isPartner: false, hiddenReason: null }
  return { ...flags, id, owner: by, name: id, description: '', network, asset, payTo }
}

const aHook = (over: object = {}) => ({
  id: null,
  url: receiver.url,
  since: null,
  types: ['payment.settled', 'endpoint.failing'],
  ...over,
})

async function write(
  action: 'hook.set' | 'hook.delete',
  body: object,
  by = owner,
  message: object = {},
  to = app,
) {
  const over = { payTo: owner.address, ...message }
  const payload = await aSignedWrite(by, { action, body, message: over })
  const answer = await put(action, payload, to)
  return { ...answer, again: () => put(action, payload) }
}

async function put(action: 'hook.set' | 'hook.delete', payload: object, to = app) {
  const method = action === 'hook.set' ? 'PUT' : 'DELETE'
  const answer = await to.inject({ method, url: path, payload })
  return { status: answer.statusCode, body: answer.json() }
}

/** Makes a hook and gives its id and its secret; its receiver agrees, unless it is to be asked. */
async function make(over: object = {}, isAsked = false): Promise<{ id: string; secret: string }> {
  const { status, body } = await write('hook.set', aHook(over))
  expect(status).toBe(200)
  if (!isAsked) await agree(body.id)
  return body
}

/** Notes that the receiver of a hook answered the challenge. */
async function agree(id: string): Promise<void> {
  const hook = await stores.hooks.take(id, 'asker', clock.ms, clock.ms)
  if (hook !== undefined) await stores.hooks.confirm(hook, 'asker', aCall())
}

function aCall(over: Partial<HookCall> = {}): HookCall {
  const type = 'challenge'
  return { at: clock.ms, event: 'chal_1', type, status: 200, error: null, attempt: 1, ...over }
}

/** Returns the headers of somebody who is signed in. */
async function signedIn(as: typeof owner): Promise<{ cookie: string }> {
  const known = cookies.get(as)
  if (known !== undefined && clock.ms < known.until) return known
  const session = { cookie: await directory.signIn(as), until: clock.ms + 3_000_000 }
  cookies.set(as, session)
  return session
}

async function list(as = owner) {
  const { cookie } = await signedIn(as)
  const answer = await app.inject({ url: path, headers: { cookie } })
  return { status: answer.statusCode, body: answer.json(), text: answer.body }
}

/** Sends a request of the owner who is signed in, or of somebody else. */
async function post(part: 'check' | 'test', payload: object, as = owner, to = app) {
  const { cookie } = await signedIn(as)
  const url = `${path}/${part}`
  const answer = await to.inject({ method: 'POST', url, payload, headers: { cookie } })
  return { status: answer.statusCode, body: answer.json(), headers: answer.headers }
}

async function happen(key: string, type: EventType = 'payment.settled'): Promise<void> {
  const event = { merchantId: 'weather', type, key, at: clock.ms, data: `{"key":"${key}"}` }
  await stores.events.keep([event], [])
}

const patiently = <T>(look: () => T) => vi.waitFor(look, { timeout: 10_000, interval: 50 })
const keys = () => receiver.deliveries.map(({ event, status }) => `${event.data.key}:${status}`)

describe('a webhook', () => {
  it('is set, changed and removed by the owner, and its secret is shown once', async () => {
    const made = await make()
    expect(made).toEqual({
      id: expect.stringMatching(/^hook_.{16}$/),
      secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/),
    })
    const other = await make()
    expect(other.secret).not.toBe(made.secret)
    const url = `${receiver.url}/2`
    const changed = await write('hook.set', aHook({ id: made.id, url, types: ['price.drift'] }))
    expect(changed.body).toEqual({ id: made.id, secret: null })
    const { body, text } = await list()
    expect(body.hooks).toHaveLength(2)
    expect(body.hooks.find(({ id }: { id: string }) => id === made.id)).toMatchObject({
      url,
      types: ['price.drift'],
      state: 'unconfirmed',
      failures: 0,
      lastError: null,
    })
    expect(text).not.toContain(made.secret.slice(6))
    expect((await write('hook.delete', { id: other.id })).body).toEqual({ id: other.id })
    expect((await list()).body.hooks).toHaveLength(1)
    // Nobody but the owner is told of it, and the public history has no trace.
    expect((await app.inject(path)).statusCode).toBe(401)
    expect((await list(anAccount())).status).toBe(403)
    expect(await stores.listings.historyOf('weather', 0, 9)).toEqual([])
    expect((await stores.listings.findMerchant('weather'))?.revision).toBe(0)
  })

  it('is refused with its own code, and a message works once', async () => {
    const strict = await startProcess({ settings: { probeAllowPrivateHosts: false } })
    const set = (body: object, by = owner) => write('hook.set', body, by)
    const setStrictly = (body: object) => write('hook.set', body, owner, {}, strict.app)
    const codeOf = async (answer: Promise<{ body: { error?: string; message?: string } }>) => {
      const { body } = await answer
      return [body.error, body.message] as const
    }
    const aPublicUrl: object = { url: 'https://a.example.com/' }
    for (const [over, part] of [
      [{ url: 'ftp://shop.example.com/' }, 'url cannot be called: Only https'],
      [{ url: 'https://u:p@shop.example.com/' }, 'user name or password'],
      [{ url: `https://shop.example.com/${'x'.repeat(1_000)}` }, 'url must be at most 1000'],
      [{ url: 'https://arcus.example/settle' }, 'leads back to this service'],
      [{ types: [] }, 'types must name at least one event'],
      [{ types: ['gas.low'] }, 'types[0] must be'],
      [{ types: ['price.drift', 'price.drift'] }, 'types must name each event once'],
      [{ since: -1 }, 'since must not be negative'],
      [{ id: 'operator' }, 'id must be the id of a webhook'],
      [{ secret: 'mine' }, 'members that are not known'],
    ] as const) {
      const [code, message] = await codeOf(setStrictly(aHook({ ...aPublicUrl, ...over })))
      expect(code).toBe('invalid_listing')
      expect(message).toContain(part)
    }
    const inside = await codeOf(setStrictly(aHook({ url: 'https://169.254.169.254/latest' })))
    expect(inside[1]).toContain('not one of the public internet')

    const unknown = aHook({ id: `hook_${'A'.repeat(16)}` })
    expect((await codeOf(set(unknown)))[0]).toBe('hook_not_found')
    expect((await codeOf(set(aHook(), anAccount())))[0]).toBe('not_owner')
    const elsewhere = write('hook.set', aHook(), owner, { audience: 'https://other.example' })
    expect((await codeOf(elsewhere))[0]).toBe('wrong_audience')
    const first = await set(aHook())
    expect(first.status).toBe(200)
    expect((await codeOf(first.again()))[0]).toBe('replayed_nonce')
    for (let i = 0; i < 4; i++) await make()
    expect((await codeOf(set(aHook())))[0]).toBe('too_many_hooks')
    expect((await codeOf(write('hook.delete', { id: unknown.id as never })))[0]).toBe(
      'hook_not_found',
    )
  })

  it('is not for who lists an address that is not theirs, and ends with its owner', async () => {
    await make()
    const buyer = anAccount().address.toLowerCase() as Address
    // The operator gives the listing to somebody else.
    await stores.listings.saveByOperator(merchantOf('weather', buyer, ownerAddress), [], 2)
    expect(await stores.hooks.ofMerchant('weather')).toEqual([])
    await stores.listings.saveByOperator(merchantOf('weather', ownerAddress, buyer), [], 3)
    const { body } = await write('hook.set', aHook(), owner, { payTo: buyer })
    expect(body).toMatchObject({ error: 'pay_to_unproven' })
  })
})

describe('the URL of a webhook', () => {
  it('is checked for its signed-in owner before anything is signed', async () => {
    const good = await post('check', { url: 'HTTPS://Shop.Example.com/arcus' })
    expect(good).toMatchObject({ status: 200, body: { url: 'https://shop.example.com/arcus' } })
    const strict = await startProcess({ settings: { probeAllowPrivateHosts: false } })
    for (const [url, part] of [
      ['not a url', 'url cannot be called: The URL cannot be read'],
      ['https://10.0.0.1/', 'not one of the public internet'],
    ] as const) {
      const { status, body } = await post('check', { url }, owner, strict.app)
      expect([status, body.error]).toEqual([400, 'invalid_listing'])
      expect(body.message).toContain(part)
    }
    const stranger = anAccount()
    expect((await post('check', { url: 'https://a.example.com/' }, stranger)).status).toBe(403)
    const payload = { url: 'https://a.example.com/' }
    expect((await app.inject({ method: 'POST', url: `${path}/check`, payload })).statusCode).toBe(
      401,
    )
  })
})

describe('a test event', () => {
  it('is signed and sent once, to a receiver that agreed, and is in no feed', async () => {
    const { id, secret } = await make()
    startSender()
    const { status, body } = await post('test', { id })
    expect(status).toBe(200)
    const delivery = receiver.deliveries.find(({ event }) => event.type === 'test')
    expect(delivery && refusalOf(delivery, secret, startSeconds)).toBeUndefined()
    expect(delivery?.event).toEqual({
      id: expect.stringMatching(/^test_[\w-]{24}$/),
      cursor: expect.any(Number),
      type: 'test',
      timestamp: new Date(clock.ms).toISOString(),
      data: { merchantId: 'weather' },
    })
    expect(body.call).toEqual({
      at: new Date(clock.ms).toISOString(),
      event: delivery?.event.id,
      type: 'test',
      status: 204,
      error: null,
      attempt: 1,
    })
    const [hook] = (await list()).body.hooks
    expect(hook.calls).toContainEqual(body.call)
    const types = ['payment.settled', 'endpoint.failing'] as const
    const feed = await stores.events.list({ merchantId: 'weather', types, since: 0, limit: 9 })
    expect(feed).toEqual([])
  })

  it('that is refused changes nothing but the list of calls', async () => {
    const { id } = await make()
    startSender()
    receiver.answer = () => 500
    const { body } = await post('test', { id })
    expect(body.call).toMatchObject({ status: 500, error: 'The receiver answered 500.' })
    const [hook] = (await list()).body.hooks
    expect(hook).toMatchObject({ state: 'active', failures: 0, lastError: null, deliveredAt: null })
    expect(receiver.deliveries).toHaveLength(1)
  })

  it('goes to nobody who has not agreed, or for whom deliveries have stopped', async () => {
    const { id } = await make({}, true)
    receiver.consent = () => ({ status: 401, body: '' })
    startSender()
    const refused = async () => {
      const { status, body } = await post('test', { id })
      expect([status, body.error]).toEqual([409, 'hook_not_confirmed'])
    }
    await refused()
    const other = await make()
    receiver.answer = () => 410
    await happen('1')
    await patiently(async () => {
      const { hooks } = (await list()).body
      expect(hooks.find((it: { id: string }) => it.id === other.id).state).toBe('parked')
    })
    const calls = receiver.deliveries.length
    expect((await post('test', { id: other.id })).body.error).toBe('hook_not_confirmed')
    await refused()
    expect(receiver.deliveries).toHaveLength(calls)
    // Another URL has agreed to nothing.
    const moved = await make()
    await write('hook.set', aHook({ id: moved.id, url: `${receiver.url}/new` }))
    expect((await post('test', { id: moved.id })).body.error).toBe('hook_not_confirmed')
  })

  it('is for the owner alone, and twenty times an hour at most', async () => {
    const { id } = await make()
    startSender()
    const stranger = anAccount()
    expect((await post('test', { id }, stranger)).status).toBe(403)
    const unknown = await post('test', { id: `hook_${'A'.repeat(16)}` })
    expect([unknown.status, unknown.body.error]).toEqual([404, 'hook_not_found'])
    expect((await post('test', { id: 'operator' })).status).toBe(400)
    for (let sent = 1; sent <= 20; sent++) expect((await post('test', { id })).status).toBe(200)
    const { status, body, headers } = await post('test', { id })
    expect([status, body.error]).toEqual([429, 'tested_recently'])
    expect(Number(headers['retry-after'])).toBeGreaterThan(3_590)
    clock.ms += 3_600_000
    expect((await post('test', { id })).status).toBe(200)
    expect(receiver.deliveries).toHaveLength(21)
    expect((await list()).body.hooks[0].calls).toHaveLength(20)
  })

  it('is not sent while another one waits for its answer', async () => {
    const held = await startSlowReceiver()
    const { id } = await make({ url: `${held.url}/` })
    startSender()
    const first = post('test', { id })
    await patiently(() => expect(held.waiting).toHaveLength(1))
    expect((await post('test', { id })).body.error).toBe('tested_recently')
    held.waiting[0]?.end()
    expect((await first).body.call.status).toBe(204)
    held.close()
  })
})

describe('the calls of a receiver', () => {
  it('are kept with time, event, status and attempt, the last twenty', async () => {
    const { id } = await make({}, true)
    const answers = [500, 204]
    receiver.answer = () => answers.shift() ?? 204
    startSender()
    await happen('1')
    await patiently(async () => expect((await list()).body.hooks[0].failures).toBe(1))
    clock.ms += 1_100
    await patiently(() => expect(keys()).toEqual(['1:500', '1:204']))
    const event = receiver.deliveries[0]?.event.id
    const seen = async () => (await list()).body.hooks[0].calls
    await patiently(async () =>
      expect(await seen()).toEqual([
        {
          at: new Date(clock.ms).toISOString(),
          event,
          type: 'payment.settled',
          status: 204,
          error: null,
          attempt: 2,
        },
        {
          at: new Date(clock.ms - 1_100).toISOString(),
          event,
          type: 'payment.settled',
          status: 500,
          error: 'The receiver answered 500.',
          attempt: 1,
        },
        expect.objectContaining({ type: 'challenge', status: 200, error: null, attempt: 1 }),
      ]),
    )
    const hook = { id, url: receiver.url }
    const error = 'x'.repeat(5_000)
    for (let i = 0; i < 30; i++) await stores.hooks.tested(hook, aCall({ event: `${i}`, error }))
    const calls = await seen()
    expect(calls).toHaveLength(20)
    expect(calls[0]).toMatchObject({ event: '29', error: 'x'.repeat(200) })
  })
})

describe('a delivery', () => {
  it('is signed as Standard Webhooks says, in order, and of the named types alone', async () => {
    await happen('before')
    const { secret } = await make()
    startSender()
    for (const key of ['1', '2', '3']) await happen(key)
    await happen('drift', 'price.drift')
    await happen('4', 'endpoint.failing')
    await patiently(() => expect(keys()).toEqual(['1:204', '2:204', '3:204', '4:204']))
    for (const delivery of receiver.deliveries) {
      expect(refusalOf(delivery, secret, startSeconds)).toBeUndefined()
      const { headers, event, text } = delivery
      expect(headers['webhook-id']).toBe(event.id)
      expect(event).toMatchObject({
        type: expect.any(String),
        data: {},
        cursor: expect.any(Number),
      })
      expect(headers['content-type']).toBe('application/json')
      expect(headers['user-agent']).toBe('Arcus-Webhook/1 (+https://arcus.example)')
      // The verifier itself refuses what was altered.
      expect(refusalOf({ headers, text: `${text} ` }, secret, startSeconds)).toBeDefined()
      expect(refusalOf(delivery, secret, startSeconds + 301)).toBeDefined()
    }
    const [hook] = (await list()).body.hooks
    const [, , , , last] = await stores.events.list({
      merchantId: 'weather',
      types: ['endpoint.failing', 'payment.settled'],
      since: 0,
      limit: 9,
    })
    await patiently(async () => expect((await list()).body.hooks[0].cursor).toBe(last?.id))
    expect(hook).toMatchObject({ state: 'active', failures: 0 })
  })

  it('is repeated with growing pauses until it is taken, and holds up the next one', async () => {
    await make()
    const pauses: number[] = []
    receiver.answer = ({ event }) => {
      if (event.data.key !== '1' || pauses.length >= 5) return 200
      pauses.push(clock.ms)
      return pauses.length === 2 ? 307 : 500
    }
    startSender()
    for (const key of ['1', '2']) await happen(key)
    for (let failures = 1; failures <= 5; failures++) {
      await patiently(() => expect(pauses).toHaveLength(failures))
      await patiently(async () => {
        const [hook] = (await list()).body.hooks
        expect(hook).toMatchObject({ state: 'retrying', failures })
        clock.ms = Date.parse(hook.nextAt)
      })
      if (failures === 2) {
        const [hook] = (await list()).body.hooks
        expect(hook.lastError).toMatch(/redirects \(307\)/)
      }
    }
    await patiently(() => expect(keys().slice(5)).toEqual(['1:200', '2:200']))
    const ids = receiver.deliveries.map(({ headers }) => headers['webhook-id'])
    expect(new Set(ids.slice(0, 6)).size).toBe(1)
    const gaps = pauses.slice(1).map((at, i) => at - (pauses[i] as number))
    for (const [i, gap] of gaps.entries()) {
      // Each pause is up to a tenth longer, which spreads them.
      expect(gap).toBeGreaterThanOrEqual(1_000 * 2 ** i)
      expect(gap).toBeLessThanOrEqual(1_100 * 2 ** i)
    }
    expect(gaps).toHaveLength(4)
    await patiently(async () =>
      expect((await list()).body.hooks[0]).toMatchObject({ state: 'active', lastError: null }),
    )
  })

  it('is parked after three days, and replayed from where the owner says', async () => {
    const { id } = await make()
    await happen('1')
    await happen('2')
    receiver.answer = () => 503
    startSender()
    await patiently(async () => expect((await list()).body.hooks[0].failures).toBe(1))
    clock.ms += 3 * DAY_MS - 1
    await patiently(async () => {
      expect((await list()).body.hooks[0]).toMatchObject({ state: 'retrying', failures: 2 })
    })
    clock.ms += DAY_MS / 4
    await patiently(async () => {
      expect((await list()).body.hooks[0]).toMatchObject({
        state: 'parked',
        nextAt: null,
        lastError: 'The receiver answered 503.',
      })
    })
    await happen('3')
    const calls = receiver.deliveries.length
    receiver.answer = () => 200
    const message = { issuedAt: Math.floor(clock.ms / 1_000) }
    const replay = (since: number | null) =>
      write('hook.set', aHook({ id, since }), owner, {
        ...message,
        deadline: message.issuedAt + 600,
      })
    expect((await replay(null)).status).toBe(200)
    await patiently(() => expect(keys().slice(calls)).toEqual(['1:200', '2:200', '3:200']))
    // Whoever was parked is asked again.
    expect(receiver.challenges).toHaveLength(1)
    const [first] = receiver.deliveries
    expect((await replay(first?.event.cursor)).status).toBe(200)
    await patiently(() => expect(keys().slice(calls + 3)).toEqual(['2:200', '3:200']))
  })

  it('is parked at once where the receiver is gone, or the key of the settings is another', async () => {
    await make()
    receiver.answer = () => 410
    startSender()
    await happen('1')
    const parked = async (part: string) => {
      const [hook] = (await list()).body.hooks
      expect(hook).toMatchObject({ state: 'parked', lastError: expect.stringContaining(part) })
    }
    await patiently(() => parked('410'))
    expect(receiver.deliveries).toHaveLength(1)
    await directory.directory.stop()
    await write('hook.delete', { id: (await list()).body.hooks[0].id })
    await make()
    await startProcess({ isIdle: false, ports: { webhookKey: '0x07' } })
    await happen('2')
    await patiently(() => parked('add it again'))
    expect(receiver.deliveries).toHaveLength(1)
  })

  it('ends when the owner removes the hook under way', async () => {
    const { id } = await make()
    let removal: Promise<unknown> | undefined
    receiver.answer = () => {
      removal ??= write('hook.delete', { id })
      return 200
    }
    for (const key of ['1', '2', '3', '4', '5', '6']) await happen(key)
    startSender()
    await patiently(async () => expect((await list()).body.hooks).toEqual([]))
    await removal
    await directory.directory.stop()
    expect(receiver.deliveries.length).toBeLessThan(6)
  })
})

/** A receiver that answers when it is told to; each call comes with the path of its hook. */
async function startSlowReceiver() {
  const waiting: { path: string; key: string; end(): void }[] = []
  const open = new Map<string, number>()
  const most = { ofOne: 0, ofAll: 0 }
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const part of request) text += part
    const path = String(request.url)
    open.set(path, (open.get(path) ?? 0) + 1)
    most.ofOne = Math.max(most.ofOne, ...open.values())
    const all = [...open.values()].reduce((sum, count) => sum + count, 0)
    most.ofAll = Math.max(most.ofAll, all)
    const end = () => {
      open.set(path, (open.get(path) ?? 0) - 1)
      response.writeHead(204).end()
    }
    waiting.push({ path, key: JSON.parse(text).data.key, end })
  })
  // All of 127.0.0.0/8 leads here.
  await new Promise<void>((resolve) => server.listen(0, resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    waiting,
    most,
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

/** Makes a hook of an owner with a listing of their own; its receiver agreed. Gives the id of the listing. */
async function setHookOf(owner: Address, id: string, url: string, listing = `of ${owner}`) {
  if ((await stores.listings.findMerchant(listing)) === undefined) {
    await stores.listings.saveByOperator(merchantOf(listing, owner), [], 1)
  }
  const nonce = `0x${randomBytes(32).toString('hex')}` as const
  await stores.hooks.set(
    { merchantId: listing, owner, nonce, deadline: startSeconds },
    {
      id,
      merchantId: listing,
      url,
      types: ['payment.settled'] as const,
      seed: '00',
      keyId: '',
    },
    { since: null, most: 100, now: clock.ms },
  )
  await agree(id)
  return listing
}

const anOwner = (i: number) => `0x${String(i).padStart(40, '0')}` as Address

async function happenTo(listings: readonly string[], key: string): Promise<void> {
  const at = clock.ms
  const events = listings.map((merchantId) => ({
    ...({ merchantId, type: 'payment.settled', key: `${key} ${merchantId}`, at } as const),
    data: JSON.stringify({ key }),
  }))
  await stores.events.keep(events, [])
}

describe('twenty quick hooks beside eight slow ones', () => {
  it('receive everything while the slow ones hold their calls, which then receive it too', async () => {
    // Each has an owner, and the slow ones have names of their own for one address.
    const held = await startSlowReceiver()
    const complaints: Error[] = []
    const complain = (warning: Error) => void complaints.push(warning)
    process.on('warning', complain)
    const all: string[] = []
    // The slow ones are due first.
    for (let i = 0; i < 8; i++) {
      const url = `${held.url.replace('127.0.0.1', `127.0.0.${i + 2}`)}/${i}`
      all.push(await setHookOf(anOwner(i), `hook_${i}`, url))
    }
    clock.ms++
    for (let i = 8; i < 28; i++) {
      all.push(await setHookOf(anOwner(i), `hook_${i}`, `${receiver.url}/${i}`))
    }
    startSender()
    const slowKeys = () => held.waiting.map(({ key }) => key)

    await happenTo(all, '1')
    await patiently(() => expect(receiver.deliveries).toHaveLength(20))
    expect(slowKeys()).toEqual(Array(8).fill('1'))

    // Now they are known to be slow, and get four places between them.
    for (const { end } of held.waiting.splice(0)) end()
    await patiently(async () => {
      const hooks = await Promise.all(all.map((id) => stores.hooks.ofMerchant(id)))
      expect(hooks.flat().filter(({ nextAt }) => nextAt !== null)).toEqual([])
    })
    held.most.ofAll = 0
    await happenTo(all, '2')
    await patiently(() => expect(receiver.deliveries).toHaveLength(40))
    await patiently(() => expect(slowKeys()).toEqual(Array(4).fill('2')))
    const told = new Set<string>()
    await patiently(() => {
      for (const { path, end } of held.waiting.splice(0)) {
        told.add(path)
        end()
      }
      expect(told.size).toBe(8)
    })
    expect(held.most).toEqual({ ofOne: 1, ofAll: 4 })
    // So many calls at once are usual, and no leak.
    process.off('warning', complain)
    expect(complaints).toEqual([])
    held.close()
  })
})

describe('many hooks of one owner', () => {
  it('have two places, whatever the names of their hosts, and hold up nobody else', async () => {
    const held = await startSlowReceiver()
    const [greedy, honest] = [anOwner(1), anOwner(2)]
    const listings: string[] = []
    for (let i = 0; i < 25; i++) {
      const url = `${held.url.replace('127.0.0.1', `127.0.0.${i + 2}`)}/${i}`
      const listing = `greedy ${Math.floor(i / 5)}`
      if (!listings.includes(listing)) listings.push(listing)
      await setHookOf(greedy, `hook_g${i}`, url, listing)
    }
    clock.ms++
    const own = await setHookOf(honest, 'hook_honest', receiver.url)
    startSender()
    for (const key of ['1', '2', '3']) await happenTo([...listings, own], key)
    await patiently(() => expect(keys()).toEqual(['1:204', '2:204', '3:204']))
    expect(held.most.ofAll).toBe(2)
    held.close()
  })

  it('on the host that others use too hold up nobody', async () => {
    const held = await startSlowReceiver()
    for (let i = 0; i < 10; i++) await setHookOf(anOwner(1), `hook_g${i}`, `${held.url}/slow${i}`)
    clock.ms++
    const own = await setHookOf(anOwner(2), 'hook_honest', `${held.url}/honest`)
    startSender()
    await happenTo([`of ${anOwner(1)}`, own], '1')
    await patiently(() => expect(held.waiting.map(({ path }) => path)).toContain('/honest'))
    expect(held.waiting.length).toBeLessThanOrEqual(3)
    held.close()
  })

  it('of many owners take turns: who comes last waits for one turn of each', async () => {
    const seen: string[] = []
    const busy = await startReceiver(({ event }) => {
      seen.push(event.data.key)
      return 204
    })
    const greedy = Array.from({ length: 12 }, (_, i) => anOwner(i + 10))
    for (const owner of greedy) {
      for (let i = 0; i < 4; i++) await setHookOf(owner, `hook_${owner}${i}`, `${busy.url}/${i}`)
    }
    clock.ms++
    const own = await setHookOf(anOwner(2), 'hook_honest', receiver.url)
    await happenTo(
      greedy.map((owner) => `of ${owner}`),
      'greedy',
    )
    await happenTo([own], 'honest')
    startSender()
    await patiently(() => expect(receiver.deliveries).toHaveLength(1))
    // Of 48 hooks that were due before it, those of one round went first.
    expect(seen.length).toBeLessThan(30)
    await busy.close()
  })

  it('are paced: a receiver gets no more than twenty deliveries in a second', async () => {
    const times: number[] = []
    receiver.answer = () => {
      times.push(performance.now())
      return 204
    }
    for (let i = 0; i < 5; i++) await setHookOf(anOwner(1), `hook_${i}`, `${receiver.url}/${i}`)
    for (let i = 0; i < 8; i++) await happenTo([`of ${anOwner(1)}`], `${i}`)
    startSender()
    await patiently(() => expect(times).toHaveLength(40))
    // The first needs no wait; a machine that pauses moves two closer together, and not all of them.
    expect((times.at(-1) ?? 0) - (times[0] ?? 0)).toBeGreaterThan(39 * 50 - 200)
  })
})

describe('a challenge', () => {
  const state = async () => (await list()).body.hooks[0]

  it('is sent when a hook is set, signed as everything is, and nothing else is sent before its answer', async () => {
    const { secret } = await make({}, true)
    receiver.consent = () => ({ status: 401, body: 'who are you?' })
    startSender()
    for (const key of ['1', '2']) await happen(key)
    await patiently(() => expect(receiver.challenges).toHaveLength(1))
    await patiently(async () =>
      expect(await state()).toMatchObject({
        state: 'unconfirmed',
        failures: 1,
        lastError: 'The receiver answered the challenge with 401.',
      }),
    )
    expect(Date.parse((await state()).nextAt) - clock.ms).toBeGreaterThanOrEqual(5_000)
    expect(Date.parse((await state()).nextAt) - clock.ms).toBeLessThanOrEqual(5_500)
    const [asked] = receiver.challenges as [Delivery]
    expect(refusalOf(asked, secret, startSeconds)).toBeUndefined()
    expect(asked.event).toEqual({
      id: asked.headers['webhook-id'],
      type: 'challenge',
      timestamp: new Date(clock.ms).toISOString(),
      challenge: expect.stringMatching(/^[\w-]{32}$/),
    })
    receiver.consent = agreeing
    clock.ms += 5_500
    await patiently(() => expect(keys()).toEqual(['1:204', '2:204']))
    await patiently(async () =>
      expect(await state()).toMatchObject({ state: 'active', failures: 0, lastError: null }),
    )
    const [, again] = receiver.challenges
    expect(again?.event.challenge).not.toBe(asked.event.challenge)
  })

  it.each([
    ['nothing', () => ({ status: 204, body: '' }), /with 204, and without its text/],
    ['the text with a wrong status', aRefusal, /challenge with 403\.$/],
    ['the whole request, as an echo does', anEcho, /sent the whole challenge back/],
    ['the start of the request', cutEcho, /sent the whole challenge back/],
    ['too much', flooding, /above 4 KiB/],
    ['another text', () => ({ status: 200, body: 'ok' }), /without its text/],
  ])('that is answered with %s is not answered', async (_, consent, reason) => {
    await make({}, true)
    receiver.consent = consent
    await happen('1')
    startSender()
    await patiently(async () =>
      expect(await state()).toMatchObject({
        state: 'unconfirmed',
        failures: 1,
        deliveredAt: null,
        lastError: expect.stringMatching(reason),
      }),
    )
    expect(receiver.deliveries).toEqual([])
  })

  it.each([
    ['the text', ({ event }: Delivery) => event.challenge],
    ['the text with white space', ({ event }: Delivery) => `\n  ${event.challenge}\r\n`],
    ['JSON', ({ event }: Delivery) => JSON.stringify({ challenge: event.challenge })],
  ])('may be answered with %s', async (_, bodyOf) => {
    await make({}, true)
    receiver.consent = (delivery) => ({ status: 202, body: bodyOf(delivery) })
    await happen('1')
    startSender()
    await patiently(() => expect(keys()).toEqual(['1:204']))
  })

  it('is sent ten times, and then not until the owner sets the hook again', async () => {
    const { id } = await make({}, true)
    receiver.consent = () => ({ status: 500, body: '' })
    // Of one host a second passes between two challenges, so eight are noted here.
    const failed = { error: 'no', nextAt: clock.ms, call: aCall({ status: 500 }) }
    for (let tries = 1; tries <= 8; tries++) {
      await stores.hooks.take(id, 'asker', clock.ms, clock.ms)
      await stores.hooks.failed(id, 'asker', failed)
    }
    startSender()
    for (let tries = 9; tries <= 10; tries++) {
      await patiently(async () => expect(await state()).toMatchObject({ failures: tries }))
      const { nextAt } = await state()
      expect(nextAt === null).toBe(tries === 10)
      if (nextAt !== null) clock.ms = Date.parse(nextAt)
    }
    await happen('1')
    clock.ms += 30 * DAY_MS
    await new Promise((resolve) => setTimeout(resolve, 300))
    expect(receiver.challenges).toHaveLength(2)
    expect(await state()).toMatchObject({ state: 'unconfirmed', nextAt: null })
    receiver.consent = agreeing
    const issuedAt = Math.floor(clock.ms / 1_000)
    const message = { issuedAt, deadline: issuedAt + 600 }
    expect((await write('hook.set', aHook({ id }), owner, message)).status).toBe(200)
    await patiently(() => expect(keys()).toEqual(['1:204']))
    expect(receiver.deliveries[0]?.event.data).toEqual({ key: '1' })
  })

  it('ends at once where the receiver is gone', async () => {
    await make({}, true)
    receiver.consent = () => ({ status: 410, body: '' })
    startSender()
    await patiently(async () =>
      expect(await state()).toMatchObject({ state: 'unconfirmed', failures: 1, nextAt: null }),
    )
  })

  it('is for one URL: another one, set while it is under way, has agreed to nothing', async () => {
    const { id } = await make({}, true)
    const victim = await startReceiver()
    victim.consent = () => ({ status: 404, body: '' })
    receiver.consent = async (delivery) => {
      await write('hook.set', aHook({ id, url: victim.url }))
      return agreeing(delivery)
    }
    await happen('1')
    startSender()
    await patiently(() => expect(victim.challenges).toHaveLength(1))
    await patiently(async () =>
      expect(await state()).toMatchObject({ url: victim.url, failures: 1 }),
    )
    expect((await state()).state).toBe('unconfirmed')
    expect([...receiver.deliveries, ...victim.deliveries]).toEqual([])
    await victim.close()
  })

  it('goes to a host once a second at most, and holds up no delivery', async () => {
    const times: number[] = []
    const victim = await startReceiver()
    victim.consent = () => {
      times.push(performance.now())
      return { status: 200, body: '' }
    }
    for (let i = 0; i < 30; i++) {
      await stores.listings.saveByOperator(merchantOf(`m${i}`, anOwner(i)), [], 1)
      const nonce = `0x${String(i).padStart(64, '0')}` as const
      await stores.hooks.set(
        { merchantId: `m${i}`, owner: anOwner(i), nonce, deadline: startSeconds },
        {
          id: `hook_${i}`,
          merchantId: `m${i}`,
          url: `${victim.url}/${i}`,
          types: ['payment.settled'] as const,
          seed: '00',
          keyId: '',
        },
        { since: null, most: 9, now: clock.ms },
      )
    }
    clock.ms++
    const own = await setHookOf(anOwner(99), 'hook_honest', receiver.url)
    startSender()
    await happenTo([own], '1')
    await patiently(() => expect(keys()).toEqual(['1:204']))
    await patiently(() => expect(times.length).toBeGreaterThanOrEqual(3))
    const gaps = times.slice(1).map((at, i) => at - (times[i] as number))
    expect(Math.min(...gaps)).toBeGreaterThan(900)
    await victim.close()
  })
})

function aRefusal({ event }: Delivery) {
  return { status: 403, body: event.challenge as string }
}

function anEcho({ text }: Delivery) {
  return { status: 200, body: `<pre>${text}</pre>` }
}

function cutEcho({ text, event }: Delivery) {
  return { status: 200, body: text.slice(0, text.indexOf(event.challenge) + 32) }
}

function flooding({ event }: Delivery) {
  return { status: 200, body: `${event.challenge}${'x'.repeat(5_000)}` }
}

describe('a replay', () => {
  it('is possible once in ten minutes, for all webhooks of an owner', async () => {
    for (const key of ['1', '2']) await happen(key)
    const first = await make({ since: 0 })
    const set = (over: object) => {
      const issuedAt = Math.floor(clock.ms / 1_000)
      return write('hook.set', aHook(over), owner, { issuedAt, deadline: issuedAt + 600 })
    }
    const refused = await set({ since: 0 })
    expect([refused.status, refused.body.error]).toEqual([429, 'replayed_recently'])
    expect(refused.body.message).toMatch(/once in ten minutes.*try again in 600 seconds/)
    startSender()
    await patiently(() => expect(keys()).toEqual(['1:204', '2:204']))
    expect((await set({ id: first.id, since: 0 })).status).toBe(429)
    expect((await set({ id: first.id })).status).toBe(200)
    await write('hook.delete', { id: first.id })
    expect((await set({ since: 0 })).status).toBe(429)
    clock.ms += 600_000
    expect((await set({ since: 0 })).status).toBe(200)
    await patiently(() => expect(keys().slice(2)).toEqual(['1:204', '2:204']))
  })
})

describe('the webhook of the operator', () => {
  it('reports once a day that gas runs low, also if the database is away at the start', async () => {
    const secret = Buffer.alloc(32, 7)
    const { events, hooks } = stores
    const { setOperator } = hooks
    let tries = 0
    hooks.setOperator = (...args) =>
      ++tries === 1 ? Promise.reject(new Error('away')) : setOperator(...args)
    const operatorWebhook = { url: receiver.url, secret }
    const operated = await startProcess({ isIdle: false, ports: { operatorWebhook } })
    clock = operated.clock
    const balances = [10n ** 18n, 10n ** 18n]
    const relayers = [anAccount().address, anAccount().address]
    const watched = {
      network,
      feePerGas: () => 20n * 10n ** 9n,
      relayer: { addresses: relayers },
      readBalances: async () => balances,
      readRunway: async () => 30,
    }
    await patiently(() => expect(tries).toBe(2))
    const look = createGasWatch({ networks: [watched], events, now: () => clock.ms })
    const lookTwice = async () => {
      await look()
      await look()
    }
    await lookTwice()
    expect(receiver.deliveries).toEqual([])
    balances[1] = 0n
    await lookTwice()
    await patiently(() => expect(receiver.deliveries).toHaveLength(1))
    const [delivery] = receiver.deliveries as [Delivery]
    expect(delivery.event).toMatchObject({ type: 'gas.low', data: { network, runwayDays: 30 } })
    expect(delivery.event.data.wallets.map((it: { isDry: boolean }) => it.isDry)).toEqual([
      false,
      true,
    ])
    const prefixed = `whsec_${secret.toString('base64')}`
    expect(refusalOf(delivery, prefixed, clock.ms / 1_000)).toBeUndefined()
    expect(warnings.splice(0)).toContain('background work failed; it runs again at its time')
    clock.ms += DAY_MS
    await lookTwice()
    await patiently(() => expect(receiver.deliveries).toHaveLength(2))
  })
})
