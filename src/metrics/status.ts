import type { Address } from 'viem'
import type { Block } from '../chain/blocks.js'
import { count, percentiles, rate } from '../directory/activity/summary.js'
import type { Readiness } from '../http/health.js'
import { version } from '../http/version.js'
import type { ActivityStore, ActivitySum } from '../store/activity.js'
import { formatNative } from '../x402/amounts.js'
import { knownRunway, type WatchedNetwork } from './settling.js'

export interface StatusNetwork extends WatchedNetwork {
  chainId: number
  name: string
  latestBlock(): Block | undefined
}

export interface StatusOptions {
  networks: readonly StatusNetwork[]
  readReadiness(): Promise<Readiness>
  activity: Pick<ActivityStore, 'sums' | 'latencies'>
  checksum: (address: Address) => Address
  /** Unix milliseconds. */
  now: () => number
}

export type ReadStatus = ReturnType<typeof createStatus>

const HOUR_SECONDS = 3_600
/** Anybody may ask; many at once cost one look. */
const CACHE_MS = 1_000

/**
 * Reads how the service stands, for people and without secrets: lanes, queue, newest block, and how settles went in
 * the last hour and day. What cannot be known at the moment is `null`.
 */
export function createStatus(options: StatusOptions) {
  const { networks, readReadiness, activity, checksum, now } = options
  const startedAt = new Date(now()).toISOString()
  let latest: ReturnType<typeof read> | undefined
  let freshUntil = 0

  async function read() {
    const [{ status, checks }, hour, day, ...seen] = await Promise.all([
      readReadiness(),
      readSettling(activity, hoursBack(now(), 1)),
      readSettling(activity, hoursBack(now(), 23)),
      ...networks.map((network) => readNetwork(network, checksum, now())),
    ])
    const at = new Date(now()).toISOString()
    return { status, version, now: at, startedAt, checks, networks: seen, settling: { hour, day } }
  }

  return () => {
    if (latest === undefined || now() >= freshUntil) {
      freshUntil = now() + CACHE_MS
      latest = read()
      latest.catch(() => {
        freshUntil = 0
      })
    }
    return latest
  }
}

/** The current hour and this many before it, as Unix seconds of the first. */
function hoursBack(now: number, hours: number): number {
  return (Math.floor(now / 1000 / HOUR_SECONDS) - hours) * HOUR_SECONDS
}

async function readNetwork(
  watched: StatusNetwork,
  checksum: StatusOptions['checksum'],
  now: number,
) {
  const { network, chainId, name, relayer, readBalances, readRunway } = watched
  const balances = await readBalances().catch(() => [])
  const days = await knownRunway(balances, relayer.addresses.length, readRunway)
  return {
    network,
    chainId,
    name,
    block: tellBlock(watched.latestBlock(), now),
    queueLength: relayer.queueLength(),
    lanes: relayer.lanes().map((lane, i) => ({
      address: checksum(lane.address),
      ...stateOf(lane.closedBecause(), balances[i]),
      inFlight: lane.inFlight(),
      oldestPendingSeconds: Math.round(lane.pendingMs() / 100) / 10,
      balanceUsd: balances[i] === undefined ? null : formatNative(balances[i]),
    })),
    runwayDays: days === undefined || !Number.isFinite(days) ? null : Math.round(days * 10) / 10,
  }
}

function tellBlock(block: Block | undefined, now: number) {
  if (block === undefined) return null
  const { number, timestamp } = block
  const ageSeconds = Math.max(0, Math.round(now / 100 - timestamp * 10) / 10)
  return { number, at: new Date(timestamp * 1000).toISOString(), ageSeconds }
}

function stateOf(closed: string | undefined, balance: bigint | undefined) {
  if (closed !== undefined) return { state: 'closed', reason: closed }
  if (balance === 0n) return { state: 'unfunded', reason: 'no gas money' }
  return { state: 'open', reason: null }
}

async function readSettling(activity: StatusOptions['activity'], since: number) {
  const scope = { merchantId: undefined, span: 'h', since } as const
  const [sums, settles, verifies] = await Promise.all([
    activity.sums(scope),
    activity.latencies(scope, 'settle'),
    activity.latencies(scope, 'verify'),
  ])
  const of = (kind: string, state: ActivitySum['state']) =>
    count(sums.filter((sum) => sum.kind === kind && sum.state === state))
  const settled = of('settle', 'settled')
  const failed = of('settle', 'failed')
  const refunds = of('settle', 'refunded')
  const verify = percentiles(verifies)
  return {
    since: new Date(since * 1000).toISOString(),
    settled,
    failed,
    refunds,
    successRate: rate(settled, settled + failed),
    ...percentiles(settles),
    verifies: of('verify', 'valid'),
    verifyP50Ms: verify.p50Ms,
    verifyP95Ms: verify.p95Ms,
  }
}
