import { reasons } from '@arcus/protocol/x402/reasons'
import Sqlite from 'better-sqlite3'
import { encodeFunctionData, type Hex } from 'viem'
import { afterEach, describe, expect, it } from 'vitest'
import { batchContracts } from '../../src/chain/batch-settlement.js'
import { devnetPayer } from '../../src/devnet/accounts.js'
import { devnetContracts, readArtifact, usdcBalance } from '../../src/devnet/fixtures.js'
import { call } from '../../src/devnet/rpc.js'
import { aChannel, type BatchBody, type Channel } from '../support/a-channel.js'
import { outbid } from '../support/a-stranger.js'
import { anAccount } from '../support/an-account.js'
import { dropped, pause } from './support/behaviours.js'
import { ConnectionDropped, type Phase } from './support/rpc-proxy.js'
import { startWorld, until, type World } from './support/world.js'

let world: World

afterEach(() => world?.close())

/** The actions on chain, each from a channel that is ready for it, and how the chain shows that it happened once. */
const actions: Record<
  string,
  {
    prepare(channel: Channel): Promise<BatchBody[]>
    body(channel: Channel): Promise<BatchBody>
    isDone(channel: Channel): Promise<boolean>
  }
> = {
  deposit: {
    prepare: async () => [],
    body: (channel) => channel.deposit('100000'),
    isDone: async (channel) => (await stateOf(channel)).balance === 100_000n,
  },
  claim: {
    prepare: async (channel) => [await channel.deposit('100000')],
    body: (channel) => channel.claim({ max: '3000', total: '3000' }),
    isDone: async (channel) => (await stateOf(channel)).claimed === 3_000n,
  },
  settle: {
    prepare: async (channel) => [
      await channel.deposit('100000'),
      await channel.claim({ max: '3000', total: '3000' }),
    ],
    body: async (channel) => channel.settle(),
    isDone: async ({ receiver }) => (await usdcBalance(world.chainUrl, receiver)) === 3_000n,
  },
  refund: {
    prepare: async (channel) => [await channel.deposit('100000')],
    body: (channel) => channel.refund('40000', '0', '3000', [{ max: '3000', total: '3000' }]),
    async isDone(channel) {
      const { balance, claimed } = await stateOf(channel)
      return balance === 60_000n && claimed === 3_000n
    },
  },
}

describe.each(Object.keys(actions))('a process that dies during a %s', (name) => {
  const action = actions[name] as (typeof actions)[string]
  const moments: [string, string, Phase][] = [
    ['between journal and send', 'eth_sendRawTransaction', 'before'],
    ['between send and its answer', 'eth_sendRawTransaction', 'after'],
    ['between block and receipt', 'eth_getBlockReceipts', 'before'],
  ]
  it.each(moments)(
    '%s finds it at the next start, and tells its hash',
    async (_, method, phase) => {
      world = await startWorld()
      const channel = aChannel({ payer: devnetPayer.account })
      for (const body of await action.prepare(channel)) await settleUntilTold(body)
      const body = await action.body(channel)
      const lift = world.proxy.onCall(method, phase, async () => {
        await world.service().crash()
        throw new ConnectionDropped()
      })
      expect(await settle(body)).toBeUndefined()
      lift()
      const signed = attemptsOf(`batch-${name}`)
      expect(signed).toHaveLength(1)
      await world.restart()
      const told = await settleUntilTold(body)
      expect(told.transaction).toBe(signed[0])
      expect(await action.isDone(channel)).toBe(true)
      expect((await settle(body))?.transaction).toBe(signed[0])
      expect(await action.isDone(channel)).toBe(true)
    },
  )
})

describe('somebody else who brings the same on chain first', () => {
  it.each(Object.keys(actions))('makes no failure of a %s', async (name) => {
    world = await startWorld({ env: { SETTLE_WAIT_SECONDS: '20' } })
    const action = actions[name] as (typeof actions)[string]
    const channel = aChannel({ payer: devnetPayer.account })
    for (const body of await action.prepare(channel)) await settleUntilTold(body)
    const goOn = await world.holdBlocks()
    const settling = settle(await action.body(channel))
    await until('it is signed', () => attemptsOf(`batch-${name}`).length > 0)
    const theirs = await sendAhead(calldataOf(`batch-${name}`))
    await pause(300)
    await goOn()
    expect(await settling).toMatchObject({ success: true, transaction: theirs })
    expect(await action.isDone(channel)).toBe(true)
  })
})

describe('another refund that goes first under the nonce of one', () => {
  const others: [string, string][] = [
    ['of less', '500'],
    ['of another amount above what is left', '900000'],
    ['of the same amount above what is left', '800000'],
  ]
  it.each(others)('%s is answered for what it is', async (_, amount) => {
    world = await startWorld({ env: { SETTLE_WAIT_SECONDS: '20' } })
    const channel = aChannel({ payer: devnetPayer.account })
    await settleUntilTold(await channel.deposit('100000'))
    const goOn = await world.holdBlocks()
    const own = await channel.refund('800000', '0', '0')
    const settling = settle(own)
    await until('it is signed', () => attemptsOf('batch-refund').length > 0)
    const { abi } = readArtifact('BatchSettlement')
    const { paymentPayload } = await channel.refund(amount, '0', '0')
    const args = [channel.config, amount, 0n, paymentPayload.payload.refundAuthorizerSignature]
    const theirs = await sendAhead(
      encodeFunctionData({ abi, functionName: 'refundWithSignature', args }),
    )
    await pause(300)
    await goOn()
    const told = await settling
    if (amount === '800000') {
      expect(told).toMatchObject({ success: true, amount: '100000', transaction: theirs })
      expect(await settle(own)).toEqual(told)
      return
    }
    expect(told).toMatchObject({
      success: false,
      errorReason: reasons.batchRefundSimulationFailed.code,
    })
    expect(told?.transaction).not.toBe(theirs)
  })
})

describe('a chain that cannot be read', () => {
  it.each(['eth_getCode', 'eth_call'])(
    'for want of %s is a 500, not a bad signature',
    async (method) => {
      world = await startWorld()
      const channel = aChannel({ payer: devnetPayer.account })
      const body = await channel.deposit('100000')
      const lift = world.proxy.fault(method, dropped)
      const verified = await post('/verify', body)
      expect(verified).toMatchObject({
        status: 500,
        body: { invalidReason: 'unexpected_verify_error' },
      })
      const settled = await post('/settle', body)
      expect(settled).toMatchObject({
        status: 500,
        body: { errorReason: 'unexpected_settle_error' },
      })
      lift()
      expect(attemptsOf('batch-deposit')).toEqual([])
      await until(
        'the node is asked again',
        async () => (await post('/verify', body))?.status === 200,
      )
      expect(await settleUntilTold(body)).toMatchObject({ success: true })
    },
  )
})

interface Told {
  success: boolean
  transaction: Hex
}

async function post(path: string, body: BatchBody) {
  const headers = { 'content-type': 'application/json' }
  const init = { method: 'POST', headers, body: JSON.stringify(body) }
  try {
    const response = await fetch(world.service().url + path, init)
    return { status: response.status, body: (await response.json()) as Told }
  } catch {
    return undefined
  }
}

/** `undefined` when the connection broke. */
async function settle(body: BatchBody): Promise<Told | undefined> {
  return (await post('/settle', body))?.body
}

async function settleUntilTold(body: BatchBody): Promise<Told> {
  let told: Told | undefined
  await until('it is told as success', async () => {
    told = await settle(body)
    return told?.success === true
  })
  return told as Told
}

/** Hashes of the transactions that were signed for jobs of a kind. */
function attemptsOf(kind: string): Hex[] {
  return query<{ hash: Hex }>(
    'SELECT a.hash FROM attempt_jobs a JOIN jobs j ON j.id = a.job_id WHERE j.kind = ?',
    kind,
  ).map(({ hash }) => hash)
}

function calldataOf(kind: string): Hex {
  return query<{ calldata: Hex }>('SELECT calldata FROM jobs WHERE kind = ?', kind)[0]
    ?.calldata as Hex
}

function query<Row>(sql: string, kind: string): Row[] {
  const journal = new Sqlite(world.databasePath, { readonly: true })
  const rows = journal.prepare(sql).all(kind) as Row[]
  journal.close()
  return rows
}

const sendAhead = (data: Hex) =>
  outbid(world.chainUrl, anAccount().address, devnetContracts.batchSettlement, data)

async function stateOf({ channelId }: Channel): Promise<{ balance: bigint; claimed: bigint }> {
  // channels(bytes32)
  const transaction = { to: batchContracts.settlement, data: `0x7a7ebd7b${channelId.slice(2)}` }
  const words = await call<Hex>(world.chainUrl, 'eth_call', [transaction, 'latest'])
  return { balance: BigInt(words.slice(0, 66)), claimed: BigInt(`0x${words.slice(66)}`) }
}
