import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { x402 } from '@arcus/merchant'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import fastify from 'fastify'
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest'
import { devnetMerchant, devnetPayer } from '../../src/devnet/accounts.js'
import { devnetContracts, usdcBalance } from '../../src/devnet/fixtures.js'
import { freePort } from '../../src/devnet/process.js'
import { aSignedPayment } from '../support/a-signed-payment.js'
import { startChain } from '../support/arcus.js'
import { payingBy } from '../support/paying.js'

/*
 * `examples/own-facilitator.ts`: the facilitator alone, in a server that Arcus knows nothing of.
 */

const example = fileURLToPath(new URL('../../examples/own-facilitator.ts', import.meta.url))

let chain: Awaited<ReturnType<typeof startChain>>
let folder: string
let url: string
let server: ChildProcess

async function start(): Promise<void> {
  const port = await freePort()
  url = `http://localhost:${port}`
  server = spawn(process.execPath, ['--import', 'tsx', example], {
    env: {
      PATH: process.env.PATH,
      PORT: String(port),
      RPC_URL: chain.url,
      DATABASE: join(folder, 'payments.db'),
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await once(server.stdout as NonNullable<typeof server.stdout>, 'data')
}

async function stop(): Promise<void> {
  const ended = once(server, 'exit')
  server.kill('SIGTERM')
  expect(await ended).toEqual([0, null])
}

beforeAll(async () => {
  chain = await startChain()
  folder = mkdtempSync(join(tmpdir(), 'arcus-own-'))
  await start()
})
afterAll(async () => {
  server.kill('SIGKILL')
  await chain.stop()
  rmSync(folder, { recursive: true })
})

async function post(path: string, body: string) {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(url + path, { method: 'POST', headers, body })
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}

it('settles what a merchant of the official packages sells to the official client', async () => {
  const shop = fastify()
  onTestFinished(() => shop.close())
  const payTo = devnetMerchant.address
  await shop.register(x402, { facilitator: `${url}/x402`, payTo })
  shop.get('/quote', { config: { x402: '$0.01' } }, async () => ({ goods: true }))
  const place = await shop.listen({ host: '127.0.0.1', port: 0 })
  const before = await usdcBalance(chain.url, payTo)

  const buy = payingBy(new ExactEvmScheme(devnetPayer.account))
  const answer = await buy(`${place}/quote`)
  expect([answer.status, await answer.json()]).toEqual([200, { goods: true }])
  expect((await usdcBalance(chain.url, payTo)) - before).toBe(10_000n)
})

it('says what it is, and leaves the routes of its host alone', async () => {
  const about = await (await fetch(`${url}/x402/.well-known/x402`)).json()
  expect(about).toMatchObject({
    facilitator: `${url}/x402`,
    networks: [{ network: 'eip155:5042', assets: [{ address: devnetContracts.usdc }] }],
    resources: { supported: `${url}/x402/supported` },
  })
  expect(await (await fetch(url)).json()).toHaveProperty('hello')
  // An address that the host does not have is answered as Fastify answers it.
  expect(await (await fetch(`${url}/nowhere`)).json()).toMatchObject({ statusCode: 404 })
})

it('answers errors in the form of the protocol', async () => {
  expect(await post('/x402/verify', '{')).toMatchObject({ status: 400, body: { isValid: false } })
  const deep = `${'['.repeat(500)}${']'.repeat(500)}`
  expect(await post('/x402/settle', deep)).toMatchObject({ status: 400, body: { success: false } })
})

it('finds a payment again after it was stopped, and does not pay twice', async () => {
  const payment = JSON.stringify(await aSignedPayment())
  const first = await post('/x402/settle', payment)
  expect(first.body).toMatchObject({ success: true })
  await stop()
  await start()
  const { body } = await post('/x402/settle', payment)
  expect(body).toMatchObject({ success: false, transaction: first.body.transaction })
  const { from, nonce } = JSON.parse(payment).paymentPayload.payload.authorization
  await vi.waitFor(async () => {
    const found = await fetch(`${url}/x402/payments/eip155:5042/${from}/${nonce}`)
    expect(await found.json()).toMatchObject({ state: 'confirmed' })
  })
})
