import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { devnetRelayers } from '../../src/devnet/accounts.js'
import type { Anvil } from '../../src/devnet/anvil.js'
import { freePort } from '../../src/devnet/process.js'
import { type Service, spawnService } from '../faults/support/service.js'
import { startTcpProxy, type TcpProxy } from '../faults/support/tcp-proxy.js'
import { until } from '../faults/support/world.js'
import { aSignedPayment } from '../support/a-signed-payment.js'
import { startChain } from '../support/arcus.js'

const folder = mkdtempSync(join(tmpdir(), 'arcus-start-'))
let anvil: Anvil
let node: TcpProxy | undefined
let service: Service | undefined

beforeAll(async () => {
  anvil = await startChain()
})
afterEach(async () => {
  await service?.stop()
  await node?.close()
})
afterAll(async () => {
  await anvil.stop()
  rmSync(folder, { recursive: true })
})

const post = (url: string, body: unknown) =>
  fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })

it('opens its port before its node is there, says why it is not ready, and serves once it is', async () => {
  const nodePort = await freePort()
  service = spawnService({
    port: await freePort(),
    rpcUrls: [`http://127.0.0.1:${nodePort}`],
    relayerKeys: devnetRelayers.slice(0, 1).map(({ privateKey }) => privateKey),
    databaseUrl: `sqlite:${join(folder, 'arcus.db')}`,
  })
  const { url, log } = service
  const warnings = () => log().filter((line) => line.includes('trying again'))
  await until('it has tried the node three times', () => warnings().length >= 3, 60_000)
  expect(warnings()[0]).toContain('tried the one node of eip155:5042 in MAINNET_RPC_URLS')
  // Each wait is twice the one before.
  const waits = warnings().map((line) => JSON.parse(line).nextTryMs)
  expect(waits.slice(0, 3)).toEqual([500, 1_000, 2_000])
  const health = await fetch(`${url}/health`)
  expect([health.status, await health.json()]).toEqual([200, { status: 'ok' }])
  const ready = await fetch(`${url}/ready`)
  const detail = 'the service starts and waits for the chain nodes'
  expect([ready.status, await ready.json()]).toEqual([
    503,
    { status: 'not_ready', checks: [{ name: 'start', ok: false, detail }] },
  ])
  const payment = await aSignedPayment()
  const settle = await post(`${url}/settle`, payment)
  expect([settle.status, settle.headers.get('retry-after')]).toEqual([503, '1'])
  expect(await settle.json()).toMatchObject({ success: false, transaction: '' })
  const verify = await post(`${url}/verify`, payment)
  expect(await verify.json()).toMatchObject({ isValid: false })
  node = await startTcpProxy(Number(new URL(anvil.url).port), nodePort)
  await until('it is ready', async () => (await fetch(`${url}/ready`)).status === 200, 60_000)
  expect(await (await post(`${url}/settle`, payment)).json()).toMatchObject({ success: true })
}, 180_000)
