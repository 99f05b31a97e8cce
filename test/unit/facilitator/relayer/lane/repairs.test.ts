import { type Hex, parseTransaction } from 'viem'
import { describe, expect, it, vi } from 'vitest'
import type { Signer } from '../../../../../src/facilitator/relayer/signer.js'
import {
  aWorld,
  DOLLAR,
  network,
  type PaymentWish,
  pass,
  type RelayerWish,
  sleep,
  useVirtualClock,
} from '../../../../support/simulated/a-relayer.js'
import { BASE_FEE } from '../../../../support/simulated/chain.js'

useVirtualClock()

async function aRelayer(wish: RelayerWish = {}) {
  const world = aWorld(wish)
  const process = await world.start()
  const { chain, nodes, offered } = world
  const nonces = (of: readonly Hex[] = offered) => of.map((raw) => parseTransaction(raw).nonce ?? 0)
  return { world, chain, nodes, offered, nonces, ...process }
}

const closed = (relayer: { lanes(): readonly { closedBecause(): string | undefined }[] }) =>
  relayer.lanes().map((lane) => lane.closedBecause())

describe('a transaction that a block passes over', () => {
  it('is sent again with both fees up by what nodes ask, and either may land', async () => {
    const { chain, pay } = await aRelayer()
    chain.holdsBack = () => true
    const { row } = await pay()
    await pass(100)
    const [first] = chain.pool()
    await pass(5_900)
    expect(chain.pool()).toEqual([first])
    await pass(2_500)
    const [second] = chain.pool()
    expect(second?.nonce).toBe(first?.nonce)
    expect(Number(second?.maxFeePerGas)).toBeGreaterThanOrEqual(1.1 * Number(first?.maxFeePerGas))
    expect(Number(second?.maxPriorityFeePerGas)).toBeGreaterThanOrEqual(
      1.1 * Number(first?.maxPriorityFeePerGas),
    )
    expect(await row()).toMatchObject({ state: 'submitted', transaction: second?.hash })
    // Again only once after each block.
    chain.isHalted = true
    await pass(10_000)
    const [third] = chain.pool()
    await pass(20_000)
    expect(chain.pool()).toEqual([third])
    chain.isHalted = false
    chain.forget()
    if (first) chain.pool().push(first)
    chain.holdsBack = () => false
    await pass(1_000)
    expect(await row()).toMatchObject({ state: 'confirmed', transaction: first?.hash })
  })

  it('is sent again though the clock was set back by an hour', async () => {
    const { chain, pay } = await aRelayer()
    chain.holdsBack = () => true
    const { row } = await pay()
    await pass(1_000)
    chain.forget()
    chain.holdsBack = () => false
    sleep(-3_600_000)
    const { row: next } = await pay()
    await pass(10_000)
    expect([await row(), await next()]).toMatchObject([
      { state: 'confirmed' },
      { state: 'confirmed' },
    ])
  })

  it('keeps its fee while no block is made at all', async () => {
    const { chain, pay } = await aRelayer()
    chain.isHalted = true
    await pay()
    await pass(100)
    const [first] = chain.pool()
    await pass(60_000)
    expect(chain.pool()).toEqual([first])
  })

  it('follows a base fee that has risen above it, and is never dearer than the cap', async () => {
    const { chain, pay } = await aRelayer({ maxFeePerGas: 300n * 10n ** 9n })
    const { row } = await pay()
    chain.baseFee = 70n * 10n ** 9n
    await pass(3_000)
    expect(await row()).toMatchObject({ state: 'confirmed' })
    const { row: second } = await pay()
    chain.baseFee = 290n * 10n ** 9n
    await pass(4_000)
    expect(await second()).toMatchObject({ state: 'confirmed' })
    expect(chain.pool()).toEqual([])
  })

  it('carries only what is not decided when it is sent again', async () => {
    const { world, chain, payAll, journal } = await aRelayer()
    const payer = world.anAccount()
    const [first, second] = await payAll([{ payer }, {}])
    chain.holdsBack = () => true
    await pass(100)
    expect(chain.pool()[0]?.to).toMatch(/^0xca11/)
    // Somebody else brings the first one on chain.
    const { nonce, asset } = JSON.parse(first?.job.details ?? '{}')
    chain.changeUnseen(({ used }) => used.add(`${asset}/${payer}/${nonce}`))
    await pass(70_000)
    expect(await first?.row()).toMatchObject({ state: 'failed', reason: 'nonceAlreadyUsed' })
    await pass(9_000)
    chain.holdsBack = () => false
    await pass(1_000)
    expect(await second?.row()).toMatchObject({ state: 'confirmed' })
    const [mined] = chain.mined()
    const carried = await journal.findByTransaction(mined?.hash ?? '0x')
    expect(carried.map(({ id }) => id)).toEqual([second?.job.id])
  })
})

describe('transactions behind another one of their wallet', () => {
  it('are sent again together when a node lost them, and only the lowest with a higher fee', async () => {
    const { chain, nodes, pay } = await aRelayer()
    for (const node of nodes) node.swallows = true
    const payments = []
    for (let i = 0; i < 4; i++) {
      payments.push(await pay())
      await pass(100)
    }
    const first = await Promise.all(payments.map(async ({ row }) => (await row()).transaction))
    // Blocks pass over the lowest nonce alone: none of them could take the others.
    await pass(9_000)
    for (const node of nodes) node.swallows = false
    await pass(4_000)
    const rows = await Promise.all(payments.map(({ row }) => row()))
    expect(rows.map(({ state }) => state)).toEqual(Array(4).fill('confirmed'))
    expect(rows.slice(1).map(({ transaction }) => transaction)).toEqual(first.slice(1))
    expect(chain.pool()).toEqual([])
  })

  it('keep their fee until they are the next for as long as the first one had', async () => {
    const { chain, pay } = await aRelayer()
    chain.holdsBack = ({ nonce }) => nonce === 0
    await pay()
    await pass(100)
    const { row } = await pay()
    await pass(100)
    const { transaction } = await row()
    await pass(20_000)
    const [second] = chain.pool().filter(({ nonce }) => nonce === 1)
    expect(second?.hash).toBe(transaction)
    // The first one is mined, and blocks pass over the second.
    chain.holdsBack = ({ nonce }) => nonce === 1
    await pass(4_000)
    expect(chain.pool()).toEqual([second])
    chain.holdsBack = () => false
    await pass(1_000)
    expect(await row()).toMatchObject({ state: 'confirmed', transaction })
  })
})

describe('a node that refuses a transaction', () => {
  const words: [string, string][] = [
    ['is asked again, ever more slowly', 'the node is on fire'],
    ['and calls it too cheap gets a dearer one', 'transaction underpriced'],
    [
      'and calls it below the base fee gets a dearer one',
      'max fee per gas less than block base fee',
    ],
    ['and wants more gas for its bytes gets more', 'intrinsic gas too low'],
    ['and knows it already has it', 'already known'],
  ]
  it.each(words)('%s', async (_, refusal) => {
    const { chain, nodes, pay } = await aRelayer()
    let left = 1
    const [node] = nodes
    if (node) {
      node.refuses = () => (left-- > 0 ? refusal : undefined)
      node.swallows = refusal === 'already known'
    }
    const { row } = await pay()
    await pass(50)
    if (refusal === 'already known') {
      expect((await row()).state).toBe('submitted')
      if (node) node.swallows = false
      await pass(3_000)
    }
    await pass(1_500)
    expect(await row()).toMatchObject({ state: 'confirmed' })
    expect(chain.head().state.counts.size).toBe(1)
  })

  it('without a cause four times gets it again from the watchdog', async () => {
    const { nodes, offered, pay } = await aRelayer()
    for (const node of nodes) node.refuses = () => 'the node is on fire'
    await pay()
    const counts: number[] = []
    for (const ms of [0, 99, 1, 200, 400, 799, 1, 900]) {
      await pass(ms)
      // The node that was asked, and then every node.
      counts.push(offered.length / 2)
    }
    expect(counts).toEqual([1, 1, 2, 3, 4, 4, 5, 5])
    for (const node of nodes) node.refuses = () => undefined
    await pass(3_500)
    expect(new Set(offered).size).toBe(1)
  })

  it('as all others do keeps its hash out of the row, until one takes it', async () => {
    const { chain, nodes, pay } = await aRelayer({ nodes: 2 })
    for (const node of nodes) node.refuses = () => 'the node is on fire'
    const { row } = await pay()
    await pass(50)
    expect(await row()).toMatchObject({ state: 'queued', transaction: null })
    const [, second] = nodes
    if (second) second.refuses = () => undefined
    await pass(150)
    expect(await row()).toMatchObject({ state: 'submitted', transaction: chain.pool()[0]?.hash })
    await pass(1_000)
    expect(await row()).toMatchObject({ state: 'confirmed' })
  })

  it('because it takes more gas than a block has loses it alone, and its nonce is filled', async () => {
    const { world, chain, nodes, pay, said } = await aRelayer()
    chain.isHalted = true
    const payments = []
    let first = ''
    for (const node of nodes) {
      node.refuses = ({ hash }) => (hash === first ? 'exceeds block gas limit' : undefined)
      node.swallows = true
    }
    for (let i = 0; i < 3; i++) {
      payments.push(await pay())
      await pass(50)
      if (i === 0) first = String((await payments[0]?.row())?.transaction)
      for (const node of nodes) node.swallows = false
    }
    await pass(4_000)
    chain.isHalted = false
    await pass(6_000)
    for (const { row } of payments) expect(await row()).toMatchObject({ state: 'confirmed' })
    const [filled] = chain.mined().filter(({ nonce }) => nonce === 0)
    expect(filled).toMatchObject({ from: world.signers[0]?.address })
    expect(filled?.hash).not.toBe(first)
    expect(said.map(({ line }) => line)).not.toContain('could not prepare a transaction')
  })

  it('because of its gas, whatever is sent, makes nobody sign without end', async () => {
    const { nodes, offered, pay } = await aRelayer()
    for (const node of nodes) node.refuses = () => 'exceeds block gas limit'
    const { row } = await pay()
    await pass(3_000)
    expect(offered.length).toBeLessThan(100)
    for (const node of nodes) node.refuses = () => undefined
    await pass(6_000)
    expect(await row()).toMatchObject({ state: 'confirmed' })
  })

  it('leaves no signature behind for a nonce that was used while another one was replaced', async () => {
    let [signed, takesMs] = [0, 0]
    const signer = (own: Signer): Signer => ({
      ...own,
      async sign(transaction) {
        signed++
        if (takesMs > 0) await new Promise((resolve) => setTimeout(resolve, takesMs))
        return own.sign(transaction)
      },
    })
    const { chain, nodes, pay } = await aRelayer({ signer, maxFeePerGas: 10n ** 14n })
    chain.isHalted = true
    const mineAt = (factor: bigint, isFull: boolean) => {
      chain.baseFee = BASE_FEE * factor
      chain.holdsBack = () => isFull
      chain.mine()
    }
    const [node] = nodes as [(typeof nodes)[0]]
    node.swallows = true
    const { row } = await pay()
    await pass(50)
    const first = (await row()).transaction
    node.refuses = ({ hash }) => (hash === first ? 'exceeds block gas limit' : undefined)
    node.swallows = false
    await pay()
    await pass(4_000)
    // The first one is filled, the second one is dearer.
    mineAt(10n, true)
    await pass(3_000)
    const before = signed
    mineAt(50n, true)
    takesMs = 2_000
    await pass(1_500)
    expect(signed).toBe(before + 1)
    mineAt(1n, false)
    mineAt(500n, true)
    await pass(4_000)
    expect([signed, chain.mined().map(({ nonce }) => nonce)]).toEqual([before + 1, [0, 1, 2]])
  })

  it('may have it all the same while one node does not answer: the row names it', async () => {
    const { nodes, pay } = await aRelayer({ nodes: 2 })
    const [first, second] = nodes
    if (first) first.refuses = () => 'the node is on fire'
    if (second) second.isUp = false
    const { row } = await pay()
    await pass(150)
    expect(await row()).toMatchObject({ state: 'submitted', transaction: expect.any(String) })
  })

  it('while another takes it closes no lane', async () => {
    const { nodes, pay, said } = await aRelayer({ nodes: 2 })
    const [node] = nodes
    if (node) node.refuses = () => 'insufficient funds for gas'
    const { row } = await pay()
    await pass(1_000)
    expect(await row()).toMatchObject({ state: 'confirmed' })
    expect(said.map(({ line }) => line)).not.toContain('lane closed')
  })

  it('a second transaction of the payment leaves the first one named: it may land', async () => {
    const { chain, nodes, pay } = await aRelayer()
    chain.holdsBack = () => true
    const { row } = await pay()
    await pass(100)
    const [first] = chain.pool()
    for (const node of nodes) node.refuses = ({ hash }) => (hash === first?.hash ? undefined : 'no')
    await pass(8_000)
    expect(chain.pool()).toEqual([first])
    const { state, transaction } = await row()
    expect([state, typeof transaction]).toEqual(['submitted', 'string'])
    chain.holdsBack = () => false
    await pass(1_000)
    expect(await row()).toMatchObject({ state: 'confirmed', transaction: first?.hash })
  })

  it('answers another hash, and is believed to have taken nothing', async () => {
    const { world, offered, pay } = await aRelayer()
    const { request } = world.rpc
    let left = 1
    world.rpc.request = async (method, params) => {
      const answer = await request(method, params)
      return method === 'eth_sendRawTransaction' && left-- > 0 ? `0x${'ee'.repeat(32)}` : answer
    }
    await pay()
    await pass(150)
    expect(offered).toHaveLength(2)
  })
})

describe('a transaction that nodes lose', () => {
  it('is sent again to all of them', async () => {
    const { chain, nodes, pay, offered } = await aRelayer({ nodes: 2 })
    for (const node of nodes) node.swallows = true
    const { row } = await pay()
    await pass(2_000)
    expect([chain.pool().length, offered.length]).toEqual([0, 1])
    for (const node of nodes) node.swallows = false
    await pass(2_000)
    expect(await row()).toMatchObject({ state: 'confirmed' })
    expect(new Set(offered).size).toBe(1)
  })

  it('and then refuse is the business of its wallet at once', async () => {
    const { world, chain, nodes, pay, relayer } = await aRelayer({ wallets: 2 })
    for (const node of nodes) node.swallows = true
    const { row } = await pay()
    await pass(2_000)
    for (const node of nodes) node.swallows = false
    chain.change(({ gasMoney }) => gasMoney.set(world.signers[0]?.address ?? '0x', 0n))
    await pass(2_500)
    expect(closed(relayer)).toEqual(['no gas money', undefined])
    expect(await row()).toMatchObject({ state: 'confirmed' })
    expect(chain.mined()).toHaveLength(1)
  })

  it('brings its neighbours along, in order', async () => {
    const { chain, nodes, nonces, offered, pay } = await aRelayer()
    const [node] = nodes
    if (node) node.swallows = true
    for (let i = 0; i < 3; i++) {
      await pay()
      await pass(50)
    }
    const before = offered.length
    if (node) node.swallows = false
    chain.isHalted = true
    await pass(3_500)
    expect([...new Set(nonces(offered.slice(before)))]).toEqual([0, 1, 2])
    expect(chain.pool().map(({ nonce }) => nonce)).toEqual([0, 1, 2])
  })
})

describe('a wallet whose nonces somebody else used', () => {
  it('finds that out, and sends the payment under another nonce', async () => {
    const { world, chain, nodes, pay, journal } = await aRelayer()
    const [signer] = world.signers
    chain.holdsBack = () => true
    const { row } = await pay()
    await pass(100)
    const [first] = chain.pool()
    chain.forget()
    chain.changeUnseen(({ counts }) => counts.set(signer?.address ?? '0x', 3))
    chain.holdsBack = () => false
    await pass(8_000)
    const { state, transaction } = await row()
    expect(state).toBe('confirmed')
    expect(transaction).not.toBe(first?.hash)
    expect(chain.head().state.counts.get(signer?.address ?? '0x')).toBe(4)
    // What was signed for it may still be shown for a minute.
    const left = () => journal.openAttempts(network, signer?.address ?? '0x')
    expect((await left()).map(({ hash }) => hash)).toContain(first?.hash)
    const [node] = nodes
    if (node) node.isUp = false
    await pass(5_000)
    if (node) node.isUp = true
    await pass(70_000)
    expect(await left()).toEqual([])
  })

  it('is not asked to settle twice what the lost transaction settled all the same', async () => {
    const { chain, nodes, pay, happened } = await aRelayer()
    const { row } = await pay()
    const [node] = nodes
    if (node) node.hidesReceipts = true
    await pass(2_000)
    expect(await row()).toMatchObject({ state: 'submitted' })
    if (node) node.hidesReceipts = false
    await pass(6_000)
    expect(await row()).toMatchObject({
      state: 'confirmed',
      transaction: chain.at(1)?.transactions[0]?.hash,
    })
    expect([happened.signed.length, happened.decided.length]).toEqual([1, 1])
  })
})

describe('a gap in the nonces', () => {
  /** A relayer that begins with transactions under nonces 5 and 6, on a chain that has none of them. */
  async function withGap() {
    const world = aWorld()
    const { chain, signers } = world
    const address = signers[0]?.address ?? '0x'
    chain.change(({ counts }) => counts.set(address, 5))
    chain.isHalted = true
    const first = await world.start()
    for (let i = 0; i < 2; i++) {
      await first.pay()
      await pass(50)
    }
    await first.stop()
    chain.change(({ counts }) => counts.set(address, 3))
    const second = await world.start()
    return { world, chain, ...second }
  }

  it('is filled by the next payment, else by a transaction that does nothing', async () => {
    const { world, chain, pay } = await withGap()
    await pass(3_000)
    await pay()
    await pass(100)
    const nonces = () => chain.pool().map(({ nonce }) => nonce)
    expect(nonces().sort()).toEqual([3, 5, 6])
    await pass(3_500)
    expect(nonces().sort()).toEqual([3, 4, 5, 6])
    const filling = chain.pool().find(({ nonce }) => nonce === 4)
    expect(filling).toMatchObject({ to: world.signers[0]?.address, data: '0x', gas: 21_000n })
    chain.isHalted = false
    await pass(1_000)
    expect(chain.head().state.counts.get(world.signers[0]?.address ?? '0x')).toBe(7)
    await pay()
    await pass(100)
    expect(nonces()).toEqual([7])
  })

  it('that the journal cannot keep a transaction for is reported, and filled once it can', async () => {
    const { world, chain, said } = await withGap()
    await pass(3_000)
    world.store.before = async (method) => {
      if (method === 'recordAttempt') throw new Error('the disk is full')
    }
    const nonces = () => chain.pool().map(({ nonce }) => nonce)
    await pass(3_500)
    expect(said.map(({ line }) => line)).toContain('lane could not be checked')
    expect(nonces().sort()).toEqual([5, 6])
    world.store.before = async () => {}
    await pass(3_500)
    expect(nonces().sort()).toEqual([3, 4, 5, 6])
  })
})

describe('a block', () => {
  it('that is replaced by another takes nothing along: what lands again is found', async () => {
    const { chain, nodes, pay } = await aRelayer()
    const [node] = nodes
    if (node) node.hidesReceipts = true
    const { row } = await pay()
    await pass(600)
    expect(chain.head().transactions).toHaveLength(1)
    chain.reorganise(1)
    if (node) node.hidesReceipts = false
    await pass(5_000)
    const { state, blockNumber, transaction } = await row()
    expect(state).toBe('confirmed')
    expect(chain.at(blockNumber ?? -1)?.transactions[0]?.hash).toBe(transaction)
  })

  it('that is dropped with its transactions leaves them to be sent again', async () => {
    const { chain, nodes, pay, happened } = await aRelayer()
    const [node] = nodes
    if (node) node.hidesReceipts = true
    const { row } = await pay()
    await pass(600)
    chain.reorganise(1, { areForgotten: true })
    if (node) node.hidesReceipts = false
    await pass(5_000)
    expect(await row()).toMatchObject({ state: 'confirmed' })
    expect(happened.signed).toHaveLength(1)
  })

  it('that lists a transaction without its receipt is asked again at once', async () => {
    const { nodes, pay } = await aRelayer()
    const [node] = nodes
    const { row } = await pay()
    if (node) node.hidesReceipts = true
    await pass(700)
    expect(await row()).toMatchObject({ state: 'submitted' })
    if (node) node.hidesReceipts = false
    await pass(500)
    expect(await row()).toMatchObject({ state: 'confirmed' })
  })

  it('on a node without receipts of blocks is read transaction by transaction', async () => {
    const { nodes, pay } = await aRelayer()
    const [node] = nodes
    if (node) node.lacks = 'eth_getBlockReceipts'
    const { row } = await pay()
    await pass(700)
    expect(await row()).toMatchObject({ state: 'confirmed' })
  })

  it('that a node behind has not seen is read from another', async () => {
    const { nodes, pay } = await aRelayer({ nodes: 2 })
    const { row } = await pay()
    const [node] = nodes
    if (node) node.lag = 3
    await pass(5_000)
    expect(await row()).toMatchObject({ state: 'confirmed' })
  })
})

describe('a wallet without gas money', () => {
  it('closes its lane, another one sends, and it opens again once it can pay for several', async () => {
    const { world, chain, pay, relayer } = await aRelayer({ wallets: 2 })
    const [poor, rich] = world.signers.map(({ address }) => address) as [Hex, Hex]
    const price = 3n * chain.baseFee + 1_000_000n
    chain.change(({ gasMoney }) => gasMoney.set(poor, 149_650n * price - 1n))
    const { row } = await pay()
    await pass(1_000)
    expect(await row()).toMatchObject({ state: 'confirmed' })
    expect(closed(relayer)).toEqual(['no gas money', undefined])
    expect(chain.head().state.counts.get(rich)).toBe(1)
    chain.change(({ gasMoney }) => gasMoney.set(poor, 500_000n * price - 1n))
    const request = vi.spyOn(world.rpc, 'request')
    await pass(7_000)
    expect(closed(relayer)).toEqual(['no gas money', undefined])
    // The node is asked every three seconds, though the lane looks twice a second.
    const asked = request.mock.calls.filter(([method]) => method === 'eth_getBalance')
    expect(asked.length).toBeLessThanOrEqual(3)
    chain.change(({ gasMoney }) => gasMoney.set(poor, 500_000n * price))
    await pass(7_000)
    expect(closed(relayer)).toEqual([undefined, undefined])
  })

  it('that can just pay for the transaction sends it', async () => {
    const { world, chain, pay } = await aRelayer()
    const price = 3n * chain.baseFee + 1_000_000n
    const [wallet] = world.signers.map(({ address }) => address) as [Hex]
    chain.change(({ gasMoney }) => gasMoney.set(wallet, 149_650n * price))
    const { row } = await pay()
    await pass(1_000)
    expect(await row()).toMatchObject({ state: 'confirmed' })
  })

  it('found out by the nodes gives its payments to another one, and frees its nonces', async () => {
    const { world, chain, pay, relayer } = await aRelayer({ wallets: 2 })
    const [poor, rich] = world.signers.map(({ address }) => address) as [Hex, Hex]
    chain.isHalted = true
    const one = await pay()
    await pass(60)
    // The second wallet takes the second payment, so the first one gets the third.
    const two = await pay()
    await pass(60)
    chain.change(({ gasMoney }) => gasMoney.set(poor, 0n))
    const three = await pay()
    await pass(60)
    chain.forget(({ from }) => from === poor)
    chain.isHalted = false
    await pass(8_000)
    for (const { row } of [one, two, three])
      expect(await row()).toMatchObject({ state: 'confirmed' })
    const { counts } = chain.head().state
    expect([counts.get(poor) ?? 0, counts.get(rich)]).toEqual([0, 2])
    chain.change(({ gasMoney }) => gasMoney.set(poor, DOLLAR))
    await pass(8_000)
    expect(closed(relayer)).toEqual([undefined, undefined])
  })

  it('gives nonces back from the highest on, so that nothing has to fill them', async () => {
    const { world, chain, pay, journal } = await aRelayer({ wallets: 2 })
    const [poor] = world.signers.map(({ address }) => address) as [Hex]
    chain.isHalted = true
    for (let i = 0; i < 4; i++) {
      await pay()
      await pass(60)
    }
    expect(await journal.findNextNonce(network, poor)).toBe(2)
    chain.forget(({ from }) => from === poor)
    chain.change(({ gasMoney }) => gasMoney.set(poor, 0n))
    await pass(4_000)
    expect(await journal.findNextNonce(network, poor)).toBe(0)
  })

  it.each([
    ['any', {}, /No relayer of this facilitator can sign/],
    ['one that the payment names', { profile: { senders: ['0x01'] } }, /Only 0x01 may send/],
  ] as [string, PaymentWish, RegExp][])(
    'is waited for for four seconds where there is no other than %s; then nothing was sent',
    async (_, wish, why) => {
      const { world, chain, pay, relayer } = await aRelayer()
      const [wallet] = world.signers.map(({ address }) => address) as [Hex]
      if (wish.profile === undefined) chain.change(({ gasMoney }) => gasMoney.set(wallet, 0n))
      await pass(3_500)
      expect(relayer.canSend(wish.profile?.senders)).toBe(false)
      const { row } = await pay(wish)
      await pass(3_900)
      expect(await row()).toMatchObject({ state: 'queued' })
      await pass(1_000)
      expect(await row()).toMatchObject({ state: 'failed', reason: 'unexpectedSettleError' })
      expect((await row()).message).toMatch(why)
    },
  )

  it('keeps what was signed for it open until its time is over', async () => {
    const { world, chain, pay } = await aRelayer()
    const [wallet] = world.signers.map(({ address }) => address) as [Hex]
    chain.holdsBack = () => true
    const { row } = await pay({ validBefore: Math.floor(Date.now() / 1000) + 20 })
    await pass(100)
    chain.change(({ gasMoney }) => gasMoney.set(wallet, 0n))
    chain.forget()
    await pass(15_000)
    expect(['queued', 'submitted']).toContain((await row()).state)
    await pass(10_000)
    expect(await row()).toMatchObject({ state: 'failed', reason: 'validBefore' })
  })
})

describe('a wallet that the chain blocks', () => {
  it('closes its lane, and opens it once a node takes a transaction of it that does nothing', async () => {
    const { world, chain, nodes, pay, relayer } = await aRelayer({ wallets: 2 })
    const [blocked] = world.signers.map(({ address }) => address) as [Hex]
    let isBlocked = true
    const [node] = nodes
    const isOf = (hash: Hex) =>
      isBlocked && !chain.pool().some((it) => it.hash === hash) && relayer.lanes()[0]?.holds(hash)
    if (node) node.refuses = ({ hash }) => (isOf(hash) ? 'sender is on the deny list' : undefined)
    const { row } = await pay()
    await pass(1_500)
    expect(await row()).toMatchObject({ state: 'confirmed' })
    expect(closed(relayer)).toEqual(['blocked by the chain', undefined])
    await pass(4_000)
    expect(closed(relayer)[0]).toBe('blocked by the chain')
    isBlocked = false
    await pass(8_000)
    expect(closed(relayer)).toEqual([undefined, undefined])
    expect(chain.head().state.counts.get(blocked)).toBe(1)
  })
})

describe('a base fee above the cap', () => {
  it('is waited out for a while; then the payment fails, never sent', async () => {
    const { chain, pay, happened } = await aRelayer({ maxFeePerGas: 30n * 10n ** 9n })
    chain.baseFee = 30n * 10n ** 9n
    await pass(1_000)
    const [early, late] = [await pay(), await pay()]
    await pass(2_500)
    expect(await early.row()).toMatchObject({ state: 'queued' })
    chain.baseFee = 20n * 10n ** 9n
    await pass(2_500)
    expect(await early.row()).toMatchObject({ state: 'confirmed' })
    expect(await late.row()).toMatchObject({ state: 'confirmed' })
    chain.baseFee = 30n * 10n ** 9n
    await pass(1_000)
    const { row } = await pay()
    await pass(5_000)
    expect(await row()).toMatchObject({ state: 'failed', reason: 'gasPriceTooHigh' })
    expect(happened.signed.length).toBeLessThanOrEqual(2)
  })
})
