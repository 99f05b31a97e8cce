import { latencySteps, type NewActivity } from '../activity.js'
import type { Database } from './database.js'

const HOUR_SECONDS = 3_600
const DAY_SECONDS = 86_400
/** Everybody's sums, beside those of each merchant. */
const EVERYBODY = ''
/** Gas is summed in 10^-12 dollars: 10^-18 would outgrow 64 bits at nine dollars. */
const GAS_SCALE = 1_000_000n
/** A sum stays far within 64 bits; no real payment comes near. */
const MAX_SUMMED = 10n ** 16n

interface Sum {
  count: number
  amount: bigint
  gas: bigint
}

/** Adds rows to the sums, inside a transaction that is already open; equal keys of one call are added up first. */
export function createSumWriter(database: Database): (rows: readonly NewActivity[]) => void {
  const addSum = database.prepare(
    `INSERT INTO activity_sums VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET count = count + excluded.count, amount = amount + excluded.amount,
       gas = gas + excluded.gas`,
  )
  const addLatency = database.prepare(
    `INSERT INTO activity_latencies VALUES (?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET count = count + excluded.count`,
  )
  const addPayer = database.prepare(
    `INSERT INTO activity_payers VALUES (?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET count = count + excluded.count, amount = amount + excluded.amount`,
  )

  return (rows) => {
    const sums = new Map<string, { key: unknown[]; sum: Sum }>()
    const latencies = new Map<string, { key: unknown[]; sum: Sum }>()
    const payers = new Map<string, { key: unknown[]; sum: Sum }>()
    for (const row of rows) {
      const { kind, state } = row
      const isPaid = state === 'settled' || state === 'valid'
      const amount = isPaid && row.amount < MAX_SUMMED ? row.amount : 0n
      const gas = (row.gasCost ?? 0n) / GAS_SCALE
      const isSelf = Number(row.isSelf)
      for (const place of placesOf(row)) {
        add(sums, [...place, kind, state, row.reason ?? '', isSelf], { count: 1, amount, gas })
        const step = latencySteps.find((it) => row.latencyMs <= it) ?? latencySteps.at(-1)
        add(latencies, [...place, kind, step], { count: 1, amount: 0n, gas: 0n })
        if (state === 'settled' && !row.isSelf) {
          add(payers, [...place, row.payer], { count: 1, amount, gas: 0n })
        }
      }
    }
    for (const { key, sum } of sums.values()) addSum.run(...key, sum.count, sum.amount, sum.gas)
    for (const { key, sum } of latencies.values()) addLatency.run(...key, sum.count)
    for (const { key, sum } of payers.values()) addPayer.run(...key, sum.count, sum.amount)
  }
}

/** Span, merchant, bucket and endpoint of every sum a row belongs to. */
function placesOf(row: NewActivity): unknown[][] {
  const seconds = Math.floor(row.at / 1000)
  const hour = seconds - (seconds % HOUR_SECONDS)
  const day = seconds - (seconds % DAY_SECONDS)
  const places: unknown[][] = [
    ['h', EVERYBODY, hour, 0],
    ['d', EVERYBODY, day, 0],
  ]
  if (row.merchantId === null) return places
  for (const endpoint of row.endpointId === null ? [0] : [0, row.endpointId]) {
    places.push(['h', row.merchantId, hour, endpoint], ['d', row.merchantId, day, endpoint])
  }
  return places
}

function add(into: Map<string, { key: unknown[]; sum: Sum }>, key: unknown[], more: Sum): void {
  const name = key.join('|')
  const known = into.get(name)
  if (known === undefined) {
    into.set(name, { key, sum: more })
    return
  }
  known.sum.count += more.count
  known.sum.amount += more.amount
  known.sum.gas += more.gas
}
