import Sqlite from 'better-sqlite3'
import { afterEach, describe, expect, it } from 'vitest'
import { devnetRelayers } from '../../src/devnet/accounts.js'
import { pause } from './support/behaviours.js'
import { somePayments } from './support/payments.js'
import { ConnectionDropped } from './support/rpc-proxy.js'
import { expectAllSettledAndTrue, startWorld, until, type World } from './support/world.js'

let world: World

afterEach(() => world?.close())

const [removed, ...kept] = devnetRelayers
const others = kept.map(({ privateKey }) => privateKey)

/** The wallets of each rotation in the audit trail, in lower case. */
function rotationsIn(path: string): string[] {
  const database = new Sqlite(path, { readonly: true })
  const rows = database.prepare("SELECT subject FROM audit WHERE action = 'rotate' ORDER BY id")
  const subjects = rows.pluck().all() as string[]
  database.close()
  return subjects.map((subject) => subject.toLowerCase())
}

describe('a relayer key taken out of the settings', () => {
  it('while its transactions wait for a block loses and doubles no payment', async () => {
    world = await startWorld()
    const payments = await somePayments(20)
    const goOn = await world.holdBlocks()
    const unanswered = world.client.settleAll(payments)
    await untilSubmitted(payments)
    await world.service().crash()
    await unanswered
    await world.restart(others)
    await goOn()
    await expectAllSettledAndTrue(world, payments, { mayRepeat: true })
    const [before, after, ...more] = rotationsIn(world.databasePath)
    expect(more).toEqual([])
    expect(before).toContain(removed?.address.toLowerCase())
    expect(after).not.toContain(removed?.address.toLowerCase())
  })

  it('before what it signed was sent has the payments sent by another', async () => {
    world = await startWorld()
    const payments = await somePayments(5)
    const lift = world.proxy.onCall('eth_sendRawTransaction', 'before', async () => {
      await world.service().crash()
      throw new ConnectionDropped()
    })
    await world.client.settleAll(payments)
    lift()
    await world.restart(others)
    await expectAllSettledAndTrue(world, payments, { mayRepeat: true })
  })

  it('and put back later takes up its nonces where the chain has them', async () => {
    world = await startWorld({ relayers: 2 })
    const all = devnetRelayers.slice(0, 2).map(({ privateKey }) => privateKey)
    for (const keys of [all.slice(1), all]) {
      await expectAllSettledAndTrue(world, await somePayments(10))
      await world.service().stop()
      await world.restart(keys)
    }
    await expectAllSettledAndTrue(world, await somePayments(10))
  })
})

async function untilSubmitted(payments: Awaited<ReturnType<typeof somePayments>>): Promise<void> {
  await until('every payment is signed', async () => {
    const views = await Promise.all(payments.map(world.client.findPayment))
    if (!views.every((view) => view?.state === 'submitted')) await pause(50)
    return views.every((view) => view?.state === 'submitted')
  })
}
