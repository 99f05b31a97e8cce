import { x402 } from '@arcus/merchant'
import { dollarsBesideArc } from '@arcus/merchant/price'
import {
  decodePaymentRequiredHeader,
  decodePaymentResponseHeader,
  encodePaymentSignatureHeader,
} from '@x402/core/http'
import { type FacilitatorClient, HTTPFacilitatorClient } from '@x402/core/server'
import type { PaymentPayload } from '@x402/core/types'
import { findDefaultAsset } from '@x402/evm'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import fastify, { type FastifyInstance } from 'fastify'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { devnetMerchant, devnetPayer } from '../../src/devnet/accounts.js'
import { devnetContracts, usdcBalance } from '../../src/devnet/fixtures.js'
import { startWorld, type World } from '../support/arcus.js'
import { startBase, usdcOfBase } from '../support/base-chain.js'

const arc = 'eip155:5042'
const onBase = 'eip155:8453'
const payTo = devnetMerchant.address
const payToOnBase = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
let world: World
let base: Awaited<ReturnType<typeof startBase>>
let app: FastifyInstance
let url: string
/** What each facilitator was asked, with the network of the payment. */
const asked: string[] = []

/** The official client, which notes what it was asked. */
function noting(name: string, client: FacilitatorClient): FacilitatorClient {
  return {
    getSupported: () => client.getSupported(),
    verify(payload, requirements) {
      asked.push(`${name} verify ${payload.accepted.network}`)
      return client.verify(payload, requirements)
    },
    settle(payload, requirements) {
      asked.push(`${name} settle ${payload.accepted.network}`)
      return client.settle(payload, requirements)
    },
  }
}

beforeAll(async () => {
  ;[world, base] = await Promise.all([startWorld(), startBase()])
  app = fastify()
  await app.register(x402, {
    facilitator: noting('arcus', new HTTPFacilitatorClient({ url: world.url })),
    payTo,
  })
  const facilitator = noting('other', new HTTPFacilitatorClient({ url: base.url }))
  const accepts = [
    { network: arc, price: '$0.01' },
    { network: onBase, price: '$0.02', payTo: payToOnBase, facilitator },
  ] as const
  app.get('/quote', { config: { x402: { accepts } } }, (request) => ({
    network: request.payment?.network,
    amount: request.payment?.amount,
  }))
  url = `${await app.listen({ host: '127.0.0.1', port: 0 })}/quote`
})
afterAll(async () => {
  await app?.close()
  await base?.stop()
  await world?.stop()
})

const earned = async () => [
  await usdcBalance(world.chainUrl, payTo),
  await base.balanceOf(payToOnBase),
]

/** Signs by the official client with a wallet on one network, and returns the payload and what buys with it. */
async function aBuyer(network: typeof arc | typeof onBase) {
  const asset = devnetContracts.usdc
  // A buyer on Base allows nothing by name: the official client knows that token.
  const spendControls = { allowedAssets: [{ network, asset, maxAmountPerPayment: '20000' }] }
  const client = x402Client.fromConfig({
    schemes: [{ network, client: new ExactEvmScheme(devnetPayer.account) }],
    ...(network === arc ? { spendControls } : {}),
  })
  return {
    pay: () => wrapFetchWithPayment(fetch, client)(url),
    async sign(): Promise<PaymentPayload> {
      const header = (await fetch(url)).headers.get('PAYMENT-REQUIRED') ?? ''
      return client.createPaymentPayload(decodePaymentRequiredHeader(header))
    },
  }
}

const show = (payload: PaymentPayload) =>
  fetch(url, { headers: { 'PAYMENT-SIGNATURE': encodePaymentSignatureHeader(payload) } })

describe('a route that is paid on Arc or on Base', () => {
  it('asks for both in one 402, with the price and the address of each', async () => {
    const header = (await fetch(url)).headers.get('PAYMENT-REQUIRED') ?? ''
    const same = { scheme: 'exact', maxTimeoutSeconds: 300 }
    expect(decodePaymentRequiredHeader(header).accepts).toEqual([
      {
        ...same,
        network: arc,
        amount: '10000',
        asset: devnetContracts.usdc,
        payTo,
        extra: { name: 'USDC', version: '2' },
      },
      {
        ...same,
        network: onBase,
        amount: '20000',
        asset: usdcOfBase.toLowerCase(),
        payTo: payToOnBase,
        extra: { name: 'USD Coin', version: '2' },
      },
    ])
    const page = await (await fetch(url, { headers: { accept: 'text/html' } })).text()
    expect(page).toContain('$0.01 in USDC')
    expect(page).toContain('$0.02 in USDC')
    expect(page).toContain(payToOnBase)
  })

  it.each([
    [arc, '10000', 'arcus', [10_000n, 0n]],
    [onBase, '20000', 'other', [0n, 20_000n]],
  ] as const)(
    'takes a payment on %s of %s through the facilitator of that chain alone',
    async (network, amount, name, sums) => {
      const before = await earned()
      asked.length = 0
      const answer = await (await aBuyer(network)).pay()
      expect([answer.status, await answer.json()]).toEqual([200, { network, amount }])
      const settled = decodePaymentResponseHeader(answer.headers.get('PAYMENT-RESPONSE') ?? '')
      expect(settled).toMatchObject({ success: true, network })
      expect((await earned()).map((sum, i) => sum - (before[i] ?? 0n))).toEqual(sums)
      expect(asked).toEqual([`${name} verify ${network}`, `${name} settle ${network}`])
    },
  )

  it('takes no payment of one chain for the price of the other', async () => {
    const before = await earned()
    const cheap = await (await aBuyer(arc)).sign()
    const dear = await (await aBuyer(onBase)).sign()
    const bent: PaymentPayload[] = [
      { ...cheap, accepted: dear.accepted },
      { ...dear, accepted: cheap.accepted },
      { ...dear, accepted: { ...dear.accepted, amount: cheap.accepted.amount } },
      { ...dear, accepted: { ...dear.accepted, network: arc } },
      { ...cheap, accepted: { ...cheap.accepted, network: 'eip155:1' } },
    ]
    for (const payload of bent) {
      const answer = await show(payload)
      expect(answer.status).toBe(402)
      expect(await answer.text()).not.toContain('"network"')
    }
    expect(await earned()).toEqual(before)
    // Unbent, both are good.
    expect((await show(cheap)).status).toBe(200)
    expect((await show(dear)).status).toBe(200)
  })

  it('says which member differs, by the entry of the same network', async () => {
    const dear = await (await aBuyer(onBase)).sign()
    const answer = await show({ ...dear, accepted: { ...dear.accepted, amount: '10000' } })
    expect(((await answer.json()) as { error: string }).error).toContain(
      'accepted.amount is "10000", this resource asks for "20000"',
    )
  })
})

it('knows dollars beside Arc as the official packages do', () => {
  expect(Object.keys(dollarsBesideArc)).toEqual(['eip155:8453', 'eip155:84532'])
  for (const [network, { address, name, version, symbol }] of Object.entries(dollarsBesideArc)) {
    expect(findDefaultAsset(address, network as never)).toMatchObject({
      name,
      version,
      symbol,
      decimals: 6,
    })
  }
})

it('charges on chain what was asked for when the price moves before it is paid', async () => {
  let cents = 3
  const shop = fastify()
  await shop.register(x402, { facilitator: world.url, payTo })
  const price = () => `$0.0${cents}` as const
  shop.get('/moving', { config: { x402: { price } } }, (request) => request.payment?.amount)
  const moving = `${await shop.listen({ host: '127.0.0.1', port: 0 })}/moving`
  try {
    const network = arc
    const asset = devnetContracts.usdc
    const client = x402Client.fromConfig({
      schemes: [{ network, client: new ExactEvmScheme(devnetPayer.account) }],
      spendControls: { allowedAssets: [{ network, asset, maxAmountPerPayment: '90000' }] },
    })
    // The price rises as soon as it was asked for.
    const send: typeof fetch = async (input, init) => {
      const answer = await fetch(input, init)
      cents = 9
      return answer
    }
    const before = await usdcBalance(world.chainUrl, payTo)
    const first = await wrapFetchWithPayment(send, client)(moving)
    expect([first.status, await first.text()]).toEqual([200, '30000'])
    const second = await wrapFetchWithPayment(send, client)(moving)
    expect([second.status, await second.text()]).toEqual([200, '90000'])
    expect(await usdcBalance(world.chainUrl, payTo)).toBe(before + 120_000n)
  } finally {
    await shop.close()
  }
})
