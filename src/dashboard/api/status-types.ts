export interface ServiceStatus {
  status: 'ready' | 'not_ready'
  version: string
  /** ISO 8601. */
  now: string
  startedAt: string
  checks: { name: string; ok: boolean; detail: string }[]
  networks: NetworkStatus[]
  settling: Record<'hour' | 'day', SettlingStatus>
}

export interface NetworkStatus {
  network: string
  chainId: number
  name: string
  block: { number: number; at: string; ageSeconds: number } | null
  queueLength: number
  lanes: LaneStatus[]
  runwayDays: number | null
}

export interface LaneStatus {
  address: string
  state: 'open' | 'unfunded' | 'closed'
  reason: string | null
  inFlight: number
  oldestPendingSeconds: number
  balanceUsd: string | null
}

export interface SettlingStatus {
  since: string
  settled: number
  failed: number
  refunds: number
  successRate: number | null
  p50Ms: number | null
  p95Ms: number | null
  verifies: number
  verifyP50Ms: number | null
  verifyP95Ms: number | null
}
