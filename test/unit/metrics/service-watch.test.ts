import { expect, it } from 'vitest'
import { createServiceWatch } from '../../../src/metrics/service-watch.js'
import type { ServiceMinute } from '../../../src/store/service-history.js'

const start = Date.UTC(2026, 10, 21, 12)

function aWatch() {
  const noted: ServiceMinute[] = []
  const state = { now: start, ok: true, warning: false, isKeeper: true, isAway: false }
  const detail = 'relayers wait for gas money '.repeat(30)
  const watch = createServiceWatch({
    readReadiness: async () => ({
      status: state.ok ? 'ready' : 'not_ready',
      checks: [
        { name: 'journal', ok: true, detail: 'writable' },
        { name: 'relayers', ok: state.ok, detail, ...(state.warning && { warning: true }) },
      ],
    }),
    history: {
      async note(minute) {
        if (state.isAway) throw new Error('no database')
        noted.push(minute)
      },
    },
    isKeeper: () => state.isKeeper,
    now: () => state.now,
    log: { warn() {} },
  })
  const look = async (changes: Partial<typeof state> = {}) => {
    state.now += 60_000
    Object.assign(state, changes)
    await watch.look()
  }
  return { noted, look, said: () => noted.map(({ at, standing }) => [at - start / 1000, standing]) }
}

it('notes the state of each minute, with the reason where it is not ready', async () => {
  const { noted, look, said } = aWatch()
  await look()
  await look({ warning: true })
  await look({ ok: false })
  expect(said()).toEqual([
    [60, 'ready'],
    [120, 'degraded'],
    [180, 'down'],
  ])
  expect(noted[0]?.reason).toBe('')
  expect(noted[2]?.reason).toMatch(/^relayers: relayers wait .*…$/)
  expect(noted[2]?.reason).toHaveLength(300)
})

it('notes the minutes in which the database was away when it is back', async () => {
  const { look, said } = aWatch()
  await look({ isAway: true, ok: false })
  // With the database the right to note is lost too.
  await look({ isKeeper: false })
  expect(said()).toEqual([])
  await look({ isAway: false, isKeeper: true, ok: true })
  expect(said()).toEqual([
    [60, 'down'],
    [120, 'down'],
    [180, 'ready'],
  ])
})

it('leaves the minutes to another process that keeps the store', async () => {
  const { look, said } = aWatch()
  await look({ isKeeper: false, ok: false })
  await look({ ok: true })
  await look({ isKeeper: true })
  expect(said()).toEqual([[180, 'ready']])
})
