import { readFileSync } from 'node:fs'
import * as arcusClient from '@arcus/client'
import { createListingClient } from '@arcus/client/listing-client'
import * as rating from '@arcus/client/rating'
import { x402 } from '@arcus/merchant'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import fastify, { type FastifyInstance } from 'fastify'
import ts from 'typescript'
import {
  type Address,
  createWalletClient,
  encodeFunctionData,
  type Hex,
  http,
  keccak256,
  publicActions,
  toHex,
} from 'viem'
import * as accounts from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { devnetMerchant, devnetPayer } from '../../src/devnet/accounts.js'
import { devnetContracts, fundNative, mintUsdc, readArtifact } from '../../src/devnet/fixtures.js'
import { sendAs } from '../support/a-permit2-payment.js'
import { aSignedPayment } from '../support/a-signed-payment.js'
import { startWorld, type World } from '../support/arcus.js'

const network = 'eip155:5042'
const seller = devnetMerchant

let world: World
let directory: string
let shop: FastifyInstance
let resource: string

beforeAll(async () => {
  world = await startWorld({ env: { PROBE_ALLOW_PRIVATE_HOSTS: 'true' } })
  // The service was told no public name, so it goes by the default one.
  directory = `http://localhost:${new URL(world.url).port}`
  shop = fastify()
  await shop.register(x402, { facilitator: world.url, payTo: seller.address })
  shop.get('/weather', { config: { x402: '$0.01' } }, () => ({ sky: 'clear' }))
  resource = `${await shop.listen({ port: 0, host: '127.0.0.1' })}/weather`
  await owner().save('weather-house', {
    name: 'Weather house',
    payTo: seller.address,
    endpoints: [{ url: resource, method: 'GET', title: 'Weather of a city', price: '10000' }],
  })
})
afterAll(async () => {
  await shop?.close()
  await world?.stop()
})

const owner = () => createListingClient({ directoryUrl: directory, signer: seller.account })

/** A wallet with a dollar. */
async function aBuyer() {
  const account = accounts.privateKeyToAccount(accounts.generatePrivateKey())
  await mintUsdc(world.chainUrl, account.address, 1_000_000n)
  return account
}

async function settle(payment: { paymentPayload: object }, url = resource): Promise<void> {
  Object.assign(payment.paymentPayload, { resource: { url } })
  expect((await world.post('/settle', payment)).body).toMatchObject({ success: true })
}

/** Pays for the weather, and gives the name of the payment. */
async function pay(account: Awaited<ReturnType<typeof aBuyer>>) {
  const payment = await aSignedPayment({ from: account.address, signer: account })
  await settle(payment)
  return { network, nonce: payment.paymentPayload.payload.authorization.nonce as Hex }
}

const rate = (
  signer: Awaited<ReturnType<typeof aBuyer>>,
  payment: { network: string; nonce: Hex },
  over: Partial<rating.RateOptions> = {},
) => rating.rate(directory, { signer, payment, resource, score: 87, ...over })

const endpointId = async () =>
  (await world.get('/api/merchants/weather-house')).body.endpoints[0].state.id

/** Runs the example of a document here, against this service and with a rich payer. */
async function runExample(): Promise<string> {
  const blocks = readFileSync('docs/agents.md', 'utf8').matchAll(/```ts\n([\s\S]*?)```/g)
  const [code = '', ...others] = [...blocks].flatMap(([, it = '']) =>
    it.includes('rate(') ? it : [],
  )
  expect(others).toEqual([])
  const aimed = code
    .replace('http://localhost:4021', directory)
    .replace(/`0x.*?`/, `'${devnetPayer.privateKey}'`)
    .replace(/import (\{.*\}) from ('.*')/g, 'const $1 = modules[$2]')
  const { outputText } = ts.transpileModule(`(async () => {${aimed}})()`, {
    compilerOptions: { target: ts.ScriptTarget.ES2022 },
  })
  const modules = {
    '@arcus/client': arcusClient,
    '@arcus/client/rating': rating,
    'viem/accounts': accounts,
  }
  const said: string[] = []
  const process = { stdout: { write: (text: string) => said.push(text) } }
  await new Function('modules', 'process', `return ${outputText}`)(modules, process)
  return said.join('')
}

describe('ratings of payments on a real chain', () => {
  it('are given by the example of the documents, and stand in everything that is published', async () => {
    expect(await runExample()).toMatch(/^87 of 100, kept as \S+\n$/)
    const figures = { average: 87, count: 1, payers: 1, topPayerShare: 1 }
    const [item] = (await world.get('/discovery/resources')).body.items
    expect(item.metadata.rating).toEqual(figures)
    const view = (await world.get('/api/merchants/weather-house')).body
    expect(view.rating).toEqual({ average: 87, count: 1 })
    expect(view.endpoints[0].state.rating).toEqual(figures)
    const list = await world.get(
      `/api/merchants/weather-house/endpoints/${await endpointId()}/ratings`,
    )
    expect(list.body).toMatchObject({
      rating: figures,
      ratings: [{ score: 87, tag: 'quick', payer: devnetPayer.address, amount: '10000' }],
    })
    const agent = new Client({ name: 'agent', version: '1' })
    await agent.connect(new StreamableHTTPClientTransport(new URL(`${directory}/mcp`)) as never)
    const found = await agent.callTool({
      name: 'search_resources',
      arguments: { query: 'weather' },
    })
    expect(found.structuredContent).toMatchObject({ resources: [{ rating: figures }] })
    await agent.close()
  })

  it('weigh nothing where their money came from the recipient, or goes back to the payer', async () => {
    const repay = async (to: Address) => {
      const back = await aSignedPayment({ from: seller.address, signer: seller.account, to })
      expect((await world.post('/settle', back)).body).toMatchObject({ success: true })
    }
    await mintUsdc(world.chainUrl, seller.address, 1_000_000n)
    const [given, handed, buyer] = await Promise.all([aBuyer(), aBuyer(), aBuyer()])
    await repay(given.address)
    expect(await rate(given, await pay(given), { score: 0 })).toMatchObject({ weight: '0' })
    // A plain transfer of the token is no payment of x402, and money all the same.
    const { abi } = readArtifact('MockUsdc')
    const args = [handed.address, 4_000n] as const
    const data = encodeFunctionData({ abi, functionName: 'transfer', args })
    await sendAs(world.chainUrl, seller.address, devnetContracts.usdc, data)
    expect(await rate(handed, await pay(handed), { score: 0 })).toMatchObject({ weight: '6000' })

    const kept = await rate(buyer, await pay(buyer), { score: 0 })
    expect(kept).toMatchObject({ weight: '10000' })
    await repay(buyer.address)
    await vi.waitFor(
      async () =>
        expect((await world.get(`/api/ratings/${kept.id}`)).body).toMatchObject({ weight: '0' }),
      { timeout: 15_000, interval: 200 },
    )
  })
})

describe('the call for the reputation registry', () => {
  const { abi } = readArtifact('MockReputationRegistry')
  const registry = devnetContracts.reputationRegistry

  async function send(account: typeof seller.account, to: Address, data: Hex) {
    const chain = createWalletClient({ account, transport: http(world.chainUrl) }).extend(
      publicActions,
    )
    const hash = await chain.sendTransaction({ to, data, chain: null } as never)
    return chain.waitForTransactionReceipt({ hash, pollingInterval: 50 })
  }

  it('puts the rating on chain as the payer’s, and is refused from the owner of the agent', async () => {
    const buyer = await aBuyer()
    await fundNative(world.chainUrl, buyer.address, 10n ** 18n)
    const { id } = await rate(buyer, await pay(buyer), { score: 93, tag: 'exact' })
    const unlinked = await world.get(`/api/ratings/${id}/feedback`)
    expect([unlinked.status, unlinked.body.error]).toEqual([409, 'feedback_unavailable'])

    const chain = createWalletClient({
      account: seller.account,
      transport: http(world.chainUrl),
    }).extend(publicActions)
    const identity = { address: devnetContracts.identityRegistry, chain: null } as const
    const { abi: identityAbi } = readArtifact('MockIdentityRegistry')
    const hash = await chain.writeContract({
      ...identity,
      abi: identityAbi,
      functionName: 'register',
      args: [],
    })
    await chain.waitForTransactionReceipt({ hash, pollingInterval: 50 })
    await owner().linkAgent('weather-house', '0')
    const call = await vi.waitFor(
      async () => {
        const { status, body } = await world.get(`/api/ratings/${id}/feedback`)
        expect(status).toBe(200)
        return body
      },
      { timeout: 15_000, interval: 100 },
    )
    expect(call).toMatchObject({ network, agentId: '0', to: registry, sender: buyer.address })

    await expect(send(seller.account, call.to, call.data)).rejects.toThrow(
      'Self-feedback not allowed',
    )
    expect(await send(buyer as never, call.to, call.data)).toMatchObject({ status: 'success' })
    const read = { address: registry, abi, functionName: 'readFeedback' } as const
    const kept = await chain.readContract({ ...read, args: [0n, buyer.address, 1n] })
    expect(kept).toEqual([93n, 0, 'starred', 'exact', false])

    const file = await fetch(call.feedbackUri)
    const text = await file.text()
    expect(keccak256(toHex(text))).toBe(call.feedbackHash)
    const { transaction } = (await world.get(`/api/ratings/${id}`)).body
    expect(JSON.parse(text)).toMatchObject({
      agentRegistry: `${network}:${devnetContracts.identityRegistry}`,
      agentId: 0,
      clientAddress: `${network}:${buyer.address}`,
      value: 93,
      endpoint: resource,
      proofOfPayment: { fromAddress: buyer.address, chainId: '5042', txHash: transaction },
    })
    const other = await world.get(`/api/ratings/${id}/feedback/1`)
    expect(other.body.error).toBe('feedback_unavailable')
  })
})
