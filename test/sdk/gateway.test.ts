import { createArcusClient } from '@arcus/client'
import { x402 } from '@arcus/merchant'
import { authorizationTypes } from '@arcus/protocol/x402/authorization-types'
import {
  BatchEvmScheme,
  GatewayClient,
  registerBatchScheme,
} from '@circle-fin/x402-batching/client'
import { BatchFacilitatorClient } from '@circle-fin/x402-batching/server'
import { decodePaymentResponseHeader } from '@x402/core/http'
import type { FacilitatorClient } from '@x402/core/server'
import type { PaymentRequirements } from '@x402/core/types'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import fastify, { type FastifyInstance } from 'fastify'
import { recoverTypedDataAddress } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { devnetMerchant, devnetPayer } from '../../src/devnet/accounts.js'
import { devnetContracts, usdcBalance } from '../../src/devnet/fixtures.js'
import { startServer, type TestServer } from '../support/a-server.js'
import { startWorld, type World } from '../support/arcus.js'
import { payingBy } from '../support/paying.js'

const network = 'eip155:5042'
const payTo = devnetMerchant.address
const wallet = '0x77777777Dcc4d5A8B6E418Fd04D8997ef11000eE'
const extra = { name: 'GatewayWalletBatched', version: '1', verifyingContract: wallet }
const price = { amount: '10000', asset: devnetContracts.usdc, extra }
const { account } = devnetPayer
let world: World
let gateway: TestServer
let app: FastifyInstance
let url: string
/** What Gateway was asked, with the payer whom its signature names. */
const asked: [path: string, payer: string][] = []

/** Answers like the API of Circle Gateway, of which nothing can be reached here: it checks the signature for its wallet. */
const startGateway = () =>
  startServer(async (request, response) => {
    const answer = (body: object) => response.end(JSON.stringify(body))
    response.setHeader('content-type', 'application/json')
    if (request.method === 'GET') {
      return answer({
        kinds: [{ x402Version: 2, scheme: 'exact', network, extra }],
        extensions: [],
        signers: {},
      })
    }
    let text = ''
    for await (const chunk of request) text += chunk
    const { authorization, signature } = JSON.parse(text).paymentPayload.payload
    const payer = await recoverTypedDataAddress({
      domain: { ...extra, verifyingContract: wallet, chainId: 5042 },
      types: authorizationTypes,
      primaryType: 'TransferWithAuthorization',
      message: authorization,
      signature,
    })
    asked.push([`${request.url}`, payer])
    const isValid = payer === authorization.from
    if (request.url === '/v1/x402/verify') {
      return answer(isValid ? { isValid, payer } : { isValid, invalidReason: 'invalid_signature' })
    }
    return answer({ success: isValid, payer, network, transaction: crypto.randomUUID() })
  })

beforeAll(async () => {
  ;[world, gateway] = await Promise.all([
    startWorld({ env: { RATE_LIMIT_MAX: '0' } }),
    startGateway(),
  ])
  const facilitator = new BatchFacilitatorClient({ url: gateway.url }) as FacilitatorClient
  const byGateway = { network, price, facilitator } as const
  const plain = { network, price: '$0.01' } as const
  app = fastify()
  await app.register(x402, { facilitator: world.url, payTo })
  const goods = () => ({ goods: true })
  app.get('/plain-first', { config: { x402: { accepts: [plain, byGateway] } } }, goods)
  app.get('/gateway-first', { config: { x402: { accepts: [byGateway, plain] } } }, goods)
  url = await app.listen({ host: '127.0.0.1', port: 0 })
})
beforeEach(() => void asked.splice(0))
afterAll(async () => {
  await app?.close()
  await gateway?.close()
  await world?.stop()
})

const earned = () => usdcBalance(world.chainUrl, payTo)
/** Calls, and returns what the seller earned on chain by it. */
async function earnedBy(call: () => Promise<unknown>): Promise<number> {
  const before = await earned()
  await call()
  return Number((await earned()) - before)
}

/** The buyer of the official packages that knows both ways, as Circle registers it. */
function knowingBoth(): typeof fetch {
  const client = x402Client.fromConfig({
    schemes: [],
    spendControls: {
      allowedAssets: [{ network, asset: devnetContracts.usdc, maxAmountPerPayment: '10000' }],
    },
  })
  registerBatchScheme(client, {
    signer: account,
    networks: [network],
    fallbackScheme: new ExactEvmScheme(account) as Parameters<
      typeof registerBatchScheme
    >[1]['fallbackScheme'] &
      object,
  })
  return wrapFetchWithPayment(fetch, client)
}

describe('Gateway beside plain exact', () => {
  it('is paid by Circle’s own buyer in both orders, and Arcus is shown nothing of it', async () => {
    const client = new GatewayClient({
      chain: 'arc',
      privateKey: generatePrivateKey(),
      rpcUrl: world.chainUrl,
    })
    for (const route of ['/plain-first', '/gateway-first']) {
      let paid: Awaited<ReturnType<GatewayClient['pay']>> | undefined
      const chain = await earnedBy(async () => {
        paid = await client.pay(url + route)
      })
      expect(paid).toMatchObject({ data: { goods: true }, status: 200 })
      expect([chain, paid?.transaction]).toEqual([0, expect.stringMatching(/^[0-9a-f-]{36}$/)])
      const { address } = client.account
      expect(asked.splice(0)).toEqual([
        ['/v1/x402/verify', address],
        ['/v1/x402/settle', address],
      ])
    }
  })

  it('is passed over by the buyer of Arcus in both orders', async () => {
    const { pay } = createArcusClient({ url: world.url })
    for (const route of ['/plain-first', '/gateway-first']) {
      const chain = await earnedBy(async () => {
        const { response, amount } = await pay(url + route, {
          signer: account,
          maxAmount: '10000',
        })
        expect([response.status, amount]).toEqual([200, 10_000n])
      })
      expect([chain, asked]).toEqual([10_000, []])
    }
  })

  it('a buyer who knows both pays the first entry, each through its own facilitator', async () => {
    const buys = knowingBoth()
    const chainOfPlain = await earnedBy(async () => {
      expect((await buys(`${url}/plain-first`)).status).toBe(200)
    })
    expect(chainOfPlain).toBe(10_000)
    expect(asked).toEqual([])
    let answer: Response | undefined
    const chain = await earnedBy(async () => {
      answer = await buys(`${url}/gateway-first`)
    })
    expect([answer?.status, chain, asked.length]).toEqual([200, 0, 2])
  })

  it('the official buyer who knows plain exact alone pays it where it comes first', async () => {
    const buys = payingBy(new ExactEvmScheme(account))
    const answer = await buys(`${url}/plain-first`)
    const settled = decodePaymentResponseHeader(answer.headers.get('PAYMENT-RESPONSE') ?? '')
    expect([answer.status, settled.transaction]).toEqual([200, expect.stringMatching(/^0x\w{64}$/)])
    // It reads no verifyingContract, so it signs what neither Gateway nor the token takes: nothing is paid.
    const chain = await earnedBy(async () => {
      expect((await buys(`${url}/gateway-first`)).status).toBe(402)
    })
    expect(chain).toBe(0)
  })
})

it('Arcus answers unsupported_rail to a payment for Gateway, at verify and at settle', async () => {
  const signer = privateKeyToAccount(generatePrivateKey())
  const requirements: PaymentRequirements = {
    scheme: 'exact',
    network,
    payTo,
    maxTimeoutSeconds: 300,
    ...price,
  }
  const signed = await new BatchEvmScheme(signer).createPaymentPayload(2, requirements)
  const paymentPayload = { ...signed, accepted: requirements }
  const body = { x402Version: 2, paymentPayload, paymentRequirements: requirements }
  const verified = await world.post('/verify', body)
  expect(verified.body).toMatchObject({ isValid: false, invalidReason: 'unsupported_rail' })
  const settled = await world.post('/settle', body)
  expect(settled.body).toMatchObject({ success: false, errorReason: 'unsupported_rail' })
})

it('a payment for Gateway that claims to be a plain one goes to Arcus, and buys nothing', async () => {
  const asking = await fetch(`${url}/plain-first`)
  const required = JSON.parse(
    Buffer.from(asking.headers.get('PAYMENT-REQUIRED') ?? '', 'base64').toString(),
  )
  const [plain, other] = required.accepts
  const signed = await new BatchEvmScheme(account).createPaymentPayload(2, other)
  const accepted = { ...plain, extra: { ...plain.extra, verifyingContract: wallet } }
  for (const claimed of [plain, accepted]) {
    const payload = { ...signed, accepted: claimed }
    const headers = {
      'PAYMENT-SIGNATURE': Buffer.from(JSON.stringify(payload)).toString('base64'),
    }
    const chain = await earnedBy(async () => {
      expect((await fetch(`${url}/plain-first`, { headers })).status).toBe(402)
    })
    expect([chain, asked]).toEqual([0, []])
  }
})

it('an entry for Gateway without a facilitator of its own stops the server', async () => {
  const shop = fastify()
  await shop.register(x402, { facilitator: world.url, payTo })
  const declare = (x402Config: object) => () =>
    shop.get('/goods', { config: { x402: x402Config as { price: typeof price } } }, () => 'goods')
  expect(declare({ price })).toThrow(/paid through Circle Gateway.*give the facilitator/)
  const facilitator = gateway.url
  const twice = [
    { price, facilitator },
    { price, facilitator: 'http://127.0.0.1:1' },
  ]
  expect(declare({ accepts: twice })).toThrow(/two facilitators for eip155:5042 Circle Gateway/)
  shop.get('/asked', { config: { x402: { price: () => price } } }, () => 'goods')
  const answer = await shop.inject('/asked')
  expect([answer.statusCode, answer.headers['payment-required']]).toEqual([500, undefined])
  await shop.close()
})
