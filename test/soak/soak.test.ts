import { afterEach, expect, it } from 'vitest'
import { devnetRelayers } from '../../src/devnet/accounts.js'
import { pause } from '../faults/support/behaviours.js'
import { aSignedPayment, type SignedPayment } from '../faults/support/payments.js'
import { submitAsStranger } from '../faults/support/stranger.js'
import { expectAllSettledAndTrue, startWorld, type World } from '../faults/support/world.js'
import { troubles } from './troubles.js'

const MINUTES = Number(process.env.SOAK_MINUTES ?? 10)
const PAYMENTS_A_SECOND = Number(process.env.SOAK_RATE ?? 50)
/** Troubles come one upon the other, so a payment may live through several. */
const PATIENCE_MS = 120_000
/** Else an answer that left just before would count as told. */
const SOONER_THAN_ANY_ANSWER_MS = 5
/** After which a sighting of a verified payment is kept. */
const SIGHTING_KEPT_MS = 300

let world: World

afterEach(() => world?.close())

it(
  `loses, doubles and misreports nothing in ${MINUTES} minutes of trouble`,
  async () => {
    world = await startWorld({ relayers: 2 })
    const endsAt = Date.now() + MINUTES * 60_000
    const payments: SignedPayment[] = []
    const under: Promise<void>[] = []
    /** Counted at the beginning of each trouble and at its end, so odd while one lasts. */
    let turns = 0

    const load = (async () => {
      for (const startedAt = Date.now(); Date.now() < endsAt; ) {
        const due = ((Date.now() - startedAt) / 1_000) * PAYMENTS_A_SECOND
        while (payments.length < due) {
          const payment = await aSignedPayment({ validSeconds: 3_600 })
          payments.push(payment)
          under.push(pay(payment, payments.length))
        }
        await pause(20)
      }
    })()

    /** Most merchants settle; some verify first, ask twice at once, hang up, or are overtaken by a stranger. */
    async function pay(payment: SignedPayment, i: number): Promise<void> {
      const { client } = world
      if (i % 10 === 1) await client.settleAndHangUp(payment, SOONER_THAN_ANY_ANSWER_MS)
      if (i % 10 === 2) void client.settle(payment)
      if (i % 10 === 3) await beOvertaken(payment)
      await client.settleUntilTold([payment], PATIENCE_MS)
    }

    async function beOvertaken(payment: SignedPayment): Promise<void> {
      const turn = turns
      const isValid = await world.client.verify(payment)
      await pause(SIGHTING_KEPT_MS)
      // What was verified just before a crash, or between two, may be forgotten: then it is for the stranger to wait.
      // The chain itself may be in trouble then: without the stranger it is a payment like others.
      const isCalm = turn === turns && turn % 2 === 0
      if (isValid && isCalm) await submitAsStranger(world.chainUrl, payment).catch(() => {})
    }

    const seen = new Map<string, number>()
    while (Date.now() < endsAt) {
      await pause(1_000 + Math.random() * 4_000)
      const trouble = troubles[
        Math.floor(Math.random() * troubles.length)
      ] as (typeof troubles)[number]
      seen.set(trouble.name, (seen.get(trouble.name) ?? 0) + 1)
      turns++
      await trouble.run(
        world,
        devnetRelayers[Math.random() < 0.5 ? 0 : 1]?.address as `0x${string}`,
      )
      turns++
    }
    world.proxy.mend()
    await load
    await Promise.all(under)
    const lines = [...seen].sort().map(([name, times]) => `  ${times} x ${name}`)
    lines.unshift(`${payments.length} payments, ${world.client.answers.length} answers`)
    process.stdout.write(`${lines.join('\n')}\n`)
    expect(payments.length).toBeGreaterThan(MINUTES * 60 * PAYMENTS_A_SECOND * 0.8)
    await expectAllSettledAndTrue(world, payments, { mayRepeat: true })
  },
  (MINUTES + 10) * 60_000,
)
