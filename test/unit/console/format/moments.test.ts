import { expect, it } from 'vitest'
import { dayAndTime, relativeTime, roughSpan } from '../../../../src/console/format/moments.js'

const now = Date.UTC(2026, 10, 21, 12)

it.each([
  [0, 'just now'],
  [-9_000, 'just now'],
  [-30_000, '30 seconds ago'],
  [-60_000, '1 minute ago'],
  [-3 * 3_600_000, '3 hours ago'],
  [-26 * 3_600_000, 'yesterday'],
  [2 * 86_400_000, 'in 2 days'],
  [7 * 86_400_000 - 1_000, 'in 7 days'],
  [-400 * 86_400_000, 'last year'],
])('writes %i ms from now as %s', (offset, text) => {
  expect(relativeTime(now + offset, now)).toBe(text)
})

it('writes the day and the time of the reader', () => {
  const at = new Date(2026, 10, 21, 14, 5).getTime()
  const later = (days: number) => at + days * 86_400_000 + 3_600_000
  const time = /\b0?2:05:00 PM$|\b14:05:00$/
  for (const [days, day] of [
    [0, /^Today /],
    [1, /^Yesterday /],
    [2, /^(Nov 21|21 Nov) /],
    [60, /^(Nov 21, 2026|21 Nov 2026) /],
  ] as const) {
    expect(dayAndTime(at, later(days))).toMatch(day)
    expect(dayAndTime(at, later(days))).toMatch(time)
  }
})

it('writes a duration in one unit', () => {
  expect([0, 1, 61, 7_300, 41 * 86_400].map(roughSpan)).toEqual([
    '0 seconds',
    '1 second',
    '1 minute',
    '2 hours',
    '1 month',
  ])
})

it('writes at most ten years', () => {
  const year = 365 * 86_400
  expect([10 * year, 10 * year + 1, 551_279 * year].map(roughSpan)).toEqual([
    '10 years',
    'over 10 years',
    'over 10 years',
  ])
})
