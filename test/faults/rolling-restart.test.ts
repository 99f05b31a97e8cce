import { afterEach, expect, it } from 'vitest'
import { type Balancer, startBalancer } from './support/balancer.js'
import { pause } from './support/behaviours.js'
import { createClient } from './support/client.js'
import { findProgram } from './support/debian.js'
import { aSignedPayment, type SignedPayment } from './support/payments.js'
import { type Replicas, startReplicas } from './support/replicas.js'
import { expectAllSettledAndTrue, until } from './support/world.js'

const haproxy = findProgram('haproxy')
/** Longer than the balancer takes to notice, also on a busy machine. */
const DRAIN_DELAY_SECONDS = '8'

let world: Replicas
let balancer: Balancer | undefined

afterEach(async () => {
  await balancer?.close()
  balancer = undefined
  await world?.close()
})

it.skipIf(haproxy === undefined)(
  'a restart of one replica after another behind HAProxy costs no caller an answer (skipped without haproxy)',
  async () => {
    world = await startReplicas({
      replicas: 3,
      relayers: 3,
      env: { DRAIN_DELAY_SECONDS, SETTLE_WAIT_SECONDS: '30' },
    })
    const ports = [0, 1, 2].map((i) => Number(new URL(world.service(i).url).port))
    balancer = await startBalancer(haproxy as string, ports)
    const client = createClient(balancer.url)
    const payments: SignedPayment[] = []
    const asked: Promise<unknown>[] = []
    const verified: boolean[] = []
    let isOver = false
    const load = (async () => {
      while (!isOver) {
        const payment = await aSignedPayment()
        payments.push(payment)
        // A merchant verifies, works, and settles.
        const order = client.verify(payment).then(async (isValid) => {
          verified.push(isValid)
          await client.settle(payment)
        })
        asked.push(order)
        await pause(80)
      }
    })()
    for (const i of [0, 1, 2]) {
      const service = world.service(i)
      service.signal('SIGTERM')
      await until('it says that it stops', async () => (await readiness(service.url)) === 503)
      expect(await service.exited).toEqual({ code: 0, signal: null })
      await world.restart(i)
      const { countUp } = balancer
      await until('all replicas are up', async () => (await countUp()) === 3, 60_000)
    }
    isOver = true
    await load
    await Promise.all(asked)
    const told = client.answers.map(({ status, body }) => ({ status, success: body?.success }))
    expect(told.filter(({ status }) => status !== 200)).toEqual([])
    expect(told.filter(({ success }) => success !== true)).toEqual([])
    expect(verified.filter((isValid) => !isValid)).toEqual([])
    expect(payments.length).toBeGreaterThan(100)
    world.client.answers.push(...client.answers)
    await client.close()
    await expectAllSettledAndTrue(world, payments)
  },
  300_000,
)

async function readiness(url: string): Promise<number | undefined> {
  return fetch(`${url}/ready`).then(
    ({ status }) => status,
    () => undefined,
  )
}
