import { afterEach, describe, expect, it } from 'vitest'
import { call } from '../../src/devnet/rpc.js'
import { forgetful, pause } from './support/behaviours.js'
import { pendingCode, usedCode } from './support/client.js'
import {
  aSignedPayment,
  permit2Scheme,
  type SignedPayment,
  somePayments,
} from './support/payments.js'
import { ConnectionDropped } from './support/rpc-proxy.js'
import { spread } from './support/spread.js'
import { submitAsStranger, untilStrangerMined } from './support/stranger.js'
import {
  betweenClaimAndSignature,
  expectAllSettledAndTrue,
  startWorld,
  until,
  type World,
} from './support/world.js'

/** For cases in which every call must learn how the payment ended. */
const LONG_WAIT = { SETTLE_WAIT_SECONDS: '30' }

let world: World

afterEach(() => world?.close())

/** True where only the proof of a payment is another one, and these cases are about something else. */
const isByPermit2 = permit2Scheme !== undefined

describe.skipIf(isByPermit2)('one payment a thousand times', () => {
  it('is one transfer and one success, and everybody else learns its hash', async () => {
    world = await startWorld({ env: LONG_WAIT })
    const payment = await aSignedPayment()
    await expectOneSuccess(payment, 1_000)
  })
})

// By `upto` their transactions fail, because the payer named our wallet, and nothing may come of them.
describe('a third party that submits every authorization itself', () => {
  it('once the transaction of Arcus is under way', async () => {
    world = await startWorld()
    const payments = await somePayments(20)
    const goOn = await world.holdBlocks()
    const settling = world.client.settleAll(payments)
    await until('something was sent', () => world.proxy.count('eth_sendRawTransaction') > 0)
    await until('all are claimed', async () => {
      const views = await Promise.all(payments.map(world.client.findPayment))
      return views.every((view) => view !== undefined)
    })
    for (const payment of payments) await submitAsStranger(world.chainUrl, payment)
    await goOn()
    const answers = await settling
    expect(answers.map(({ body }) => body?.success)).toEqual(payments.map(() => true))
    await expectAllSettledAndTrue(world, payments)
  })

  it('between its claim and the signature of Arcus', async () => {
    world = await startWorld()
    const payments = await somePayments(5)
    for (const payment of payments) {
      const lift = betweenClaimAndSignature(world, payment, async () => {
        await submitAsStranger(world.chainUrl, payment)
        await untilStrangerMined(world.chainUrl)
      })
      const { body } = await world.client.settle(payment)
      lift()
      expect(body?.success).toBe(true)
    }
    await expectAllSettledAndTrue(world, payments)
  })

  it('just before the transaction of Arcus is sent', async () => {
    world = await startWorld()
    const payments = await somePayments(20)
    const raced = new Set<SignedPayment>()
    world.proxy.onCall('eth_sendRawTransaction', 'before', async ({ params }) => {
      const mine = payments.filter(({ nonce }) => String(params[0]).includes(nonce.slice(2)))
      for (const payment of mine.filter((it) => !raced.has(it))) {
        raced.add(payment)
        await submitAsStranger(world.chainUrl, payment)
      }
      await untilStrangerMined(world.chainUrl)
    })
    await world.client.settleUntilTold(payments, 30_000)
    expect(raced.size).toBe(payments.length)
    await expectAllSettledAndTrue(world, payments)
  })

  it('while no node shows its receipt, which proves nothing against it', async () => {
    world = await startWorld({ env: { SETTLE_WAIT_SECONDS: '3' } })
    const payment = await aSignedPayment()
    const goOn = await world.holdBlocks()
    const settling = world.client.settle(payment)
    await until('it was sent', () => world.proxy.count('eth_sendRawTransaction') > 0)
    await call(world.chainUrl, 'anvil_dropAllTransactions')
    const lifts = ['eth_getTransactionReceipt', 'eth_getBlockReceipts'].map((method) =>
      world.proxy.fault(method, forgetful),
    )
    await submitAsStranger(world.chainUrl, payment)
    await goOn()
    await untilStrangerMined(world.chainUrl)
    const { body } = await settling
    expect(body).toMatchObject({ success: false, errorReason: pendingCode })
    expect(body?.transaction).toMatch(/^0x[0-9a-f]{64}$/)
    for (const lift of lifts) lift()
    await expectAllSettledAndTrue(world, [payment])
  })

  it('while Arcus is dead', async () => {
    world = await startWorld()
    const payment = await aSignedPayment()
    const lift = world.proxy.onCall('eth_sendRawTransaction', 'before', async () => {
      lift()
      await world.service().crash()
      throw new ConnectionDropped()
    })
    await world.client.settle(payment)
    await submitAsStranger(world.chainUrl, payment)
    await untilStrangerMined(world.chainUrl)
    await world.restart()
    await expectAllSettledAndTrue(world, [payment])
  })
})

describe.skipIf(isByPermit2)('SIGTERM under load', () => {
  it('finishes what is in flight, exits 0 and loses nothing', async () => {
    world = await startWorld({ env: { SETTLE_WAIT_SECONDS: '20' } })
    const payments = await somePayments(60)
    const [inFlight, late] = [payments.slice(0, 30), payments.slice(30)]
    const goOn = await world.holdBlocks()
    const settling = spread(world.client, inFlight, 600)
    await until('all are under way', async () => {
      const views = await Promise.all(inFlight.map(world.client.findPayment))
      return views.every((view) => view !== undefined)
    })
    world.service().signal('SIGTERM')
    // These come while it stops.
    const coming = spread(world.client, late, 300)
    await pause(300)
    await goOn()
    const answers = await settling
    await coming
    expect(answers.map(({ body }) => body?.success)).toEqual(inFlight.map(() => true))
    expect(await world.service().exited).toEqual({ code: 0, signal: null })
    await world.restart()
    await expectAllSettledAndTrue(world, payments)
  })
})

async function expectOneSuccess(payment: SignedPayment, times: number): Promise<void> {
  const answers = await world.client.settleAll(Array.from({ length: times }, () => payment))
  await expectAllSettledAndTrue(world, [payment])
  const told = world.client.answers.filter((answer) => answer.payment === payment)
  expect(told.filter(({ body }) => body?.success)).toHaveLength(1)
  // On a machine that stands still, some are told that it is under way.
  const used = answers.filter(({ body }) => body?.errorReason === usedCode)
  expect(used.length).toBeGreaterThan(times / 2)
  expect((await world.client.settle(payment)).body).toMatchObject({ errorReason: usedCode })
}
