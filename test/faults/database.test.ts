import { afterEach, describe, expect, it } from 'vitest'
import { pause } from './support/behaviours.js'
import { createClient } from './support/client.js'
import { type Replicas, startLoad, startReplicas } from './support/replicas.js'
import { startTcpProxy, type TcpProxy } from './support/tcp-proxy.js'
import { expectAllSettledAndTrue, until } from './support/world.js'

const PATIENCE_MS = 90_000

let world: Replicas
let proxy: TcpProxy | undefined

afterEach(async () => {
  await world?.close()
  await proxy?.close()
  proxy = undefined
})

async function readiness(url: string): Promise<{ status: number; text: string }> {
  const answer = await fetch(`${url}/ready`)
  return { status: answer.status, text: await answer.text() }
}

describe('PostgreSQL under three replicas', () => {
  it('may be killed at once, as by `pg_ctl -m immediate`, and recovers without a loss', async () => {
    world = await startReplicas({ replicas: 3, relayers: 3 })
    const load = startLoad(world.client, 60, PATIENCE_MS)
    for (let i = 0; i < 3; i++) {
      await pause(2_000 + Math.random() * 1_000)
      await world.postgres.crash()
    }
    await pause(2_000)
    await load.end()
    expect(load.payments.length).toBeGreaterThan(50)
    await expectAllSettledAndTrue(world, load.payments, { mayRepeat: true })
  })

  it('may be cut off from one of them without a sign: the others go on, and it comes back by itself', async () => {
    world = await startReplicas({
      replicas: 3,
      relayers: 3,
      async envOf(i, databaseUrl) {
        if (i !== 0) return {}
        proxy = await startTcpProxy(Number(new URL(databaseUrl).port))
        const url = new URL(databaseUrl)
        url.port = String(proxy.port)
        return { DATABASE_URL: url.href }
      },
    })
    const cutOff = world.service(0).url
    const everywhere = startLoad(world.client, 100, PATIENCE_MS)
    await pause(2_000)
    const mend = proxy?.swallow()
    await until(
      'it says that its leases are not renewed',
      async () => (await readiness(cutOff)).text.includes('not renewed for'),
      30_000,
    )
    expect((await readiness(cutOff)).status).toBe(503)
    const others = createClient(world.service(1).url, world.service(2).url)
    const elsewhere = startLoad(others, 100, PATIENCE_MS)
    await pause(3_000)
    await elsewhere.end()
    const told = new Set(
      others.answers.filter(({ body }) => body?.success).map(({ payment }) => payment),
    )
    expect(elsewhere.payments.filter((payment) => !told.has(payment))).toEqual([])
    mend?.()
    await until('it is ready again', async () => (await readiness(cutOff)).status === 200, 60_000)
    await everywhere.end()
    world.client.answers.push(...others.answers)
    await others.close()
    const payments = [...everywhere.payments, ...elsewhere.payments]
    await expectAllSettledAndTrue(world, payments, { mayRepeat: true })
  })
})
