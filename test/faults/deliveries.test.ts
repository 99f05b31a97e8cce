import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { pause } from './support/behaviours.js'
import { createClient, usedCode } from './support/client.js'
import { aSignedPayment, somePayments } from './support/payments.js'
import { type Replicas, startReplicas } from './support/replicas.js'
import { startWorld, type World } from './support/world.js'

const folder = mkdtempSync(join(tmpdir(), 'arcus-slow-'))
const preload = (name: string) => `--import ${new URL(`./support/${name}`, import.meta.url)}`
let world: World | Replicas | undefined

afterEach(async () => {
  await world?.close()
  rmSync(folder, { recursive: true, force: true })
})

it('a disk that takes six seconds for a sync gives one success, also to many who ask', async () => {
  const slow = join(folder, 'slow')
  world = await startWorld({
    env: { NODE_OPTIONS: preload('slow-disk.mjs'), SLOW_DISK: slow, SETTLE_WAIT_SECONDS: '30' },
  })
  const payment = await aSignedPayment()
  writeFileSync(slow, '')
  const { client } = world
  const asked = Array.from({ length: 40 }, async (_, i) => {
    await pause(i * 400)
    return client.settle(payment)
  })
  const answers = await Promise.all(asked)
  rmSync(slow)
  const last = await client.settle(payment)
  expect([...answers, last].filter(({ body }) => body?.success)).toHaveLength(1)
  for (const { body } of answers) expect(body?.transaction).toBe(last.body?.transaction)
  expect(last.body?.errorReason).toBe(usedCode)
})

it('a replica whose clock is six seconds ahead takes no answer from another replica', async () => {
  world = await startReplicas({
    replicas: 2,
    relayers: 2,
    env: { NODE_OPTIONS: `${preload('shifted-clock.mjs')} ${preload('slow-answer.mjs')}` },
    envOf: (i) => ({ CLOCK_AHEAD_MS: String(i * 6_000), SLOW_ANSWERS: i === 0 ? 'yes' : 'no' }),
  })
  const [slow, ahead] = [0, 1].map((i) => createClient(world?.service(i).url as string))
  for (const payment of await somePayments(3)) {
    const first = slow?.settle(payment)
    await pause(1_500)
    const second = await ahead?.settle(payment)
    const told = [(await first)?.body, second?.body]
    expect(told.map((body) => body?.success)).toEqual([true, false])
    expect(told[1]).toMatchObject({ errorReason: usedCode, transaction: told[0]?.transaction })
  }
  await Promise.all([slow?.close(), ahead?.close()])
})
