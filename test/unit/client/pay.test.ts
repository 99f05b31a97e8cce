import type { IncomingHttpHeaders } from 'node:http'
import { createArcusClient } from '@arcus/client'
import { ArcusError } from '@arcus/client/calls'
import type { Paid, PayOptions } from '@arcus/client/pay'
import { x402 } from '@arcus/merchant'
import {
  decodePaymentSignatureHeader,
  encodePaymentRequiredHeader,
  encodePaymentResponseHeader,
} from '@x402/core/http'
import fastify from 'fastify'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { devnetMerchant, devnetPayer } from '../../../src/devnet/accounts.js'
import { devnetContracts, mintUsdc, tokenBalance } from '../../../src/devnet/fixtures.js'
import { approvePermit2 } from '../../support/a-permit2-payment.js'
import { startServer } from '../../support/a-server.js'
import { startToolShop, type ToolShop } from '../../support/a-tool-shop.js'
import { anAccount } from '../../support/an-account.js'
import { startWorld, type World } from '../../support/arcus.js'

const { usdc, eurc } = devnetContracts
const maxAmount = '10000'

let world: World
let arcus: ReturnType<typeof createArcusClient>
const closing: (() => unknown)[] = []

beforeAll(async () => {
  world = await startWorld({
    env: { PROBE_ALLOW_PRIVATE_HOSTS: 'true', MAINNET_ASSETS: `${usdc},${eurc}` },
  })
  arcus = createArcusClient({ url: world.url })
})
afterAll(async () => {
  for (const close of closing) await close()
  await world.stop()
})

/** A signer that keeps what it signs. */
function aSigner(account: Pick<typeof devnetPayer.account, 'address' | 'signTypedData'>) {
  const signed: {
    domain: Record<string, unknown>
    primaryType: string
    message: Record<string, unknown>
  }[] = []
  const signer: PayOptions['signer'] = {
    address: account.address,
    signTypedData(typedData) {
      signed.push(typedData)
      return account.signTypedData(typedData as never)
    },
  }
  return { signer, signed }
}

/** A buyer with money and no approval of Permit2. */
async function aBuyer() {
  const account = anAccount()
  await mintUsdc(world.chainUrl, account.address, 1_000_000n)
  return { account, ...aSigner(account) }
}

interface Call {
  method: string | undefined
  url: string | undefined
  headers: IncomingHttpHeaders
  body: string
}

/** A seller at which every call costs what the terms say, settled by the service. */
async function aStand(terms: object, extensions?: object, offers: readonly object[] = [{}]) {
  const calls: Call[] = []
  const requirement = {
    scheme: 'exact',
    network: 'eip155:5042' as const,
    amount: '10000',
    asset: usdc,
    payTo: devnetMerchant.address,
    maxTimeoutSeconds: 60,
    extra: { name: 'USDC', version: '2' },
    ...terms,
  }
  const server = await startServer(async (request, response) => {
    let body = ''
    for await (const chunk of request.setEncoding('utf8')) body += chunk
    const { method, url, headers } = request
    calls.push({ method, url, headers, body })
    const required = {
      x402Version: 2,
      resource: { url: '/' },
      accepts: offers.map((offer) => ({ ...requirement, ...offer })),
      extensions,
    }
    const signature = headers['payment-signature']
    if (signature === undefined) {
      const head = { 'payment-required': encodePaymentRequiredHeader(required as never) }
      response.writeHead(402, head).end()
      return
    }
    const paymentPayload = decodePaymentSignatureHeader(String(signature))
    const settlement = await world.post('/settle', {
      x402Version: 2,
      paymentPayload,
      paymentRequirements: requirement,
    })
    const head = { 'payment-response': encodePaymentResponseHeader(settlement.body) }
    response.writeHead(settlement.body.success ? 200 : 402, head).end('goods')
  })
  closing.push(server.close)
  return { url: `${server.url}/`, calls }
}

/** Looks a payment up by the name that the client gave it. */
async function lookUp({ payment }: Paid) {
  if (payment === undefined) throw new Error('nothing was paid')
  const { asset, method, ...path } = payment
  const query = { asset, method }
  return arcus.call('GET /payments/{network}/{payer}/{nonce}', { path, query })
}

async function errorOf(promise: Promise<unknown>): Promise<ArcusError> {
  const error = await promise.catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(ArcusError)
  return error as ArcusError
}

describe('pay by Permit2', () => {
  const permit2 = { name: 'USDC', version: '2', assetTransferMethod: 'permit2' }
  const sponsoring = { eip2612GasSponsoring: { info: {}, schema: {} } }

  it('signs a ceiling for a metered call, with a permit for the first one, and pays what was used', async () => {
    const { account, signer, signed } = await aBuyer()
    const shop = fastify()
    await shop.register(x402, { facilitator: world.url, payTo: devnetMerchant.address })
    const config = { x402: { price: '$0.01', pricing: 'metered' } } as const
    shop.get('/metered', { config }, async ({ payment }) => {
      payment?.charge('$0.003')
      return { goods: true }
    })
    const url = `${await shop.listen({ port: 0, host: '127.0.0.1' })}/metered`
    closing.push(() => shop.close())

    const dear = await errorOf(arcus.pay(url, { signer, maxAmount: '9999' }))
    expect([dear.code, signed]).toEqual(['too_dear', []])

    const unapproved = await arcus.pay(url, { signer, maxAmount })
    expect([unapproved.response.status, unapproved.settlement]).toEqual([412, undefined])
    expect(unapproved.refusal).toBe('permit2_allowance_required')

    for (let call = 0; call < 2; call++) {
      signed.length = 0
      const paid = await arcus.pay(url, { signer, maxAmount, rpcUrl: world.chainUrl })
      expect([paid.response.status, paid.amount]).toEqual([200, 10_000n])
      expect(paid.settlement).toMatchObject({ success: true, amount: '3000' })
      expect(await lookUp(paid)).toMatchObject({ transaction: paid.settlement?.transaction })
      expect(signed.map(({ primaryType }) => primaryType)).toEqual([
        'PermitWitnessTransferFrom',
        'Permit',
      ])
      for (const { message } of signed)
        expect([message.value ?? (message.permitted as { amount: bigint }).amount]).toEqual([
          10_000n,
        ])
    }
    expect(await tokenBalance(world.chainUrl, usdc, account.address)).toBe(994_000n)
  })

  it('pays an exact price, with an approval or with a permit', async () => {
    const stand = await aStand({ extra: permit2 }, sponsoring)
    const { account, signer, signed } = await aBuyer()
    const rpcUrl = world.chainUrl
    const first = await arcus.pay(stand.url, { signer, maxAmount, rpcUrl })
    expect(first.settlement).toMatchObject({ success: true })
    expect(first.payment?.method).toBe('permit2')
    expect(await lookUp(first)).toMatchObject({ transaction: first.settlement?.transaction })
    expect(signed).toHaveLength(2)
    await approvePermit2(world.chainUrl, account.address, 10n ** 12n)
    const second = await arcus.pay(stand.url, { signer, maxAmount, rpcUrl })
    expect([second.settlement?.success, signed.length]).toEqual([true, 3])
    expect(await tokenBalance(world.chainUrl, usdc, account.address)).toBe(980_000n)
  })

  it('reports a settlement that failed, with all that is needed to look it up', async () => {
    const stand = await aStand({ extra: permit2 })
    const { account, signer, signed } = await aBuyer()
    const paid = await arcus.pay(stand.url, { signer, maxAmount })
    expect(paid.settlement).toMatchObject({
      success: false,
      errorReason: 'permit2_allowance_required',
    })
    const [{ message }] = signed as [(typeof signed)[0]]
    const nonce = `0x${(message.nonce as bigint).toString(16).padStart(64, '0')}`
    const { address: payer } = account
    const name = { network: 'eip155:5042', payer, nonce, asset: usdc, method: 'permit2' }
    expect(paid.payment).toEqual(name)
  })
})

describe('pay beside another rail', () => {
  const verifyingContract = '0x77777777Dcc4d5A8B6E418Fd04D8997ef11000eE'
  const gateway = { name: 'GatewayWalletBatched', version: '1', verifyingContract }

  it('signs for the token, though Circle Gateway is offered first and for less', async () => {
    const offers = [{ amount: '5', maxTimeoutSeconds: 604_900, extra: gateway }, {}]
    const stand = await aStand({}, undefined, offers)
    const { signer, signed } = aSigner(devnetPayer.account)
    const paid = await arcus.pay(stand.url, { signer, maxAmount })
    expect(paid).toMatchObject({ amount: 10_000n, settlement: { success: true } })
    expect(signed).toMatchObject([{ domain: { verifyingContract: usdc } }])
  })

  it.each([
    ['Circle Gateway', { maxTimeoutSeconds: 604_900, extra: gateway }],
    [
      'the contract 0x00000000000000000000000000000000000A11cE',
      {
        extra: {
          name: 'USDC',
          version: '2',
          verifyingContract: '0x00000000000000000000000000000000000A11cE',
        },
      },
    ],
  ])('signs nothing where all is paid through %s', async (rail, terms) => {
    const stand = await aStand(terms)
    const { signer, signed } = aSigner(devnetPayer.account)
    const refused = await errorOf(arcus.pay(stand.url, { signer, maxAmount }))
    expect([refused.code, signed, stand.calls.length]).toEqual(['not_payable', [], 1])
    expect(refused.message).toContain(`is paid through ${rail}, not settled here.`)
  })
})

describe('pay in euros', () => {
  it('takes a limit in euros only', async () => {
    const stand = await aStand({ asset: eurc, extra: { name: 'EURC', version: '2' } })
    const { signer, signed } = aSigner(devnetPayer.account)
    const dollars = await errorOf(arcus.pay(stand.url, { signer, maxAmount: '1000000' }))
    expect([dollars.code, signed]).toEqual(['not_payable', []])
    const before = await tokenBalance(world.chainUrl, eurc, devnetPayer.address)
    const paid = await arcus.pay(stand.url, { signer, maxAmount, asset: 'EURC' })
    expect(paid.settlement?.success).toBe(true)
    expect(before - (await tokenBalance(world.chainUrl, eurc, devnetPayer.address))).toBe(10_000n)
    const unknown = { signer, maxAmount, asset: 'GBPC' as never }
    expect((await errorOf(arcus.pay(stand.url, unknown))).code).toBe('no_limit')
  })
})

describe('pay by every method and body', () => {
  const { signer } = aSigner(devnetPayer.account)
  const aForm = new FormData()
  aForm.append('city', 'Lisbon')
  let stand: Awaited<ReturnType<typeof aStand>>
  beforeAll(async () => {
    stand = await aStand({})
  })

  async function callsOf(options: Omit<PayOptions, 'signer' | 'maxAmount'>): Promise<Call[]> {
    stand.calls.splice(0)
    const paid = await arcus.pay(stand.url, { signer, maxAmount, ...options })
    expect(paid.settlement).toMatchObject({ success: true })
    expect(paid.settlement?.transaction).toMatch(/^0x[0-9a-f]{64}$/)
    return stand.calls.splice(0)
  }

  it.each(['GET', 'HEAD', 'DELETE', 'patch'])('%s with parameters and headers', async (method) => {
    const queryParams = { city: 'Lisbon', day: [1, null], at: { lat: 1 } }
    const calls = await callsOf({ method, queryParams, headers: { 'x-lang': 'pt' } })
    expect(calls).toHaveLength(2)
    for (const { method: called, url, headers } of calls) {
      expect([called, url, headers['x-lang']]).toEqual([
        method.toUpperCase(),
        '/?city=Lisbon&day=1&at=%7B%22lat%22%3A1%7D',
        'pt',
      ])
    }
  })

  it('a route, with the places of its path filled in', async () => {
    const stand = await aStand({})
    const pathParams = { id: '5', line: 'a/b' }
    const paid = await arcus.pay(`${stand.url}users/:id/:line`, { signer, maxAmount, pathParams })
    expect(paid.settlement?.success).toBe(true)
    expect(stand.calls.map(({ url }) => url)).toEqual(['/users/5/a%2Fb', '/users/5/a%2Fb'])
  })

  it('JSON and text, with parameters beside them', async () => {
    const queryParams = { lang: 'pt' }
    const json = await callsOf({ method: 'PUT', body: { a: 1 }, queryParams })
    const text = await callsOf({ body: 'a b', bodyType: 'text', queryParams })
    for (const [calls, method, type, body] of [
      [json, 'PUT', 'application/json', '{"a":1}'],
      [text, 'POST', 'text/plain', 'a b'],
    ] as const) {
      for (const call of calls) {
        expect([call.method, call.url, call.body]).toEqual([method, '/?lang=pt', body])
        expect(call.headers['content-type']).toContain(type)
      }
    }
  })

  it.each([
    ['fields', { city: 'Lisbon', file: new Blob(['abc']), at: { lat: 1 } }, 'form-data' as const],
    ['a form', aForm, undefined],
  ])('form-data from %s', async (_, body, bodyType) => {
    for (const call of await callsOf({ body, ...(bodyType && { bodyType }) })) {
      const { headers } = call
      const form = await new Response(call.body, {
        headers: { 'content-type': String(headers['content-type']) },
      }).formData()
      expect(form.get('city')).toBe('Lisbon')
      if (bodyType === undefined) continue
      expect(await (form.get('file') as File).text()).toBe('abc')
      expect(form.get('at')).toBe('{"lat":1}')
    }
  })
})

describe.each([true, false])('pay for a tool (answers in JSON: %s)', (enableJsonResponse) => {
  const { signer, signed } = aSigner(devnetPayer.account)
  let shop: ToolShop
  beforeAll(async () => {
    shop = await startToolShop({ facilitatorUrl: world.url, enableJsonResponse })
    closing.push(() => shop.stop())
  })

  it('calls it over MCP, pays within the limit, and returns its result with the transaction', async () => {
    const call = { toolName: 'tides', arguments: { port: 'Faro' } }
    const dear = await errorOf(arcus.pay(shop.url, { signer, maxAmount: '9999', ...call }))
    expect([dear.code, signed]).toEqual(['too_dear', []])
    shop.calls.length = 0
    const paid = await arcus.pay(shop.url, { signer, maxAmount, ...call })
    expect(await paid.response.json()).toMatchObject({ content: [{ type: 'text', text: 'Fair' }] })
    expect(paid.settlement).toMatchObject({ success: true, network: 'eip155:5042' })
    expect(await lookUp(paid)).toMatchObject({ transaction: paid.settlement?.transaction })
    expect(shop.calls).toEqual(
      [false, true].map((isPaid) => ({ name: 'tides', args: { port: 'Faro' }, isPaid })),
    )
  })

  it('pays nothing for a tool that is free, and reports one that does not exist', async () => {
    signed.length = 0
    const free = await arcus.pay(shop.url, { signer, maxAmount, toolName: 'free' })
    expect([free.response.ok, free.amount]).toEqual([true, 0n])
    const missing = await arcus.pay(shop.url, { signer, maxAmount, toolName: 'nothing' })
    expect([missing.response.status, signed]).toEqual([500, []])
  })

  it('is found in the catalog by its payment, described, and paid as an item', async () => {
    const find = async () => (await arcus.find({ query: 'tides', type: 'mcp' })).resources
    const isIt = ({ resource }: { resource: string }) => resource === shop.url
    await expect.poll(async () => (await find()).some(isIt), { timeout: 15_000 }).toBe(true)
    const item = (await find()).find(isIt)
    if (item === undefined) throw new Error('the tool is not listed')
    const described = await arcus.describe(item)
    const paid = await arcus.pay(described.item, { signer, maxAmount, arguments: { port: 'Faro' } })
    expect(paid.settlement?.success).toBe(true)
  })
})

describe('a hostile MCP server', () => {
  const { signer, signed } = aSigner(devnetPayer.account)
  const offer = {
    scheme: 'exact',
    network: 'eip155:5042',
    amount: '10000',
    asset: usdc,
    payTo: devnetMerchant.address,
    maxTimeoutSeconds: 60,
    extra: { name: 'USDC', version: '2' },
  }
  const required = { x402Version: 2, accepts: [offer] }
  const asking = { result: { isError: true, content: [], structuredContent: required } }
  const greeting = { result: { protocolVersion: '2025-06-18', capabilities: {} } }

  /** A server that greets, and then answers calls as it likes; `undefined` hangs up. */
  async function aServer(...answers: (object | undefined)[]) {
    const server = await startServer(async (request, response) => {
      let text = ''
      for await (const chunk of request) text += chunk
      const { id, method } = JSON.parse(text || '{}')
      const answer = method === 'initialize' ? greeting : id && answers.shift()
      response.setHeader('content-type', 'application/json')
      if (id === undefined) response.writeHead(202).end()
      else if (answer === undefined) response.destroy()
      else response.end(JSON.stringify({ jsonrpc: '2.0', id, ...answer }))
    })
    closing.push(server.close)
    signed.length = 0
    return arcus.pay(`${server.url}/`, { signer, maxAmount, toolName: 'a' })
  }

  it('gets nothing for the terms of others in a result that succeeded', async () => {
    const paid = await aServer({ result: { content: [], structuredContent: required } })
    expect([paid.response.status, paid.amount, signed]).toEqual([200, 0n, []])
  })

  it('is paid if it asks by an error of JSON-RPC, as older ones do', async () => {
    const paid = await aServer(
      { error: { code: 402, data: required } },
      { result: { content: [] } },
    )
    expect([paid.response.status, paid.amount, signed.length]).toEqual([200, 10_000n, 1])
  })

  it('that hangs up after the payment leaves its name', async () => {
    const error = await errorOf(aServer(asking, undefined))
    const details = { payer: devnetPayer.address, nonce: signed[0]?.message.nonce, asset: usdc }
    expect(error).toMatchObject({ code: 'unreachable', details })
  })

  it('that settles on another network, or by a transaction that is none, is not believed', async () => {
    for (const lie of [{ network: 'eip155:1' }, { transaction: 'soon' }]) {
      const told = {
        success: true,
        transaction: `0x${'ab'.repeat(32)}`,
        network: offer.network,
        ...lie,
      }
      const result = { content: [], _meta: { 'x402/payment-response': told } }
      const paid = await aServer(asking, { result })
      expect([paid.amount, paid.settlement]).toEqual([10_000n, undefined])
    }
  })

  it('that speaks no MCP is distinguished from one that is away', async () => {
    const web = await aStand({})
    const error = await errorOf(arcus.pay(web.url, { signer, maxAmount, toolName: 'a' }))
    expect([error.code, error.status]).toEqual(['not_mcp', 402])
    const nowhere = arcus.pay('http://127.0.0.1:9/', { signer, maxAmount, toolName: 'a' })
    expect((await errorOf(nowhere)).code).toBe('unreachable')
  })
})
