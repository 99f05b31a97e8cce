import { describe, expect, it } from 'vitest'
import type { Relayer } from '../../../../src/facilitator/relayer/relayer.js'
import type { Signer } from '../../../../src/facilitator/relayer/signer.js'
import { aWorld, heard, pass, useVirtualClock } from '../../../support/simulated/a-relayer.js'
import { aCluster } from '../../../support/simulated/replicas.js'

useVirtualClock()

/** Two processes on one database; the first one holds `wallets` lanes before the second one comes. */
async function twoProcesses(wallets = 2) {
  const world = aWorld({ wallets })
  const cluster = aCluster(world)
  const first = await world.start(cluster.member('first'))
  const second = await world.start(cluster.member('second'))
  const heldBy = (process: typeof first) =>
    process.relayer.lanes().flatMap((lane, i) => (lane.isHeld() ? [i] : []))
  return { world, chain: world.chain, cluster, first, second, heldBy }
}

describe('two processes', () => {
  it('divide the wallets evenly, and both settle', async () => {
    const { first, second, heldBy, chain, world } = await twoProcesses()
    expect([heldBy(first), heldBy(second)]).toEqual([[0, 1], []])
    await pass(3_000)
    expect([heldBy(first), heldBy(second)]).toEqual([[0], [1]])
    const lines = first.said.map(({ line }) => line)
    expect(lines).toContain('lane passed on')
    expect(lines).not.toContain('lane let go')
    const payments = [await first.pay(), await second.pay()]
    await pass(1_500)
    for (const { row } of payments) expect((await row()).state).toBe('confirmed')
    const counts = world.signers.map(({ address }) => chain.head().state.counts.get(address))
    expect(counts).toEqual([1, 1])
  })

  it('pass a wallet on only when nothing of it is under way', async () => {
    const held = (process: { relayer: Relayer }) =>
      process.relayer.lanes().filter((lane) => lane.isHeld()).length
    const world = aWorld({ wallets: 2 })
    const cluster = aCluster(world)
    const one = await world.start(cluster.member('one'))
    world.chain.isHalted = true
    const payments = [await one.pay()]
    await pass(100)
    payments.push(await one.pay())
    await pass(100)
    const two = await world.start(cluster.member('two'))
    await pass(3_000)
    expect([held(one), held(two)]).toEqual([2, 0])
    // The wallet that is to be passed on takes nothing new.
    const more = [await one.pay(), await one.pay()]
    await pass(500)
    const [, leaving] = world.signers
    expect(world.chain.pool().filter(({ from }) => from === leaving?.address)).toHaveLength(1)
    world.chain.isHalted = false
    await pass(3_000)
    expect([held(one), held(two)]).toEqual([1, 1])
    for (const { row } of [...payments, ...more]) expect((await row()).state).toBe('confirmed')
  })
})

describe('a wallet whose signature takes long', () => {
  it('is passed on only when what it signs has landed', async () => {
    const signer = (own: Signer): Signer => ({
      ...own,
      async sign(transaction) {
        await new Promise((resolve) => setTimeout(resolve, 5_000))
        return own.sign(transaction)
      },
    })
    const world = aWorld({ wallets: 2, signer })
    const cluster = aCluster(world)
    const one = await world.start(cluster.member('one'))
    const payments = await Promise.all([one.pay(), one.pay()])
    await pass(100)
    payments.push(await one.pay())
    await pass(100)
    const two = await world.start(cluster.member('two'))
    await pass(4_000)
    expect(one.relayer.lanes().map((lane) => lane.isHeld())).toEqual([true, true])
    await pass(6_000)
    expect(two.relayer.lanes().map((lane) => lane.isHeld())).toEqual([false, true])
    for (const { row } of payments) expect((await row()).state).toBe('confirmed')
    expect(one.said.map(({ line }) => line)).not.toContain('could not prepare a transaction')
  })
})

describe('a process without a wallet', () => {
  it('offers its payments to one that has some, and hears of their outcomes', async () => {
    const { cluster, first, second } = await twoProcesses(1)
    await pass(1_000)
    const { job, row } = await second.pay()
    expect(second.relayer.isTracking(job)).toBe(false)
    let heard = 0
    void second.relayer.untilDecidedElsewhere(job.id, 10_000).then(() => {
      heard = Date.now()
    })
    const askedAt = Date.now()
    await pass(1_500)
    expect((await row()).state).toBe('confirmed')
    expect(cluster.ownerOf(job.id)).toBe('first')
    expect(first.happened.decided).toHaveLength(1)
    expect(heard - askedAt).toBeLessThan(1_000)
  })

  it('waits for the outcome of another as long as it is asked to, also while the store fails', async () => {
    const { cluster, first, second } = await twoProcesses(1)
    await pass(1_000)
    const { job, row } = await first.pay()
    const hear = (ms: number) => {
      const told = { at: 0 }
      void second.relayer.untilDecidedElsewhere(job.id, ms).then(() => {
        told.at = Date.now()
      })
      return told
    }
    const startedAt = Date.now()
    const [long, short] = [hear(10_000), hear(200)]
    cluster.isolate('second')
    await pass(300)
    expect([short.at - startedAt, long.at]).toEqual([200, 0])
    cluster.reconnect('second')
    await pass(1_500)
    expect((await row()).state).toBe('confirmed')
    expect(long.at - startedAt).toBeLessThan(1_000)
  })
})

describe('processes with nothing to do', () => {
  it('ask the database twenty times a second for payments, and once for those of processes that are gone', async () => {
    const { cluster } = await twoProcesses()
    await pass(3_000)
    const before = { ...cluster.asked }
    await pass(10_000)
    const [offered, orphans] = (['takeOffered', 'takeOrphans'] as const).map(
      (call) => cluster.asked[call] - before[call],
    )
    expect([Math.round((offered ?? 0) / 20), Math.round((orphans ?? 0) / 2)]).toEqual([20, 10])
  })
})

describe('a process that is gone', () => {
  it('leaves its wallet, its transactions and its payments to the other one', async () => {
    const { world, chain, first, second, heldBy } = await twoProcesses(1)
    chain.isHalted = true
    const sent = await first.pay()
    await pass(50)
    const { journal } = world.store
    const waits = await first.claim()
    // SIGKILL: it neither leaves nor says anything.
    first.relayer.stop()
    await pass(1_000)
    chain.isHalted = false
    await first.stop()
    await pass(8_000)
    expect(heldBy(second)).toEqual([0])
    expect((await sent.row()).state).toBe('confirmed')
    expect((await journal.findJobById(waits.id))?.state).toBe('confirmed')
    expect(chain.mined()).toHaveLength(2)
  })
})

describe('a process that the database does not answer', () => {
  it('signs and sends nothing once its leases have run out, and lets go of what was under way', async () => {
    const { world, chain, cluster, first, second, heldBy } = await twoProcesses(1)
    await pass(1_000)
    chain.holdsBack = () => true
    const { job, row } = await first.pay()
    await pass(100)
    cluster.isolate('first')
    await pass(6_500)
    expect([heldBy(first), heldBy(second)]).toEqual([[], [0]])
    // The other one resumed the transaction: it is sent again, and answered there.
    const sentBefore = world.offered.length
    chain.holdsBack = () => false
    await pass(3_000)
    expect((await row()).state).toBe('confirmed')
    expect(second.happened.decided).toHaveLength(1)
    expect(first.happened.decided).toEqual([])
    cluster.reconnect('first')
    await pass(2_000)
    expect(first.relayer.isTracking(job)).toBe(false)
    expect(first.said.map(({ line }) => line)).toContain('lane let go')
    expect(chain.mined()).toHaveLength(1)
    expect(world.offered.length - sentBefore).toBeLessThanOrEqual(2)
  })

  it('lets go of what another may work on, though no outcome is known yet', async () => {
    const { chain, cluster, first } = await twoProcesses(1)
    await pass(1_000)
    chain.isHalted = true
    const { job } = await first.pay()
    const told = first.relayer.untilDecided(job).then((it) => [it])
    await pass(100)
    cluster.isolate('first')
    await pass(6_500)
    cluster.reconnect('first')
    await pass(2_000)
    expect([first.relayer.isTracking(job), await heard(told)]).toEqual([false, [undefined]])
  })

  it('sends nothing again after that, however soon that was due', async () => {
    const { world, cluster, first, second, heldBy } = await twoProcesses(1)
    // It is sent again at the latest 4.2 seconds after this, and the lease was renewed 300 ms before.
    await pass(3_300)
    const [node] = world.nodes
    if (node) node.swallows = true
    await first.pay()
    await pass(10)
    expect(world.offered).toHaveLength(1)
    cluster.isolate('first')
    await pass(2_000)
    let withoutLease = 0
    if (node) {
      node.refuses = () => {
        if (heldBy(first).length + heldBy(second).length === 0) withoutLease++
        return 'the node is on fire'
      }
    }
    await pass(3_000)
    expect([heldBy(first), withoutLease]).toEqual([[], 0])
  })

  it('is not asked for an outcome again and again: the process that has the wallet now keeps it', async () => {
    const { world, chain, cluster, first, second } = await twoProcesses(1)
    await pass(1_000)
    chain.isHalted = true
    const { job, row } = await first.pay()
    const told = first.relayer.untilDecided(job)
    await pass(100)
    // Its clock stood still while its lease ran out, so it believes that it holds it.
    let tries = 0
    world.store.before = async (method) => {
      if (method === 'resolve') tries++
    }
    cluster.isolate('first')
    await pass(6_000)
    cluster.reconnect('first')
    chain.isHalted = false
    await pass(3_000)
    expect((await row()).state).toBe('confirmed')
    expect(second.happened.decided).toHaveLength(1)
    expect(await heard(told.then(() => 'told'))).toBe('told')
    expect(await told).toBeUndefined()
    expect(tries).toBe(1)
  })
})

describe('a payment that names its wallets', () => {
  it('goes to the process that holds one of them', async () => {
    const { world, cluster, first, second, heldBy } = await twoProcesses()
    await pass(3_000)
    expect(heldBy(second)).toEqual([1])
    const senders = [world.signers[1]?.address ?? '0x'] as const
    const { job, row } = await first.pay({ profile: { senders, isSingle: true } })
    await pass(1_500)
    expect((await row()).state).toBe('confirmed')
    expect(cluster.ownerOf(job.id)).toBe('second')
    expect(first.relayer.canSend(senders)).toBe(true)
  })
})

describe('a payment that waits here', () => {
  it('beyond one batch goes to a process that has room, unless it waits for others of its payer', async () => {
    const { world, chain, cluster, first } = await twoProcesses()
    await pass(3_000)
    chain.isHalted = true
    const crowd = world.anAccount()
    for (let i = 0; i < 47; i++) await first.pay({ payer: crowd, profile: { isSingle: true } })
    await pass(2_500)
    // Seven are under way; the others wait for these, so no other process gets them.
    expect(first.relayer.queueLength()).toBe(40)
    for (let i = 0; i < 9; i++) {
      await first.pay()
      await pass(50)
    }
    const payments = await first.payAll(Array(110).fill({}))
    await pass(950)
    const ofSecond = () => payments.filter(({ job }) => cluster.ownerOf(job.id) === 'second').length
    expect([ofSecond(), first.relayer.queueLength()]).toEqual([0, 150])
    await pass(200)
    // The first fifty are kept, half of which travel alone, and fifteen beyond them that only wait for others of their payer.
    expect([ofSecond(), first.relayer.queueLength()]).toEqual([85, 65])
    chain.isHalted = false
    await pass(5_000)
    for (const { row } of payments) expect((await row()).state).toBe('confirmed')
  })
})

it('of a block a process gives one payer a share by the number of its wallets', async () => {
  const { world, chain, first } = await twoProcesses()
  await pass(3_000)
  chain.isHalted = true
  await first.payAll(Array(300).fill({ payer: world.anAccount() }))
  await pass(900)
  expect(first.happened.signed.flatMap(({ ids }) => ids)).toHaveLength(132)
})

describe('a payment that waits for a wallet of this process', () => {
  it('goes to no other one, however many wait', async () => {
    const { world, chain, cluster, first } = await twoProcesses()
    await pass(3_000)
    chain.isHalted = true
    for (let i = 0; i < 16; i++) {
      await first.pay()
      await pass(50)
    }
    const senders = [world.signers[0]?.address ?? '0x'] as const
    const payments = await first.payAll(Array(60).fill({ profile: { senders } }))
    await pass(3_000)
    expect(payments.every(({ job }) => cluster.ownerOf(job.id) === 'first')).toBe(true)
    expect(first.relayer.queueLength()).toBe(60)
    expect(first.said.map(({ line }) => line)).not.toContain('offered to the other replicas')
    chain.isHalted = false
    await pass(3_000)
    for (const { row } of payments) expect((await row()).state).toBe('confirmed')
  })
})

describe('the withdrawal of a payment', () => {
  it('that another process works on is left to the store', async () => {
    const { chain, first, second } = await twoProcesses(1)
    await pass(1_000)
    chain.isHalted = true
    const signed = await first.pay()
    await pass(100)
    expect(await second.relayer.withdraw(signed.job)).toBeUndefined()
    const waits = await first.claim()
    expect(await second.relayer.withdraw(waits)).toMatchObject({ state: 'failed' })
  })
})
