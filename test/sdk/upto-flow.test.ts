import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { decodePaymentResponseHeader } from '@x402/core/http'
import { HTTPFacilitatorClient } from '@x402/core/server'
import { ExactEvmScheme as ExactBuyerScheme } from '@x402/evm/exact/client'
import { ExactEvmScheme as ExactMerchantScheme } from '@x402/evm/exact/server'
import { UptoEvmScheme as BuyerScheme } from '@x402/evm/upto/client'
import { UptoEvmScheme as MerchantScheme } from '@x402/evm/upto/server'
import { paymentMiddleware, setSettlementOverrides, x402ResourceServer } from '@x402/express'
import { declareEip2612GasSponsoringExtension } from '@x402/extensions'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import express from 'express'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { devnetMerchant, devnetRelayers } from '../../src/devnet/accounts.js'
import {
  deployRelayerMulticall,
  devnetContracts,
  mintUsdc,
  nativeBalance,
  usdcBalance,
} from '../../src/devnet/fixtures.js'
import { call } from '../../src/devnet/rpc.js'
import { approvePermit2 } from '../support/a-permit2-payment.js'
import { anAccount } from '../support/an-account.js'
import { startWorld, type World } from '../support/arcus.js'
import { payingBy } from '../support/paying.js'

const network = 'eip155:5042'
const asset = devnetContracts.usdc
const buyer = anAccount()
let world: World
let multicall: string
let merchant: Server
let shop: string

beforeAll(async () => {
  world = await startWorld({
    async between(chainUrl) {
      const relayers = devnetRelayers.map(({ address }) => address)
      multicall = await deployRelayerMulticall(chainUrl, relayers)
      return chainUrl
    },
  })
  await mintUsdc(world.chainUrl, buyer.address, 100_000n)
  const seller = new x402ResourceServer(new HTTPFacilitatorClient({ url: world.url }))
    .register(network, new MerchantScheme())
    .register(network, new ExactMerchantScheme())
  const selling = (scheme: string, more = {}) => {
    const price = { amount: '10000', asset, extra: { name: 'USDC', version: '2', ...more } }
    return { scheme, network, payTo: devnetMerchant.address, price } as const
  }
  const extensions = declareEip2612GasSponsoringExtension()
  const routes = {
    'GET /metered': { accepts: selling('upto') },
    'GET /first/upto': { accepts: selling('upto'), extensions },
    'GET /first/exact': {
      accepts: selling('exact', { assetTransferMethod: 'permit2' }),
      extensions,
    },
  }
  const app = express()
  app.use(paymentMiddleware(routes, seller))
  app.get('/first/:scheme', (request, response) => {
    if (request.params.scheme === 'upto') setSettlementOverrides(response, { amount: '1234' })
    response.json({ goods: true })
  })
  app.get('/metered', (request, response) => {
    setSettlementOverrides(response, { amount: String(request.query.used) })
    response.json({ goods: true })
  })
  await new Promise<void>((resolve) => {
    merchant = app.listen(0, '127.0.0.1', () => resolve())
  })
  shop = `http://127.0.0.1:${(merchant.address() as AddressInfo).port}`
})
afterAll(async () => {
  merchant.close()
  merchant.closeAllConnections()
  await world.stop()
})

const buy = (used: string) => payingBy(new BuyerScheme(buyer))(`${shop}/metered?used=${used}`)

it('the official merchant asks a buyer without an approval to approve Permit2', async () => {
  expect((await buy('1')).status).toBe(412)
})

it('the official buyer signs a ceiling, and pays the official merchant what was used', async () => {
  await approvePermit2(world.chainUrl, buyer.address, 10n ** 12n)
  for (const used of [1_234n, 10_000n, 0n]) {
    const [ofBuyer, ofMerchant] = [buyer.address, devnetMerchant.address]
    const balances = () =>
      Promise.all([ofBuyer, ofMerchant].map((it) => usdcBalance(world.chainUrl, it)))
    const before = await balances()
    const response = await buy(used.toString())
    expect(await response.json()).toEqual({ goods: true })
    const receipt = decodePaymentResponseHeader(response.headers.get('PAYMENT-RESPONSE') as string)
    expect(receipt).toMatchObject({ success: true, network, amount: used.toString() })
    const after = await balances()
    expect(after.map((balance, i) => balance - (before[i] ?? 0n))).toEqual([-used, used])
  }
})

it('many official buys at once go through the multicall, each for what was used', async () => {
  const before = await usdcBalance(world.chainUrl, buyer.address)
  const used = Array.from({ length: 8 }, (_, i) => 100 + (i % 2))
  const responses = await Promise.all(used.map((it) => buy(String(it))))
  const receipts = responses.map(({ headers }) =>
    decodePaymentResponseHeader(headers.get('PAYMENT-RESPONSE') as string),
  )
  expect(receipts.map(({ amount }) => amount)).toEqual(used.map(String))
  for (const { transaction } of receipts) {
    const sent = await call<{ to: string }>(world.chainUrl, 'eth_getTransactionByHash', [
      transaction,
    ])
    expect(sent.to).toBe(multicall)
  }
  expect(before - (await usdcBalance(world.chainUrl, buyer.address))).toBe(804n)
})

it.each([
  ['upto', 1_234n],
  ['exact', 10_000n],
])(
  'the first payment by %s of an official buyer needs neither gas nor an approval',
  async (scheme, paid) => {
    const account = anAccount()
    await mintUsdc(world.chainUrl, account.address, 50_000n)
    const rpc = { rpcUrl: world.chainUrl }
    const newcomer = x402Client.fromConfig({
      schemes: [
        { network, client: new BuyerScheme(account, rpc) },
        { network, client: new ExactBuyerScheme(account, rpc) },
      ],
      spendControls: { allowedAssets: [{ network, asset }] },
    })
    const before = await usdcBalance(world.chainUrl, devnetMerchant.address)
    const pay = wrapFetchWithPayment(fetch, newcomer)
    const response = await pay(`${shop}/first/${scheme}`)
    expect(await response.json()).toEqual({ goods: true })
    const receipt = decodePaymentResponseHeader(response.headers.get('PAYMENT-RESPONSE') as string)
    expect(receipt).toMatchObject({
      success: true,
      network,
      transaction: expect.stringMatching(/^0x\w{64}$/),
    })
    expect(await usdcBalance(world.chainUrl, account.address)).toBe(50_000n - paid)
    expect((await usdcBalance(world.chainUrl, devnetMerchant.address)) - before).toBe(paid)
    expect(await nativeBalance(world.chainUrl, account.address)).toBe(0n)
    // The permit covered this payment alone, so the next one is signed with another.
    expect((await pay(`${shop}/first/${scheme}`)).status).toBe(200)
  },
)
