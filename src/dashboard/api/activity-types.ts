import type { Money, Range } from './types.js'

interface Latency {
  p50Ms: number | null
  p95Ms: number | null
}

export interface ReasonCount {
  kind: string
  reason: string
  count: number
}

export interface ActivitySummary {
  verify: { count: number; valid: number } & Latency
  settle: {
    count: number
    settled: number
    failed: number
    refused: number
    successRate: number | null
  } & Latency
  /** Net of refunds. */
  revenue: Money
  refunds: { count: number } & Money
  selfPayments: { count: number } & Money
  payers: { unique: number; repeat: number; topShare: number | null }
  gasUsd: string
  failures: ReasonCount[]
  /** Of settles that were refused, which are no failures. */
  refusals: ReasonCount[]
}

export interface ActivityPoint extends Money {
  /** Unix seconds of the bucket's start. */
  at: number
  verifies: number
  settled: number
  failed: number
}

export interface ActivityAnswer {
  range: Range
  since: number
  stepSeconds: number
  summary: ActivitySummary
  series: ActivityPoint[]
}

export interface ActivityRow extends Money {
  id: number
  /** ISO 8601. */
  at: string
  kind: 'verify' | 'settle'
  state: 'valid' | 'invalid' | 'settled' | 'failed' | 'refused' | 'pending' | 'refunded'
  endpointId: number | null
  resource: string | null
  payer: string
  payTo: string
  reason: string | null
  transaction: string | null
  latencyMs: number
  gasUsd: string | null
  isSelf: boolean
}

export interface ActivityTableAnswer {
  items: ActivityRow[]
  next: number | null
}

/** What the widgets of the activity page are all filtered by. */
export interface ActivityFilter {
  range: Range
  endpoint?: number | undefined
}

export interface TableFilter extends ActivityFilter {
  kind?: ActivityRow['kind'] | undefined
  state?: ActivityRow['state'] | undefined
}
