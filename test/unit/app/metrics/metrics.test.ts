import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { createBalances } from '../../../../src/app/metrics/gas-money.js'
import { createMetrics } from '../../../../src/app/metrics/metrics.js'
import type { WatchedNetwork } from '../../../../src/app/metrics/settling.js'
import type { RpcResult } from '../../../../src/chain/rpc.js'
import { aJob, confirmed, failed } from './a-job.js'

const network = 'eip155:5042'
const wallet = `0x${'11'.repeat(20)}` as const
const labels = `network="${network}",relayer="${wallet}"`

function aWatched(changes: Partial<WatchedNetwork> = {}): WatchedNetwork {
  return {
    network,
    relayer: {
      addresses: [wallet],
      lanes: () => [
        {
          address: wallet,
          closedBecause: () => undefined,
          holder: () => 'here',
          inFlight: () => 3,
          pendingMs: () => 1_500,
        },
      ],
      queueLength: () => 7,
    },
    chainSeconds: () => 95,
    readBalances: async () => [2_500_000_000_000_000_000n],
    readRunway: async () => Number.POSITIVE_INFINITY,
    ...changes,
  }
}

/** A clock at 100 seconds that only tests move. */
function aClock() {
  const clock = { ms: 100_000, now: () => clock.ms }
  return clock
}

async function pageOf(watched: WatchedNetwork): Promise<string> {
  const metrics = createMetrics(aClock().now)
  metrics.watch(watched)
  return (await metrics.render()).text
}

describe('a scrape', () => {
  it('shows the state of discovery and directory', async () => {
    const metrics = createMetrics(aClock().now)
    metrics.watchDirectory({
      isUp: () => true,
      restarts: () => 3,
      figures: () => ({
        index: { endpoints: 12, readSeconds: 1.5 },
        probes: { queued: 4, underWay: 2 },
        checks: {
          byReason: [
            { reason: 'delivered', count: 3, last: 1_700_000_000 },
            { reason: 'no_answer', count: 1, last: 1_700_000_100 },
          ],
          own: [
            { reason: 'delivered', at: 1_700_000_000 },
            { reason: 'no_answer', at: 1_700_000_100 },
          ],
          ownPauseSeconds: 3_600,
          funded: 2,
        },
      }),
    })
    metrics.watchActivity(() => 5)
    const { text } = await metrics.render()
    for (const line of [
      'arcus_discovery_endpoints 12',
      'arcus_discovery_build_seconds 1.5',
      'arcus_probe_queue_length 4',
      'arcus_probes_under_way 2',
      'arcus_checks{reason="no_answer"} 1',
      'arcus_check_success_timestamp_seconds 1700000000',
      // One that fails is not covered up by another that delivers.
      'arcus_check_own_up 0',
      'arcus_check_own_timestamp_seconds 1700000100',
      'arcus_check_own_pause_seconds 3600',
      'arcus_check_wallets_funded 2',
      'arcus_activity_dropped 5',
    ]) {
      expect(text).toContain(`\n${line}\n`)
    }
  })

  it('shows nothing of a thread where the directory is on another machine', async () => {
    const metrics = createMetrics(aClock().now)
    metrics.watchActivity(() => 7)
    const { text } = await metrics.render()
    expect(text).toContain('arcus_activity_dropped 7')
    expect(text).not.toContain('arcus_directory')
  })

  it('shows queue, head and lanes', async () => {
    const page = await pageOf(aWatched())
    for (const line of [
      `arcus_queue_length{network="${network}"} 7`,
      `arcus_chain_head_age_seconds{network="${network}"} 5`,
      `arcus_lane_balance_usd{${labels}} 2.5`,
      `arcus_lane_open{${labels}} 1`,
      `arcus_lane_in_flight{${labels}} 3`,
      `arcus_pending_age_seconds{${labels}} 1.5`,
      `arcus_lane_runway_days{network="${network}"} +Inf`,
    ]) {
      expect(page.split('\n')).toContain(line)
    }
    expect(page).not.toContain('NaN')
  })

  it('leaves balance and runway out when they cannot be read, and shows the rest', async () => {
    const page = await pageOf(
      aWatched({
        readBalances: () => Promise.reject(new Error('no chain')),
        chainSeconds: () => undefined,
      }),
    )
    expect(page).toContain(`arcus_lane_open{${labels}} 1`)
    expect(page).not.toMatch(/^arcus_(lane_balance_usd|lane_runway_days|chain_head_age)/m)
  })

  it('is made at most once a second', async () => {
    const clock = aClock()
    const metrics = createMetrics(clock.now)
    let looks = 0
    metrics.watch(aWatched({ chainSeconds: () => ++looks }))
    await Promise.all([metrics.render(), metrics.render()])
    clock.ms += 999
    await metrics.render()
    expect(looks).toBe(1)
    clock.ms += 1
    await metrics.render()
    expect(looks).toBe(2)
  })

  it('shows a database that takes writes, and one that does not answer', async () => {
    const clock = aClock()
    const metrics = createMetrics(clock.now)
    let isWritable = async () => true
    const database = { store: 'postgres', isWritable: () => isWritable() } as const
    metrics.watchDatabase({ ...database, sizeBytes: async () => 4_096 })
    const figures = async () => (await metrics.render()).text.match(/^arcus_database.*$/gm)
    const bytes = 'arcus_database_bytes{store="postgres"} 4096'
    expect(await figures()).toEqual(['arcus_database_up{store="postgres"} 1', bytes])
    for (const answer of [async () => false, async () => Promise.reject(new Error('gone'))]) {
      clock.ms += 1_000
      isWritable = answer
      expect(await figures()).toEqual(['arcus_database_up{store="postgres"} 0', bytes])
    }
  })

  it('waits 1.5 s for a database that hangs, and shows what is known', async () => {
    const clock = aClock()
    const metrics = createMetrics(clock.now)
    const never = () => new Promise<never>(() => {})
    let [isWritable, sizeBytes, readRunway] = [async () => true, async () => 4_096, async () => 12]
    metrics.watchDatabase({
      store: 'sqlite',
      isWritable: () => isWritable(),
      sizeBytes: () => sizeBytes(),
    })
    metrics.watch(aWatched({ readRunway: () => readRunway() }))
    await metrics.render()
    clock.ms += 60_000
    isWritable = sizeBytes = readRunway = never
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const page = metrics.render()
    await vi.advanceTimersByTimeAsync(1_500)
    expect((await page).text.split('\n')).toEqual(
      expect.arrayContaining([
        'arcus_database_up{store="sqlite"} 0',
        'arcus_database_bytes{store="sqlite"} 4096',
        `arcus_lane_runway_days{network="${network}"} 12`,
        `arcus_lane_open{${labels}} 1`,
      ]),
    )
  })

  it('has the figures of the process and of no other registry', async () => {
    const [first, second] = [createMetrics(Date.now), createMetrics(Date.now)]
    first.relayerEvents(network).signed(Array(50).fill('a'), '0x12')
    expect((await first.render()).text).toContain(
      `arcus_batch_members_count{network="${network}"} 1`,
    )
    const { text } = await second.render()
    expect(text).not.toContain('arcus_batch_members_count')
    expect(text).toContain('nodejs_eventloop_lag_p99_seconds')
  })
})

describe('an event of the relayer', () => {
  it('becomes gas in dollars, for each confirmed payment and in sum', async () => {
    const metrics = createMetrics(aClock().now)
    const events = metrics.relayerEvents(network)
    events.decided(aJob, confirmed)
    events.decided(aJob, { ...confirmed, gasCost: null })
    events.decided(aJob, failed)
    events.spent(2_000_000_000_000_000n, { kind: 'plain', amount: 500_000_000_000_000n })
    const { text } = await metrics.render()
    expect(text).toContain(`arcus_settlement_gas_usd_sum{network="${network}"} 0.0016`)
    expect(text).toContain(`arcus_settlement_gas_usd_count{network="${network}"} 1`)
    expect(text).toContain(`arcus_gas_usd_total{network="${network}"} 0.002`)
    expect(text).toContain(
      `arcus_wasted_gas_usd_total{network="${network}",accounts="plain"} 0.0005`,
    )
  })

  it('counts jobs by kind, and gas of payments for payments only', async () => {
    const metrics = createMetrics(aClock().now)
    const events = metrics.relayerEvents(network)
    events.decided({ ...aJob, kind: 'batch-claim' }, confirmed)
    events.decided({ ...aJob, kind: 'batch-claim' }, confirmed)
    events.decided(aJob, failed)
    const { text } = await metrics.render()
    const count = (kind: string, state: string) =>
      `arcus_jobs_total{network="${network}",kind="${kind}",state="${state}"}`
    expect(text).toContain(`${count('batch-claim', 'confirmed')} 2`)
    expect(text).toContain(`${count('exact', 'failed')} 1`)
    expect(text).not.toContain('arcus_settlement_gas_usd_sum')
  })
})

describe('calls to the chain', () => {
  it('are counted by method, and a node is up while its last round trip succeeded', async () => {
    const metrics = createMetrics(aClock().now)
    const observe = metrics.observeRpc(network)
    observe({ node: 0, methods: ['eth_call', 'eth_getCode', 'eth_getCode'], ms: 4, ok: true })
    observe({ node: 1, methods: ['eth_call'], ms: 2_000, ok: false })
    const { text } = await metrics.render()
    const place = (node: number) => `network="${network}",node="${node}"`
    expect(text).toContain(`arcus_rpc_requests_total{${place(0)},method="eth_getCode",ok="true"} 2`)
    expect(text).toContain(`arcus_rpc_requests_total{${place(1)},method="eth_call",ok="false"} 1`)
    expect(text).toContain(`arcus_rpc_seconds_count{${place(0)}} 1`)
    expect(text).toContain(`arcus_rpc_node_up{${place(0)}} 1`)
    expect(text).toContain(`arcus_rpc_node_up{${place(1)}} 0`)
  })
})

describe('balances', () => {
  it('are read once in ten seconds', async () => {
    const clock = aClock()
    let asked = 0
    const batch = async (): Promise<RpcResult[]> => [{ ok: true, value: `0x${++asked}` }]
    const read = createBalances({ batch }, [wallet], clock.now)
    expect(await Promise.all([read(), read()])).toEqual([[1n], [1n]])
    clock.ms += 9_999
    expect(await read()).toEqual([1n])
    clock.ms += 1
    expect(await read()).toEqual([2n])
  })

  it('are unknown, not zero, when the chain cannot be asked', async () => {
    const batch = () => Promise.reject(new Error('no chain'))
    expect(await createBalances({ batch }, [wallet], Date.now)()).toEqual([undefined])
  })
})

it('counts the runs of background work from 0 on, by task and by result', async () => {
  let now = 0
  const metrics = createMetrics(() => now)
  const figures = { task: 'shrink old payments', done: 0, failed: 0 }
  metrics.watchBackground(() => [figures])
  const runsOf = async (result: string) => {
    now += 2_000
    const line = `arcus_background_runs_total{task="shrink old payments",result="${result}"} `
    const { text } = await metrics.render()
    return Number(text.split(line)[1]?.split('\n')[0])
  }
  expect([await runsOf('done'), await runsOf('failed')]).toEqual([0, 0])
  Object.assign(figures, { done: 3, failed: 1 })
  expect([await runsOf('done'), await runsOf('failed')]).toEqual([3, 1])
  expect([await runsOf('done'), await runsOf('failed')]).toEqual([3, 1])
})
