import type { Address, Hex } from 'viem'
import type {
  Activity,
  ActivityKind,
  ActivityState,
  ActivitySum,
  NewActivity,
} from '../activity.js'
import { capped } from './activity-tally.js'

export interface ActivityRow {
  id: number
  at: number
  kind: ActivityKind
  network: string
  merchant_id: string | null
  endpoint_id: number | null
  resource: string | null
  pay_to: Address
  payer: Address
  amount: string
  state: ActivityState
  reason: string | null
  transaction: Hex | null
  settlement_id: string | null
  latency_ms: number
  gas_cost: string | null
  is_self: number
}

/** In the order of the insert statement. */
export function activityValues(row: NewActivity) {
  return [
    row.at,
    row.kind,
    row.network,
    row.merchantId,
    row.endpointId,
    row.resource,
    row.payTo,
    row.payer,
    row.amount.toString(),
    row.state,
    row.reason,
    row.transaction,
    row.settlementId,
    Math.round(row.latencyMs),
    row.gasCost?.toString() ?? null,
    Number(row.isSelf),
  ]
}

export function toActivity(row: ActivityRow): Activity {
  return {
    id: row.id,
    at: row.at,
    kind: row.kind,
    network: row.network,
    merchantId: row.merchant_id,
    endpointId: row.endpoint_id,
    resource: row.resource,
    payTo: row.pay_to,
    payer: row.payer,
    amount: BigInt(row.amount),
    state: row.state,
    reason: row.reason,
    transaction: row.transaction,
    settlementId: row.settlement_id,
    latencyMs: row.latency_ms,
    gasCost: row.gas_cost === null ? null : BigInt(row.gas_cost),
    isSelf: row.is_self === 1,
  }
}

export interface SumRow {
  bucket: bigint
  kind: ActivityKind
  state: ActivitySum['state']
  reason: string
  is_self: bigint
  count: bigint
  amount: bigint
  gas: bigint
}

export function toActivitySum(row: SumRow): ActivitySum {
  return {
    bucket: Number(row.bucket),
    kind: row.kind,
    state: row.state,
    reason: row.reason === '' ? null : row.reason,
    isSelf: row.is_self === 1n,
    count: Number(row.count),
    amount: row.amount,
    gas: row.gas,
  }
}

/** Adds up sums of several endpoints that are of the same hour or day and of the same kind of answer. */
export function mergeSums(sums: readonly ActivitySum[]): ActivitySum[] {
  const merged = new Map<string, ActivitySum>()
  for (const sum of sums) {
    const { bucket, kind, state, reason, isSelf } = sum
    const key = `${bucket} ${kind} ${state} ${isSelf} ${reason}`
    const known = merged.get(key)
    if (known === undefined) merged.set(key, { ...sum })
    else {
      known.count += sum.count
      known.amount = capped(known.amount + sum.amount)
      known.gas = capped(known.gas + sum.gas)
    }
  }
  return [...merged.values()]
}
