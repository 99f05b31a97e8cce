import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { promisify } from 'node:util'
import { HTTPFacilitatorClient } from '@x402/core/server'
import { BatchSettlementEvmScheme } from '@x402/evm/batch-settlement/server'
import { paymentMiddleware, x402ResourceServer } from '@x402/express'
import express from 'express'
import ts from 'typescript'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { devnetPayer } from '../../src/devnet/accounts.js'
import { devnetContracts, usdcBalance } from '../../src/devnet/fixtures.js'
import { type Shop, startShop } from '../support/a-shop.js'
import { startWorld, type World } from '../support/arcus.js'

const run = promisify(execFile)
const placeholder = 'http://localhost:3000/quote'
let world: World
let shop: Shop
let channels: Server
let channelsUrl: string
/** Payment headers that the seller by channel was sent. */
const presented: string[] = []

beforeAll(async () => {
  world = await startWorld()
  shop = await startShop(world.post)
  const receiver = privateKeyToAccount(generatePrivateKey())
  const authorizer = privateKeyToAccount(generatePrivateKey())
  const facilitator = new HTTPFacilitatorClient({ url: world.url })
  const scheme = new BatchSettlementEvmScheme(receiver.address, {
    receiverAuthorizerSigner: authorizer,
  })
  const network = 'eip155:5042'
  const asking = (amount: string, minDeposit: string) => {
    const price = {
      amount,
      asset: devnetContracts.usdc,
      extra: { name: 'USDC', version: '2', minDeposit },
    }
    return {
      accepts: { scheme: 'batch-settlement', network, payTo: receiver.address, price } as const,
      description: 'A quote',
    }
  }
  const routes = {
    'GET /quote': asking('1000', '100000'),
    'GET /dear': asking('1001', '100000'),
    'GET /deep': asking('1000', '9000000'),
  }
  const app = express()
  app.use((request, _response, next) => {
    const header = request.headers['payment-signature']
    if (typeof header === 'string') presented.push(header)
    next()
  })
  app.use(paymentMiddleware(routes, new x402ResourceServer(facilitator).register(network, scheme)))
  app.use((_request, response) => void response.send('goods'))
  await new Promise<void>((resolve) => {
    channels = app.listen(0, '127.0.0.1', () => resolve())
  })
  channelsUrl = `http://127.0.0.1:${(channels.address() as AddressInfo).port}`
})
afterAll(async () => {
  channels?.close()
  channels?.closeAllConnections()
  await shop?.stop()
  await world?.stop()
})
beforeEach(() => {
  shop.ask('10000')
  shop.presented.length = 0
  presented.length = 0
})

/** The one snippet of a document that is a buyer's, made to call `url` and run in a process of its own. */
async function runSnippet(document: string, url: string): Promise<{ ok: boolean; said: string }> {
  const text = readFileSync(document, 'utf8')
  const [code, ...others] = [...text.matchAll(/```ts\n([\s\S]*?)```/g)]
    .map(([, block = '']) => block)
    .filter((block) => block.includes('x402Client.fromConfig'))
  expect(others).toEqual([])
  expect(code).toContain(placeholder)
  const aimed = (code as string)
    .replaceAll(placeholder, url)
    .replaceAll('http://127.0.0.1:8545', world.chainUrl)
  const module = ts.ModuleKind.ESNext
  const target = ts.ScriptTarget.ES2022
  const { outputText } = ts.transpileModule(aimed, { compilerOptions: { module, target } })
  const env = { PATH: process.env.PATH, PAYER_KEY: devnetPayer.privateKey }
  const args = ['--input-type=module', '--eval', outputText]
  return run(process.execPath, args, { env }).then(
    ({ stdout }) => ({ ok: true, said: stdout }),
    ({ stderr }) => ({ ok: false, said: stderr }),
  )
}

const balance = () => usdcBalance(world.chainUrl, devnetPayer.address)

describe('the buyer of the README', () => {
  it('pays the price of the example', async () => {
    const before = await balance()
    expect(await runSnippet('README.md', shop.url)).toEqual({
      ok: true,
      said: expect.stringContaining('goods: true'),
    })
    expect(before - (await balance())).toBe(10_000n)
  })

  it('signs nothing for a 402 that asks more', async () => {
    shop.ask('10001')
    const { ok, said } = await runSnippet('README.md', shop.url)
    expect(ok).toBe(false)
    expect(said).toContain('maxAmountPerPayment')
    expect(shop.presented).toEqual([])
  })
})

describe('the buyer of docs/schemes.md', () => {
  const run = (path: string) => runSnippet('docs/schemes.md', `${channelsUrl}${path}`)

  it('pays the price of the example out of a deposit, and gets back what is left', async () => {
    const before = await balance()
    expect(await run('/quote')).toEqual({ ok: true, said: 'goods\n' })
    expect(before - (await balance())).toBe(1_000n)
  })

  it('signs neither voucher nor deposit for a 402 that asks more', async () => {
    const { ok, said } = await run('/dear')
    expect(ok).toBe(false)
    expect(said).toContain('maxAmountPerPayment')
    expect(presented).toEqual([])
  })

  it('deposits no more than it allows, whatever the seller would like', async () => {
    await run('/deep')
    const deposits = presented
      .map((header) => JSON.parse(Buffer.from(header, 'base64').toString()).payload.deposit?.amount)
      .filter((amount) => amount !== undefined)
    expect(deposits).toEqual(['100000'])
  })
})
