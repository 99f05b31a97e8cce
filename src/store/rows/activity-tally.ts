import { latencySteps, type NewActivity } from '../activity.js'

const HOUR_SECONDS = 3_600
export const DAY_SECONDS = 86_400
/** Everybody's sums, beside those of each merchant. */
const EVERYBODY = ''
/** What is of no single endpoint. */
const NO_ENDPOINT = 0
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

/** A row as it counts: what settled as a sale, or as money that is given back. */
export type CountedActivity = NewActivity & {
  /** What it takes from the sums: atomic units, and payments that are given back in full. */
  refund?: { amount: bigint; payments: number }
}

/** Sums of one commit, each key once. */
export interface Tally {
  sums: Iterable<TallyEntry>
  latencies: Iterable<TallyEntry>
  payers: Iterable<TallyEntry>
}

type Entries = Map<string, TallyEntry>

/** Adds rows up, each for all the places it counts at. */
export function tally(rows: readonly CountedActivity[]): Tally {
  const sums: Entries = new Map()
  const latencies: Entries = new Map()
  const payers: Entries = new Map()
  for (const row of rows) {
    const { kind, state, payer, payTo, refund } = row
    const isPaid = state === 'settled' || state === 'valid'
    const amount = refund?.amount ?? (isPaid ? capped(row.amount) : 0n)
    const gas = row.gasCost === null ? 0n : capped(row.gasCost / GAS_SCALE)
    const reason = row.reason ?? ''
    const isSelf = Number(row.isSelf)
    const undone = refund?.payments ?? 0
    // How fast a no was is anybody's to make.
    const upToMs = row.isSelf || !isPaid ? undefined : stepOf(row.latencyMs)
    for (const place of placesOf(row)) {
      const { name } = place
      const sum = [kind, state, reason, isSelf]
      add(sums, `${name}|${kind}|${state}|${isSelf}|${reason}`, place, sum, { amount, gas })
      if (undone > 0) {
        const rest = [kind, 'undone', '', isSelf]
        add(sums, `${name}|${kind}|undone|${isSelf}`, place, rest, { count: undone })
      }
      if (upToMs !== undefined) {
        add(latencies, `${name}|${kind}|${upToMs}`, place, [kind, upToMs], {})
      }
      if (row.isSelf) continue
      if (refund !== undefined) {
        const less = { count: -undone, amount: -amount }
        add(payers, `${name}|${payTo}`, place, [payTo], less)
      } else if (state === 'settled') add(payers, `${name}|${payer}`, place, [payer], { amount })
    }
  }
  return { sums: sums.values(), latencies: latencies.values(), payers: payers.values() }
}

interface Place {
  /** Unlike that of every other. */
  name: string
  key: readonly [span: 'h', merchantId: string, bucket: number, endpointId: number]
}

/**
 * Every place that a row counts at: its hour, of its endpoint and of everybody. Days are made of hours later
 * (`foldHours`), and a merchant as a whole is added up where it is read: both would cost every payment as much again.
 */
function placesOf({ at, merchantId, endpointId }: NewActivity): Place[] {
  const seconds = Math.floor(at / 1000)
  const hour = seconds - (seconds % HOUR_SECONDS)
  const everybody = placeOf(EVERYBODY, hour, NO_ENDPOINT)
  if (merchantId === null) return [everybody]
  return [everybody, placeOf(merchantId, hour, endpointId ?? NO_ENDPOINT)]
}

function placeOf(merchantId: string, bucket: number, endpointId: number): Place {
  return {
    name: `${bucket}|${endpointId}|${merchantId}`,
    key: ['h', merchantId, bucket, endpointId],
  }
}

function stepOf(latencyMs: number): number {
  return latencySteps.find((step) => latencyMs <= step) ?? (latencySteps.at(-1) as number)
}

function add(
  into: Entries,
  name: string,
  place: Place,
  rest: readonly (string | number)[],
  { count = 1, amount = 0n, gas = 0n }: { count?: number; amount?: bigint; gas?: bigint },
): void {
  const known = into.get(name)
  if (known === undefined) {
    into.set(name, { key: [...place.key, ...rest], count, amount, gas })
    return
  }
  known.count += count
  // Most have none: the arithmetic of large numbers is not free.
  if (amount !== 0n) known.amount = capped(known.amount + amount)
  if (gas !== 0n) known.gas = capped(known.gas + gas)
}

/** At most `MAX_SUM`. */
export function capped(sum: bigint): bigint {
  return sum < MAX_SUM ? sum : MAX_SUM
}
