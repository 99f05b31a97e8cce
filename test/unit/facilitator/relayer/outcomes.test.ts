import type { Address, Hex } from 'viem'
import { describe, expect, it } from 'vitest'
import { addressTopic, topics, wordOf } from '../../../../src/chain/abi.js'
import { createOutcomeWait } from '../../../../src/facilitator/settle/settler.js'
import {
  aWorld,
  heard,
  network,
  pass,
  type RelayerWish,
  usdc,
  useVirtualClock,
  type World,
} from '../../../support/simulated/a-relayer.js'

useVirtualClock()

async function aRelayer(wish: RelayerWish = {}) {
  const world = aWorld(wish)
  const process = await world.start()
  const { chain } = world
  /** Sets what an account holds, before the next block or at its beginning. */
  const holds = (payer: Address, dollars: number, change = chain.change) =>
    change(({ tokens }) => tokens.set(`${usdc}/${payer}`, BigInt(dollars) * 1_000_000n))
  return { world, chain, nodes: world.nodes, holds, ...process }
}

/** Signs the transaction of a payment with a wallet that is none of ours. */
function byStranger({ chain }: World, { to, calldata: data }: { to: Address; calldata: Hex }) {
  const [, stranger] = aWorld({ wallets: 2 }).signers
  if (stranger === undefined) throw new Error('there is no stranger')
  chain.change(({ gasMoney }) => gasMoney.set(stranger.address, 10n ** 18n))
  const fees = { maxFeePerGas: 10n ** 11n, maxPriorityFeePerGas: 1n }
  return stranger.sign({ chainId: 5042, nonce: 0, to, data, gasLimit: 200_000n, ...fees })
}

/** Uses the nonce of a payment before the next block, as another of its authorizations would. */
const useOf = ({ details }: { details: string }) => {
  const { asset, payer, nonce } = JSON.parse(details)
  return `${asset}/${payer}/${nonce}`
}

describe('a payment that fails on chain', () => {
  it('does not change what the next ones are given', async () => {
    const { world, chain, holds, payAll } = await aRelayer()
    const payTo = `0x${'b3'.repeat(20)}` as const
    const payer = world.anAccount()
    await payAll([{ payer, payTo }, { payTo }, { payTo }])
    await pass(50)
    holds(payer, 0, chain.changeUnseen)
    await pass(2_000)
    await payAll([{ payTo }, { payTo }, { payTo }])
    await pass(50)
    expect(chain.pool()[0]?.gas).toBe(chain.mined()[0]?.gas)
  })

  it('in a transaction that no node showed in time is sent again once, also when it is shown later', async () => {
    const { world, chain, holds, nodes, pay, happened } = await aRelayer()
    const payer = world.anAccount()
    const { row } = await pay({ payer })
    await pass(50)
    const [node] = nodes
    if (node) node.hidesReceipts = true
    holds(payer, 0, chain.changeUnseen)
    await pass(500)
    holds(payer, 5)
    chain.holdsBack = () => true
    await pass(6_000)
    expect(happened.signed).toHaveLength(2)
    if (node) node.hidesReceipts = false
    await pass(5_500)
    expect([happened.signed.length, happened.spent.length]).toEqual([2, 1])
    chain.holdsBack = () => false
    await pass(1_000)
    expect((await row()).state).toBe('confirmed')
  })

  it('because the token kept a part of it has failed for good, though its transaction went through', async () => {
    const { chain, pay, happened } = await aRelayer()
    chain.change((state) => {
      state.kept = 1n
    })
    const { row } = await pay()
    await pass(2_000)
    const transaction = chain.mined()[0]?.hash
    expect(await row()).toMatchObject({
      state: 'failed',
      reason: 'transferEventMismatch',
      transaction,
    })
    expect(happened.signed).toHaveLength(1)
  })

  it('for want of money says so, with its transaction and the gas it burnt', async () => {
    const { world, chain, holds, pay, happened } = await aRelayer()
    const payer = world.anAccount()
    const { row } = await pay({ payer })
    await pass(50)
    holds(payer, 0, chain.changeUnseen)
    await pass(1_000)
    const [sent] = chain.mined()
    const outcome = { state: 'failed', reason: 'insufficientBalance', transaction: sent?.hash }
    expect(await row()).toMatchObject({ ...outcome, gasCost: happened.spent[0]?.cost })
    expect(happened.spent[0]?.wasted).toEqual({ kind: 'plain', amount: happened.spent[0]?.cost })
  })

  it('in a shared transaction leaves the others settled, and is sent again alone', async () => {
    const { world, chain, holds, payAll, happened } = await aRelayer()
    const payer = world.anAccount()
    const [first, second] = await payAll([{ payer }, {}])
    await pass(50)
    holds(payer, 0, chain.changeUnseen)
    await pass(460)
    holds(payer, 5)
    await pass(1_500)
    const [one, two] = [await first?.row(), await second?.row()]
    expect([one?.state, two?.state]).toEqual(['confirmed', 'confirmed'])
    expect(one?.transaction).not.toBe(two?.transaction)
    // It bears its share of the first transaction, and all of its own.
    const costs = happened.spent.map(({ cost }) => cost)
    expect((one?.gasCost ?? 0n) + (two?.gasCost ?? 0n)).toBe(costs.reduce((a, b) => a + b, 0n))
    expect(happened.signed.map(({ ids }) => ids.length)).toEqual([2, 1])
  })

  it.each([
    ['three times', 4, false],
    ['once, where its payer runs code, which may lie to the simulation', 2, true],
  ])('without a cause is sent again %s', async (_, most, isWallet) => {
    const { world, chain, holds, pay, happened } = await aRelayer()
    const payer = world.anAccount()
    if (isWallet) chain.change(({ code }) => code.set(payer, 'agrees'))
    chain.isHalted = true
    const { row } = await pay({ payer, isAlone: isWallet })
    for (let i = 0; i < most; i++) {
      await pass(300)
      expect((await row()).state).toBe('submitted')
      holds(payer, 0, chain.changeUnseen)
      chain.mine()
      holds(payer, 5)
      await pass(1_000)
    }
    const { state, reason, gasCost } = await row()
    expect([state, reason]).toEqual(['failed', 'transactionFailed'])
    expect(gasCost).toBe(happened.spent.reduce((sum, { cost }) => sum + cost, 0n))
    expect(happened.signed).toHaveLength(most)
  })
})

describe('a payment that others bring on chain', () => {
  /** Another transaction, of a wallet that is none of ours, makes the transfer. */
  async function overtaken() {
    const it = await aRelayer()
    const payment = await it.pay()
    await pass(50)
    it.chain.forget()
    const raw = await byStranger(it.world, payment.job)
    return { ...it, ...payment, bring: () => it.chain.offer(raw).hash }
  }

  it('is confirmed with their transaction, and costs nothing here', async () => {
    const { bring, row, chain } = await overtaken()
    const hash = bring()
    chain.holdsBack = ({ hash: it }) => it !== hash
    await pass(4_500)
    expect(await row()).toMatchObject({ state: 'confirmed', transaction: hash, gasCost: null })
  })

  it('after a transaction of ours failed costs what that burnt', async () => {
    const { world, chain, holds, pay, happened } = await aRelayer()
    const payer = world.anAccount()
    const { job, row } = await pay({ payer })
    await pass(50)
    holds(payer, 0, chain.changeUnseen)
    await pass(460)
    holds(payer, 5)
    const theirs = chain.offer(await byStranger(world, job))
    chain.holdsBack = ({ hash }) => hash !== theirs.hash
    await pass(6_000)
    const [first] = happened.spent
    expect(await row()).toMatchObject({
      state: 'confirmed',
      transaction: theirs.hash,
      gasCost: first?.cost,
    })
  })

  it('is undecided while no node shows their transaction', async () => {
    const { bring, row, nodes } = await overtaken()
    bring()
    for (const node of nodes) node.hidesReceipts = true
    await pass(20_000)
    expect(await row()).toMatchObject({ state: 'submitted' })
    for (const node of nodes) node.hidesReceipts = false
    await pass(8_000)
    expect(await row()).toMatchObject({ state: 'confirmed', gasCost: null })
  })

  it.each([
    ['cancelled it', [topics.authorizationCanceled], 'nonceAlreadyUsed'],
    [
      'used its nonce in another authorization',
      [topics.authorizationUsed, topics.transfer],
      'nonceAlreadyUsed',
    ],
  ] as const)('has failed where its payer %s', async (_, logged, reason) => {
    const { chain, row, job } = await overtaken()
    const { asset, payer, payTo, nonce } = JSON.parse(job.details)
    const [first, transfer] = logged
    const by = addressTopic(payer)
    chain.changeUnseen(({ used }) => used.add(useOf(job)))
    chain.logNext(
      { address: asset, topics: [first, by, nonce], data: '0x' },
      ...(transfer === undefined
        ? []
        : [{ address: asset, topics: [transfer, by, addressTopic(payTo)], data: wordOf(7n) }]
      ).map((log) => ({ ...log, data: `0x${log.data}` as Hex })),
    )
    await pass(5_000)
    const transaction = chain.at(1)?.receipts[0]?.transactionHash
    expect(await row()).toMatchObject({ state: 'failed', reason, transaction })
  })

  it.each([
    ['in an earlier block', 0],
    ['in an earlier second, by a block that nodes behind did not show', 1],
  ])(
    '%s than its claim is no settlement of it: it may have bought something',
    async (_, behind) => {
      const { world, chain, journal, relayer } = await aRelayer()
      const early = world.aJob()
      const { hash } = chain.offer(await byStranger(world, early))
      await pass(3_000)
      expect(chain.at(1)?.transactions).toMatchObject([{ hash }])
      const details = JSON.stringify({ ...JSON.parse(early.details), claimedAt: Date.now() })
      const late = { ...early, details, seenBlock: 1 - behind }
      const claimed = await journal.claim(late, undefined, Date.now())
      if (claimed.state !== 'claimed') throw new Error(claimed.state)
      relayer.submit(claimed.job)
      await pass(3_000)
      const found = await journal.findJobById(early.id)
      expect(found).toMatchObject({
        state: 'failed',
        reason: 'nonceAlreadyUsed',
        transaction: hash,
      })
    },
  )

  it('before it was handed over here is no settlement of this job', async () => {
    const { world, chain, pay, holds } = await aRelayer()
    const payer = world.anAccount()
    holds(payer, 100)
    const { job, row } = await pay({ payer })
    chain.changeUnseen(({ used }) => used.add(useOf(job)))
    chain.isHalted = true
    chain.mine()
    await pass(70_000)
    expect(await row()).toMatchObject({ state: 'failed', reason: 'nonceAlreadyUsed' })
  })
})

describe('a payment whose transaction may land', () => {
  it.each([
    [
      'for want of money',
      (holds: (payer: Address, dollars: number) => void, payer: Address) => holds(payer, 0),
    ],
    [
      'because the token blocks its payer',
      (_: unknown, payer: Address, block: (it: Address) => void) => block(payer),
    ],
  ] as [string, (...args: never[]) => void][])('does not fail %s', async (_, harm) => {
    const { world, chain, holds, pay } = await aRelayer()
    const payer = world.anAccount()
    chain.isHalted = true
    const { row } = await pay({ payer })
    await pass(100)
    ;(harm as (...args: unknown[]) => void)(holds, payer, (it: Address) =>
      chain.change(({ blocked }) => blocked.add(it)),
    )
    await pass(15_000)
    expect(await row()).toMatchObject({ state: 'submitted' })
    holds(payer, 5)
    chain.change(({ blocked }) => blocked.clear())
    chain.isHalted = false
    await pass(1_000)
    expect(await row()).toMatchObject({ state: 'confirmed' })
  })

  it('fails for a final cause while it is under way, once a block shows it', async () => {
    const { chain, pay, happened } = await aRelayer()
    chain.holdsBack = () => true
    const { row } = await pay({ validBefore: Math.floor(Date.now() / 1000) + 5 })
    await pass(4_900)
    expect(await row()).toMatchObject({ state: 'submitted' })
    await pass(1_000)
    expect(await row()).toMatchObject({ state: 'failed', reason: 'validBefore', gasCost: 0n })
    // What was signed for it is charged to its payer if it lands all the same.
    chain.holdsBack = () => false
    await pass(1_500)
    expect(happened.spent[0]?.wasted).toBeDefined()
    expect((await row()).state).toBe('failed')
  })
})

describe('a payment that a wallet gave back, whose transaction may land all the same', () => {
  /** Its first wallet was refused for want of gas money; the second one finds it as `change` left it. */
  async function givenBack(validSeconds: number, change: (payer: Address) => void, wish = {}) {
    const it = await aRelayer({ wallets: 2, ...wish })
    const payer = it.world.anAccount()
    const [node] = it.nodes
    if (node === undefined) throw new Error('there is no node')
    node.refuses = ({ hash }) => {
      if (!it.relayer.lanes()[0]?.holds(hash)) return undefined
      change(payer)
      return 'insufficient funds for gas'
    }
    const payment = await it.pay({
      payer,
      validBefore: Math.floor(Date.now() / 1000) + validSeconds,
    })
    return { ...it, ...payment, node, payer }
  }

  it('does not fail for want of money, and is sent again once there is some', async () => {
    let it: Awaited<ReturnType<typeof aRelayer>> | undefined
    const given = await givenBack(60, (payer) => it?.holds(payer, 0))
    it = given
    given.holds(given.payer, 0)
    await pass(5_000)
    const { state, transaction } = await given.row()
    expect([state, transaction, given.chain.mined()]).toEqual(['queued', null, []])
    given.node.refuses = () => undefined
    given.holds(given.payer, 5)
    await pass(2_500)
    expect(await given.row()).toMatchObject({ state: 'confirmed' })
  })

  it.each([2, 1])(
    'fails once its time is over, by the clock of the chain: %s wallets',
    async (wallets) => {
      const given = await givenBack(10, () => {}, { wallets })
      const [poor] = given.world.signers
      given.chain.change(({ gasMoney }) => gasMoney.set(poor?.address ?? '0x', 0n))
      given.node.lacks = 'eth_estimateGas'
      await pass(9_000)
      expect((await given.row()).state).not.toBe('failed')
      await pass(3_000)
      expect(await given.row()).toMatchObject({ state: 'failed', reason: 'validBefore' })
    },
  )

  it('is not signed again once it has landed, however long its outcome takes to write', async () => {
    const { world, chain, nodes, pay, relayer } = await aRelayer({ wallets: 2 })
    const [node] = nodes
    const poor = world.signers[0]?.address
    let isRefused = false
    if (node) {
      node.refuses = ({ hash }) => {
        if (!relayer.lanes()[0]?.holds(hash)) return undefined
        // It says no, and has it all the same.
        if (!isRefused) chain.offer(world.offered.at(-1) ?? '0x')
        isRefused = true
        return 'insufficient funds for gas'
      }
    }
    chain.holdsBack = () => true
    const { row } = await pay()
    await pass(500)
    expect(chain.pool().map(({ from }) => from)).toHaveLength(2)
    const written = new Promise<void>((write) => setTimeout(write, 20_000))
    world.store.before = async (method) => (method === 'resolve' ? written : undefined)
    chain.holdsBack = ({ from }) => from !== poor
    await pass(12_000)
    const [second] = chain.pool()
    expect([chain.mined().length, second?.data]).toEqual([1, '0x'])
    chain.holdsBack = () => false
    await pass(10_000)
    expect(await row()).toMatchObject({
      state: 'confirmed',
      transaction: chain.mined().find(({ from }) => from === poor)?.hash,
    })
  })
})

describe('outcomes', () => {
  it('are written until the store takes them; nobody is answered before', async () => {
    const { world, pay, relayer } = await aRelayer()
    let failures = 3
    world.store.before = async (method) => {
      if (method === 'resolve' && failures-- > 0) throw new Error('the disk is full')
    }
    const { job, row } = await pay()
    let told: unknown
    void relayer.untilDecided(job).then((it) => {
      told = it
    })
    await pass(1_300)
    expect([told, (await row()).state]).toEqual([undefined, 'submitted'])
    await pass(1_500)
    expect(told).toMatchObject({ state: 'confirmed' })
    expect(failures).toBeLessThan(0)
  })

  it('are left to the next start when the relayer stops', async () => {
    const { world, pay, stop, said } = await aRelayer()
    let tries = 0
    world.store.before = async (method) => {
      if (method === 'resolve') {
        tries++
        throw new Error('the disk is full')
      }
    }
    await pay()
    await pass(1_500)
    await stop()
    await pass(10_000)
    const before = tries
    await pass(60_000)
    expect([tries, before > 1]).toEqual([before, true])
    expect(said.at(-1)?.line).toBe('outcome left to the next start')
  })

  it('are kept although a row could not be renamed', async () => {
    const { world, nodes, pay, said } = await aRelayer()
    for (const node of nodes) node.refuses = () => 'the node is on fire'
    world.store.before = async (method) => {
      if (method === 'nameTransaction') throw new Error('the disk is full')
    }
    const { row } = await pay()
    await pass(50)
    expect(await row()).toMatchObject({ state: 'submitted' })
    expect(said.map(({ line }) => line)).toContain('the row still names the transaction it named')
    for (const node of nodes) node.refuses = () => undefined
    await pass(2_000)
    expect(await row()).toMatchObject({ state: 'confirmed' })
  })

  it('wait for nodes that do not answer', async () => {
    const { world, chain, holds, nodes, pay } = await aRelayer()
    const payer = world.anAccount()
    const { row } = await pay({ payer })
    await pass(50)
    holds(payer, 0, chain.changeUnseen)
    const [node] = nodes
    if (node) node.lacks = 'eth_call'
    await pass(20_000)
    expect(await row()).toMatchObject({ state: 'submitted' })
    if (node) node.lacks = undefined
    await pass(6_000)
    expect(await row()).toMatchObject({ state: 'failed', reason: 'insufficientBalance' })
  })

  it('are not read from a node behind the block of the transaction', async () => {
    const { world, chain, holds, nodes, pay } = await aRelayer({ nodes: 2 })
    const payer = world.anAccount()
    const { row } = await pay({ payer })
    await pass(50)
    holds(payer, 0, chain.changeUnseen)
    const [first] = nodes
    const { request } = world.rpc
    // The first node answers reads of states from before the transaction.
    world.rpc.request = async (method, params) => {
      if (first) first.lag = method === 'eth_call' && !('to' in (params[0] as object)) ? 2 : 0
      return request(method, params)
    }
    await pass(700)
    expect(await row()).toMatchObject({ state: 'submitted' })
    world.rpc.request = request
    if (first) first.lag = 0
    await pass(3_000)
    expect(await row()).toMatchObject({ state: 'failed', reason: 'insufficientBalance' })
  })
})

describe('a payment that failed and is opened again', () => {
  it.each([
    ['at once', undefined],
    ['between the commit of its failure and the answer, which comes later', 300],
    ['at the very moment of the answer', 0],
  ])('%s is sent in its new round, and who waits hears of their own round', async (_, lateMs) => {
    const { world, holds, pay, relayer } = await aRelayer()
    const payer = world.anAccount(0)
    const { journal } = world.store
    const { resolve } = journal
    let answer = () => {}
    if (lateMs !== undefined) {
      journal.resolve = async (resolution) => {
        const decided = await resolve(resolution)
        await new Promise<void>((go) => {
          answer = go
        })
        return decided
      }
    }
    const { job, row } = await pay({ payer })
    const outcomes = createOutcomeWait({
      journal,
      relayers: new Map([[network, relayer]]),
      settleWaitSeconds: 30,
      now: Date.now,
    })
    const first = outcomes(job, Date.now() + 10_000, true)
    await pass(500)
    const failed = await row()
    expect(failed).toMatchObject({ state: 'failed', round: 0 })
    holds(payer, 5)
    const again = await journal.reopen(failed, { ...job }, Date.now())
    if (again === undefined) throw new Error('it was not opened again')
    relayer.submit(again)
    const second = outcomes(again, Date.now() + 10_000, true)
    journal.resolve = resolve
    await pass(lateMs ?? 0)
    answer()
    await pass(2_500)
    expect(await heard(first)).toMatchObject({
      state: 'failed',
      reason: 'insufficientBalance',
      round: 0,
    })
    expect(await heard(second)).toMatchObject({ state: 'confirmed', round: 1 })
  })
})
