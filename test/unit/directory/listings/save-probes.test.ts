import { type Address, getAddress } from 'viem'
import { beforeEach, describe, expect, it } from 'vitest'
import {
  createSaveProbes,
  type SavedEndpoint,
} from '../../../../src/directory/listings/save-probes.js'
import type { Probe } from '../../../../src/directory/probe/probe.js'
import {
  aListing,
  anEndpoint,
  endpointsOf,
  live,
  network,
  tokens,
} from '../../../support/a-directory.js'

const payTo = aListing().payTo
let nowMs: number
let called: number
let underWay: number
let most: number

beforeEach(() => {
  nowMs = 1_000_000
  called = 0
  underWay = 0
  most = 0
})

/** Looks at an endpoint that nobody can reach. */
function looksInVain() {
  const record = { verdict: 'unreachable', message: '', warnings: [], seen: {}, checkedAt: 1 }
  const probe: Probe = async () => ({ record, accepts: [], isDefinite: false, extras: {} })
  const terms = { network, tokens }
  return createSaveProbes({ probe, ...terms, now: () => nowMs, random: () => 0.5 })
}

/** Looks with calls that take some of the test's own time. */
function someLooks(callMs = 0) {
  const probe: Probe = async ({ price }) => {
    called++
    underWay++
    most = Math.max(most, underWay)
    await new Promise((resolve) => setImmediate(resolve))
    nowMs += callMs
    underWay--
    return live(price, payTo, Math.floor(nowMs / 1000))
  }
  const terms = { network, tokens }
  return createSaveProbes({ probe, ...terms, now: () => nowMs, random: () => 0.5 })
}

const many = (count: number) =>
  endpointsOf(
    aListing({
      endpoints: Array.from({ length: count }, (_, index) =>
        anEndpoint({ url: `https://a.example/${index}` }),
      ),
    }),
  )

describe('the probes of one save', () => {
  it('run in the order of the listing, four at a time', async () => {
    const looked = await someLooks()(many(20), payTo, [])
    expect(looked.map(({ url }) => url)).toEqual(many(20).map(({ url }) => url))
    expect(looked.every(({ status }) => status === 'live')).toBe(true)
    expect([called, most]).toEqual([20, 4])
  })

  it('end after twenty seconds; the rest is unverified and probed in a minute', async () => {
    const looked = await someLooks(5_000)(many(20), payTo, [])
    expect(called).toBeLessThan(10)
    const rest = looked.slice(called)
    expect(rest.length).toBeGreaterThan(10)
    for (const { status, failures, probe, nextProbeAt, accepts } of rest) {
      expect([status, failures, probe?.verdict]).toEqual(['unverified', 0, 'not_checked'])
      expect(nextProbeAt).toBe(Math.floor(nowMs / 1000) + 60)
      expect(accepts).toMatchObject([{ amount: '10000', payTo, network }])
    }
  })

  it('keep the quote of a 402 while the endpoint is out of reach, and no terms that only a listing named', async () => {
    const [listed] = endpointsOf(aListing({ endpoints: [anEndpoint({ price: '9000000' })] }))
    const endpoint = listed as NonNullable<typeof listed>
    const times = { lastUpdated: 1, createdAt: 1 }
    const stored = { id: 1, merchantId: 'm', isHosted: false, delivery: null, ...times }
    const looks = looksInVain()
    const [unseen] = await looks([endpoint], payTo, [])
    const cheaper = { ...endpoint, price: 10_000n }
    const [again] = await looks([cheaper], payTo, [{ ...stored, ...(unseen as SavedEndpoint) }])
    expect(again?.accepts).toMatchObject([{ amount: '10000' }])
    const quoted = live(9_000_000n, payTo, 1).accepts
    const seen = { ...stored, ...(unseen as SavedEndpoint), accepts: quoted }
    const [kept] = await looks([cheaper], payTo, [seen])
    expect(kept?.accepts).toEqual(quoted)
    const [, eurc] = tokens
    const inEuros = { ...cheaper, asset: eurc?.address as Address, symbol: 'EURC' }
    const [moved] = await looks([inEuros], payTo, [seen])
    const extra = { name: 'EURC', version: '2' }
    expect(moved?.accepts).toMatchObject([
      { asset: getAddress(inEuros.asset), amount: '10000', extra },
    ])
  })

  it('are bounded for each host over all saves, and a missing probe refuses nothing', async () => {
    const look = someLooks()
    for (let save = 0; save < 3; save++) await look(many(100), payTo, [])
    expect(called).toBe(300)
    const [beyond] = await look(many(1), payTo, [])
    expect([called, beyond?.status, beyond?.probe?.verdict]).toEqual([
      300,
      'unverified',
      'not_checked',
    ])
    nowMs += 1_000
    const [later] = await look(many(1), payTo, [])
    expect([called, later?.status]).toEqual([301, 'live'])
  })
})
