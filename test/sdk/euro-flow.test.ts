import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { HTTPFacilitatorClient } from '@x402/core/server'
import { ExactEvmScheme as BuyerScheme } from '@x402/evm/exact/client'
import { ExactEvmScheme as MerchantScheme } from '@x402/evm/exact/server'
import { paymentMiddleware, x402ResourceServer } from '@x402/express'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import express from 'express'
import type { Address } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { devnetMerchant, devnetPayer, devnetRelayers } from '../../src/devnet/accounts.js'
import {
  devnetContracts,
  mintToken,
  mintUsdc,
  placeContracts,
  readArtifact,
  tokenBalance,
} from '../../src/devnet/fixtures.js'
import { call } from '../../src/devnet/rpc.js'
import { aSignedPayment, type PaymentWish } from '../support/a-signed-payment.js'
import { startWorld, type World } from '../support/arcus.js'
import { inEurc } from '../support/token.js'

const network = 'eip155:5042'
const { usdc, eurc } = devnetContracts
let world: World
let merchant: Server
let merchantUrl: string

beforeAll(async () => {
  world = await startWorld({
    env: {
      MAINNET_ASSETS: `${usdc},${eurc}`,
      MIN_AMOUNT: '2,EURC:3',
      // One lane: the payments that come while it is busy share the next transaction.
      RELAYER_PRIVATE_KEYS: devnetRelayers[0]?.privateKey as string,
    },
  })
  const resources = new x402ResourceServer(new HTTPFacilitatorClient({ url: world.url })).register(
    network,
    new MerchantScheme(),
  )
  const accepts = [
    ['USDC', usdc],
    ['EURC', eurc],
  ].map(([name, asset]) => ({
    scheme: 'exact',
    network,
    payTo: devnetMerchant.address,
    price: { amount: '10000', asset: asset as Address, extra: { name, version: '2' } },
  })) as never
  const app = express()
  app.use(paymentMiddleware({ 'GET /paid': { accepts } }, resources))
  app.get('/paid', (_request, response) => {
    response.json({ goods: true })
  })
  await new Promise<void>((resolve) => {
    merchant = app.listen(0, '127.0.0.1', () => resolve())
  })
  merchantUrl = `http://127.0.0.1:${(merchant.address() as AddressInfo).port}`
})
afterAll(async () => {
  merchant?.close()
  merchant?.closeAllConnections()
  await world?.stop()
})

/** Returns what an address holds of both tokens. */
async function holdings(address: Address) {
  const [dollars, euros] = await Promise.all([
    tokenBalance(world.chainUrl, usdc, address),
    tokenBalance(world.chainUrl, eurc, address),
  ])
  return { dollars, euros }
}

it('an official buyer who allows euros alone pays in euros, to the unit', async () => {
  const payer = await holdings(devnetPayer.address)
  const payee = await holdings(devnetMerchant.address)
  const client = x402Client.fromConfig({
    schemes: [{ network, client: new BuyerScheme(devnetPayer.account) }],
    spendControls: { allowedAssets: [{ network, asset: eurc }] },
  })
  const response = await wrapFetchWithPayment(fetch, client)(`${merchantUrl}/paid`)
  expect(response.status).toBe(200)
  expect(await response.json()).toEqual({ goods: true })
  const { dollars, euros } = payer
  expect(await holdings(devnetPayer.address)).toEqual({ dollars, euros: euros - 10_000n })
  expect(await holdings(devnetMerchant.address)).toEqual({ ...payee, euros: payee.euros + 10_000n })
})

it('says which assets each kind takes, each with its domain, currency and minimum', async () => {
  const { kinds } = (await world.get('/supported')).body
  expect(kinds.length).toBeGreaterThan(0)
  for (const { extra } of kinds) {
    expect(extra.assets).toEqual([
      {
        address: usdc,
        symbol: 'USDC',
        decimals: 6,
        name: 'USDC',
        version: '2',
        currency: 'USD',
        minAmount: '2',
      },
      {
        address: eurc,
        symbol: 'EURC',
        decimals: 6,
        name: 'EURC',
        version: '2',
        currency: 'EUR',
        minAmount: '3',
      },
    ])
  }
})

it('payments in both tokens at once have each the outcome of its own token', async () => {
  const account = privateKeyToAccount(generatePrivateKey())
  await mintUsdc(world.chainUrl, account.address, 100_000n)
  // Enough for one of the two payments in euros, so that one fails beside payments that succeed.
  await mintToken(world.chainUrl, eurc, account.address, 15_000n)
  const before = await holdings(devnetMerchant.address)
  const from = { from: account.address, signer: account }
  // One nonce in both tokens: these are two payments.
  const nonce = `0x${'5e'.repeat(32)}` as const
  const payments = await Promise.all([
    ...Array.from({ length: 6 }, () => aSignedPayment(from)),
    aSignedPayment({ ...from, nonce }),
    aSignedPayment(inEurc({ ...from, nonce })),
    aSignedPayment(inEurc(from)),
  ])
  const answers = await Promise.all(payments.map((payment) => world.post('/settle', payment)))
  const paid = answers.filter(({ body }) => body.success)
  expect(paid).toHaveLength(8)
  expect(answers.slice(0, 7).every(({ body }) => body.success)).toBe(true)
  expect(await holdings(devnetMerchant.address)).toEqual({
    dollars: before.dollars + 70_000n,
    euros: before.euros + 10_000n,
  })
  expect(await holdings(account.address)).toEqual({ dollars: 30_000n, euros: 5_000n })
})

it('payments in both tokens share a transaction', async () => {
  const account = privateKeyToAccount(generatePrivateKey())
  await mintUsdc(world.chainUrl, account.address, 10_000_000n)
  await mintToken(world.chainUrl, eurc, account.address, 10_000_000n)
  const from = { from: account.address, signer: account }
  // Which payments meet in a transaction is a matter of time, so several rounds may be needed.
  const tokensOfAll = async () => {
    const payments = await Promise.all(
      Array.from({ length: 16 }, (_, i) => aSignedPayment(i % 2 === 0 ? from : inEurc(from))),
    )
    const answers = await Promise.all(payments.map((payment) => world.post('/settle', payment)))
    expect(answers.every(({ body }) => body.success)).toBe(true)
    const transactions = new Set(answers.map(({ body }) => body.transaction))
    return Promise.all([...transactions].map(tokensOf))
  }
  const tokensOf = async (transaction: string) => {
    const { payments } = (await world.get(`/payments/${transaction}`)).body
    for (const { asset, symbol, currency } of payments) {
      expect([symbol, currency]).toEqual(asset === eurc ? ['EURC', 'EUR'] : ['USDC', 'USD'])
    }
    return new Set(payments.map(({ asset }: { asset: string }) => asset)).size
  }
  let most = 0
  for (let round = 0; round < 5 && most < 2; round++) most = Math.max(...(await tokensOfAll()))
  expect(most).toBe(2)
})

describe('a refusal', () => {
  const refused = async (wish: PaymentWish) =>
    (await world.post('/verify', await aSignedPayment(wish))).body

  it('shows the right domain of the asset', async () => {
    const { invalidReason, invalidMessage } = await refused({
      requirement: { extra: { name: 'USD Coin', version: '2' } },
    })
    expect(invalidReason).toBe('invalid_exact_evm_token_name_mismatch')
    expect(invalidMessage).toContain(`of asset ${usdc} has name "USDC" and version "2"`)
    const swapped = await refused(inEurc({ requirement: { asset: usdc } }))
    expect(swapped.invalidMessage).toContain('name "USDC"')
    const unsigned = await refused(inEurc({ domain: { name: 'USDC', verifyingContract: usdc } }))
    expect(unsigned.invalidReason).toBe('invalid_exact_evm_signature')
  })

  it('names the assets that are taken', async () => {
    const { invalidReason, invalidMessage } = await refused({
      requirement: { asset: devnetContracts.multicall },
    })
    expect(invalidReason).toBe('unsupported_asset')
    expect(invalidMessage).toContain(`${usdc} (USDC) or ${eurc.toLowerCase()} (EURC)`)
  })

  it('holds each amount against the minimum of its own token', async () => {
    expect(await refused({ value: 2n })).toMatchObject({ isValid: true })
    expect((await refused(inEurc({ value: 2n }))).invalidMessage).toContain('minimum of 3')
    expect(await refused(inEurc({ value: 3n }))).toMatchObject({ isValid: true })
  })

  it('of a token that has changed leaves the others alone, and readiness says so', async () => {
    const code = readArtifact('MockUsdc').deployedBytecode
    await call(world.chainUrl, 'anvil_setCode', [eurc, code])
    const chain = async () => {
      const { status, body } = await world.get('/ready')
      const check = body.checks.find(({ name }: { name: string }) => name === `chain ${network}`)
      return { status, ...check }
    }
    await expect.poll(chain, { timeout: 20_000 }).toMatchObject({
      status: 200,
      ok: true,
      detail: expect.stringContaining('pinned was "EURC"'),
    })
    expect((await world.post('/verify', await aSignedPayment(inEurc()))).status).toBe(500)
    expect(await refused({})).toMatchObject({ isValid: true })
    await placeContracts(world.chainUrl)
    await expect
      .poll(chain, { timeout: 20_000 })
      .toMatchObject({ detail: expect.not.stringContaining('pinned') })
    expect(await refused(inEurc())).toMatchObject({ isValid: true })
  })
})
