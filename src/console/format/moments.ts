const units: [Intl.RelativeTimeFormatUnit, number][] = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['week', 604_800],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
]

const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })
/** Dates are written as the browser's language writes them, in the time of the reader, and name its zone. */
const absolute = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'long' })
const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' })
const clockToSecond = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' })
const utcDay = new Intl.DateTimeFormat(undefined, {
  day: 'numeric',
  month: 'short',
  timeZone: 'UTC',
})

/** Writes a time as `3 minutes ago`, `in 2 days` or `just now`. Both are Unix milliseconds. */
export function relativeTime(at: number, now: number): string {
  const seconds = Math.round((at - now) / 1000)
  for (const [unit, size] of units) {
    // A time ahead is rounded, so that seven days do not read six a second later.
    const count = seconds > 0 ? Math.round(seconds / size) : Math.trunc(seconds / size)
    if (Math.abs(seconds) >= size) return relative.format(count, unit)
  }
  if (Math.abs(seconds) < 10) return 'just now'
  return relative.format(seconds, 'second')
}

const day = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' })
const dayOfYear = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' })
const zone = new Intl.DateTimeFormat('en', { timeZoneName: 'short' })

/** Writes the day and the time of the reader, as `Today 14:05:23` or `3 Nov 14:05:23`. Both are Unix milliseconds. */
export function dayAndTime(at: number, now: number): string {
  const names: [number, string][] = [
    [now, 'Today'],
    [now - 86_400_000, 'Yesterday'],
  ]
  const known = names.find(([time]) => dayOfYear.format(time) === dayOfYear.format(at))
  const isThisYear = new Date(at).getFullYear() === new Date(now).getFullYear()
  return `${known?.[1] ?? (isThisYear ? day : dayOfYear).format(at)} ${clockToSecond.format(at)}`
}

/** Returns the name of the time zone of the reader, such as `UTC` or `GMT+1`. */
export function zoneName(): string {
  return zone.formatToParts(new Date()).find(({ type }) => type === 'timeZoneName')?.value ?? 'UTC'
}

/** Writes the whole date with its time zone. */
export function absoluteTime(at: number): string {
  return absolute.format(at)
}

const LONG_SECONDS = 10 * 31_536_000

/** Writes the time of day of the reader: `14:05`. */
export function timeOfDay(at: number): string {
  return clock.format(at)
}

/** Writes a day of the service, which counts days in UTC: `3 Nov`. */
export function dayInUtc(at: number): string {
  return utcDay.format(at)
}

/** Writes a duration in one unit: `41 days`, `3 hours`, at most `over 10 years`. */
export function roughSpan(seconds: number): string {
  if (seconds > LONG_SECONDS) return 'over 10 years'
  for (const [unit, size] of units) {
    if (seconds >= size) return counted(Math.floor(seconds / size), unit)
  }
  return counted(Math.max(0, Math.floor(seconds)), 'second')
}

function counted(count: number, unit: string): string {
  return new Intl.NumberFormat('en', { style: 'unit', unit, unitDisplay: 'long' }).format(count)
}
