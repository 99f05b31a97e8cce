import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { x402 } from '@arcus/merchant'
import { createGrants, type Grants } from '@arcus/merchant/grants'
import {
  decodePaymentRequiredHeader,
  decodePaymentResponseHeader,
  encodePaymentSignatureHeader,
} from '@x402/core/http'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import {
  createEIP712OfferReceiptIssuer,
  createOfferReceiptExtension,
  declareOfferReceiptExtension,
  decodeSignedOffers,
  extractOffersFromPaymentRequired,
  extractReceiptFromResponse,
  findAcceptsObjectFromSignedOffer,
  verifyOfferSignatureEIP712,
  verifyReceiptMatchesOffer,
  verifyReceiptSignatureEIP712,
} from '@x402/extensions/offer-receipt'
import {
  createSIWxResourceServerExtension,
  declareSIWxExtension,
  wrapFetchWithSIWx,
} from '@x402/extensions/sign-in-with-x'
import fastify, { type FastifyInstance } from 'fastify'
import type { Address } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { devnetMerchant, devnetPayer } from '../../src/devnet/accounts.js'
import { usdcBalance } from '../../src/devnet/fixtures.js'
import { freePort } from '../../src/devnet/process.js'
import { startWorld, type World } from '../support/arcus.js'
import { payingBy } from '../support/paying.js'

const payTo = devnetMerchant.address
const seller = devnetMerchant.account
const folder = mkdtempSync(join(tmpdir(), 'arcus-extensions-'))
const path = join(folder, 'grants.jsonl')
let world: World
let origin: string
let grants: Grants
let app: FastifyInstance

const receipts = createOfferReceiptExtension(
  createEIP712OfferReceiptIssuer(`did:pkh:eip155:5042:${payTo}#key-1`, (data) =>
    seller.signTypedData(data as Parameters<typeof seller.signTypedData>[0]),
  ),
)

/** Opens the shop, which remembers nothing but the file of the grants. */
async function open() {
  grants = await createGrants({ path, seconds: 3_600 })
  const signIn = createSIWxResourceServerExtension({ origin, storage: grants })
  app = fastify()
  await app.register(x402, { facilitator: world.url, payTo, extensions: [receipts, signIn] })
  const pass = { price: '$0.05', extensions: declareSIWxExtension() } as const
  const receipt = declareOfferReceiptExtension({ includeTxHash: true })
  const goods = () => ({ goods: true })
  app.get('/news', { config: { x402: pass } }, goods)
  app.get('/news/:topic', { config: { x402: pass } }, goods)
  app.post('/news', { config: { x402: pass } }, goods)
  app.get('/cheap', { config: { x402: { ...pass, price: '$0.001' } } }, goods)
  const both = { price: '$0.01', extensions: { ...receipt, ...declareSIWxExtension() } } as const
  app.get('/both', { config: { x402: both } }, goods)
  app.get('/receipt', { config: { x402: { price: '$0.01', extensions: receipt } } }, goods)
  app.get('/plain', { config: { x402: '$0.01' } }, goods)
  await app.listen({ host: '127.0.0.1', port: Number(new URL(origin).port) })
}

async function shut() {
  await app.close()
  await grants.close()
}

beforeAll(async () => {
  world = await startWorld({ env: { RATE_LIMIT_MAX: '0' } })
  origin = `http://127.0.0.1:${await freePort()}`
  await open()
})
afterAll(async () => {
  await shut()
  await world?.stop()
  rmSync(folder, { recursive: true })
})

/** Returns what the official buyer does, which signs in first where the seller takes that, and then pays. */
const buyerOf = (account: typeof devnetPayer.account) =>
  payingBy(new ExactEvmScheme(account), { send: wrapFetchWithSIWx(fetch, account) })
const buyer = buyerOf(devnetPayer.account)
const earned = () => usdcBalance(world.chainUrl, payTo as Address)

/** Buys, and returns the status with what the seller earned by it. */
async function earnedBy(call: () => Promise<Response>) {
  const before = await earned()
  const { status } = await call()
  return [status, Number((await earned()) - before)]
}

it('signs each offer of the 402 and a receipt of the sale, which the official functions verify', async () => {
  const required = decodePaymentRequiredHeader(
    (await fetch(`${origin}/receipt`)).headers.get('PAYMENT-REQUIRED') ?? '',
  )
  const [offer] = decodeSignedOffers(extractOffersFromPaymentRequired(required))
  if (offer === undefined) throw new Error('nothing is offered')
  expect(findAcceptsObjectFromSignedOffer(offer, required.accepts)).toEqual(required.accepts[0])
  const signed = offer.signedOffer as Parameters<typeof verifyOfferSignatureEIP712>[0]
  expect((await verifyOfferSignatureEIP712(signed)).signer).toBe(payTo)

  const sold = await buyer(`${origin}/receipt`)
  expect(sold.status).toBe(200)
  const receipt = extractReceiptFromResponse(sold)
  if (receipt === undefined) throw new Error('there is no receipt')
  const read = await verifyReceiptSignatureEIP712(
    receipt as Parameters<typeof verifyReceiptSignatureEIP712>[0],
  )
  const { transaction } = decodePaymentResponseHeader(sold.headers.get('PAYMENT-RESPONSE') ?? '')
  expect(read.signer).toBe(payTo)
  expect(read.payload).toMatchObject({ transaction, resourceUrl: `${origin}/receipt` })
  expect(verifyReceiptMatchesOffer(receipt, offer, [devnetPayer.address])).toBe(true)
})

it('a route without declarations says and does nothing of it', async () => {
  const answer = await fetch(`${origin}/plain`, { headers: { 'sign-in-with-x': 'e30=' } })
  const { extensions } = decodePaymentRequiredHeader(answer.headers.get('PAYMENT-REQUIRED') ?? '')
  expect([answer.status, Object.keys(extensions ?? {})]).toEqual([402, ['bazaar']])
})

it('a buyer who has paid signs in and does not pay again, also after a restart', async () => {
  const call = () => buyer(`${origin}/news?page=1`)
  expect(await earnedBy(call)).toEqual([200, 50_000])
  const free = await call()
  expect([free.status, free.headers.get('PAYMENT-RESPONSE')]).toEqual([200, null])
  expect(free.headers.get('cache-control')).toBe('private')
  expect(await earnedBy(call)).toEqual([200, 0])
  await shut()
  await open()
  expect(await earnedBy(call)).toEqual([200, 0])
})

it('pays again for other parameters, another route and another method, and so does everybody else', async () => {
  expect(await earnedBy(() => buyer(`${origin}/news?page=2`))).toEqual([200, 50_000])
  expect(await earnedBy(() => buyer(`${origin}/news`))).toEqual([200, 50_000])
  expect(await earnedBy(() => buyer(`${origin}/news/sport`))).toEqual([200, 50_000])
  expect(await earnedBy(() => buyer(`${origin}/news/arts`))).toEqual([200, 50_000])
  expect(await earnedBy(() => buyer(`${origin}/news/%73port`))).toEqual([200, 0])
  expect(await earnedBy(() => buyer(`${origin}/news`, { method: 'POST' }))).toEqual([200, 50_000])
  const stranger = wrapFetchWithSIWx(fetch, privateKeyToAccount(generatePrivateKey()))
  expect(await earnedBy(() => stranger(`${origin}/news`))).toEqual([402, 0])
})

it('a sign-in opens one call, to no other origin and to nobody who repeats it', async () => {
  let header = ''
  const send: typeof fetch = (input, init) => {
    header = new Request(input, init).headers.get('sign-in-with-x') ?? header
    return fetch(input, init)
  }
  const signedIn = wrapFetchWithSIWx(send, devnetPayer.account)
  expect((await signedIn(`${origin}/news`)).status).toBe(200)
  const headers = { 'sign-in-with-x': header }
  expect((await fetch(`${origin}/news`, { headers })).status).toBe(402)
  await shut()
  await open()
  expect((await fetch(`${origin}/news`, { headers })).status).toBe(402)
  expect((await signedIn(`${origin}/news`)).status).toBe(200)
  const broken = { 'sign-in-with-x': `${header.slice(0, -8)}AAAAAAAA` }
  expect((await fetch(`${origin}/news`, { headers: broken })).status).toBe(402)
})

it('a cheap payment under the URL of a dear route opens the cheap one alone', async () => {
  const asked = await fetch(`${origin}/cheap`)
  const required = decodePaymentRequiredHeader(asked.headers.get('PAYMENT-REQUIRED') ?? '')
  const [accepted] = required.accepts
  if (accepted === undefined) throw new Error('nothing is asked for')
  const signed = await new ExactEvmScheme(devnetPayer.account).createPaymentPayload(2, accepted)
  const payload = { ...signed, accepted, resource: { url: `${origin}/news/dear` } }
  const headers = { 'PAYMENT-SIGNATURE': encodePaymentSignatureHeader(payload) }
  expect((await fetch(`${origin}/cheap`, { headers })).status).toBe(200)
  const signedIn = wrapFetchWithSIWx(fetch, devnetPayer.account)
  expect((await signedIn(`${origin}/news/dear`)).status).toBe(402)
  expect((await signedIn(`${origin}/cheap`)).status).toBe(200)
})

it('both extensions on one route fit the headers that servers and clients take', async () => {
  let longest = 0
  const send: typeof fetch = async (input, init) => {
    const { headers } = new Request(input, init)
    longest = Math.max(longest, headers.get('PAYMENT-SIGNATURE')?.length ?? 0)
    return fetch(input, init)
  }
  const asked = await fetch(`${origin}/both`)
  expect(asked.headers.get('PAYMENT-REQUIRED')?.length).toBeLessThan(8_192)
  const buys = payingBy(new ExactEvmScheme(devnetPayer.account), { send })
  expect((await buys(`${origin}/both`)).status).toBe(200)
  expect(longest).toBeGreaterThan(2_000)
  expect(longest).toBeLessThan(8_192)
})

it('sells a pass for a route with any parameters, for a time', async () => {
  const port = await freePort()
  const kiosk = `http://127.0.0.1:${port}`
  const storage = await createGrants({
    path: join(folder, 'passes.jsonl'),
    seconds: 3,
    scope: (route) => route,
  })
  const signIn = createSIWxResourceServerExtension({ origin: kiosk, storage })
  const server = fastify()
  await server.register(x402, { facilitator: world.url, payTo, extensions: [signIn] })
  const pass = { price: '$0.50', extensions: declareSIWxExtension() } as const
  server.get('/news/:topic', { config: { x402: pass } }, () => 'news')
  server.get('/archive', { config: { x402: pass } }, () => 'old news')
  await server.listen({ host: '127.0.0.1', port })
  expect(await earnedBy(() => buyer(`${kiosk}/news/arts`))).toEqual([200, 500_000])
  const bought = Date.now()
  expect(await earnedBy(() => buyer(`${kiosk}/news/sport?page=2`))).toEqual([200, 0])
  expect(await earnedBy(() => buyer(`${kiosk}/archive`))).toEqual([200, 500_000])
  await new Promise((resolve) => setTimeout(resolve, bought + 3_100 - Date.now()))
  expect(await earnedBy(() => buyer(`${kiosk}/news/sport`))).toEqual([200, 500_000])
  await server.close()
  await storage.close()
})
