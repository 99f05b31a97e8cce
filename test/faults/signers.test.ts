import { afterEach, describe, expect, it } from 'vitest'
import { devnetRelayers } from '../../src/devnet/accounts.js'
import { badBehaviours, type KeyService, startKeyService } from '../support/key-service.js'
import { pause } from './support/behaviours.js'
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
const relayer = devnetRelayers[2] as (typeof devnetRelayers)[number]

let world: World
let keys: KeyService
let settling: Promise<unknown>[] = []

afterEach(async () => {
  await world?.close()
  await keys?.kill()
})

/** Starts a world whose last lane has its key in a service; the `local` lanes before it have theirs in the process. */
async function begin(local: number): Promise<void> {
  settling = []
  keys = await startKeyService(relayer.privateKey)
  world = await startWorld({ relayers: local, env: keys.settings() })
}

/** Settles one payment after another until this is true. While no block comes, every lane gets some of them. */
async function settleUntil(what: string, test: () => boolean): Promise<SignedPayment[]> {
  const payments: SignedPayment[] = []
  await until(
    what,
    async () => {
      if (test()) return true
      const [payment] = (await somePayments(1)) as [SignedPayment]
      payments.push(payment)
      settling.push(world.client.settle(payment))
      await pause(100)
      return false
    },
    30_000,
  )
  return payments
}

const saidOfLane = () =>
  world
    .service()
    .log()
    .flatMap((line) => /"(lane (?:closed|open again))"/.exec(line)?.[1] ?? [])

async function readiness(): Promise<string> {
  return (await fetch(`${world.service().url}/ready`)).text()
}

/** The answers that call a payment failed. */
const failures = () =>
  world.client.answers.filter(
    ({ body }) => body?.success === false && body.errorReason !== pendingCode,
  )

describe('a key service', () => {
  it.each(badBehaviours)('that %s costs no payment: another lane settles it', async (behaviour) => {
    await begin(1)
    const goOn = await world.holdBlocks()
    const asked = keys.asked
    const payments = await settleUntil('it signs a payment', () => keys.asked > asked)
    keys.behaviour = behaviour
    payments.push(
      ...(await settleUntil('its lane is closed', () => saidOfLane().includes('lane closed'))),
    )
    if (behaviour !== 'hangs on payments') {
      expect(await readiness()).toMatch(
        new RegExp(`${relayer.address}[^;]*closed: its signer`, 'i'),
      )
    }
    await goOn()
    await Promise.all(settling)
    await expectAllSettledAndTrue(world, payments)
    expect(failures()).toEqual([])
  })

  it('alone goes on after it was killed with payments under way', async () => {
    await begin(0)
    const goOn = await world.holdBlocks()
    const sent = await settleUntil('a payment is sent', () => world.proxy.count(SEND) > 0)
    await keys.kill()
    const waiting = await settleUntil('its lane is closed', () => saidOfLane().length > 0)
    const [late] = (await somePayments(1)) as [SignedPayment]
    expect(await world.client.verify(late)).toBe(false)
    await goOn()
    await until('what was sent lands', async () => (await auditWorld(world, sent)).onChain > 0)
    await keys.revive()
    await expectAllSettledAndTrue(world, [...sent, ...waiting, late])
  })

  it('settles what a service that was killed had under way', async () => {
    await begin(0)
    const payments = await somePayments(10)
    const settling = spread(world.client, payments, 400)
    await until('a payment is sent', () => world.proxy.count(SEND) > 0)
    await world.service().crash()
    await world.restart()
    await settling
    await expectAllSettledAndTrue(world, payments, { mayRepeat: true })
  })
})
