import { merchantEventTypes } from '@arcus/protocol/answers/events'
import type { ProbeRecord } from '@arcus/protocol/answers/listings'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Stores } from '../../../../src/app/stores/stores.js'
import type { NewEvent } from '../../../../src/directory/store/events.js'
import type { HookCall } from '../../../../src/directory/store/hooks.js'
import type { EndpointHealth } from '../../../../src/directory/store/listings.js'
import { anEndpoint, asset, owner } from '../../../support/directory/listed-merchants.js'
import { aJob, anOutcome, type Engine, network, noon } from '../../app/stores/store-contract.js'

function anEvent(over: Partial<NewEvent> = {}): NewEvent {
  const key = over.key ?? 'payment.settled/1'
  return {
    merchantId: 'weather',
    type: 'payment.settled',
    at: noon,
    data: '{"a":"ä 💸"}',
    key,
    ...over,
  }
}

const aCall = (at: number): HookCall => {
  return { at, event: 'evt_1', type: 'payment.settled', status: 200, error: null, attempt: 1 }
}

const ofWeather = { merchantId: 'weather', types: merchantEventTypes, since: 0, limit: 99 }

/** What every engine must do with feeds. */
export function describeEvents(name: string, open: () => Promise<Engine>): void {
  let engine: Engine
  let stores: Stores
  beforeAll(async () => {
    engine = await open()
  })
  afterAll(() => engine.close())
  beforeEach(async () => {
    stores = await engine.empty()
  })

  const queued = async () =>
    (await stores.events.queued(99)).map(({ type, job, facts }) => [
      type,
      job?.id ?? JSON.parse(facts ?? '').endpointId,
    ])

  async function decide(id: string, round = 0, state: 'confirmed' | 'failed' = 'confirmed') {
    const backed = { transaction: `0x${id.padStart(64, '0')}` as const, transferLog: 1 }
    const outcome = anOutcome({ state, ...(state === 'confirmed' && backed) })
    await stores.journal.resolve({ outcomes: [{ id, round, outcome }], now: noon + 5 })
  }

  describe(`feeds on ${name}`, () => {
    it('hear of each decided payment in the commit that decides it, and of nothing else', async () => {
      for (const id of ['1', '2', '3']) await stores.journal.claim(aJob({ id }), undefined, noon)
      await stores.journal.claim(aJob({ id: '4', kind: 'batch-claim' }), undefined, noon)
      expect(await queued()).toEqual([])
      for (const id of ['2', '4', '1']) await decide(id)
      // The second outcome of one job changes nothing.
      await decide('2', 0, 'failed')
      await decide('3', 0, 'failed')
      expect(await queued()).toEqual([
        ['payment.settled', '2'],
        ['payment.settled', '1'],
        ['payment.failed', '3'],
      ])
      const [first] = await stores.events.queued(1)
      expect(first).toMatchObject({ at: noon + 5, facts: null })
      expect(first?.job).toMatchObject({ state: 'confirmed', network, details: '{"payer":"p"}' })
    })

    it('hear what a payment was for, though its row loses that when it fails', async () => {
      for (const id of ['5', '6']) {
        await stores.journal.claim(aJob({ id, resource: `"${id}"` }), undefined, noon)
      }
      await decide('5')
      await decide('6', 0, 'failed')
      const news = await stores.events.queued(2)
      expect(news.map(({ job }) => [job?.state, job?.resource])).toEqual([
        ['confirmed', '"5"'],
        ['failed', '"6"'],
      ])
      expect((await stores.journal.findJobById('6'))?.resource).toBeNull()
    })

    it('hear of a payment that failed and settled after all twice', async () => {
      await stores.journal.claim(aJob({ id: '7' }), undefined, noon)
      await decide('7', 0, 'failed')
      const failed = await stores.journal.findJob('exact', network, aJob({ id: '7' }).key)
      if (failed === undefined) throw new Error('no job')
      await stores.journal.reopen(failed, aJob({ id: '7' }), noon)
      await decide('7', 1)
      expect(await queued()).toEqual([
        ['payment.failed', '7'],
        ['payment.settled', '7'],
      ])
    })

    it('hear of a payment that somebody else brought on chain, as of any other', async () => {
      const found = (id: string, kind = 'exact') =>
        stores.journal.recordFound(
          aJob({ id, kind }),
          undefined,
          anOutcome({ transferLog: 3 }),
          noon,
        )
      await found('8')
      // Its transfer backs the first.
      await found('9')
      await found('10', 'batch-claim')
      expect(await queued()).toEqual([
        ['payment.settled', '8'],
        ['payment.failed', '9'],
      ])
    })

    it('hear when an endpoint fails, drifts or recovers, and not of each probe', async () => {
      const id = await anEndpointId()
      const probe = (over: Partial<ProbeRecord>): ProbeRecord => ({
        verdict: 'live',
        message: 'm',
        warnings: [],
        seen: {},
        checkedAt: 2_000,
        ...over,
      })
      const save = async (over: Partial<EndpointHealth>) => {
        const { accepts, extras } = anEndpoint()
        const health = { accepts, extras, failures: 0, nextProbeAt: null }
        await stores.listings.saveProbe(id, { ...health, status: 'live', probe: null, ...over }, 2)
      }
      await save({ probe: probe({}) })
      const down = { status: 'failing', probe: probe({ verdict: 'unreachable' }) } as const
      await save(down)
      await save(down)
      const drift = (amount: string) => ({
        probe: probe({ warnings: ['price_drift'], seen: { amount } }),
      })
      await save(drift('9000000'))
      await save(drift('9000000'))
      await save(drift('9000001'))
      await save({ probe: probe({}) })
      expect(await queued()).toEqual([
        ['endpoint.failing', id],
        ['endpoint.recovered', id],
        ['price.drift', id],
        ['price.drift', id],
      ])
      const [failing] = await stores.events.queued(1)
      expect(failing?.at).toBe(2_000_000)
      expect(JSON.parse(failing?.facts ?? '')).toMatchObject({
        merchantId: 'weather',
        price: '10000',
        probe: { verdict: 'unreachable' },
      })
    })

    it('take an event in once, in the order of their numbers, and leave the queue with it', async () => {
      for (const id of ['1', '2']) {
        await stores.journal.claim(aJob({ id }), undefined, noon)
        await decide(id)
      }
      const [first, second] = await stores.events.queued(9)
      const taken = [first?.sequence as number]
      const other = anEvent({ key: 'x', merchantId: 'other' })
      await stores.events.keep(
        [anEvent(), other, anEvent({ key: 'y', type: 'price.drift' })],
        taken,
      )
      // A process that died before it knew does the same again.
      await stores.events.keep([anEvent(), anEvent({ key: 'z' })], taken)
      expect((await stores.events.queued(9)).map(({ sequence }) => sequence)).toEqual([
        second?.sequence,
      ])
      const feed = await stores.events.list(ofWeather)
      expect(feed.map(({ key }) => key)).toEqual(['payment.settled/1', 'y', 'z'])
      expect(feed[0]).toEqual({ ...anEvent(), id: expect.any(Number) })
      const [, { id: since } = { id: 0 }] = feed
      const after = await stores.events.list({ ...ofWeather, since })
      expect(after.map(({ key }) => key)).toEqual(['z'])
      const drifts = await stores.events.list({ ...ofWeather, types: ['price.drift'], limit: 1 })
      expect(drifts.map(({ key }) => key)).toEqual(['y'])
    })

    it('forget the oldest, by age and by number', async () => {
      const events = Array.from({ length: 9 }, (_, i) => anEvent({ key: `${i}`, at: noon + i }))
      await stores.events.keep(events, [])
      const keys = async () => (await stores.events.list(ofWeather)).map(({ key }) => key).join('')
      expect(await stores.events.forget(noon + 4, 3)).toBe(3)
      expect(await stores.events.forget(noon + 4, 3)).toBe(1)
      expect(await keys()).toBe('45678')
      await stores.events.trim('weather', 2)
      expect(await keys()).toBe('78')
      await stores.events.trim('weather', 2)
      await stores.events.trim('other', 0)
      expect(await keys()).toBe('78')
    })
  })

  describe(`webhooks on ${name}`, () => {
    const hook = {
      id: 'hook_1',
      merchantId: 'weather',
      url: 'https://a.example',
      seed: 'ff',
      keyId: 'k',
      types: ['payment.settled'] as const,
    }
    const bounds = { since: null, most: 2, now: noon }
    let messages = 0
    const aWrite = () => {
      const deadline = noon / 1_000 + 600
      return { merchantId: 'weather', owner, nonce: `0x${++messages}` as const, deadline }
    }
    const only = async () => (await stores.hooks.ofMerchant('weather'))[0]
    const dueOf = async (filter: Parameters<typeof stores.hooks.nextDue>[0]) =>
      (await stores.hooks.nextDue(filter))?.id
    async function confirmOne() {
      await stores.hooks.take('hook_1', 'asker', noon, noon)
      await stores.hooks.confirm(hook, 'asker', aCall(noon))
    }
    beforeEach(async () => {
      await anEndpointId()
      await stores.events.keep([anEvent({ key: 'old' })], [])
    })

    it('are worked for by one, who gives them up when the feed has nothing more', async () => {
      const { hooks, events } = stores
      await hooks.set(aWrite(), hook, bounds)
      const due = (over: object = {}) => dueOf({ now: noon, part: 'sound', ...over })
      expect([await due(), await due({ part: 'unconfirmed' })]).toEqual([undefined, 'hook_1'])
      await confirmOne()
      expect([await due(), await due({ part: 'unconfirmed' })]).toEqual(['hook_1', undefined])
      for (const over of [
        { owners: [owner] },
        { hosts: ['a.example'] },
        { except: ['hook_1'] },
        { part: 'failing' },
      ]) {
        expect(await due(over)).toBeUndefined()
      }
      expect(await due({ owners: ['0x9'], hosts: ['b.example'], except: ['x'] })).toBe('hook_1')
      for (const [ids, isIn, count] of [
        [['hook_1', 'hook_2'], true, 1],
        [['hook_1', 'hook_2'], false, 0],
        [['hook_2'], true, 0],
        [['hook_2'], false, 1],
        [[], true, 0],
        [[], false, 1],
      ] as const) {
        expect(await due({ among: { ids, isIn } })).toBe(count === 1 ? 'hook_1' : undefined)
      }
      const takes = ['a', 'b', 'c'].map((who) => hooks.take('hook_1', who, noon, noon + 30))
      const taken = (await Promise.all(takes)).filter((it) => it !== undefined)
      expect(taken).toHaveLength(1)
      expect(await due()).toBeUndefined()
      // The lease of a process that died ends.
      expect(await due({ now: noon + 30 })).toBe('hook_1')
      const mine = await hooks.take('hook_1', 'd', noon + 30, noon + 60)
      if (mine === undefined) throw new Error('not taken')
      for (const who of ['a', 'b', 'c']) {
        expect(await hooks.delivered('hook_1', who, 5, aCall(noon))).toBe(false)
      }
      await hooks.giveUp(mine, 'd', noon + 31)
      expect(await only()).toMatchObject({ nextAt: null, cursor: 1 })
      await events.keep([anEvent({ key: 'drift', type: 'price.drift' })], [])
      await hooks.giveUp((await hooks.take('hook_1', 'd', noon, noon + 9)) ?? mine, 'd', noon)
      expect(await only()).toMatchObject({ nextAt: null, cursor: 2 })
      await events.keep([anEvent({ key: 'x' }), anEvent({ key: 'y', merchantId: 'other' })], [])
      expect(await due()).toBe('hook_1')
      await hooks.take('hook_1', 'e', noon, noon + 30)
      expect(await hooks.delivered('hook_1', 'e', 3, aCall(noon + 1))).toBe(true)
      await hooks.giveUp(mine, 'e', noon)
      expect(await only()).toMatchObject({ cursor: 4, deliveredAt: noon + 1, failures: 0 })
    })

    it('fail, wait, are parked, and wake for nobody but their owner', async () => {
      const { hooks, events } = stores
      await hooks.set(aWrite(), hook, bounds)
      await confirmOne()
      const failing = (now: number) => dueOf({ now, part: 'failing' })
      const fail = async (nextAt: number | null, now: number) => {
        await hooks.take('hook_1', 'a', now, now + 30)
        await hooks.failed('hook_1', 'a', { error: 'no', nextAt, call: aCall(now) })
      }
      await fail(noon + 5, noon)
      expect(await failing(noon + 4)).toBeUndefined()
      expect(await dueOf({ now: noon + 5, part: 'sound' })).toBeUndefined()
      expect(await failing(noon + 5)).toBe('hook_1')
      await fail(null, noon + 5)
      expect(await only()).toMatchObject({ failures: 2, failingSince: noon, parked: 'no' })
      await events.keep([anEvent({ key: 'x' })], [])
      expect(await failing(noon + 99)).toBeUndefined()
      // What is not there yet is not passed over.
      await hooks.set(aWrite(), hook, { ...bounds, since: 1_000 })
      expect(await only()).toMatchObject({ failures: 0, parked: null, cursor: 2, nextAt: noon })
      // Whoever was parked is asked again.
      expect((await only())?.confirmedAt).toBeNull()
      await hooks.set(aWrite(), hook, { ...bounds, since: 0 })
      await events.trim('weather', 1)
      expect(await only()).toMatchObject({ cursor: 0, isLossy: true })
    })

    it('of the operator come and go with the settings', async () => {
      const { hooks, events } = stores
      await hooks.setOperator('https://ops.example', noon)
      await hooks.setOperator('https://ops.example/2', noon)
      await events.keep([anEvent({ key: 'low', merchantId: '', type: 'gas.low' })], [])
      const mine = await hooks.nextDue({ now: noon, part: 'sound' })
      expect(mine).toMatchObject({ id: 'operator', url: 'https://ops.example/2', cursor: 1 })
      await hooks.setOperator(undefined, noon)
      expect(await hooks.ofMerchant('')).toEqual([])
    })
  })

  async function anEndpointId(): Promise<number> {
    const merchant = { name: 'Weather', description: '', network, asset, payTo: owner }
    const write = { merchantId: 'weather', revision: 1, owner, acceptedAt: 1_000 } as const
    const signed = { nonce: '0x1', action: 'listing.create', message: '{}', body: '{}' } as const
    await stores.listings.applyWrite(
      { ...write, ...signed, signature: '0x' },
      { kind: 'save', merchant, endpoints: [anEndpoint()] },
    )
    const [endpoint] = await stores.listings.endpointsOf('weather')
    return endpoint?.id as number
  }
}
