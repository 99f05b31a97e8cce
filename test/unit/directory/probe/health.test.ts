import { describe, expect, it } from 'vitest'
import { freshHealth, nextHealth } from '../../../../src/directory/probe/health.js'
import type { EndpointHealth } from '../../../../src/directory/store/listings.js'
import { aRequirement, asset, network, payTo } from '../../../support/directory/a-402.js'

const now = 1_000_000
const middle = () => 0.5
const record = (verdict: string) => ({
  verdict,
  message: '',
  warnings: [],
  seen: {},
  checkedAt: now,
})
const extras: EndpointHealth['extras'] = { mimeType: 'text/csv' }
const live = { record: record('live'), accepts: [aRequirement({ amount: '7' })], extras }
const failed = { record: record('unreachable'), accepts: [], extras: {} }
const fresh = freshHealth({ network, asset, payTo, price: 10_000n })

describe('the health of an endpoint', () => {
  it('begins unverified, with the requirement of the listing', () => {
    expect(fresh).toEqual({
      accepts: [aRequirement({ maxTimeoutSeconds: 300 })],
      extras: {},
      status: 'unverified',
      probe: null,
      failures: 0,
      nextProbeAt: null,
    })
  })

  it('is live after one success, with the terms and texts of the 402, and probed again after six hours', () => {
    const failing: EndpointHealth = { ...fresh, status: 'failing', failures: 9 }
    for (const previous of [fresh, failing]) {
      expect(nextHealth(previous, live, now, middle)).toEqual({
        accepts: live.accepts,
        extras,
        status: 'live',
        probe: live.record,
        failures: 0,
        nextProbeAt: now + 6 * 3_600,
      })
    }
  })

  it('is failing after three failures in a row, and not after two', () => {
    const seen: string[] = []
    let health = nextHealth(fresh, live, now, middle)
    for (let i = 0; i < 4; i++) {
      health = nextHealth(health, failed, now, middle)
      seen.push(health.status)
      expect(health).toMatchObject({ accepts: live.accepts, extras })
    }
    expect(seen).toEqual(['live', 'live', 'failing', 'failing'])
    expect(nextHealth(fresh, failed, now, middle)).toMatchObject({
      status: 'unverified',
      failures: 1,
    })
  })

  it('starts to count anew after a success', () => {
    let health: EndpointHealth = { ...fresh, status: 'live', failures: 2 }
    health = nextHealth(health, live, now, middle)
    health = nextHealth(health, failed, now, middle)
    expect(health).toMatchObject({ status: 'live', failures: 1 })
  })

  it('is probed again after five minutes, then twice as late each time, up to a day', () => {
    let health = fresh
    const waits: number[] = []
    for (let i = 0; i < 12; i++) {
      health = nextHealth(health, failed, now, middle)
      waits.push(((health.nextProbeAt ?? 0) - now) / 60)
    }
    expect(waits).toEqual([5, 10, 20, 40, 80, 160, 320, 640, 1_280, 1_440, 1_440, 1_440])
    expect(nextHealth({ ...fresh, failures: 1e9 }, failed, now, middle).nextProbeAt).toBe(
      now + 86_400,
    )
  })

  it('is spread by a fifth to either side, never past a day', () => {
    const wait = (result: typeof live, random: number, failures = 0) =>
      (nextHealth({ ...fresh, failures }, result, now, () => random).nextProbeAt ?? 0) - now
    expect([wait(live, 0), wait(live, 1)]).toEqual([17_280, 25_920])
    expect([wait(failed, 0), wait(failed, 1)]).toEqual([240, 360])
    expect([wait(failed, 0, 50), wait(failed, 1, 50)]).toEqual([69_120, 86_400])
  })
})
