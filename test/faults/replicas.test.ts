import { afterEach, describe, expect, it } from 'vitest'
import { pause } from './support/behaviours.js'
import { usedCode } from './support/client.js'
import { aSignedPayment, type SignedPayment, somePayments } from './support/payments.js'
import { type Replicas, startReplicas } from './support/replicas.js'
import { expectAllSettledAndTrue } from './support/world.js'

const CRASHES = 5
/** The time for which a merchant asks again. */
const PATIENCE_MS = 30_000

let world: Replicas

afterEach(() => world?.close())

describe('three replicas on one database', () => {
  it('settle under load while one dies every few seconds and the database restarts', async () => {
    world = await startReplicas({ replicas: 3, relayers: 3 })
    const payments: SignedPayment[] = []
    const told: Promise<void>[] = []
    let isOver = false
    const load = (async () => {
      while (!isOver) {
        const payment = await aSignedPayment()
        payments.push(payment)
        told.push(world.client.settleUntilTold([payment], PATIENCE_MS))
        await pause(60)
      }
    })()
    for (let crashes = 0; crashes < CRASHES; crashes++) {
      await pause(1_500 + Math.random() * 1_500)
      const victim = crashes % 3
      await world.service(victim).crash()
      if (crashes === 2) await world.postgres.restart(1_000)
      await world.restart(victim)
    }
    isOver = true
    await load
    await Promise.all(told)
    expect(payments.length).toBeGreaterThan(100)
    await expectAllSettledAndTrue(world, payments, { mayRepeat: true })
  })

  it('answer one payment sent to all of them with one success', async () => {
    world = await startReplicas({ replicas: 3, relayers: 1 })
    for (const payment of await somePayments(5)) {
      const answers = await world.client.settleAll(Array.from({ length: 90 }, () => payment))
      expect(answers.filter(({ body }) => body?.success)).toHaveLength(1)
      expect(answers.filter(({ body }) => body?.errorReason === usedCode)).toHaveLength(89)
      await expectAllSettledAndTrue(world, [payment])
    }
  })

  it('take over the only lane of one that dies, with what it had under way', async () => {
    world = await startReplicas({ replicas: 3, relayers: 1 })
    const before = await somePayments(30)
    await world.client.settleAll(before)
    await expectAllSettledAndTrue(world, before)
    const under = await somePayments(30)
    const settling = world.client.settleAll(under)
    await pause(100)
    for (let i = 0; i < 2; i++) {
      await world.service(i).crash()
    }
    await settling
    await expectAllSettledAndTrue(world, [...under, await aSignedPayment()], {
      mayRepeat: true,
    })
  })
})
