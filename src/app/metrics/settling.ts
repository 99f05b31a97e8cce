import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { Address } from 'viem'
import { isPayment } from '../../facilitator/methods/exact-job.js'
import type { Lane } from '../../facilitator/relayer/lane/lane.js'
import type { RelayerEvents } from '../../facilitator/relayer/outcomes.js'
import { knownRunway, type ReadRunway } from './gas-money.js'

/** The state of one served network that a scrape reads. */
export interface WatchedNetwork {
  network: string
  relayer: {
    addresses: readonly Address[]
    lanes(): readonly Pick<
      Lane,
      'address' | 'closedBecause' | 'holder' | 'inFlight' | 'pendingMs'
    >[]
    queueLength(): number
  }
  /** Unix seconds of the newest block seen. */
  chainSeconds(): number | undefined
  /** 18-decimal units of each wallet, in the order of `lanes`. */
  readBalances(): Promise<readonly (bigint | undefined)[]>
  readRunway: ReadRunway
}

/** A plain transfer costs some 0.0016 dollars at Arc's floor of 20 gwei. */
const GAS_USD_BUCKETS = [0.0002, 0.0005, 0.001, 0.0015, 0.002, 0.003, 0.005, 0.01, 0.02, 0.05, 0.1]
const BATCH_BUCKETS = [1, 2, 5, 10, 20, 30, 40, 50, 75, 100]

/** Counts the outcomes of the relayers, and shows the state of their lanes. */
export function createSettlingMetrics(registry: Registry) {
  const counted = createCounters(registry)
  const gauges = createGauges(registry)

  return {
    relayerEvents: (network: string): RelayerEvents => ({
      taken() {},
      signed: ({ length }) => counted.members.observe({ network }, length),
      decided(job, { state, gasCost }) {
        counted.jobs.inc({ network, kind: job.kind, state })
        const isCounted = isPayment(job) && state === 'confirmed' && gasCost !== null
        if (isCounted) counted.paymentGas.observe({ network }, toDollars(gasCost))
      },
      spent(cost, wasted) {
        counted.gas.inc({ network }, toDollars(cost))
        if (wasted !== undefined) {
          counted.wastedGas.inc({ network, accounts: wasted.kind }, toDollars(wasted.amount))
        }
      },
    }),
    /** Sets the gauges of a network to its present state, at once but for the money, which is read. Never rejects. */
    async show(watched: WatchedNetwork, now: number): Promise<void> {
      const { network, relayer, chainSeconds, readBalances, readRunway } = watched
      gauges.queue.set({ network }, relayer.queueLength())
      const head = chainSeconds()
      if (head !== undefined) gauges.head.set({ network }, Math.max(0, now / 1000 - head))
      for (const lane of relayer.lanes()) {
        const labels = { network, relayer: lane.address }
        const isHeld = lane.holder() === 'here'
        gauges.held.set(labels, Number(isHeld))
        gauges.open.set(labels, Number(isHeld && lane.closedBecause() === undefined))
        gauges.inFlight.set(labels, lane.inFlight())
        gauges.pending.set(labels, lane.pendingMs() / 1000)
      }
      const balances = await readBalances().catch(() => [])
      relayer.addresses.forEach((address, i) => {
        const labels = { network, relayer: address }
        const balance = balances[i]
        // No figure is better than an old one.
        if (balance === undefined) gauges.balance.remove(labels)
        else gauges.balance.set(labels, toDollars(balance))
      })
      const days = await knownRunway(balances, relayer.addresses.length, readRunway)
      if (days === undefined) gauges.runway.remove({ network })
      else gauges.runway.set({ network }, days)
    },
  }
}

/** Converts native 18-decimal units, which are dollars on Arc. Exact enough to plot. */
function toDollars(native: bigint): number {
  return Number(native) / 1e18
}

function createCounters(registry: Registry) {
  const common = { labelNames: ['network'] as const, registers: [registry] }
  return {
    members: new Histogram({
      name: 'arcus_batch_members',
      help: 'Payments in one transaction when it was signed.',
      buckets: BATCH_BUCKETS,
      ...common,
    }),
    paymentGas: new Histogram({
      name: 'arcus_settlement_gas_usd',
      help: 'Gas one confirmed `exact` payment cost, in USDC.',
      buckets: GAS_USD_BUCKETS,
      ...common,
    }),
    jobs: new Counter({
      name: 'arcus_jobs_total',
      help: 'Jobs that ended, on chain or given up, by kind.',
      labelNames: ['network', 'kind', 'state'] as const,
      registers: [registry],
    }),
    gas: new Counter({
      name: 'arcus_gas_usd_total',
      help: 'Gas of all mined payment transactions, whether they settled anything or not, in USDC.',
      ...common,
    }),
    wastedGas: new Counter({
      name: 'arcus_wasted_gas_usd_total',
      help: 'Gas of mined payment transactions that settled nothing, in USDC, by accounts with code (coded) and without (plain).',
      labelNames: ['network', 'accounts'] as const,
      registers: [registry],
    }),
  }
}

function createGauges(registry: Registry) {
  const gauge = <Label extends string>(name: string, help: string, labelNames: Label[]) =>
    new Gauge({ name, help, labelNames, registers: [registry] })
  const lane = ['network', 'relayer'] as const
  return {
    queue: gauge('arcus_queue_length', 'Payments that wait for a free relayer.', ['network']),
    head: gauge('arcus_chain_head_age_seconds', 'Age of the newest block seen.', ['network']),
    runway: gauge(
      'arcus_lane_runway_days',
      'Days until all relayers of the network together are out of gas money, at the pace of the last 24 hours.',
      ['network'],
    ),
    balance: gauge('arcus_lane_balance_usd', 'Gas money of a relayer, in USDC.', [...lane]),
    held: gauge(
      'arcus_lane_held',
      'Whether this process holds the lease on a relayer; of several replicas one does.',
      [...lane],
    ),
    open: gauge('arcus_lane_open', 'Whether a relayer takes payments in this process.', [...lane]),
    inFlight: gauge('arcus_lane_in_flight', 'Transactions of a relayer not mined yet.', [...lane]),
    pending: gauge(
      'arcus_pending_age_seconds',
      'Age of the oldest transaction of a relayer that is not mined yet.',
      [...lane],
    ),
  }
}
