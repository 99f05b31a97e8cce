import http2 from 'node:http2'
import { createKeccak256 } from '@arcus/protocol/x402/keccak'
import { type FastifyInstance, fastify } from 'fastify'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { call } from '../../src/devnet/rpc.js'
import { createFacilitator } from '../../src/facilitator/facilitator.js'
import { openFacilitatorStores } from '../../src/facilitator/journal/sqlite/stores.js'
import { silentObserver } from '../../src/facilitator/observer.js'
import { createLocalSigner } from '../../src/facilitator/relayer/signer.js'
import { facilitatorDefaults } from '../../src/facilitator/settings.js'
import { aSignedPayment } from '../support/a-signed-payment.js'
import { anHttp2App } from '../support/an-http2-app.js'
import { startChain } from '../support/arcus.js'

/*
 * A facilitator in an app whose own parts fail: its payments are told all the same, and once.
 */

let chain: Awaited<ReturnType<typeof startChain>>
beforeAll(async () => {
  chain = await startChain()
})
afterAll(() => chain.stop())

const headers = { 'content-type': 'application/json' }

async function mountIn(app: FastifyInstance, observer = silentObserver): Promise<string> {
  const keccak256 = await createKeccak256()
  const key = generatePrivateKey()
  const gas = [privateKeyToAccount(key).address, '0xde0b6b3a7640000']
  await call(chain.url, 'anvil_setBalance', gas)
  const database = await openFacilitatorStores(':memory:', app.log)
  const network = { network: 'eip155:5042', chainId: 5042, rpcUrls: [chain.url] } as const
  const assets = ['0x3600000000000000000000000000000000000000'] as const
  const facilitator = await createFacilitator(
    { ...facilitatorDefaults, baseUrl: 'http://localhost', networks: [{ ...network, assets }] },
    {
      ...database,
      keccak256,
      signers: [createLocalSigner(key, keccak256)],
      log: app.log,
      observer,
    },
  )
  onTestFinished(async () => {
    await app.close()
    await facilitator.stop()
    await database.close()
  })
  await app.register(facilitator.plugin)
  await facilitator.start()
  return app.listen({ host: '127.0.0.1', port: 0 })
}

it('tells a success again that a hook of the app kept back', async () => {
  const app = fastify()
  let isBroken = true
  app.addHook('onSend', async () => {
    if (!isBroken) return
    isBroken = false
    throw new Error('a hook of the app')
  })
  const url = await mountIn(app)
  const body = JSON.stringify(await aSignedPayment())
  const settle = async () =>
    (await fetch(`${url}/settle`, { method: 'POST', headers, body })).json()
  expect(await settle()).toMatchObject({ success: false })
  expect(await settle()).toMatchObject({ success: true })
  expect(await settle()).toMatchObject({ success: false })
})

it('tells a success again whose caller left over HTTP/2', async () => {
  const app = anHttp2App()
  let left: Promise<unknown> | undefined
  // The caller is gone before the payment settles.
  app.addHook('preHandler', async () => left)
  const url = await mountIn(app)
  const body = JSON.stringify(await aSignedPayment())
  const session = http2.connect(url)
  onTestFinished(() => session.close())
  const send = () =>
    session.request({ ':method': 'POST', ':path': '/settle', ...headers }).end(body)
  const first = send()
  left = new Promise((resolve) => first.once('close', () => setTimeout(resolve, 100)))
  first.once('ready', () => setTimeout(() => first.close(http2.constants.NGHTTP2_CANCEL), 100))
  await left
  const settle = async () => {
    const stream = send()
    let text = ''
    for await (const part of stream) text += part
    return JSON.parse(text)
  }
  await expect.poll(settle, { timeout: 10_000 }).toMatchObject({ success: true })
  expect(await settle()).toMatchObject({ success: false })
})

it('shows its observer each answer, and how long it took', async () => {
  const seen: { isGood: boolean | undefined; seconds: number }[] = []
  const url = await mountIn(fastify(), {
    ...silentObserver,
    verified: (_, answer, seconds) => seen.push({ isGood: answer?.body.isValid, seconds }),
    settled: (_, result, seconds) => seen.push({ isGood: result?.body.success, seconds }),
  })
  const body = JSON.stringify(await aSignedPayment())
  const startedAt = performance.now()
  for (const path of ['verify', 'settle', 'verify']) {
    await fetch(`${url}/${path}`, { method: 'POST', headers, body })
  }
  const elapsedSeconds = (performance.now() - startedAt) / 1_000
  expect(seen.map(({ isGood }) => isGood)).toEqual([true, true, false])
  for (const { seconds } of seen) expect(seconds).toBeLessThan(elapsedSeconds)
})

it('tells a success whose observer fails', async () => {
  const fail = () => {
    throw new Error('an observer of the app')
  }
  const url = await mountIn(fastify(), {
    ...silentObserver,
    settled: fail,
    claimed: fail,
    rpc: () => fail,
    relayer: () => ({ taken: fail, signed: fail, decided: fail, spent: fail }),
  })
  const body = JSON.stringify(await aSignedPayment())
  const settle = async () =>
    (await fetch(`${url}/settle`, { method: 'POST', headers, body })).json()
  expect(await settle()).toMatchObject({ success: true })
  expect(await settle()).toMatchObject({ success: false })
})
