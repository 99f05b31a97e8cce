import type { Address } from 'viem'
import type { NewActivity } from '../../../src/directory/store/activity.js'
import { createActivityStore } from '../../../src/directory/store/sql/activity.js'
import { openDatabase } from '../../../src/sql/sqlite/database.js'
import { createGroupCommit } from '../../../src/sql/sqlite/group-commit.js'
import { createSql } from '../../../src/sql/sqlite/sql.js'
import { anActivity } from '../../support/an-activity.js'

export interface MonthOf {
  merchantId: string
  payTo: Address
  endpoints: readonly { id: number; url: string; amount: bigint; aDay: number }[]
}

const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000

/**
 * Writes thirty days of activity beside the running service and returns the number of settled payments. The numbers are
 * the same each time: more by day than by night, growing, one in forty failing. The last hour stays empty.
 */
export async function writeMonth(databasePath: string, month: MonthOf): Promise<number> {
  const rows = monthOf(month, Date.now() - HOUR_MS)
  await writeActivity(databasePath, rows)
  return rows.filter(({ state }) => state === 'settled').length
}

/** Writes rows beside the running service. */
export async function writeActivity(
  databasePath: string,
  rows: readonly NewActivity[],
): Promise<void> {
  const database = openDatabase(databasePath)
  const commit = createGroupCommit(database)
  await createActivityStore(createSql(database, commit)).append(rows)
  await commit.close()
  database.close()
}

function monthOf({ merchantId, payTo, endpoints }: MonthOf, until: number): NewActivity[] {
  const random = createRandom(7)
  const rows: NewActivity[] = []
  for (let day = 29; day >= 0; day--) {
    for (const { id, url, amount, aDay } of endpoints) {
      const count = Math.round(aDay * (0.4 + (29 - day) / 40) * (0.7 + random() * 0.6))
      for (let i = 0; i < count; i++) {
        // The mean of two random numbers, so that the middle of the day has more than its ends.
        const at = until - day * DAY_MS - Math.floor(((random() + random()) / 2) * DAY_MS)
        const payer =
          `0x${(4 + Math.floor(random() ** 2 * 60)).toString(16).padStart(40, 'c')}` as const
        const nonce = `0x${rows.length.toString(16).padStart(64, '0')}` as const
        const base = { at, merchantId, endpointId: id, resource: url, payTo, payer, nonce, amount }
        rows.push(
          anActivity({
            ...base,
            kind: 'verify',
            state: 'valid',
            latencyMs: 8 + random() * 20,
            transaction: null,
            settlementId: null,
            gasCost: null,
          }),
        )
        rows.push(anActivity({ ...base, at: at + 600, ...outcome(random) }))
      }
    }
  }
  return rows.sort((a, b) => a.at - b.at)
}

function outcome(random: () => number): Partial<NewActivity> {
  const latencyMs = 380 + random() ** 3 * 1_400
  const hash = Array.from({ length: 64 }, () => Math.floor(random() * 16).toString(16)).join('')
  if (random() > 0.025) return { state: 'settled', latencyMs, transaction: `0x${hash}` }
  const reasons = [
    'invalid_exact_evm_insufficient_balance',
    'invalid_exact_evm_nonce_already_used',
    'invalid_exact_evm_payload_authorization_valid_before',
  ]
  const reason = reasons[Math.floor(random() * reasons.length)] as string
  return { state: 'failed', reason, latencyMs: 12, transaction: null, gasCost: null }
}

/** Mulberry32: the same numbers for the same seed. */
function createRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
