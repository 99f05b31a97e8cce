import type {
  FacilitatorStatus,
  LaneStatus,
  NetworkStatus,
  NodeStatus,
  ReadinessAnswer,
  ServiceStatus,
  SettlingStatus,
} from '@arcus/protocol/answers/service'
import { formatNative } from '@arcus/protocol/x402/amounts'
import type { FastifyInstance } from 'fastify'
import type { Address } from 'viem'
import type { BlockHead } from '../../chain/blocks.js'
import { count, percentiles, rate } from '../../directory/activity/summary.js'
import type { ActivityStore, ActivitySum } from '../../directory/store/activity.js'
import { closedAnywhere } from '../../facilitator/relayer/lane/lane.js'
import { shareReads } from '../../http/cached-reply.js'
import { describedAs, type Operation } from '../../http/operation.js'
import { version } from '../../http/version.js'
import { knownRunway } from './gas-money.js'
import type { WatchedNetwork } from './settling.js'

interface StatusNetwork extends WatchedNetwork {
  chainId: number
  name: string
  latestBlock(): BlockHead | undefined
  readNodes(): NodeStatus[]
}

interface FacilitatorStatusOptions {
  networks: readonly StatusNetwork[]
  readReadiness(): Promise<ReadinessAnswer>
  checksum: (address: Address) => Address
  /** Unix milliseconds. */
  now: () => number
}

export type ReadFacilitatorStatus = () => Promise<FacilitatorStatus>

const HOUR_SECONDS = 3_600
/** Anybody may ask, so many requests at once cost one reading. */
const CACHE_MS = 1_000

/** Reads the state of the facilitator, without secrets: lanes, queue and newest block. Unknown facts are `null`. */
export function createFacilitatorStatus(options: FacilitatorStatusOptions): ReadFacilitatorStatus {
  const { networks, readReadiness, checksum, now } = options
  const startedAt = new Date(now()).toISOString()

  async function read(): Promise<FacilitatorStatus> {
    const [{ status, checks }, ...seen] = await Promise.all([
      readReadiness(),
      ...networks.map((network) => readNetwork(network, checksum, now())),
    ])
    const at = new Date(now()).toISOString()
    return { status, version, now: at, startedAt, checks, networks: seen }
  }

  return shareReads(CACHE_MS, now, read)
}

/** Reads the state of the service, for people: that of the facilitator, and the settles of the last hour and day. */
export function createStatus({
  readFacilitator,
  activity,
  now,
}: {
  readFacilitator: ReadFacilitatorStatus
  activity: Pick<ActivityStore, 'sums' | 'latencies'>
  /** Unix milliseconds. */
  now: () => number
}): () => Promise<ServiceStatus> {
  async function read(): Promise<ServiceStatus> {
    const [facilitator, hour, day] = await Promise.all([
      readFacilitator(),
      readSettling(activity, hoursBack(now(), 1)),
      readSettling(activity, hoursBack(now(), 23)),
    ])
    return { ...facilitator, settling: { hour, day } }
  }

  return shareReads(CACHE_MS, now, read)
}

/** Returns the start of the hour that was so many hours before the current one, in Unix seconds. */
function hoursBack(now: number, hours: number): number {
  return (Math.floor(now / 1000 / HOUR_SECONDS) - hours) * HOUR_SECONDS
}

async function readNetwork(
  watched: StatusNetwork,
  checksum: FacilitatorStatusOptions['checksum'],
  now: number,
): Promise<NetworkStatus> {
  const { network, chainId, name, relayer, readBalances, readNodes, readRunway } = watched
  const balances = await readBalances().catch(() => [])
  const days = await knownRunway(balances, relayer.addresses.length, readRunway)
  return {
    network,
    chainId,
    name,
    block: describeBlock(watched.latestBlock(), now),
    queueLength: relayer.queueLength(),
    nodes: readNodes(),
    lanes: relayer.lanes().map((lane, i) => ({
      address: checksum(lane.address),
      ...stateOf(closedAnywhere(lane), balances[i]),
      inFlight: lane.inFlight(),
      oldestPendingSeconds: Math.round(lane.pendingMs() / 100) / 10,
      balanceUsd: balances[i] === undefined ? null : formatNative(balances[i]),
    })),
    runwayDays: days === undefined || !Number.isFinite(days) ? null : Math.round(days * 10) / 10,
  }
}

function describeBlock(block: BlockHead | undefined, now: number): NetworkStatus['block'] {
  if (block === undefined) return null
  const { number, timestamp } = block
  const ageSeconds = Math.max(0, Math.round(now / 100 - timestamp * 10) / 10)
  return { number, at: new Date(timestamp * 1000).toISOString(), ageSeconds }
}

function stateOf(
  closed: string | undefined,
  balance: bigint | undefined,
): Pick<LaneStatus, 'state' | 'reason'> {
  if (closed !== undefined) return { state: 'closed', reason: closed }
  if (balance === 0n) return { state: 'unfunded', reason: 'no gas money' }
  return { state: 'open', reason: null }
}

async function readSettling(
  activity: Pick<ActivityStore, 'sums' | 'latencies'>,
  since: number,
): Promise<SettlingStatus> {
  const scope = { merchantId: undefined, span: 'h', since } as const
  const [sums, settles, verifies] = await Promise.all([
    activity.sums(scope),
    activity.latencies(scope, 'settle'),
    activity.latencies(scope, 'verify'),
  ])
  const of = (kind: string, state: ActivitySum['state']) =>
    count(sums.filter((sum) => !sum.isSelf && sum.kind === kind && sum.state === state))
  const settled = of('settle', 'settled')
  const failed = of('settle', 'failed')
  const own = count(sums.filter(({ isSelf, state }) => isSelf && state === 'settled'))
  const refunds = of('settle', 'refunded')
  const verify = percentiles(verifies)
  return {
    since: new Date(since * 1000).toISOString(),
    settled,
    own,
    failed,
    refunds,
    successRate: rate(settled, settled + failed),
    ...percentiles(settles),
    verifies: of('verify', 'valid'),
    verifyP50Ms: verify.p50Ms,
    verifyP95Ms: verify.p95Ms,
  }
}

const statusOperation: Operation = {
  id: 'getStatus',
  tag: 'Service',
  summary: 'State of the service, for people',
  description: '200 even when it is not ready: `status` says so.',
  answers: {
    200: 'Facts that are unknown at the moment are `null`.',
  },
}

/** Adds `GET /api/status`: the state of the service, for people. 200 even when it is not ready. */
export function statusRoutes(app: FastifyInstance, readStatus: () => Promise<ServiceStatus>): void {
  app.get('/api/status', describedAs(statusOperation), async (_request, reply) =>
    reply.header('cache-control', 'no-store').send(await readStatus()),
  )
}

export const detailsOperation: Operation = {
  id: 'getReadyDetails',
  tag: 'Service',
  summary: 'Lanes, queue and newest block of the facilitator',
  description: '200 even when it is not ready: `status` says so.',
  answers: {
    200: 'Facts that are unknown at the moment are `null`.',
  },
}

/** Adds `GET /ready/details`: the state of this facilitator alone. */
export function detailsRoute(app: FastifyInstance, readStatus: ReadFacilitatorStatus): void {
  app.get('/ready/details', describedAs(detailsOperation), async (_request, reply) =>
    reply.header('cache-control', 'no-store').send(await readStatus()),
  )
}
