/*
 * The answers of the service, as far as the pages read them. Amounts are decimal digits.
 */

export interface Network {
  /** CAIP-2. */
  network: string
  chainId: number
  name: string
  /** True for the one network of the listings. */
  listed: boolean
  nativeCurrency: { name: string; symbol: string; decimals: number }
  walletRpcUrls: string[]
  explorerUrl: string | null
  asset: { address: string; symbol: string; decimals: number; name: string; version: string }
}

export interface ConsoleSettings {
  version: string
  baseUrl: string
  directoryUrl: string
  devnet: boolean
  networks: Network[]
  buybackAddress: string | null
  identityRegistry: string | null
  activityRetentionDays: number
  minAmount: string
}

export type EndpointStatus = 'live' | 'unverified' | 'failing'
export type Method = 'GET' | 'POST'
export type Pricing = 'fixed' | 'metered'
export type CheckName = 'control' | 'pay' | 'file' | 'domain'

export interface EndpointListItem {
  id: number
  url: string
  method: Method
  title: string
  description: string
  tags: string[]
  pricing: Pricing
  price: string
  priceUsd: string
  /** The amount of the last live 402; `null` if unknown. */
  livePrice: string | null
  hosted: boolean
  hasSchema: boolean
  status: EndpointStatus
  /** Unix seconds. */
  probe: { verdict: string; warnings: string[]; checkedAt: number } | null
  lastUpdated: number
  merchant: {
    id: string
    name: string
    official: boolean
    partner: boolean
    unclaimed: boolean
    identity: { agentId: string; checks: Record<CheckName, boolean> } | null
  }
}

export interface EndpointPage {
  /** The words that were searched instead, where nothing matches as typed. */
  correctedQuery?: string
  items: EndpointListItem[]
  total: number | null
  next: string | null
}

interface Probe {
  verdict: string
  message: string
  warnings: string[]
  seen: Record<string, string | number | null>
  /** Unix seconds. */
  checkedAt: number
}

export interface EndpointState {
  id: number
  status: EndpointStatus
  failures: number
  /** Unix seconds. */
  nextProbeAt: number | null
  probe: Probe | null
  /** The amount of the last live 402; `null` if unknown. */
  livePrice: string | null
  accepts: Record<string, unknown>[]
  hosted: boolean
  lastUpdated: number
  createdAt: number
}

export interface MerchantEndpoint {
  url: string
  method: Method
  title: string
  description: string
  pricing: Pricing
  price: string
  tags: string[]
  example: { queryParams?: Record<string, unknown>; body?: unknown }
  inputSchema: Record<string, unknown> | null
  output: { type: string; example?: unknown } | null
  state: EndpointState
}

interface IdentityCheck {
  passed: boolean
  detail: string
  /** Unix seconds. */
  checkedAt: number
}

export interface MerchantView {
  id: string
  owner: string | null
  name: string
  description: string
  network: string
  asset: string
  payTo: string
  /** The proof that the payout address stands behind the owner; `null` without one. */
  payToProof: string | null
  revision: number
  flags: {
    official: boolean
    partner: boolean
    hidden: boolean
    hiddenReason: string | null
    unclaimed: boolean
  }
  agentId: string | null
  identity: {
    agentId: string
    registry: string
    checks: Record<CheckName, IdentityCheck>
  } | null
  offer: { to: string; until: number } | null
  /** Unix seconds. */
  createdAt: number
  updatedAt: number
  endpoints: MerchantEndpoint[]
  warnings: { path: string; code: string; message: string }[]
}

interface Money {
  amount: string
  usd: string
}

interface Totals {
  settled: number
  successRate: number | null
  settleP50Ms: number | null
  settleP95Ms: number | null
  /** Net of refunds. */
  revenue: Money
  refunds: { count: number } & Money
  payers: { unique: number; repeat: number; topShare: number | null }
}

export type Range = '24h' | '7d' | '30d' | 'all'
export type PublicTotals = Record<Range, Totals>

export interface Payment {
  network: string
  asset: string
  payer: string
  payTo: string
  nonce: string
  amount: string
  state: 'queued' | 'submitted' | 'confirmed' | 'failed'
  transaction: string | null
  explorerUrl: string | null
  blockNumber: number | null
  errorReason: string | null
  errorMessage: string | null
  delivered: boolean
  createdAt: string
  updatedAt: string
  validAfter: string
  validBefore: string
  gasUsd: string | null
}

export interface Validation {
  verdict: string
  message: string
  warnings: string[]
  seen: Record<string, string | number | null>
  checkedAt: number
  listing: {
    url: string
    method: Method
    pricing: Pricing
    price: string
    asset: string
    payTo: string
    network: string
    title?: string
    description?: string
    tags?: string[]
    inputSchema?: Record<string, unknown>
    example?: { queryParams?: Record<string, unknown>; body?: unknown }
  } | null
}

export interface OwnedMerchant {
  id: string
  name: string
  role: 'owner' | 'offered' | 'payTo'
  revision: number
  payTo: string
  hidden: boolean
  endpoints: Record<EndpointStatus, number>
  offer: { to: string; until: number } | null
  updatedAt: number
}

export interface ProbeAnswer {
  endpoints: {
    id: number
    url: string
    method: Method
    state: string
    status: EndpointStatus
    probe: Probe | null
    failures: number
    nextProbeAt: number | null
  }[]
}

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
  /** Refused settles, which are not failures. */
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

export interface SessionAnswer {
  address: string
  /** Unix seconds. */
  expiresAt: number
}

/** The members that a sign-in message (ERC-4361) must have. */
export interface NonceAnswer {
  nonce: string
  domain: string
  uri: string
  chainId: number
  version: '1'
  statement: string
}

export interface ToolsAnswer {
  tools: unknown[]
  calls: Record<string, { method: string; url: string }>
}
