import { type Address, parseTransaction } from 'viem'
import { describe, expect, it } from 'vitest'
import { multicall3Address } from '../../../../src/chain/abi.js'
import {
  aWorld,
  euro,
  heard,
  type PaymentWish,
  pass,
  type RelayerWish,
  usdc,
  useVirtualClock,
} from '../../../support/simulated/a-relayer.js'

useVirtualClock()

async function aRelayer(wish: RelayerWish = {}) {
  const world = aWorld(wish)
  const process = await world.start()
  return { world, chain: world.chain, ...process }
}

/** The nodes cannot serve a method from now on. Returns the function that lets them. */
function without({ nodes }: ReturnType<typeof aWorld>, method: string): () => void {
  for (const node of nodes) node.lacks = method
  return () => {
    for (const node of nodes) node.lacks = undefined
  }
}

const pause = (ms: number) => new Promise<void>((resolve) => void setTimeout(resolve, ms))

const many = (count: number, wish: PaymentWish = {}) => Array.from({ length: count }, () => wish)

describe('a payment', () => {
  it('is confirmed with the transaction, the block and the log that moved it, and its gas', async () => {
    const { chain, pay, relayer } = await aRelayer()
    const { job, row } = await pay()
    const told = relayer.untilDecided(job)
    await pass(600)
    const [receipt] = chain.head().receipts
    const gasCost = BigInt(String(receipt?.gasUsed)) * BigInt(String(receipt?.effectiveGasPrice))
    const transaction = chain.head().transactions[0]?.hash
    const outcome = { state: 'confirmed', reason: null, transaction, blockNumber: 1, gasCost }
    expect(await row()).toMatchObject(outcome)
    expect(await heard(told)).toMatchObject({ id: job.id, ...outcome, transferLog: 1 })
    expect(relayer.isTracking(job)).toBe(false)
  })

  it('that comes alone is sent at once, and kept before it is sent', async () => {
    const { world, pay } = await aRelayer()
    const done: string[] = []
    world.store.before = async (method) => void done.push(method)
    const [node] = world.nodes
    if (node) node.refuses = () => void done.push('sent') as undefined
    const { row } = await pay()
    await pass(0)
    expect(done.indexOf('recordAttempt')).toBeGreaterThan(0)
    expect(done.slice(done.indexOf('recordAttempt'))).toEqual(['recordAttempt', 'sent'])
    const { state, transaction } = await row()
    expect([state, transaction]).toEqual(['submitted', world.chain.pool()[0]?.hash])
  })

  it('is sent once, however often it is handed over', async () => {
    const { world, pay, relayer } = await aRelayer()
    const { job } = await pay()
    relayer.submit(job)
    await pass(10)
    relayer.submit(job)
    await pass(100)
    expect([world.offered.length, relayer.isTracking(job)]).toEqual([1, true])
  })

  it('gets what its simulation takes and a margin, never more than a payment may take', async () => {
    const { world, pay } = await aRelayer()
    await pay()
    await pass(0)
    // 91,000 and 15 percent, and what a new recipient costs.
    expect(world.chain.pool()[0]?.gas).toBe(149_650n)
    expect(world.chain.pool()[0]).toMatchObject({
      maxFeePerGas: 3n * world.chain.baseFee + 1_000_000n,
      maxPriorityFeePerGas: 1_000_000n,
    })
  })

  it('that the facts of the newest block prove is sent without a simulation', async () => {
    const { world, chain, pay } = await aRelayer()
    without(world, 'eth_estimateGas')
    const { row } = await pay({ provenInBlock: chain.head().number })
    await pass(0)
    // The guess before the first receipt and 15 percent, and what a new recipient costs.
    expect(chain.pool()[0]?.gas).toBe(183_000n)
    await pass(600)
    expect(await row()).toMatchObject({ state: 'confirmed' })
  })

  it.each<[string, PaymentWish]>([
    ['that nothing proves', {}],
    ['that an older block proved', { provenInBlock: 1 }],
    ['of an account that runs code', { provenInBlock: 5, isAlone: true }],
  ])('%s waits for a node that simulates it', async (_what, wish) => {
    const { world, chain, pay } = await aRelayer()
    await pass(2_500)
    expect(chain.head().number).toBe(5)
    const restore = without(world, 'eth_estimateGas')
    const { row } = await pay(wish)
    await pass(300)
    expect(chain.pool()).toEqual([])
    restore()
    await pass(1_000)
    expect(await row()).toMatchObject({ state: 'confirmed' })
  })

  it('is simulated where it has waited since it was proved, though no block was seen', async () => {
    const { world, pay } = await aRelayer()
    world.store.before = async (method) => {
      if (method === 'recordAttempt') await pause(700)
    }
    await pay()
    await pass(10)
    const restore = without(world, 'eth_estimateGas')
    const { row } = await pay({ provenInBlock: 1_000 })
    await pass(1_200)
    expect(await row()).toMatchObject({ state: 'queued' })
    restore()
    await pass(3_000)
    expect(await row()).toMatchObject({ state: 'confirmed' })
  })

  it('waits until the chain takes it, where it is not valid yet by either clock', async () => {
    const { pay, happened } = await aRelayer()
    const { row } = await pay({ validAfter: Math.floor(Date.now() / 1000) + 3 })
    await pass(3_000)
    expect(happened.signed).toEqual([])
    await pass(2_500)
    expect(await row()).toMatchObject({ state: 'confirmed' })
  })

  it('is sent although the newest block is older than it: such a chain makes blocks on demand', async () => {
    const { chain, pay, happened } = await aRelayer()
    chain.isHalted = true
    await pass(10_000)
    const { row } = await pay({ validAfter: Math.floor(Date.now() / 1000) - 2 })
    await pass(100)
    expect(happened.signed).toHaveLength(1)
    chain.isHalted = false
    await pass(1_000)
    expect(await row()).toMatchObject({ state: 'confirmed' })
  })
})

describe('payments that come together', () => {
  it('are sent without a simulation where the facts of the newest block prove all of them', async () => {
    const { world, chain, payAll } = await aRelayer()
    const restore = without(world, 'eth_call')
    const provenInBlock = chain.head().number
    const proven = await payAll(many(3, { provenInBlock }))
    await pass(1_000)
    for (const { row } of proven) expect(await row()).toMatchObject({ state: 'confirmed' })
    const mixed = await payAll([{}, { provenInBlock: chain.head().number }])
    await pass(0)
    expect(chain.pool()).toEqual([])
    restore()
    await pass(1_000)
    for (const { row } of mixed) expect(await row()).toMatchObject({ state: 'confirmed' })
  })

  it('leave out what has become unpayable since it was proved, and it is refused', async () => {
    const { world, chain, payAll } = await aRelayer()
    const provenInBlock = chain.head().number
    const payer = world.anAccount(1_000)
    const [poor, other] = await payAll([{ payer, provenInBlock }, { provenInBlock }])
    chain.change(({ tokens }) => tokens.set(`${usdc}/${payer}`, 0n))
    await pass(2_000)
    expect(await poor?.row()).toMatchObject({ state: 'failed', reason: 'insufficientBalance' })
    expect(await other?.row()).toMatchObject({ state: 'confirmed' })
  })

  it('share one transaction, and its cost to the last unit', async () => {
    const { chain, payAll, happened } = await aRelayer()
    const payments = await payAll(many(11))
    await pass(1_000)
    const rows = await Promise.all(payments.map(({ row }) => row()))
    expect(rows.map(({ state }) => state)).toEqual(Array(11).fill('confirmed'))
    expect(new Set(rows.map(({ transaction }) => transaction)).size).toBe(1)
    const total = rows.reduce((sum, { gasCost }) => sum + (gasCost ?? 0n), 0n)
    const [spent] = happened.spent
    expect(total).toBe(spent?.cost)
    const shares = rows.map(({ gasCost }) => gasCost ?? 0n)
    expect(Math.max(...shares.map(Number)) - Math.min(...shares.map(Number))).toBeLessThanOrEqual(1)
    expect(chain.at(1)?.transactions).toMatchObject([{ to: multicall3Address }])
    expect(happened.decided.map(({ transferLog }) => transferLog).slice(0, 3)).toEqual([1, 3, 5])
  })

  it('of several tokens share one as well, each settled by the log of its own token', async () => {
    const { world, chain, payAll } = await aRelayer()
    const payer = world.anAccount(10)
    chain.change(({ tokens }) => tokens.set(`${euro}/${payer}`, 10_000_000n))
    const payments = await payAll([usdc, euro].map((asset) => ({ asset, payer })))
    await pass(1_000)
    const rows = await Promise.all(payments.map(({ row }) => row()))
    expect(rows).toMatchObject([{ state: 'confirmed' }, { state: 'confirmed' }])
    expect(rows[0]?.transaction).toBe(rows[1]?.transaction)
    for (const asset of [usdc, euro]) {
      expect(chain.head().state.tokens.get(`${asset}/${payer}`)).toBe(9_000_000n)
    }
  })

  it.each([
    ['as soon as the last announced one has come', 2, 0],
    ['when the last announced one was refused', 1, 0],
    ['after a moment without the announced one', 1, 40],
  ])('leave %s', async (_, count, ms) => {
    const { payAll, relayer, happened } = await aRelayer()
    const [comes] = [relayer.expect(), ms > 0 ? relayer.expect() : () => {}]
    await payAll(many(count))
    await pass(ms === 0 ? 20 : ms - 1)
    expect(happened.signed).toEqual([])
    comes?.()
    await pass(ms === 0 ? 0 : 1)
    expect(happened.signed.map(({ ids }) => ids.length)).toEqual([count])
  })

  it('leave at once when the transaction is full, whatever else is announced', async () => {
    const { payAll, relayer, happened } = await aRelayer()
    relayer.expect()
    await payAll(many(50))
    await pass(0)
    expect(happened.signed.map(({ ids }) => ids.length)).toEqual([50])
  })

  it('wait a moment for more while a transaction is under way, and not longer', async () => {
    const { pay, happened } = await aRelayer()
    await pay()
    await pass(1)
    await pay()
    await pay()
    await pass(37)
    expect(happened.signed.map(({ ids }) => ids.length)).toEqual([1])
    await pass(3)
    expect(happened.signed.map(({ ids }) => ids.length)).toEqual([1, 2])
    await pass(1_000)
    await pay()
    await pass(0)
    expect(happened.signed).toHaveLength(3)
  })

  it('go one by one where the chain has no Multicall3', async () => {
    const { payAll, happened } = await aRelayer({ hasMulticall3: false })
    await payAll(many(3))
    await pass(1_000)
    expect(happened.signed.map(({ ids }) => ids.length)).toEqual([1, 1, 1])
    expect(happened.decided).toHaveLength(3)
  })

  it('that go through a contract share with those of the same one, and the contract makes the calls', async () => {
    const [ours, theirs]: Address[] = [`0x0c${'00'.repeat(19)}`, `0x0d${'00'.repeat(19)}`]
    const { payAll, happened, world } = await aRelayer()
    const wishes = [ours, undefined, theirs, ours].map((through) =>
      through ? { profile: { through } } : {},
    )
    await payAll(wishes)
    await pass(100)
    expect(happened.signed.map(({ ids }) => ids.length)).toEqual([2, 1, 1])
    const sent = world.offered.map((raw) => parseTransaction(raw).to)
    expect(sent).toEqual([ours, usdc, theirs])
  })

  it('go alone where one of them must, or by the wallet that it names', async () => {
    const { world, payAll, happened } = await aRelayer({ wallets: 2 })
    const senders = [world.signers[1]?.address ?? '0x'] as const
    await payAll([{}, { profile: { isSingle: true } }, {}])
    await pass(1_000)
    expect(happened.signed.map(({ ids }) => ids.length)).toEqual([2, 1])
    for (let i = 0; i < 3; i++) {
      await payAll([{ profile: { senders } }])
      await pass(1_000)
    }
    const last = world.chain.mined().slice(-3)
    expect(last.map(({ from }) => from)).toEqual(Array(3).fill(senders[0]))
  })

  it('take the wallet with least under way', async () => {
    const { chain, world, pay, happened } = await aRelayer({ wallets: 2 })
    chain.isHalted = true
    for (let i = 0; i < 4; i++) {
      await pay()
      await pass(100)
    }
    const counts = world.signers.map(
      ({ address }) => chain.pool().filter(({ from }) => from === address).length,
    )
    expect([counts, happened.signed.length]).toEqual([[2, 2], 4])
  })

  it('have sixteen transactions of one wallet under way at most', async () => {
    const { chain, pay, relayer } = await aRelayer()
    chain.isHalted = true
    for (let i = 0; i < 20; i++) {
      await pay()
      await pass(50)
    }
    expect([chain.pool().length, relayer.queueLength()]).toEqual([16, 4])
    chain.isHalted = false
    await pass(1_500)
    expect([chain.pool().length, relayer.queueLength()]).toEqual([0, 0])
  })
})

describe('a member that would fail', () => {
  it('leaves the transaction before gas is spent, and the others go', async () => {
    const { world, payAll, happened } = await aRelayer()
    const payments = await payAll([{}, { payer: world.anAccount(0) }, {}])
    await pass(1_000)
    const rows = await Promise.all(payments.map(({ row }) => row()))
    expect(rows.map(({ state, reason }) => reason ?? state)).toEqual([
      'confirmed',
      'insufficientBalance',
      'confirmed',
    ])
    expect(happened.signed.map(({ ids }) => ids.length)).toEqual([2])
    expect(rows[1]).toMatchObject({ transaction: null, gasCost: 0n })
  })

  it('is over, whatever becomes of the transaction of the others', async () => {
    const { world, chain, payAll, happened } = await aRelayer()
    let failures = 3
    world.store.before = async (method) => {
      if (method === 'recordAttempt' && failures-- > 0) throw new Error('the disk is full')
    }
    const payer = world.anAccount(0)
    const [poor, other] = await payAll([{ payer }, {}])
    await pass(100)
    expect(await poor?.row()).toMatchObject({ state: 'failed', reason: 'insufficientBalance' })
    chain.change(({ tokens }) => tokens.set(`${usdc}/${payer}`, 5_000_000n))
    await pass(2_000)
    expect(await other?.row()).toMatchObject({ state: 'confirmed' })
    expect(happened.taken.filter((ids) => ids.includes(poor?.job.id ?? ''))).toHaveLength(1)
  })

  it('is refused alone as well, by what the token says of it', async () => {
    const { world, pay, said, happened } = await aRelayer()
    const payer = world.anAccount()
    world.chain.change(({ blocked }) => blocked.add(payer))
    const { job, row } = await pay({ payer })
    await pass(100)
    expect(await row()).toMatchObject({ state: 'failed', reason: 'payerBlocklisted' })
    const { nonce } = JSON.parse(job.details)
    const line = { settlementId: job.id, state: 'failed', payer, nonce }
    expect(said.find(({ line }) => line === 'settlement decided')).toMatchObject(line)
    expect(happened.signed).toEqual([])
  })

  it('of an account that has code by now travels alone', async () => {
    const { world, payAll, happened } = await aRelayer()
    const payer = world.anAccount()
    world.chain.change(({ code }) => code.set(payer, 'agrees'))
    const [, wallet] = await payAll([{}, { payer }, {}])
    await pass(1_000)
    expect(happened.signed.map(({ ids }) => ids.length)).toEqual([2, 1])
    expect(happened.signed[1]?.ids).toEqual([wallet?.job.id])
    expect(happened.decided).toHaveLength(3)
  })
})

describe('a payment past its end', () => {
  it('that was never signed fails without a transaction', async () => {
    const { chain, pay, world } = await aRelayer()
    const [node] = world.nodes
    if (node) node.lacks = 'eth_estimateGas'
    const { row } = await pay({ validBefore: Math.floor(Date.now() / 1000) + 2 })
    await pass(2_500)
    if (node) node.lacks = undefined
    await pass(500)
    expect(await row()).toMatchObject({ state: 'failed', reason: 'validBefore', transaction: null })
    expect(chain.pool()).toEqual([])
  })

  it('that was signed stays open until the clock of the chain is past it as well', async () => {
    const { chain, pay } = await aRelayer()
    chain.isHalted = true
    const { row } = await pay({ validBefore: Math.floor(Date.now() / 1000) + 2 })
    await pass(10_000)
    expect(await row()).toMatchObject({ state: 'submitted' })
    chain.holdsBack = () => true
    chain.isHalted = false
    await pass(3_000)
    const { state, reason, transaction } = await row()
    expect([state, reason, transaction]).toEqual(['failed', 'validBefore', null])
  })
})

describe('a payment that nobody waits for any more', () => {
  it('is not sent, and its end says that it could not be', async () => {
    const { pay, relayer, world, happened } = await aRelayer()
    const [node] = world.nodes
    if (node) node.lacks = 'eth_estimateGas'
    const { job } = await pay()
    await pass(500)
    const withdrawn = relayer.withdraw(job)
    await pass(500)
    expect(await heard(withdrawn)).toMatchObject({
      state: 'failed',
      reason: 'unexpectedSettleError',
    })
    if (node) node.lacks = undefined
    await pass(2_000)
    expect(happened.signed).toEqual([])
  })

  it('keeps its hash once it was signed: it may land', async () => {
    const { chain, pay, relayer } = await aRelayer()
    chain.isHalted = true
    const { job } = await pay()
    await pass(100)
    expect(await heard(relayer.withdraw(job))).toMatchObject({
      state: 'submitted',
      transaction: chain.pool()[0]?.hash,
    })
  })

  it('only waited for its turn, if nothing else kept it: its end says for how long, and behind whom', async () => {
    const { chain, world, pay, relayer } = await aRelayer()
    chain.isHalted = true
    const payer = world.anAccount()
    for (let i = 0; i < 20; i++) {
      await pay({ payer, profile: { isSingle: true } })
      await pass(0)
    }
    const { job } = await pay({ payer, profile: { isSingle: true } })
    await pass(7_000)
    const withdrawn = await heard(relayer.withdraw(job))
    expect(withdrawn).toMatchObject({ state: 'failed', reason: 'notSentInTime' })
    expect(withdrawn?.message).toContain('7 seconds')
    expect(withdrawn?.message).toContain(`20 other payments of ${payer}`)
  })
})
