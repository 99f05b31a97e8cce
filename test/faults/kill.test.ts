import Sqlite from 'better-sqlite3'
import { afterEach, describe, expect, it } from 'vitest'
import { pause } from './support/behaviours.js'
import {
  aSignedPayment,
  permit2Scheme,
  type SignedPayment,
  somePayments,
} from './support/payments.js'
import { startLoad } from './support/replicas.js'
import { ConnectionDropped, type Phase } from './support/rpc-proxy.js'
import {
  auditWorld,
  betweenClaimAndSignature,
  expectAllSettledAndTrue,
  startWorld,
  until,
  type World,
} from './support/world.js'

const CRASHES = 6
/** The time for which a merchant asks again. */
const PATIENCE_MS = 30_000
/** Payments by Permit2 share no transaction, so fewer of them can be on their way. */
const LOAD_EVERY_MS = permit2Scheme === undefined ? 10 : 40

let world: World

afterEach(() => world?.close())

describe('a process that dies', () => {
  it('between claim and signature leaves a payment that the next start sends', async () => {
    world = await startWorld()
    const payment = await aSignedPayment()
    const lift = betweenClaimAndSignature(world, payment, async () => {
      await world.service().crash()
      throw new ConnectionDropped()
    })
    expect((await world.client.settle(payment)).body).toBeUndefined()
    lift()
    expect(await auditWorld(world)).toMatchObject({ onChain: 0 })
    await restartAndProve([payment])
  })

  it('between journal and send leaves signed bytes that the next start sends', async () => {
    world = await startWorld()
    const payment = await aSignedPayment()
    await settleAndDieAt('eth_sendRawTransaction', 'before', [payment])
    expect(await auditWorld(world)).toMatchObject({ onChain: 0 })
    await restartAndProve([payment])
  })

  it('between send and its answer finds the transaction it sent', async () => {
    world = await startWorld()
    const payment = await aSignedPayment()
    await settleAndDieAt('eth_sendRawTransaction', 'after', [payment])
    await restartAndProve([payment])
  })

  it('between block and receipt reads the receipt after the next start', async () => {
    world = await startWorld()
    const payment = await aSignedPayment()
    await settleAndDieAt('eth_getBlockReceipts', 'before', [payment])
    expect(await auditWorld(world)).toMatchObject({ onChain: 1 })
    await restartAndProve([payment])
  })

  it('with a batch signed and not sent brings every member on chain once', async () => {
    world = await startWorld()
    const payments = await somePayments(30)
    const goOn = await world.holdBlocks()
    await settleAndDieAt('eth_sendRawTransaction', 'before', payments, 1)
    await goOn()
    await restartAndProve(payments)
  })

  it('with a batch sent and not mined brings every member on chain once', async () => {
    world = await startWorld({ relayers: 2 })
    const payments = await somePayments(30)
    const goOn = await world.holdBlocks()
    await settleAndDieAt('eth_sendRawTransaction', 'after', payments, 2)
    await goOn()
    await restartAndProve(payments)
  })

  it('between outcome and answer still gives the one success', async () => {
    world = await startWorld()
    const payments = await somePayments(3)
    for (const payment of payments) {
      const settling = world.client.settle(payment)
      await dieOnceJournalSays(`state = 'confirmed'`, payment)
      await settling
      await restartAndProve([payment])
    }
  })

  it('between the lease of the answer and its mark gives the success again rather than never', async () => {
    world = await startWorld()
    const payments = await somePayments(3)
    for (const payment of payments) {
      const settling = world.client.settle(payment)
      await dieOnceJournalSays('delivery_token IS NOT NULL', payment)
      await settling
      await restartAndProve([payment])
    }
  })

  it('after the merchant hung up still gives the one success', async () => {
    world = await startWorld()
    const payment = await aSignedPayment()
    const goOn = await world.holdBlocks()
    await world.client.settleAndHangUp(payment, 1_000)
    await goOn()
    await until('the payment landed', async () => {
      return (await world.client.findPayment(payment))?.state === 'confirmed'
    })
    expect(await world.client.findPayment(payment)).toMatchObject({ delivered: false })
    await world.service().crash()
    await world.restart()
    await expectAllSettledAndTrue(world, [payment])
  })

  it('at random moments under load loses, doubles and misreports nothing', async () => {
    world = await startWorld({ relayers: 2 })
    const load = startLoad(world.client, LOAD_EVERY_MS, PATIENCE_MS)
    for (let crashes = 0; crashes < CRASHES; crashes++) {
      await pause(400 + Math.random() * 1_600)
      await world.service().crash()
      await world.restart()
    }
    await load.end()
    await expectAllSettledAndTrue(world, load.payments, { mayRepeat: true })
  })
})

/** Settles, and kills the service with the n-th call of this kind, which does not reach the node if it dies before. */
async function settleAndDieAt(
  method: string,
  phase: Phase,
  payments: readonly SignedPayment[],
  nth = 1,
): Promise<void> {
  let left = nth
  const lift = world.proxy.onCall(method, phase, async () => {
    left--
    if (left > 0) return
    await world.service().crash()
    throw new ConnectionDropped()
  })
  const settled = await world.client.settleAll(payments)
  expect(settled.every(({ body }) => body === undefined)).toBe(true)
  lift()
}

async function dieOnceJournalSays(condition: string, { nonce }: SignedPayment): Promise<void> {
  const journal = new Sqlite(world.databasePath, { readonly: true })
  const query = journal.prepare(`SELECT 1 FROM jobs WHERE ${condition} AND key LIKE '%' || ?`)
  const deadline = Date.now() + PATIENCE_MS
  while (query.get(nonce) === undefined && Date.now() < deadline) {
    await new Promise((resolve) => setImmediate(resolve))
  }
  await world.service().crash()
  journal.close()
}

async function restartAndProve(payments: readonly SignedPayment[]): Promise<void> {
  await world.restart()
  await until('nothing is under way', async () => {
    const views = await Promise.all(payments.map(world.client.findPayment))
    return views.every((view) => view === undefined || view.state === 'confirmed')
  })
  await expectAllSettledAndTrue(world, payments, { mayRepeat: true })
}
