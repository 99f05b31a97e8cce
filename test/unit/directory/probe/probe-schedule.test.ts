import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createHostPace } from '../../../../src/directory/probe/call-limits.js'
import { nextHealth } from '../../../../src/directory/probe/health.js'
import type { Probe, ProbeResult } from '../../../../src/directory/probe/probe.js'
import { ProbeSchedule } from '../../../../src/directory/probe/probe-schedule.js'
import type { StoredEndpoint } from '../../../../src/directory/store/listings.js'
import { runEvery } from '../../../support/run-every.js'
import { aListingStore, anEndpoint } from './a-listing-store.js'

const start = 1_700_000_000
const seconds = () => Math.floor(Date.now() / 1000)
let schedule: ProbeSchedule | undefined
let background: ReturnType<typeof runEvery> | undefined

beforeEach(() => {
  vi.useFakeTimers({ now: start * 1000 })
})
afterEach(async () => {
  const stopped = Promise.all([schedule?.stop(), background?.stop()])
  await vi.advanceTimersByTimeAsync(60_000)
  await stopped
  schedule = undefined
  background = undefined
  vi.useRealTimers()
})

function found(verdict: string): ProbeResult {
  const record = { verdict, message: '', warnings: [], seen: {}, checkedAt: seconds() }
  const accepts = verdict === 'live' ? [{ amount: '1' }] : []
  return { record, accepts, isDefinite: false, extras: {} }
}

interface Call {
  url: string
  from: number
  to: number
}

/** A schedule over fakes, with a log of what was called when (ms from the start). */
function open(
  endpoints: StoredEndpoint[],
  options: { takesMs?: number; verdict?: () => string } = {},
) {
  const { takesMs = 100, verdict = () => 'live' } = options
  const calls: Call[] = []
  const warnings: string[] = []
  const probe: Probe = async ({ url }) => {
    const call = { url, from: Date.now() - start * 1000, to: Number.POSITIVE_INFINITY }
    calls.push(call)
    await new Promise((resolve) => setTimeout(resolve, takesMs))
    call.to = Date.now() - start * 1000
    return found(verdict())
  }
  const warn = (_: object, message: string) => void warnings.push(message)
  const listing = aListingStore(endpoints)
  const opened = new ProbeSchedule({
    store: listing.store,
    probe,
    isKeeper: () => true,
    pace: createHostPace(Date.now),
    effectOf: async (_, result, seconds) => ({
      after: (previous) => nextHealth(previous, result, seconds, () => 0.5),
    }),
    now: () => Date.now(),
    log: { warn, debug: () => undefined },
  })
  schedule = opened
  const begin = () => {
    background = runEvery(1_000, () => opened.look(), { warn })
  }
  return { ...listing, calls, warnings, schedule: opened, begin }
}

const many = (count: number, over: (id: number) => Partial<StoredEndpoint> = () => ({})) =>
  Array.from({ length: count }, (_, i) => anEndpoint({ id: i + 1, ...over(i + 1) }))

const atOnce = (calls: Call[], at: number) =>
  calls.filter(({ from, to }) => from <= at && at < to).length

describe('the schedule', () => {
  it('probes due endpoints, keeps the results, and leaves the other endpoints alone', async () => {
    const { begin, calls, rows } = open([
      anEndpoint({ id: 1, nextProbeAt: start - 5 }),
      anEndpoint({ id: 2, nextProbeAt: start + 3_600 }),
      anEndpoint({ id: 3, nextProbeAt: null }),
    ])
    begin()
    await vi.advanceTimersByTimeAsync(2_000)
    expect(calls.map(({ url }) => url)).toEqual(['https://api-1.example.com/weather'])
    expect(rows.get(1)).toMatchObject({ status: 'live', failures: 0, accepts: [{ amount: '1' }] })
    expect((rows.get(1)?.nextProbeAt ?? 0) - start).toBeCloseTo(6 * 3_600, -1)
    expect(rows.get(2)).toMatchObject({ status: 'unverified', nextProbeAt: start + 3_600 })
  })

  it('repeats probes: failing after three failures, live after one success, never dropped', async () => {
    let verdict = 'unreachable'
    const { begin, rows, saved } = open([anEndpoint({ status: 'live' })], {
      verdict: () => verdict,
    })
    begin()
    await vi.advanceTimersByTimeAsync(10_000)
    expect(rows.get(1)).toMatchObject({ status: 'live', failures: 1 })
    await vi.advanceTimersByTimeAsync(330_000)
    expect(rows.get(1)).toMatchObject({ status: 'live', failures: 2 })
    await vi.advanceTimersByTimeAsync(630_000)
    expect(rows.get(1)).toMatchObject({ status: 'failing', failures: 3 })
    const waits = saved.map(({ health, now }) => (health.nextProbeAt ?? 0) - now)
    expect(waits).toEqual([300, 600, 1_200])
    verdict = 'live'
    await vi.advanceTimersByTimeAsync(1_230_000)
    expect(rows.get(1)).toMatchObject({ status: 'live', failures: 0 })
  })

  it('runs at most four probes at once, most overdue first', async () => {
    const endpoints = many(10, (id) => ({ nextProbeAt: start - id }))
    const { begin, calls } = open(endpoints, { takesMs: 5_000 })
    begin()
    await vi.advanceTimersByTimeAsync(26_000)
    expect(calls).toHaveLength(10)
    expect(Math.max(...calls.map(({ from }) => atOnce(calls, from)))).toBe(4)
    expect(calls.slice(0, 4).map(({ url }) => url)).toEqual(
      [10, 9, 8, 7].map((id) => `https://api-${id}.example.com/weather`),
    )
  })

  it('calls one host once at a time with a second between, and other hosts meanwhile', async () => {
    const same = many(4, (id) => ({ url: `https://one.example.com/${id}` }))
    const { begin, calls } = open([...same, anEndpoint({ id: 9 })])
    begin()
    await vi.advanceTimersByTimeAsync(10_000)
    expect(calls).toHaveLength(5)
    expect(calls.find(({ url }) => url.includes('api-9'))?.from).toBeLessThan(500)
    const one = calls.filter(({ url }) => url.includes('one.'))
    for (let i = 1; i < one.length; i++) {
      expect((one[i]?.from ?? 0) - (one[i - 1]?.to ?? 0)).toBeGreaterThanOrEqual(1_000)
    }
  })

  it('does not let a host with hundreds of endpoints delay others, and drops none of them', async () => {
    const crowd = many(300, (id) => ({ url: `https://crowd.example.com/${id}`, nextProbeAt: 0 }))
    const other = anEndpoint({ id: 999, nextProbeAt: start - 1 })
    const { begin, calls } = open([...crowd, other])
    begin()
    await vi.advanceTimersByTimeAsync(15_000)
    expect(calls.some(({ url }) => url.includes('api-999'))).toBe(true)
    await vi.advanceTimersByTimeAsync(900_000)
    expect(new Set(calls.map(({ url }) => url)).size).toBe(301)
    expect(calls).toHaveLength(301)
  })

  it('keeps nothing when the listing was saved meanwhile', async () => {
    const { begin, saved, rows } = open([anEndpoint()], { takesMs: 500 })
    begin()
    await vi.advanceTimersByTimeAsync(100)
    rows.set(1, anEndpoint({ price: 99n, nextProbeAt: start + 999 }))
    await vi.advanceTimersByTimeAsync(1_000)
    expect(saved).toEqual([])
  })

  it('keeps nothing when the endpoint is gone meanwhile', async () => {
    const { begin, saved, rows, warnings } = open([anEndpoint()], { takesMs: 500 })
    begin()
    await vi.advanceTimersByTimeAsync(100)
    rows.clear()
    await vi.advanceTimersByTimeAsync(1_000)
    expect([saved, warnings]).toEqual([[], []])
  })

  it('goes on after the store failed', async () => {
    const { begin, store, rows, warnings } = open([anEndpoint()])
    const { dueEndpoints, saveProbe } = store
    store.dueEndpoints = () => Promise.reject(new Error('disk'))
    begin()
    await vi.advanceTimersByTimeAsync(3_000)
    store.dueEndpoints = dueEndpoints
    store.saveProbe = () => Promise.reject(new Error('disk'))
    await vi.advanceTimersByTimeAsync(20_000)
    store.saveProbe = saveProbe
    await vi.advanceTimersByTimeAsync(20_000)
    expect(rows.get(1)?.status).toBe('live')
    expect(new Set(warnings)).toEqual(
      new Set([
        'background work failed; it runs again at its time',
        'the result of a probe could not be kept',
      ]),
    )
  })

  it('stops: starts nothing more, waits for running probes, and keeps none of their results', async () => {
    const { schedule, begin, calls, saved } = open(many(10), { takesMs: 5_000 })
    begin()
    await vi.advanceTimersByTimeAsync(100)
    const stopped = schedule.stop()
    await vi.advanceTimersByTimeAsync(4_000)
    expect(await Promise.race([stopped.then(() => 'stopped'), Promise.resolve('waiting')])).toBe(
      'waiting',
    )
    await vi.advanceTimersByTimeAsync(20_000)
    await stopped
    expect(calls).toHaveLength(4)
    expect(saved).toEqual([])
  })
})

describe('a probe on request', () => {
  const soon = { nextProbeAt: start + 999 }

  it('comes before its time', async () => {
    const { schedule, rows } = open([anEndpoint(soon)])
    const look = schedule.probeNow('weather', 1)
    await vi.advanceTimersByTimeAsync(200)
    expect(await look).toMatchObject({ state: 'probed', health: { status: 'live' } })
    expect(rows.get(1)?.status).toBe('live')
  })

  it('is of an endpoint of that merchant only', async () => {
    const { schedule, calls } = open([anEndpoint(soon)])
    expect(await schedule.probeNow('other', 1)).toEqual({ state: 'missing' })
    expect(await schedule.probeNow('weather', 2)).toEqual({ state: 'missing' })
    expect(calls).toEqual([])
  })

  it('waits for the turn of its host, but not for ever', async () => {
    const url = 'https://one.example.com/'
    const { schedule, calls } = open(
      [1, 2, 3].map((id) => anEndpoint({ id, url: url + id, ...soon })),
      {
        takesMs: 4_000,
      },
    )
    const looks = [1, 2, 3].map((id) => schedule.probeNow('weather', id))
    await vi.advanceTimersByTimeAsync(20_000)
    const states = (await Promise.all(looks)).map(({ state }) => state)
    expect(states.sort()).toEqual(['busy', 'probed', 'probed'])
    expect(calls).toHaveLength(2)
  })

  it('three times in a minute is one failure', async () => {
    const { schedule, rows } = open([anEndpoint(soon)], { verdict: () => 'unreachable' })
    for (let i = 0; i < 3; i++) {
      const look = schedule.probeNow('weather', 1)
      await vi.advanceTimersByTimeAsync(2_000)
      expect(await look).toMatchObject({ health: { failures: 1, status: 'unverified' } })
    }
    expect(rows.get(1)?.probe?.checkedAt).toBe(start + 4)
    await vi.advanceTimersByTimeAsync(240_000)
    const later = schedule.probeNow('weather', 1)
    await vi.advanceTimersByTimeAsync(2_000)
    expect(await later).toMatchObject({ health: { failures: 2 } })
  })
})

describe('an early probe', () => {
  it('comes before its time and before all due probes, as soon as its host may be called', async () => {
    const due = many(8, (id) => ({ url: `https://due-${id}.example/` }))
    const wanted = anEndpoint({ id: 9, nextProbeAt: start + 3_600 })
    const { schedule, begin, calls } = open([...due, wanted])
    begin()
    await vi.advanceTimersByTimeAsync(50)
    expect(calls).toHaveLength(4)
    schedule.probeSoon(9)
    schedule.probeSoon(9)
    schedule.probeSoon(404)
    await vi.advanceTimersByTimeAsync(100)
    expect(calls.map(({ url }) => url).indexOf(wanted.url)).toBe(4)
    await vi.advanceTimersByTimeAsync(10_000)
    expect(calls.filter(({ url }) => url === wanted.url)).toHaveLength(1)
  })

  it('begins at once when there is nothing else to do', async () => {
    const { schedule, calls, saved } = open([anEndpoint({ nextProbeAt: start })])
    schedule.probeSoon(1)
    await vi.advanceTimersByTimeAsync(0)
    expect(calls).toMatchObject([{ from: 0 }])
    await vi.advanceTimersByTimeAsync(100)
    expect(saved).toMatchObject([{ id: 1, health: { status: 'live' } }])
  })
})
