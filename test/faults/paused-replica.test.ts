import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { pause } from './support/behaviours.js'
import { createClient } from './support/client.js'
import { type Replicas, startLoad, startReplicas } from './support/replicas.js'
import { expectAllSettledAndTrue, until } from './support/world.js'

/** The promise for a quiet machine: no payment waits longer for a replica that stands still. */
const WORST_MS = 8_000
/** On a busy machine everything takes longer, so what is usual at that time is added several times. */
const USUAL_TIMES = 6
const PATIENCE_MS = 60_000

const folder = mkdtempSync(join(tmpdir(), 'arcus-paused-'))
const trigger = join(folder, 'stop')
const preload = `--import ${new URL('./support/stop-in-transaction.mjs', import.meta.url)}`
let world: Replicas

afterEach(() => {
  world?.service(0).signal('SIGCONT')
  return world?.close()
})
afterAll(() => rmSync(folder, { recursive: true }))

describe('a replica that stands still', () => {
  it('inside a transaction with locks on its lease and on the sums of gas stops nobody else', async () => {
    world = await startReplicas({
      replicas: 3,
      relayers: 3,
      envOf: (i) => (i === 0 ? { NODE_OPTIONS: preload, STOP_IN_TRANSACTION: trigger } : {}),
    })
    const before = startLoad(world.client, 100, PATIENCE_MS)
    // There must be sums of gas to be locked, and a measure of what is usual.
    await until('payments are settled', () => before.countTold() >= 20, 60_000)
    writeFileSync(trigger, '')
    await until('the replica stands still', () => existsSync(`${trigger}.stopped`), 30_000)
    const others = createClient(world.service(1).url, world.service(2).url)
    const during = startLoad(others, 100, PATIENCE_MS)
    const usualMs = before.worstMs()
    await pause(9_000)
    await during.end()
    const worstMs = during.worstMs()
    world.service(0).signal('SIGCONT')
    await before.end()
    world.client.answers.push(...others.answers)
    await others.close()
    expect(worstMs).toBeLessThan(WORST_MS + USUAL_TIMES * usualMs)
    expect(during.payments.length).toBeGreaterThan(20)
    const payments = [...before.payments, ...during.payments]
    await expectAllSettledAndTrue(world, payments, { mayRepeat: true })
  })

  it('for longer than a lease sends nothing under it when it wakes, again and again', async () => {
    world = await startReplicas({ replicas: 3, relayers: 3 })
    const load = startLoad(world.client, 80, PATIENCE_MS)
    for (let i = 0; i < 2; i++) {
      await pause(1_500)
      world.service(i).signal('SIGSTOP')
      await pause(6_500)
      world.service(i).signal('SIGCONT')
    }
    await pause(1_500)
    await load.end()
    await expectAllSettledAndTrue(world, load.payments, { mayRepeat: true })
  })
})
