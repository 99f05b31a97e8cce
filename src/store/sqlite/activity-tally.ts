import { type ActivityKind, latencySteps, type NewActivity } from '../activity.js'

const HOUR_SECONDS = 3_600
const DAY_SECONDS = 86_400
/** Everybody's sums, beside those of each merchant. */
const EVERYBODY = ''
/** Gas is summed in 10^-12 dollars: 10^-18 would outgrow 64 bits at nine dollars. */
const GAS_SCALE = 1_000_000n
/** Where sums stop, so that they stay within 64 bits: nine trillion dollars. */
export const MAX_SUM = 9n * 10n ** 18n

/** A sum of a table, with the columns of its key in order. */
export interface TallyEntry {
  key: readonly (string | number)[]
  count: number
  amount: bigint
  gas: bigint
}

/** Sums of one commit, each key once. */
export interface Tally {
  sums: Iterable<TallyEntry>
  latencies: Iterable<TallyEntry>
  payers: Iterable<TallyEntry>
}

type Entries = Map<string, TallyEntry>

/** What of one merchant's endpoint fell into one hour; the keys do not say which. */
interface Group {
  merchantId: string | null
  endpointId: number | null
  hour: number
  sums: Entries
  latencies: Entries
  payers: Entries
}

/** Adds rows up: first each row once, then what they have in common for each of the places it counts at. */
export function tally(rows: readonly NewActivity[]): Tally {
  const sums: Entries = new Map()
  const latencies: Entries = new Map()
  const payers: Entries = new Map()
  for (const group of groupRows(rows)) {
    for (const place of placesOf(group)) {
      spread(group.sums, place, sums)
      spread(group.latencies, place, latencies)
      spread(group.payers, place, payers)
    }
  }
  return { sums: sums.values(), latencies: latencies.values(), payers: payers.values() }
}

function groupRows(rows: readonly NewActivity[]): Iterable<Group> {
  const groups = new Map<string, Group>()
  for (const row of rows) {
    const { kind, state, merchantId, endpointId, payer } = row
    const seconds = Math.floor(row.at / 1000)
    const hour = seconds - (seconds % HOUR_SECONDS)
    const name = `${hour} ${endpointId} ${merchantId}`
    let group = groups.get(name)
    if (group === undefined) {
      const empty = { sums: new Map(), latencies: new Map(), payers: new Map() }
      group = { merchantId, endpointId, hour, ...empty }
      groups.set(name, group)
    }
    const isPaid = state === 'settled' || state === 'valid'
    const amount = isPaid ? capped(row.amount) : 0n
    const gas = row.gasCost === null ? 0n : capped(row.gasCost / GAS_SCALE)
    add(group.sums, [kind, state, row.reason ?? '', Number(row.isSelf)], 1, amount, gas)
    if (!row.isSelf) addLatency(group.latencies, kind, row.latencyMs)
    if (state === 'settled' && !row.isSelf) add(group.payers, [payer], 1, amount, 0n)
  }
  return groups.values()
}

function addLatency(into: Entries, kind: ActivityKind, latencyMs: number): void {
  const upToMs = latencySteps.find((step) => latencyMs <= step) ?? (latencySteps.at(-1) as number)
  add(into, [kind, upToMs], 1, 0n, 0n)
}

/** Span, merchant, bucket and endpoint of every sum that a group belongs to. */
function placesOf({ merchantId, endpointId, hour }: Group): (string | number)[][] {
  const day = hour - (hour % DAY_SECONDS)
  const places: (string | number)[][] = [
    ['h', EVERYBODY, hour, 0],
    ['d', EVERYBODY, day, 0],
  ]
  if (merchantId === null) return places
  for (const endpoint of endpointId === null ? [0] : [0, endpointId]) {
    places.push(['h', merchantId, hour, endpoint], ['d', merchantId, day, endpoint])
  }
  return places
}

function spread(entries: Entries, place: readonly (string | number)[], into: Entries): void {
  const prefix = place.join('|')
  for (const [name, { key, count, amount, gas }] of entries) {
    const known = into.get(`${prefix}|${name}`)
    if (known === undefined) {
      into.set(`${prefix}|${name}`, { key: [...place, ...key], count, amount, gas })
    } else {
      addTo(known, count, amount, gas)
    }
  }
}

function add(
  into: Entries,
  key: readonly (string | number)[],
  count: number,
  amount: bigint,
  gas: bigint,
): void {
  const name = key.join('|')
  const known = into.get(name)
  if (known === undefined) into.set(name, { key, count, amount, gas })
  else addTo(known, count, amount, gas)
}

function addTo(entry: TallyEntry, count: number, amount: bigint, gas: bigint): void {
  entry.count += count
  entry.amount = capped(entry.amount + amount)
  entry.gas = capped(entry.gas + gas)
}

function capped(sum: bigint): bigint {
  return sum < MAX_SUM ? sum : MAX_SUM
}
