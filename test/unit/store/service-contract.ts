import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createStatusHistory } from '../../../src/metrics/status-history.js'
import type { ServiceMinute, Standing } from '../../../src/store/service-history.js'
import type { Stores } from '../../../src/store/stores.js'
import { anActivity } from '../../support/an-activity.js'
import type { Engine } from './store-contract.js'

const MINUTE = 60
const HOUR = 3_600
const DAY = 86_400
const noon = anActivity().at / 1000

/** What every engine must do with the memory of the service. */
export function describeService(name: string, open: () => Promise<Engine>): void {
  let engine: Engine
  let stores: Stores
  beforeAll(async () => {
    engine = await open()
  })
  afterAll(() => engine.close())
  beforeEach(async () => {
    stores = await engine.empty()
  })

  const minute = (at: number, standing: Standing = 'ready'): ServiceMinute => ({
    at,
    standing,
    reason: standing === 'ready' ? '' : `${standing} at ${(at - noon) / MINUTE}`,
  })
  async function note(...minutes: ServiceMinute[]): Promise<void> {
    for (const one of minutes) await stores.service.note(one)
  }
  const incidents = async (until = noon + DAY) =>
    (await stores.service.incidents(until, 9)).map(({ startedAt, endedAt, kind }) => [
      kind,
      (startedAt - noon) / MINUTE,
      endedAt === null ? null : (endedAt - noon) / MINUTE,
    ])
  const read = (now: number) =>
    createStatusHistory({ history: stores.service, now: () => now * 1_000 })()

  describe(`the memory of the service on ${name}`, () => {
    it('counts minutes by hour and state, and each minute once', async () => {
      await note(minute(noon), minute(noon + MINUTE, 'degraded'), minute(noon + MINUTE, 'down'))
      // Another process was slower.
      await note(minute(noon, 'down'), minute(noon + HOUR, 'down'))
      expect(await stores.service.hours(noon, noon + DAY)).toEqual([
        { hour: noon, ready: 1, degraded: 1, down: 0, firstAt: noon },
        { hour: noon + HOUR, ready: 0, degraded: 0, down: 1, firstAt: noon + HOUR },
      ])
    })

    it('makes an incident of neighbouring minutes, and another when it gets worse', async () => {
      const states = ['ready', 'degraded', 'degraded', 'down', 'ready', 'down'] as const
      await note(...states.map((standing, i) => minute(noon + i * MINUTE, standing)))
      expect(await incidents()).toEqual([
        ['down', 5, null],
        ['down', 3, 4],
        ['degraded', 1, 3],
      ])
      const [last] = await stores.service.incidents(noon + DAY, 1)
      expect(last?.reason).toBe('down at 5')
    })

    it('tells of a time in which nothing was noted, and not of a restart', async () => {
      await note(minute(noon), minute(noon + 3 * MINUTE), minute(noon + 4 * MINUTE, 'down'))
      await note(minute(noon + 60 * MINUTE, 'down'), minute(noon + 61 * MINUTE))
      expect(await incidents()).toEqual([
        ['down', 60, 61],
        ['silent', 5, 60],
        ['down', 4, 5],
      ])
      const { days, uptime, recordedSince } = await read(noon + 62 * MINUTE)
      expect(recordedSince).toBe(noon)
      expect(days).toHaveLength(90)
      expect(days.at(-1)).toMatchObject({ ready: 3, degraded: 0, down: 2, unknown: 57 })
      expect(days.at(-2)).toMatchObject({ ready: 0, degraded: 0, down: 0, unknown: 0 })
      expect(uptime).toBeCloseTo(3 / 62, 4)
    })

    it('goes on after a clock that was far ahead, and forgets what is older than 90 days', async () => {
      await note(minute(noon, 'down'), minute(noon + 80 * DAY, 'down'))
      await note(minute(noon + MINUTE))
      expect((await read(noon + 2 * MINUTE)).days.at(-1)).toMatchObject({ ready: 1 })
      await note(minute(noon + 172 * DAY))
      expect(await stores.service.hours(0, noon + 81 * DAY)).toEqual([])
      expect(await incidents(noon + 200 * DAY)).toEqual([
        ['silent', (80 * DAY) / MINUTE + 1, (172 * DAY) / MINUTE],
      ])
    })

    it('has settle times of each day, without those of other days', async () => {
      await stores.activity.append([
        anActivity({ at: (noon - DAY) * 1_000, latencyMs: 90 }),
        anActivity({ at: noon * 1_000, latencyMs: 400 }),
        anActivity({ at: noon * 1_000, latencyMs: 400, kind: 'verify', state: 'valid' }),
        anActivity({ at: noon * 1_000 + 1, latencyMs: 1_900 }),
      ])
      const { days, uptime, recordedSince } = await read(noon + MINUTE)
      expect([uptime, recordedSince]).toEqual([null, null])
      expect(days.slice(-3).map(({ p50Ms, p95Ms }) => [p50Ms, p95Ms])).toEqual([
        [null, null],
        [90, 90],
        [400, 1_900],
      ])
    })
  })
}
