import type { Address } from 'viem'
import { describe, expect, it } from 'vitest'
import {
  SIGN_TIMEOUT_MS,
  type Signer,
  SignerError,
} from '../../../../src/facilitator/relayer/signer.js'
import { StoreUnavailableError } from '../../../../src/sql/errors.js'
import {
  aWorld,
  network,
  pass,
  type RelayerWish,
  useVirtualClock,
} from '../../../support/simulated/a-relayer.js'

useVirtualClock()

describe('a process that is killed', () => {
  it.each([
    ['before it signed', 'recordAttempt', 'queued'],
    ['when a transaction was kept and not sent', 'sent', 'submitted'],
    ['when it had landed and was not answered', 'resolve', 'submitted'],
  ])(
    '%s leaves the payment to the next one, which brings it on chain once',
    async (_, at, state) => {
      const world = aWorld()
      const first = await world.start()
      const never = new Promise<void>(() => {})
      world.store.before = (method) => (method === at ? never : Promise.resolve())
      const [node] = world.nodes
      if (at === 'sent' && node) node.swallows = true
      const { job, row } = await first.pay()
      await pass(1_000)
      expect((await row()).state).toBe(state)
      await first.stop()
      world.store.before = async () => {}
      if (node) node.swallows = false
      const second = await world.start()
      expect(second.relayer.isTracking(job)).toBe(at !== 'resolve')
      await pass(2_000)
      expect((await row()).state).toBe('confirmed')
      expect(world.chain.mined()).toHaveLength(1)
      expect(second.happened.decided).toHaveLength(1)
      // Nobody reads of other processes where there can be none.
      expect(second.said.map(({ line }) => line)).toEqual(['settlement decided'])
    },
  )

  it('leaves a slot with several attempts: any of them may have landed', async () => {
    const world = aWorld()
    const { chain } = world
    const first = await world.start()
    chain.holdsBack = () => true
    const { row } = await first.pay()
    await pass(100)
    const [cheap] = chain.pool()
    await pass(9_000)
    expect(chain.pool()[0]?.hash).not.toBe(cheap?.hash)
    await first.stop()
    chain.forget()
    if (cheap) chain.pool().push(cheap)
    chain.holdsBack = () => false
    await pass(600)
    expect(chain.mined()).toEqual([cheap])
    await world.start()
    await pass(100)
    expect(await row()).toMatchObject({ state: 'confirmed', transaction: cheap?.hash })
    expect(
      await world.store.journal.openAttempts(network, world.signers[0]?.address ?? '0x'),
    ).toEqual([])
  })

  it('right after it gave a nonce back leaves it to what was signed for it, and goes on after it', async () => {
    const world = aWorld()
    const { chain, nodes } = world
    const first = await world.start()
    const [node] = nodes
    if (node) node.refuses = () => 'insufficient funds for gas'
    const { job, row } = await first.pay()
    await pass(100)
    expect(
      await world.store.journal.findNextNonce(network, world.signers[0]?.address ?? '0x'),
    ).toBe(0)
    await first.stop()
    if (node) node.refuses = () => undefined
    chain.holdsBack = () => true
    const second = await world.start()
    await second.pay()
    await pass(100)
    expect(chain.pool().map(({ nonce }) => nonce)).toEqual([0, 1])
    chain.holdsBack = () => false
    await pass(1_000)
    expect(await row()).toMatchObject({ id: job.id, state: 'confirmed' })
    expect(second.said.map(({ line }) => line)).not.toContain('could not prepare a transaction')
  })

  it.each([
    ['the journal, where the chain is behind what is under way', 0, true, 1],
    ['the chain, where it is ahead', 8, false, 8],
    ['the chain, where nothing of ours is under way', 0, false, 0],
  ])('leaves the nonce of %s to go on with', async (_, chainNonce, isUnderWay, expected) => {
    const world = aWorld()
    const { chain } = world
    const address = world.signers[0]?.address as Address
    const first = await world.start()
    chain.isHalted = true
    await first.pay()
    await pass(100)
    if (!isUnderWay) {
      chain.mine()
      await pass(1_500)
    }
    await first.stop()
    // The wallet was used elsewhere, or the chain was begun anew.
    chain.change(({ counts }) => counts.set(address, chainNonce))
    const second = await world.start()
    await second.pay()
    await pass(100)
    expect(Math.max(...chain.pool().map(({ nonce }) => nonce))).toBe(expected)
  })
})

describe('a journal that fails', () => {
  it('when a transaction is to be kept: it is not sent, and tried again', async () => {
    const world = aWorld()
    const { pay } = await world.start()
    let failures = 2
    world.store.before = async (method) => {
      if (method === 'recordAttempt' && failures-- > 0) throw new Error('the disk is full')
    }
    const { row } = await pay()
    await pass(300)
    expect([world.offered, (await row()).state]).toEqual([[], 'queued'])
    await pass(1_200)
    expect((await row()).state).toBe('confirmed')
    expect(world.chain.mined()).toHaveLength(1)
  })

  it('for long gives the payment up as never sent, and says why', async () => {
    const world = aWorld()
    const { pay } = await world.start()
    world.store.before = async (method) => {
      if (method === 'recordAttempt') throw new StoreUnavailableError('no answer')
    }
    const { row } = await pay()
    await pass(3_900)
    expect((await row()).state).toBe('queued')
    await pass(600)
    expect(await row()).toMatchObject({ state: 'failed', transaction: null })
    expect((await row()).message).toMatch(/database of this facilitator does not answer in time/)
  })

  it('after it kept a transaction, without an answer: the payment is not given up, for it may land', async () => {
    const world = aWorld()
    const { pay } = await world.start()
    const { recordAttempt } = world.store.journal
    world.store.journal.recordAttempt = async (...attempt) => {
      await recordAttempt(...attempt)
      throw new Error('the answer was lost')
    }
    const { row } = await pay({ validBefore: Math.floor(Date.now() / 1000) + 30 })
    await pass(6_000)
    expect((await row()).state).not.toBe('failed')
    world.store.journal.recordAttempt = recordAttempt
    await pass(5_000)
    expect((await row()).state).toBe('confirmed')
  })

  it('at the start ends it, and the next start works', async () => {
    const world = aWorld()
    let failures = 1
    world.store.before = async (method) => {
      if (method === 'findNextNonce' && failures-- > 0) throw new Error('the disk is full')
    }
    await expect(world.start()).rejects.toThrow('the disk is full')
    const { pay } = await world.start()
    const { row } = await pay()
    await pass(1_000)
    expect((await row()).state).toBe('confirmed')
  })

  it('when a nonce is to be given back: the payment goes elsewhere all the same', async () => {
    const world = aWorld({ wallets: 2 })
    const { pay, relayer } = await world.start()
    const poor = world.signers[0]?.address as Address
    const [node] = world.nodes
    let refused = 0
    if (node) {
      node.refuses = ({ hash }) =>
        relayer.lanes()[0]?.holds(hash) && refused++ < 2 ? 'insufficient funds for gas' : undefined
    }
    world.store.before = async (method) => {
      if (method === 'setNextNonce') throw new Error('the disk is full')
    }
    const { row } = await pay()
    await pass(1_500)
    expect(await row()).toMatchObject({ state: 'confirmed' })
    // The nonce was signed for, so something must fill it.
    const filled = world.chain.mined().filter(({ from }) => from === poor)
    expect(filled).toMatchObject([{ nonce: 0, data: '0x' }])
  })
})

describe('a signer elsewhere', () => {
  /** Two wallets whose keys other services hold; `fails` says which of them do not sign now, and whether trials too. */
  function aKeyService(wish: RelayerWish = {}) {
    const state = {
      failing: new Set<number>(),
      signsTrials: false,
      takesMs: 0,
      asked: [] as number[],
      /** When it was tried, milliseconds after the test began. */
      trials: [] as number[],
    }
    const startedAt = Date.now()
    let made = 0
    const signer = (own: Signer): Signer => {
      const place = made++
      return {
        ...own,
        isRemote: true,
        async sign(transaction) {
          const isTrial = transaction.gasLimit === 0n
          if (isTrial) state.trials.push(Date.now() - startedAt)
          else state.asked.push(place)
          if (state.takesMs > 0) await new Promise((resolve) => setTimeout(resolve, state.takesMs))
          if (state.failing.has(place) && !(isTrial && state.signsTrials)) {
            throw new SignerError('it cannot be reached, or refuses')
          }
          return own.sign(transaction)
        },
      }
    }
    return { state, world: aWorld({ wallets: 2, ...wish, signer }) }
  }

  it('that fails closes its lane, and the payment goes to another wallet at once', async () => {
    const { state, world } = aKeyService()
    const { pay, relayer, said } = await world.start()
    state.failing.add(0)
    const { row } = await pay()
    await pass(600)
    expect((await row()).state).toBe('confirmed')
    expect(state.asked).toEqual([0, 1])
    const closed = () => relayer.lanes().map((lane) => lane.closedBecause())
    const why = 'its signer fails: it cannot be reached, or refuses'
    expect(closed()).toEqual([why, undefined])
    await pass(9_400)
    // Both at the start; then after half a second, one and two, and every two.
    expect(state.trials).toEqual([0, 0, 500, 1_500, 3_500, 5_500, 7_500, 9_500])
    expect(said.filter(({ line }) => line === 'lane closed')).toHaveLength(1)
    state.failing.clear()
    await pass(2_500)
    expect(closed()).toEqual([undefined, undefined])
    expect(said.at(-1)?.line).toBe('lane open again')
  })

  it('is tried before a payment needs it', async () => {
    const { state, world } = aKeyService({ wallets: 1 })
    state.failing.add(0)
    const { relayer } = await world.start()
    await pass(0)
    expect(relayer.lanes()[0]?.closedBecause()).toMatch('its signer fails')
    expect(relayer.canSend()).toBe(false)
  })

  it('that is slow gives what it signed to no node once its wallet is out of gas money', async () => {
    const { state, world } = aKeyService()
    const { pay, relayer } = await world.start()
    const { chain, offered, nodes } = world
    const address = world.signers[0]?.address as Address
    const [node] = nodes
    if (node) node.refuses = ({ hash }) => (relayer.lanes()[0]?.holds(hash) ? 'busy' : undefined)
    const senders = [address] as const
    await pay({ profile: { senders } })
    // The other wallet has one under way as well, so the first one gets the third.
    await pay()
    await pass(50)
    state.takesMs = 3_000
    const { row } = await pay()
    await pass(100)
    // It has signed only after the first one was found to be beyond the means of the wallet.
    if (node) node.refuses = () => undefined
    chain.change(({ gasMoney }) => gasMoney.set(address, 0n))
    await pass(300)
    expect(relayer.lanes()[0]?.closedBecause()).toBe('no gas money')
    expect(state.asked).toEqual([0, 1, 0])
    const before = offered.length
    await pass(7_000)
    expect(state.asked).toEqual([0, 1, 0, 1])
    expect(offered.length).toBe(before + 1)
    expect((await row()).state).toBe('confirmed')
    expect(chain.mined().every(({ from }) => from !== address)).toBe(true)
  })

  it('that signs trials and no payments keeps no payment for ever: it fails, never sent', async () => {
    const { state, world } = aKeyService()
    const { pay } = await world.start()
    state.failing = new Set([0, 1])
    state.signsTrials = true
    state.takesMs = SIGN_TIMEOUT_MS
    const { row } = await pay()
    await pass(4_000)
    expect((await row()).state).toBe('queued')
    await pass(8_000)
    expect(await row()).toMatchObject({ state: 'failed', reason: 'unexpectedSettleError' })
    expect((await row()).message).toMatch(/signer of the relayer gave no usable signature/)
    expect([world.offered, state.asked.length > 2]).toEqual([[], true])
  })

  it('that fails while a transaction is under way leaves it there, unreplaced, until it lands', async () => {
    const { state, world } = aKeyService({ wallets: 1 })
    const { pay } = await world.start()
    world.chain.holdsBack = () => true
    const { row } = await pay()
    await pass(100)
    const [sent] = world.chain.pool()
    state.failing.add(0)
    await pay()
    await pass(12_000)
    expect(world.chain.pool()).toEqual([sent])
    world.chain.holdsBack = () => false
    await pass(1_000)
    expect((await row()).state).toBe('confirmed')
  })

  it('that is slow does not let a payment that waited for its turn fail at the first trouble', async () => {
    const { state, world } = aKeyService({ wallets: 1 })
    const { pay, chain } = { ...(await world.start()), chain: world.chain }
    chain.isHalted = true
    const first = []
    for (let i = 0; i < 17; i++) {
      first.push(await pay())
      await pass(50)
    }
    await pass(10_000)
    state.failing.add(0)
    chain.isHalted = false
    await pass(1_500)
    state.failing.clear()
    await pass(6_000)
    for (const { row } of first) expect((await row()).state).toBe('confirmed')
  })
})
