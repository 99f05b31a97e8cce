import Sqlite from 'better-sqlite3'
import { afterEach, describe, expect, it } from 'vitest'
import { pause } from './support/behaviours.js'
import { aSignedPayment, somePayments } from './support/payments.js'
import {
  auditWorld,
  expectAllSettledAndTrue,
  startWorld,
  until,
  type World,
} from './support/world.js'

/** Longer than writes wait. */
const LONG_MS = 7_000

let world: World
afterEach(() => world?.close())

/** Locks the file as an operator's command or a `VACUUM` does; returns how to unlock it. */
function lockFile(): () => void {
  const other = new Sqlite(world.databasePath)
  other.exec('BEGIN IMMEDIATE')
  return () => {
    other.exec('ROLLBACK')
    other.close()
  }
}

describe('a database file that another process has locked', () => {
  it('holds up what must be kept first, and nothing else', async () => {
    world = await startWorld()
    const settled = await aSignedPayment()
    const payments = await somePayments(20)
    await world.client.settle(settled)
    const unlock = lockFile()
    const settling = world.client.settleAll(payments)
    let isTold = false
    void settling.finally(() => {
      isTold = true
    })
    expect((await fetch(`${world.service().url}/health`)).status).toBe(200)
    expect(await world.client.verify(await aSignedPayment())).toBe(true)
    expect(await world.client.findPayment(settled)).toMatchObject({ state: 'confirmed' })
    expect((await auditWorld(world)).onChain).toBe(1)
    // All that was answered while settles wait, so the loop never stood still until they gave up.
    expect(isTold).toBe(false)
    unlock()
    await settling
    await expectAllSettledAndTrue(world, [settled, ...payments])
  })

  it('for longer than writes wait sends nothing that was not kept, and goes on when it is free', async () => {
    world = await startWorld()
    const payments = await somePayments(20)
    const unlock = lockFile()
    const settling = world.client.settleAll(payments)
    await pause(LONG_MS)
    expect((await auditWorld(world)).onChain).toBe(0)
    expect((await fetch(`${world.service().url}/ready`)).status).toBe(503)
    unlock()
    await settling
    await expectAllSettledAndTrue(world, payments)
  })

  it('while transactions are under way keeps every outcome', async () => {
    world = await startWorld()
    const payments = await somePayments(30)
    const goOn = await world.holdBlocks()
    const settling = world.client.settleAll(payments)
    await until('something was sent', () => world.proxy.count('eth_sendRawTransaction') > 0)
    await pause(300)
    const unlock = lockFile()
    await goOn()
    await pause(3_000)
    unlock()
    await settling
    await expectAllSettledAndTrue(world, payments)
  })
})
