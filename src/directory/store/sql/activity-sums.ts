import { type Insertion, insertAll, type Steps } from '../../../sql/sql.js'
import { latencyStep, type NewActivity } from '../activity.js'

const HOUR_SECONDS = 3_600
/** The merchant that stands for everybody's sums, in addition to those of each merchant. */
const EVERYBODY = ''
/** The endpoint that stands for answers about no single endpoint. */
const NO_ENDPOINT = 0
/** Gas is summed in 10^-12 dollars: in 10^-18 it would outgrow 64 bits at nine dollars. */
const GAS_SCALE = 1_000_000n
/** The largest sum, so that sums stay within 64 bits: nine trillion dollars. */
const MAX_SUM = 9n * 10n ** 18n

/** Returns the smaller of the sum and the largest that is kept. */
export function capped(sum: bigint): bigint {
  return sum < MAX_SUM ? sum : MAX_SUM
}

/** Returns the assignment that adds the inserted value to the present one, and stops where 64 bits would end. */
function addCapped(table: string, column: string): string {
  const [present, added] = [`${table}.${column}`, `excluded.${column}`]
  return `${column} = CASE WHEN ${added} > 0 AND ${present} > ${MAX_SUM} - ${added} THEN ${MAX_SUM}
    ELSE ${present} + ${added} END`
}

/** An addition to one row of a table of sums. */
interface SumAddition {
  /** The columns of the key. */
  key: Readonly<Record<string, string | number>>
  count: number
  amount: bigint
  gas: bigint
}

type Entries = Map<string, SumAddition>

const sums = tableOfSums('activity_sums', ['kind', 'state', 'reason', 'is_self'], ['amount', 'gas'])
const latencies = tableOfSums('activity_latencies', ['kind', 'up_to_ms'], [])
const payers = tableOfSums('activity_payers', ['payer'], ['amount'])

/** Adds rows to the sums. */
export function* addToSums(rows: readonly NewActivity[]): Steps<void> {
  const tallied = tally(rows)
  yield* insertAll(
    sums,
    Array.from(tallied.sums.values(), ({ key, ...added }) => ({ ...key, ...added })),
  )
  yield* insertAll(
    latencies,
    Array.from(tallied.latencies.values(), ({ key, count }) => ({ ...key, count })),
  )
  yield* insertAll(
    payers,
    Array.from(tallied.payers.values(), ({ key, count, amount }) => ({ ...key, count, amount })),
  )
}

function tableOfSums(table: string, rest: readonly string[], money: readonly string[]): Insertion {
  const key = ['merchant_id', 'hour', 'endpoint_id', ...rest]
  const added = [
    `count = ${table}.count + excluded.count`,
    ...money.map((name) => addCapped(table, name)),
  ]
  return {
    table,
    order: key,
    rest: `ON CONFLICT (${key.join(', ')}) DO UPDATE SET ${added.join(', ')}`,
  }
}

/** Adds rows up, each for all the sums in which it counts, so that each key is written once. */
function tally(rows: readonly NewActivity[]) {
  const sums: Entries = new Map()
  const latencies: Entries = new Map()
  const payers: Entries = new Map()
  for (const row of rows) {
    const { kind, state, payer, payTo, refund } = row
    const isPaid = state === 'settled' || state === 'valid'
    const isSummed = isPaid && row.isOtherMoney !== true
    const amount = refund?.amount ?? (isSummed ? capped(row.amount) : 0n)
    const gas = row.gasCost === null ? 0n : capped(row.gasCost / GAS_SCALE)
    const reason = row.reason ?? ''
    const isSelf = Number(row.isSelf)
    const undone = refund?.payments ?? 0
    // Refusals are not timed: anybody can cause fast ones.
    const upToMs = row.isSelf || !isPaid ? undefined : latencyStep(row.latencyMs)
    for (const place of placesOf(row)) {
      const { name } = place
      const sum = { kind, state, reason, is_self: isSelf }
      add(sums, `${name}|${kind}|${state}|${isSelf}|${reason}`, place, sum, { amount, gas })
      if (undone > 0) {
        const rest = { kind, state: 'undone', reason: '', is_self: isSelf }
        add(sums, `${name}|${kind}|undone|${isSelf}`, place, rest, { count: undone })
      }
      if (upToMs !== undefined) {
        add(latencies, `${name}|${kind}|${upToMs}`, place, { kind, up_to_ms: upToMs }, {})
      }
      if (row.isSelf) continue
      if (refund !== undefined) {
        const less = { count: -undone, amount: -amount }
        add(payers, `${name}|${payTo}`, place, { payer: payTo }, less)
      } else if (state === 'settled') add(payers, `${name}|${payer}`, place, { payer }, { amount })
    }
  }
  return { sums, latencies, payers }
}

interface SumPlace {
  /** A text that no other sum has. */
  name: string
  key: { merchant_id: string; hour: number; endpoint_id: number }
}

/**
 * Returns every sum in which a row counts: its hour, for its endpoint and for everybody. Days, and a merchant as a whole,
 * are added up when they are read: to keep them would cost every payment as much again.
 */
function placesOf({ at, merchantId, endpointId }: NewActivity): SumPlace[] {
  const seconds = Math.floor(at / 1000)
  const hour = seconds - (seconds % HOUR_SECONDS)
  const everybody = placeOf(EVERYBODY, hour, NO_ENDPOINT)
  if (merchantId === null) return [everybody]
  return [everybody, placeOf(merchantId, hour, endpointId ?? NO_ENDPOINT)]
}

function placeOf(merchantId: string, hour: number, endpointId: number): SumPlace {
  return {
    name: `${hour}|${endpointId}|${merchantId}`,
    key: { merchant_id: merchantId, hour, endpoint_id: endpointId },
  }
}

function add(
  into: Entries,
  name: string,
  place: SumPlace,
  rest: SumAddition['key'],
  { count = 1, amount = 0n, gas = 0n }: { count?: number; amount?: bigint; gas?: bigint },
): void {
  const known = into.get(name)
  if (known === undefined) {
    into.set(name, { key: { ...place.key, ...rest }, count, amount, gas })
    return
  }
  known.count += count
  // Most have none, and arithmetic of large numbers is not free.
  if (amount !== 0n) known.amount = capped(known.amount + amount)
  if (gas !== 0n) known.gas = capped(known.gas + gas)
}
