import { afterEach, describe, expect, it } from 'vitest'
import {
  delayed,
  dropped,
  droppedOnceForwarded,
  duplicated,
  everyOther,
  forgetful,
  hanging,
  pause,
  refusedThoughForwarded,
  reversed,
  standStill,
  swallowed,
} from './support/behaviours.js'
import { usedCode } from './support/client.js'
import { isVariant, permit2Scheme, type SignedPayment, somePayments } from './support/payments.js'
import type { Behaviour } from './support/rpc-proxy.js'
import { submitAsStranger, untilStrangerMined } from './support/stranger.js'
import { chainHead, expectAllSettledAndTrue, startWorld, type World } from './support/world.js'

const SEND = 'eth_sendRawTransaction'

let world: World

afterEach(() => world?.close())

// How transactions are sent is the same for every kind of payment; its proof is asked of the chain.
describe.skipIf(isVariant)('a node that is unfaithful about what it was sent', () => {
  it.each<[string, Behaviour]>([
    ['takes a transaction and answers an error', refusedThoughForwarded('internal error')],
    ['takes a transaction and claims to know it', refusedThoughForwarded('already known')],
    ['takes a transaction and claims a low nonce', refusedThoughForwarded('nonce too low')],
    ['takes a transaction and closes the connection', droppedOnceForwarded],
    ['closes the connection before it takes a transaction', dropped],
    ['answers a hash and forgets the transaction', swallowed],
    ['hears every transaction twice', duplicated],
    ['hears transactions in the wrong order', reversed(4)],
    ['takes its time over a transaction', delayed(1_000)],
  ])('that %s', async (_name, behaviour) => {
    world = await startWorld()
    const payments = await somePayments(20)
    await under(() => world.proxy.fault(SEND, behaviour), payments, 2_000)
  })
})

describe('a node that is unfaithful about the chain', () => {
  it('that shows no receipts for three seconds', async () => {
    world = await startWorld()
    const fault = () => lifting(['eth_getTransactionReceipt', 'eth_getBlockReceipts'], forgetful)
    await under(fault, await somePayments(20), 3_000)
  })

  // By `upto` nobody else can spend it.
  it.skipIf(permit2Scheme === 'upto')(
    'that stands still cannot hide that a payment was spent before it was settled',
    async () => {
      world = await startWorld()
      const [payment] = (await somePayments(1)) as [SignedPayment]
      const lift = standStill(world.proxy, await chainHead(world.chainUrl))
      await submitAsStranger(world.chainUrl, payment)
      await untilStrangerMined(world.chainUrl)
      // Blocks tell whole seconds: what happens within one has no order.
      await pause(1_000)
      const settling = world.client.settle(payment)
      await pause(2_000)
      lift()
      await settling
      const { body } = await world.client.settle(payment)
      expect(body).toMatchObject({
        success: false,
        errorReason: usedCode,
        transaction: expect.stringMatching(/^0x[0-9a-f]{64}$/),
      })
      const told = world.client.answers.filter((answer) => answer.body?.success === true)
      expect(told).toEqual([])
    },
  )

  it('that stands still at an old block while transactions land', async () => {
    world = await startWorld()
    await warmUp()
    const head = await chainHead(world.chainUrl)
    await under(() => standStill(world.proxy, head), await somePayments(20), 3_000)
  })

  it('that lags beside one that does not changes nothing at all', async () => {
    world = await startWorld({ hasSpare: true })
    await warmUp()
    const head = await chainHead(world.chainUrl)
    standStill(world.proxy, head)
    await expectAllSettledAndTrue(world, await somePayments(20))
  })

  it.each<[string, Behaviour]>([
    ['refuses', everyOther({ error: { code: -32029, message: 'over the plan' } })],
    ['answers nonsense to', everyOther({ result: 'none' }, { result: null }, { result: {} })],
  ])('that %s every other call', async (_name, behaviour) => {
    world = await startWorld()
    await warmUp()
    const payments = await somePayments(60)
    await under(() => world.proxy.fault('*', behaviour), payments, 5_000)
  })

  it('that answers every read late', async () => {
    world = await startWorld()
    await under(() => world.proxy.fault('*', delayed(700)), await somePayments(20), 3_000)
  })
})

describe.skipIf(isVariant)('a node that is not there', () => {
  it('for five seconds under load', async () => {
    world = await startWorld()
    await under(() => world.proxy.fault('*', dropped), await somePayments(20), 5_000)
  })

  it('and hangs for five seconds under load', async () => {
    world = await startWorld()
    const hang = hanging()
    const fault = () => {
      const lift = world.proxy.fault('*', hang.behaviour)
      return () => {
        lift()
        hang.end()
      }
    }
    await under(fault, await somePayments(20), 5_000)
  })
})

/** Settles while the fault lasts, a payment every few milliseconds; then all must come right. */
async function under(
  fault: () => () => void,
  payments: readonly SignedPayment[],
  ms: number,
): Promise<void> {
  const lift = fault()
  const settling = payments.map(async (payment, i) => {
    await pause((i * Math.min(ms, 1_000)) / payments.length)
    return world.client.settle(payment)
  })
  await pause(ms)
  lift()
  await Promise.all(settling)
  await expectAllSettledAndTrue(world, payments)
}

function lifting(methods: readonly string[], behaviour: Behaviour): () => void {
  const lifts = methods.map((method) => world.proxy.fault(method, behaviour))
  return () => {
    for (const lift of lifts) lift()
  }
}

async function warmUp(): Promise<void> {
  const [payment] = await somePayments(1)
  await world.client.settle(payment as SignedPayment)
}
