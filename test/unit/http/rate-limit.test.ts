import fastify from 'fastify'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import {
  blockOf,
  type CountExchange,
  callerOf,
  installRateLimit,
  networkOf,
} from '../../../src/http/rate-limit.js'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

/** A limit of four requests a minute; `sent` is what the other processes are told. */
function aLimit() {
  const world = { isGone: false, sent: [] as number[] }
  const exchange: CountExchange = {
    async add(counts, now, windowMs) {
      if (world.isGone) throw new Error('the database is gone')
      world.sent.push(...counts.map(({ count }) => count))
      return counts.map(({ caller }) => {
        const count = world.sent.reduce((sum, it) => sum + it, 0)
        return { caller, count, endsAt: now + windowMs }
      })
    },
    busiest: async () => [],
    forget: async () => {},
  }
  const limiter = installRateLimit(fastify(), { max: 4, windowSeconds: 60 }, exchange)
  if (limiter === undefined) throw new Error('there is no limit')
  const request = { ip: '192.0.2.7' }
  const limited = () => limiter.consume(request).limited
  return { world, limited, hold: () => limiter.hold(request) }
}

describe('requests that are counted with other processes', () => {
  it('are not forgotten while the database is gone', async () => {
    const { world, limited } = aLimit()
    world.isGone = true
    expect([limited(), limited(), limited()]).toEqual([false, false, false])
    await vi.advanceTimersByTimeAsync(3_000)
    expect([limited(), limited()]).toEqual([false, true])
    world.isGone = false
    await vi.advanceTimersByTimeAsync(1_000)
    expect(world.sent).toEqual([5])
  })

  it('do not make up for one that is given back after its minute', async () => {
    const { world, hold } = aLimit()
    const held = hold()
    const early = hold()
    if ('giveBack' in early) early.giveBack()
    await vi.advanceTimersByTimeAsync(1_000)
    expect(world.sent).toEqual([1])
    await vi.advanceTimersByTimeAsync(61_000)
    world.sent.length = 0
    if ('giveBack' in held) held.giveBack()
    await vi.advanceTimersByTimeAsync(1_000)
    expect(world.sent.filter((count) => count < 0)).toEqual([])
  })
})

it.each([
  ['198.51.100.7', '198.51.100.7', '198.51.100.0/24', '198.51.0.0/16'],
  ['::ffff:198.51.100.7', '198.51.100.7', '198.51.100.0/24', '198.51.0.0/16'],
  ['2001:db8:a:b:c:d:e:f', '2001:db8:a:b::/64', '2001:db8:a::/48', '2001:db8::/32'],
  ['2001:db8::b:c:d:192.0.2.1', '2001:db8:0:b::/64', '2001:db8:0::/48', '2001:db8::/32'],
  ['1::', '1:0:0:0::/64', '1:0:0::/48', '1:0::/32'],
])('the parties of %s are counted as %s, %s and %s', (ip, caller, block, network) => {
  expect([callerOf(ip), blockOf(ip), networkOf(ip)]).toEqual([caller, block, network])
})
