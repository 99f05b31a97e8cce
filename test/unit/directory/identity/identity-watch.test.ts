import type { Address } from 'viem'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { AgentChanges } from '../../../../src/chain/identity-registry.js'
import { RpcUnavailableError } from '../../../../src/chain/rpc-errors.js'
import type { ReadIdentity } from '../../../../src/directory/identity/identity-checks.js'
import { IdentityWatch } from '../../../../src/directory/identity/identity-watch.js'
import type { Identity } from '../../../../src/directory/store/listings.js'
import { openListings, owner } from '../../../support/directory/listed-merchants.js'
import { runEvery } from '../../../support/run-every.js'
import { withResolvers } from '../../../support/with-resolvers.js'

const address: Address = '0x8004A169FB4a3325136EB29fA0ceB6D2e539a432'
const hour = 3_600_000

let listings: ReturnType<typeof openListings>
let watch: IdentityWatch
let background: ReturnType<typeof runEvery> | undefined
let nowMs: number
/** What the chain says now; `null` is no registry. */
let chain: 'controlled' | 'lost' | 'silent' | null
let changes: AgentChanges
let reads: string[]
let onRead: (() => Promise<unknown>) | undefined

const noChanges = (): AgentChanges => ({ agentIds: new Set(), operators: new Set() })

function identityOf(agentId: string, passed: boolean): Identity {
  const check = { passed, detail: '', checkedAt: Math.floor(nowMs / 1000) }
  return {
    agentId,
    registry: address,
    checks: { control: check, pay: check, file: check, domain: check },
  }
}

const readIdentity: ReadIdentity = async ({ id, agentId }) => {
  reads.push(id)
  const said = chain
  await onRead?.()
  if (said === 'silent') throw new RpcUnavailableError('the chain node could not be reached')
  return said === null ? null : identityOf(agentId, said === 'controlled')
}

beforeEach(() => {
  listings = openListings()
  nowMs = 1_800_000_000_000
  chain = 'controlled'
  changes = noChanges()
  reads = []
  onRead = undefined
  watch = new IdentityWatch({
    store: listings.store,
    registry: {
      address,
      async refresh() {
        if (chain === 'silent') throw new RpcUnavailableError('the chain node could not be reached')
        return { isServed: chain !== null, version: '2.0.0' }
      },
      readChanges: async () => changes,
    },
    readIdentity,
    now: () => nowMs,
    log: { info: () => {}, warn: () => {} },
  })
})

afterEach(async () => {
  watch.stop()
  await background?.stop()
  await listings.close()
})

async function link(id: string, agentId: string | null) {
  await listings.write(id, { kind: 'link', agentId })
}
const identity = async (id = 'm') => (await listings.store.findMerchant(id))?.identity

describe('a check right after a write', () => {
  it('keeps the four dated checks, for agent "0" too', async () => {
    await listings.list('m')
    await link('m', '0')
    await watch.checkNow('m')
    expect(await identity()).toEqual(identityOf('0', true))
  })

  it('does nothing where no agent is linked or no merchant is', async () => {
    await listings.list('m')
    await watch.checkNow('m')
    await watch.checkNow('nobody')
    expect(reads).toEqual([])
  })

  it('keeps the link and no identity where there is no registry', async () => {
    chain = null
    await listings.list('m')
    await link('m', '7')
    await watch.checkNow('m')
    expect(await listings.store.findMerchant('m')).toMatchObject({ agentId: '7', identity: null })
  })

  it('changes nothing when the chain does not answer', async () => {
    await listings.list('m')
    await link('m', '7')
    await watch.checkNow('m')
    const before = await identity()
    nowMs += hour
    chain = 'silent'
    await watch.checkNow('m')
    expect(await identity()).toEqual(before)
  })

  it('shows lost control as a failed check with its date', async () => {
    await listings.list('m')
    await link('m', '7')
    await watch.checkNow('m')
    nowMs += hour
    chain = 'lost'
    await watch.checkNow('m')
    expect((await identity())?.checks.control).toMatchObject({
      passed: false,
      checkedAt: nowMs / 1000,
    })
  })

  it('does not keep the result for an agent that was unlinked meanwhile', async () => {
    await listings.list('m')
    await link('m', '7')
    onRead = () => link('m', null)
    await watch.checkNow('m')
    expect(await listings.store.findMerchant('m')).toMatchObject({ agentId: null, identity: null })
  })

  it('reads again when another agent was linked meanwhile', async () => {
    await listings.list('m')
    await link('m', '7')
    onRead = async () => {
      onRead = undefined
      await link('m', '8')
    }
    await watch.checkNow('m')
    expect(await identity()).toMatchObject({ agentId: '8' })
  })

  it('is made once more, and only once, for all calls during a check', async () => {
    await listings.list('m')
    await link('m', '7')
    const { promise, resolve: release } = withResolvers()
    onRead = () => promise
    const first = watch.checkNow('m')
    await expect.poll(() => reads.length).toBe(1)
    onRead = undefined
    const later = [watch.checkNow('m'), watch.checkNow('m'), watch.checkNow('m')]
    release()
    await Promise.all([first, ...later])
    expect(reads).toEqual(['m', 'm'])
  })

  it('keeps nothing after the watch was stopped', async () => {
    await listings.list('m')
    await link('m', '7')
    onRead = async () => watch.stop()
    await watch.checkNow('m')
    expect(await identity()).toBeNull()
  })
})

describe('watching', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
  afterEach(() => void vi.useRealTimers())

  async function begin(): Promise<void> {
    background = runEvery(
      () => watch.pauseMs(),
      () => watch.look(),
    )
    await new Promise((resolve) => setImmediate(resolve))
  }
  const aFewTicks = () => vi.advanceTimersByTimeAsync(10 * 60_000)
  async function eventually(check: () => Promise<void>): Promise<void> {
    for (let tries = 0; tries < 30; tries++) {
      await vi.advanceTimersByTimeAsync(60_000)
      await new Promise((resolve) => setImmediate(resolve))
      const isSo = await check().then(
        () => true,
        () => false,
      )
      if (isSo) return
    }
    await check()
  }

  it('checks at start what was linked and never checked', async () => {
    await listings.list('m')
    await link('m', '7')
    await begin()
    await eventually(async () => expect(await identity()).toMatchObject({ agentId: '7' }))
  })

  it('checks again within a day, and not at each tick', async () => {
    await listings.list('m')
    await link('m', '7')
    await watch.checkNow('m')
    await begin()
    await aFewTicks()
    expect(reads).toHaveLength(1)
    nowMs += 24 * hour
    await eventually(async () => expect(reads.length).toBe(2))
    await aFewTicks()
    expect(reads).toHaveLength(2)
  })

  it('checks a merchant at once when an event names its agent or operator', async () => {
    await listings.list('m')
    await listings.list('n')
    await link('m', '7')
    await link('n', '0')
    await watch.checkNow('m')
    await watch.checkNow('n')
    await begin()
    chain = 'lost'
    changes = { agentIds: new Set(['0']), operators: new Set() }
    await eventually(async () =>
      expect(await identity('n')).toMatchObject({ checks: { control: { passed: false } } }),
    )
    expect(await identity('m')).toMatchObject({ checks: { control: { passed: true } } })
    changes = { agentIds: new Set(), operators: new Set([owner]) }
    await eventually(async () =>
      expect(await identity('m')).toMatchObject({ checks: { control: { passed: false } } }),
    )
  })

  it('keeps every identity while the chain does not answer from the start, and checks when it answers again', async () => {
    await listings.list('m')
    await link('m', '7')
    await watch.checkNow('m')
    const before = await identity()
    nowMs += 30 * hour
    chain = 'silent'
    await begin()
    await aFewTicks()
    expect(await identity()).toEqual(before)
    chain = 'controlled'
    await eventually(async () => expect(await identity()).toEqual(identityOf('7', true)))
  })

  it('drops identities when the registry is gone, and finds them again when it returns', async () => {
    await listings.list('m')
    await link('m', '7')
    await watch.checkNow('m')
    await begin()
    chain = null
    nowMs += 2 * hour
    await eventually(async () => expect(await identity()).toBeNull())
    chain = 'controlled'
    nowMs += 2 * hour
    await eventually(async () => expect(await identity()).toMatchObject({ agentId: '7' }))
  })
})
