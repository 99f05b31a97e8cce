import type { Address, Hex } from 'viem'

export type ActivityKind = 'verify' | 'settle'
/**
 * Of a settle `failed` is what was once a sound payment and did not settle, `refused` every other no; `refunded` is what
 * settled and gives back what was paid before.
 */
export const activityStates = [
  'valid',
  'invalid',
  'settled',
  'failed',
  'refused',
  'pending',
  'refunded',
] as const
export type ActivityState = (typeof activityStates)[number]

/** One answer of verify or settle, with whom it was about. */
export interface NewActivity {
  /** Unix milliseconds. */
  at: number
  kind: ActivityKind
  network: string
  /** `null` where nobody listed is paid. */
  merchantId: string | null
  endpointId: number | null
  /** Origin and path of the paid URL as the payload tells it. */
  resource: string | null
  payTo: Address
  payer: Address
  /** Atomic units. */
  amount: bigint
  state: ActivityState
  /** Wire code. */
  reason: string | null
  transaction: Hex | null
  settlementId: string | null
  latencyMs: number
  /** 18-decimal units. */
  gasCost: bigint | null
  /** Paid by the owner, the recipient or a relayer. */
  isSelf: boolean
  /** Counted in the sums alone. */
  isSumOnly?: boolean
  /** Whose sales a payment that settles may give back of: the address that was paid. `null` where it buys something. */
  givesBackOf?: Address | null
}

export interface Activity extends Omit<NewActivity, 'isSumOnly' | 'givesBackOf'> {
  id: number
}

/** Sums of one merchant, or of everybody when `merchantId` is `undefined`. */
export interface ActivityScope {
  merchantId: string | undefined
  /** Of the merchant as a whole unless given. */
  endpointId?: number | undefined
  /** `h` sums by hour, as far back as hours are kept apart (`foldHours`); `d` by day (UTC). */
  span: 'h' | 'd'
  /** First Unix second of the first bucket. */
  since: number
}

export interface ActivitySum {
  /** First Unix second of the hour or day. */
  bucket: number
  kind: ActivityKind
  /** `undone` counts payments that were given back in full. */
  state: ActivityState | 'undone'
  reason: string | null
  isSelf: boolean
  count: number
  /** Atomic units; of valid, settled and refunded payments only. Exact up to 9 * 10^18, where it stops. */
  amount: bigint
  /** 10^-12 dollars. */
  gas: bigint
}

export interface PayerTotals {
  /** Payers with at least one payment, and with at least two, that were not given back in full. */
  unique: number
  repeat: number
  /** What the one who paid most paid, atomic units, less what was given back. */
  topAmount: bigint
  amount: bigint
}

export interface ActivityFilter {
  merchantId: string
  endpointId?: number | undefined
  kind?: ActivityKind | undefined
  state?: ActivityState | undefined
  /** Unix milliseconds. */
  since?: number | undefined
  /** Rows before this number: newest first. */
  before?: number | undefined
  limit: number
}

export interface ActivityStore {
  /**
   * Keeps the rows in order, in one commit after another, each row together with its sums, or of some the sums alone. A
   * payment told as settled before is left out, and one that gives money back to who paid before (`givesBackOf`) is kept
   * as `refunded`. Rejects at the first commit that fails: what came before it is kept, nothing after it.
   */
  append(rows: readonly NewActivity[]): Promise<void>
  /** Oldest bucket first. */
  sums(scope: ActivityScope): Promise<ActivitySum[]>
  payers(scope: ActivityScope): Promise<PayerTotals>
  /** Counts by upper bound in milliseconds, rising, of what was valid or settled; self-payments and refunds left out. */
  latencies(scope: ActivityScope, kind: ActivityKind): Promise<{ upToMs: number; count: number }[]>
  list(filter: ActivityFilter): Promise<Activity[]>
  /** The number of the newest row of each of these merchants that has any. */
  latestOf(merchantIds: readonly string[]): Promise<Map<string, number>>
  /** Of the oldest `limit` raw rows drops those before `before` (Unix milliseconds); resolves with how many. Sums stay. */
  forget(before: number, limit: number): Promise<number>
  /** Adds the hours before `bucket` to their days, where they stay. What is read by day is the same before and after. */
  foldHours(bucket: number): Promise<void>
}

/** Upper bounds of the latency steps, milliseconds; the last catches the rest. */
export const latencySteps = [
  1, 2, 5, 10, 20, 50, 100, 200, 350, 500, 750, 1_000, 1_500, 2_000, 3_000, 5_000, 10_000, 30_000,
  3_600_000,
] as const
