import {
  type Address,
  isAddressEqual,
  recoverTransactionAddress,
  type TransactionSerialized,
} from 'viem'
import { afterEach, describe, expect, it } from 'vitest'
import { devnetRelayers } from '../../src/devnet/accounts.js'
import { fundNative, nativeBalance } from '../../src/devnet/fixtures.js'
import { dropped, pause, refused, refusedThoughForwarded } from './support/behaviours.js'
import { pendingCode } from './support/client.js'
import { type SignedPayment, somePayments } from './support/payments.js'
import { spread } from './support/spread.js'
import {
  auditWorld,
  expectAllSettledAndTrue,
  startWorld,
  until,
  type World,
} from './support/world.js'

const SEND = 'eth_sendRawTransaction'
const BLOCKED = 'sender is on the blocklist'
const [firstRelayer] = devnetRelayers
const relayer = firstRelayer as (typeof devnetRelayers)[number]
const PURSE = 100n * 10n ** 18n
/** For cases that wait until a settle gives up. */
const SHORT_WAIT = { SETTLE_WAIT_SECONDS: '3' }

let world: World

afterEach(() => world?.close())

describe('a relayer without gas money', () => {
  it('hands its payments to the other one, and readiness says so', async () => {
    world = await startWorld({ relayers: 2 })
    const payments = await somePayments(20)
    const settling = spread(world.client, payments, 800)
    await pause(300)
    await fundNative(world.chainUrl, relayer.address, 0n)
    await settling
    await expectAllSettledAndTrue(world, payments)
    await expectAllSettledAndTrue(world, await somePayments(10))
    expect(await readiness()).toMatch(
      new RegExp(`${relayer.address} holds 0[^;]*(closed|fund)`, 'i'),
    )
  })

  it('loses nothing that is being signed at that moment', async () => {
    world = await startWorld({ relayers: 2 })
    const payments = await somePayments(3)
    const [late] = payments.splice(2) as [SignedPayment]
    const goOn = await world.holdBlocks()
    const settling: Promise<unknown>[] = []
    for (const [i, payment] of payments.entries()) {
      settling.push(world.client.settle(payment))
      await until('another wallet sent it', () => world.proxy.count(SEND) === i + 1)
    }
    refuseFirstRelayer('insufficient funds for gas * price + value')
    await fundNative(world.chainUrl, relayer.address, 0n)
    // Waiting transactions are sent again after two and a half seconds, and refused: this comes before.
    await pause(1_500)
    let isHeld = false
    let letGo = () => {}
    const held = new Promise<void>((resolve) => {
      letGo = resolve
    })
    world.proxy.onCall('eth_estimateGas', 'before', ({ params: [transaction] }) => {
      const { from } = transaction as { from: Address }
      if (!isAddressEqual(from, relayer.address)) return
      isHeld = true
      return held
    })
    settling.push(world.client.settle(late))
    await until('it is being prepared', () => isHeld)
    await until('the lane is closed', () => /lane closed/.test(world.service().log().join()))
    letGo()
    await goOn()
    await Promise.all(settling)
    await expectAllSettledAndTrue(world, [...payments, late])
  })

  it.each([1, 2])(
    'is told so while earlier transactions are under way, with %i lanes',
    async (relayers) => {
      world = await startWorld({ relayers })
      const payments = await somePayments(20)
      const goOn = await world.holdBlocks()
      const settling = spread(world.client, payments, 600)
      await until('several were sent', () => world.proxy.count(SEND) > 4)
      world.proxy.fault(SEND, refused('insufficient funds for gas * price + value'), { times: 1 })
      await pause(800)
      await goOn()
      await settling
      await expectAllSettledAndTrue(world, payments)
    },
  )

  it('is the only one: failures are answered truly, and a refill cures it', async () => {
    world = await startWorld({ env: SHORT_WAIT })
    const payments = await somePayments(20)
    const settling = spread(world.client, payments, 800)
    await pause(300)
    await fundNative(world.chainUrl, relayer.address, 0n)
    await pause(4_000)
    const dry = await world.client.settle((await somePayments(1))[0] as SignedPayment)
    expect(dry.body).toMatchObject({ success: false })
    await fundNative(world.chainUrl, relayer.address, PURSE)
    await settling
    await expectAllSettledAndTrue(world, [...payments, dry.payment])
  })
})

describe('a relayer on the blocklist of the chain', () => {
  it('hands its payments to the other one', async () => {
    world = await startWorld({ relayers: 2 })
    refuseFirstRelayer(BLOCKED)
    const payments = await somePayments(20)
    await spread(world.client, payments, 500)
    await expectAllSettledAndTrue(world, payments)
  })

  it('is the only one: failures are answered truly, and unblocking cures it', async () => {
    world = await startWorld({ env: SHORT_WAIT })
    const lift = refuseFirstRelayer(BLOCKED)
    const payments = await somePayments(10)
    await world.client.settleAll(payments)
    expect(await auditWorld(world)).toMatchObject({ onChain: 0 })
    expect(saidOfLane()).toEqual(['lane closed'])
    lift()
    await expectAllSettledAndTrue(world, payments)
    expect(saidOfLane()).toEqual(['lane closed', 'lane open again'])
  })
})

describe('what every node refuses', () => {
  it.each([
    ['for want of gas money', 'insufficient funds for gas * price + value'],
    ['because the chain blocks the wallet', BLOCKED],
    ['in words that name no cause', 'not today'],
  ])('is never called on its way: %s', async (_, message) => {
    world = await startWorld({ hasSpare: true, env: SHORT_WAIT })
    const [payment, later] = (await somePayments(2)) as [SignedPayment, SignedPayment]
    const lifts = [world.proxy, world.spare].map((node) => node?.fault(SEND, refused(message)))
    const { body } = await world.client.settle(payment)
    // Merchants wait on only if a transaction is named: it is the signed one, which is kept.
    expect(body).toMatchObject({
      errorReason: pendingCode,
      transaction: expect.stringMatching(/^0x/),
    })
    expect(body?.errorMessage).toMatch(/^No node of the chain has taken/)
    // While its transaction is offered once more, the payment has its hash.
    const untilUntaken = () =>
      until('it is known to be untaken', async () => {
        const view = await world.client.findPayment(payment)
        return view?.state === 'queued' && view.transaction === null
      })
    await untilUntaken()
    await world.service().crash()
    await world.restart()
    await untilUntaken()
    for (const lift of lifts) lift?.()
    await expectAllSettledAndTrue(world, [payment, later])
  })

  it('but one is on its way, with its hash', async () => {
    world = await startWorld({ hasSpare: true, env: SHORT_WAIT })
    const [payment] = (await somePayments(1)) as [SignedPayment]
    const goOn = await world.holdBlocks()
    world.proxy.fault(SEND, refused('insufficient funds for gas * price + value'))
    const { body } = await world.client.settle(payment)
    expect(body).toMatchObject({
      errorReason: pendingCode,
      transaction: expect.stringMatching(/^0x/),
    })
    expect(await world.client.findPayment(payment)).toMatchObject({
      state: 'submitted',
      transaction: body?.transaction,
    })
    await goOn()
    await expectAllSettledAndTrue(world, [payment])
  })

  it('or receives and does not answer about keeps its hash', async () => {
    world = await startWorld({ hasSpare: true, env: SHORT_WAIT })
    const [payment] = (await somePayments(1)) as [SignedPayment]
    world.proxy.fault(SEND, refused(BLOCKED))
    world.spare?.fault(SEND, dropped)
    const { body } = await world.client.settle(payment)
    expect(body).toMatchObject({
      errorReason: pendingCode,
      transaction: expect.stringMatching(/^0x/),
    })
  })
})

it('the gas of what nodes took although they refused it is counted', async () => {
  world = await startWorld({ relayers: 2 })
  const payments = await somePayments(20)
  const before = await purses()
  world.proxy.fault(SEND, refusedThoughForwarded('insufficient funds for gas'), { times: 2 })
  await spread(world.client, payments, 600)
  await expectAllSettledAndTrue(world, payments)
  const spent = Number(before - (await purses())) / 1e18
  await until('all of it is booked', async () => Math.abs((await bookedUsd()) - spent) < 1e-9)
})

async function purses(): Promise<bigint> {
  const held = devnetRelayers.map(({ address }) => nativeBalance(world.chainUrl, address))
  return (await Promise.all(held)).reduce((sum, balance) => sum + balance, 0n)
}

async function bookedUsd(): Promise<number> {
  const text = await (await fetch(`${world.service().url}/metrics`)).text()
  return Number(/^arcus_gas_usd_total\S* (\S+)$/m.exec(text)?.[1] ?? 0)
}

function saidOfLane(): string[] {
  return world
    .service()
    .log()
    .flatMap((line) => /"msg":"(lane (?:closed|open again))"/.exec(line)?.[1] ?? [])
}

function refuseFirstRelayer(message: string): () => void {
  return world.proxy.fault(SEND, async (call) => {
    const serializedTransaction = call.params[0] as TransactionSerialized
    const sender = await recoverTransactionAddress({ serializedTransaction })
    if (sender !== relayer.address) return call.forward()
    return { error: { code: -32000, message } }
  })
}

async function readiness(): Promise<string> {
  return (await fetch(`${world.service().url}/ready`)).text()
}
