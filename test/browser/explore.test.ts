import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openDatabase } from '../../src/store/sqlite/database.js'
import { seriousFindings } from './support/accessibility.js'
import { type BrowserWorld, startBrowserWorld } from './support/browser-world.js'
import { reasonToSkip } from './support/chromium.js'
import { settled } from './support/console-steps.js'

const skipped = reasonToSkip()
const HOUR = 3_600
const DAY = 86_400
let world: BrowserWorld

beforeAll(async () => {
  if (skipped !== undefined) return
  world = await startBrowserWorld()
  writeMemory(world.databasePath)
})
afterAll(() => world?.stop())

/** Writes forty days of the service: an hour down and an hour without data ten days ago, else ready. */
function writeMemory(path: string): void {
  const database = openDatabase(path)
  const today = Math.floor(Date.now() / 1_000 / DAY) * DAY
  const insert = database.prepare(
    `INSERT INTO service_hours (hour, ready, degraded, down, first_at, last_at)
     VALUES (@hour, @ready, 0, @down, @hour, @hour + 3540)`,
  )
  const bad = today - 10 * DAY
  for (let hour = today - 40 * DAY; hour < today; hour += HOUR) {
    const down = hour === bad ? 60 : 0
    if (hour !== bad + HOUR) insert.run({ hour, ready: 60 - down, down })
  }
  const incident = database.prepare(
    'INSERT INTO service_incidents (started_at, ended_at, kind, reason) VALUES (?, ?, ?, ?)',
  )
  incident.run(bad, bad + HOUR, 'down', 'chain eip155:5042: no node answers')
  incident.run(bad + HOUR, bad + 2 * HOUR, 'silent', 'Nothing was noted.')
  database.close()
}

describe.skipIf(skipped !== undefined)('the status', () => {
  it('remembers 90 days: uptime by day, settle times, and incidents with their reasons', async () => {
    const { page, faults, close } = await world.open({ width: 390 })
    await page.goto('/status')
    const uptime = page.getByRole('slider', { name: 'Uptime by day' })
    await uptime.waitFor()
    await page.getByText(/of the time up since/).waitFor()
    // A chart is one stop of the keyboard; its ends are 90 days ago and today.
    await uptime.focus()
    await page.keyboard.press('Home')
    expect(await uptime.getAttribute('aria-valuetext')).toMatch(/: no data$/)
    await page.keyboard.press('End')
    for (let day = 0; day < 10; day++) await page.keyboard.press('ArrowLeft')
    expect(await uptime.getAttribute('aria-valuetext')).toMatch(
      /: 91\.66% up, 0 minutes degraded, 60 minutes down, 60 minutes without data$/,
    )
    const down = page.getByRole('listitem').filter({ hasText: 'no node answers' })
    await down.getByText('for 1 hour').waitFor()
    await down.getByText('Down', { exact: true }).waitFor()
    await page.getByRole('slider', { name: 'Settle time by day' }).waitFor()
    await settled(page)
    expect(await seriousFindings(page)).toEqual([])
    expect(faults).toEqual([])
    await close()
  })
})
