import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { x402 } from '@arcus/merchant'
import { createRefunds, type Refunds, refundNonce } from '@arcus/merchant/refunds'
import { decodePaymentResponseHeader, decodePaymentSignatureHeader } from '@x402/core/http'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import fastify, { type FastifyInstance } from 'fastify'
import type { Address, Hex } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, beforeEach, expect, it, vi } from 'vitest'
import { devnetMerchant, devnetPayer } from '../../../src/devnet/accounts.js'
import { devnetContracts, mintUsdc, usdcBalance } from '../../../src/devnet/fixtures.js'
import { giveBack } from '../../support/a-refund.js'
import { aSignedPayment } from '../../support/a-signed-payment.js'
import { startWorld, type World } from '../../support/arcus.js'
import { payingBy } from '../../support/paying.js'
import { sendToToken } from '../../support/token.js'

const network = 'eip155:5042'
const priced = { config: { x402: '$0.01' } } as const
let world: World
let app: FastifyInstance
let url: string
let refunds: Refunds
let served = 0
const folder = mkdtempSync(join(tmpdir(), 'arcus-refunds-'))
/** The payment headers that the merchant received, for presenting them again. */
const headers: string[] = []

beforeAll(async () => {
  world = await startWorld()
  refunds = await createRefunds({
    facilitator: world.url,
    signer: devnetMerchant.account,
    path: join(folder, 'refunds.jsonl'),
  })
  app = fastify()
  app.addHook('onRequest', async (request) => {
    const header = request.headers['payment-signature']
    if (typeof header === 'string') headers.push(header)
  })
  await app.register(x402, {
    facilitator: world.url,
    payTo: devnetMerchant.address,
    routes: { 'GET /listed': '$0.02' },
    refunds,
  })
  const querystring = { type: 'object', properties: { city: { type: 'string' } } }
  app.get('/paid', { ...priced, schema: { querystring } }, async ({ payment, query }) => {
    if ((query as { city?: string }).city === 'Atlantis') throw new Error('sunk')
    served++
    return { goods: true, payer: payment?.payer }
  })
  app.get('/listed', () => 'listed goods')
  app.get('/held', priced, async () => Readable.from(['streamed ', 'goods']))
  const streaming = { config: { x402: { price: '$0.01', streaming: 'settle-first' } } } as const
  app.get('/streamed', streaming, async () => Readable.from(['streamed ', 'goods']))
  app.get('/raw', priced, async (request, reply) => {
    await request.payment?.settle()
    reply.hijack()
    reply.raw.end('raw goods')
  })
  app.get(
    '/metered',
    { config: { x402: { price: '$0.05', pricing: 'metered' } } },
    ({ payment }) => {
      payment?.charge('$0.012')
      return 'metered goods'
    },
  )
  url = await app.listen({ port: 0, host: '127.0.0.1' })
})
afterAll(async () => {
  await app.close()
  await refunds.close()
  await world.stop()
  rmSync(folder, { recursive: true })
})
beforeEach(() => {
  served = 0
  headers.length = 0
})

/** Makes the official client. It pays no unknown token, so Arc's is allowed by name. */
function aBuyer() {
  return payingBy(new ExactEvmScheme(devnetPayer.account))
}

const income = async (work: () => Promise<unknown>) => {
  const before = await usdcBalance(world.chainUrl, devnetMerchant.address)
  await work()
  return (await usdcBalance(world.chainUrl, devnetMerchant.address)) - before
}

const present = (path: string, header: string, name = 'PAYMENT-SIGNATURE') =>
  fetch(url + path, { headers: { [name]: header } })

it('the official buyer pays and gets the goods and the transaction', async () => {
  const earned = await income(async () => {
    const response = await aBuyer()(`${url}/paid?city=Lisbon`)
    expect(response.status).toBe(200)
    expect(await response.json()).toEqual({ goods: true, payer: devnetPayer.address })
    const header = response.headers.get('PAYMENT-RESPONSE') as string
    expect(decodePaymentResponseHeader(header)).toMatchObject({
      success: true,
      network,
      payer: devnetPayer.address,
      transaction: expect.stringMatching(/^0x[0-9a-f]{64}$/),
    })
  })
  expect(earned).toBe(10_000n)
})

it.each([
  ['/listed', 'listed goods', 20_000n],
  ['/held', 'streamed goods', 10_000n],
  ['/streamed', 'streamed goods', 10_000n],
  ['/raw', 'raw goods', 10_000n],
])('%s is delivered and paid once', async (path, goods, price) => {
  const earned = await income(async () => {
    const response = await aBuyer()(url + path)
    expect([response.status, await response.text()]).toEqual([200, goods])
    expect(response.headers.get('PAYMENT-RESPONSE')).not.toBeNull()
  })
  expect(earned).toBe(price)
})

it('a failing handler is never charged, and its payment stays valid for another call', async () => {
  const earned = await income(async () => {
    expect((await aBuyer()(`${url}/paid?city=Atlantis`)).status).toBe(500)
  })
  expect(earned).toBe(0n)
  const payment = headers[0] as string
  expect(await income(() => present('/paid', payment, 'X-PAYMENT'))).toBe(10_000n)
  const again = await present('/paid', payment)
  expect(again.status).toBe(402)
  expect(await again.json()).toMatchObject({ error: 'invalid_exact_evm_nonce_already_used' })
})

it('one payment presented to ten requests at once is served once', async () => {
  await aBuyer()(`${url}/paid?city=Atlantis`)
  const payment = headers[0] as string
  let answers: Response[] = []
  const earned = await income(async () => {
    answers = await Promise.all(Array.from({ length: 10 }, () => present('/paid', payment)))
  })
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
  const bodies = await Promise.all(answers.map((answer) => answer.text()))
  expect(bodies.filter((body) => body.includes('goods'))).toHaveLength(1)
  expect(served).toBeGreaterThan(0)
  expect(earned).toBe(10_000n)
})

it('a payment for less is refused before it is verified', async () => {
  await aBuyer()(`${url}/paid?city=Atlantis`)
  const response = await present('/listed', headers[0] as string)
  expect(response.status).toBe(402)
  expect((await response.json()) as object).toMatchObject({
    error: expect.stringMatching(/^invalid_payment_requirements: accepted.amount is "10000"/),
  })
})

it('a metered call costs only the used part, once the rest is refunded', async () => {
  const earned = await income(async () => {
    const response = await aBuyer()(`${url}/metered`)
    expect([response.status, await response.text()]).toEqual([200, 'metered goods'])
    await vi.waitFor(() => expect(refunds.pending()).toEqual([]), { timeout: 5_000 })
  })
  expect(earned).toBe(12_000n)
})

/** Reads the address of the last payment that the merchant received. */
function lastPaid() {
  const { payload } = decodePaymentSignatureHeader(headers.at(-1) as string)
  const { from, nonce } = payload.authorization as { from: Address; nonce: Hex }
  return { payer: from, nonce, path: `/payments/${network}/${from}/${nonce}` }
}

it('what was given back is in the answer about the payment, its receipt and the latest payments', async () => {
  await aBuyer()(`${url}/metered`)
  await vi.waitFor(() => expect(refunds.pending()).toEqual([]), { timeout: 5_000 })
  const { payer, nonce, path } = lastPaid()
  const { body: paid } = await world.get(path)
  const { refund } = paid
  expect(paid).toMatchObject({ state: 'confirmed', amount: '50000' })
  expect(refund).toMatchObject({ amount: '38000', from: devnetMerchant.address })
  // The refund is a payment of its own, to the buyer, at the address that its members make.
  const back = (await world.get(`/payments/${network}/${refund.from}/${refund.nonce}`)).body
  expect(back).toMatchObject({ amount: '38000', payTo: payer, refund: null })
  expect(back.transaction).toBe(refund.transaction)
  const receipt = await fetch(`${world.url}${path}/receipt`)
  const text = (await receipt.text()).replace(/<[^>]*>/g, ' ')
  expect(text).toMatch(/Returned\s+0\.038 USDC/)
  expect(text).toMatch(/Kept by the seller\s+0\.012 USDC/)
  const accept = { accept: 'application/json' }
  const json = await (await fetch(`${world.url}${path}/receipt`, { headers: accept })).json()
  expect(json).toMatchObject({ amount: '50000', refund })
  const latest = async () => (await world.get('/api/explore')).body.settlements
  await vi.waitFor(
    async () => {
      const shown = (await latest()).filter(
        (it: { transaction: Hex }) => it.transaction === paid.transaction,
      )
      expect(shown).toMatchObject([{ amount: '50000', refunded: '38000' }])
    },
    { timeout: 15_000, interval: 300 },
  )
  expect(nonce).toBe(paid.nonce)
})

it('nobody else gives a payment back, nor does a transfer by hand', async () => {
  await aBuyer()(`${url}/paid`)
  const { payer, nonce, path } = lastPaid()
  const stranger = privateKeyToAccount(generatePrivateKey())
  await mintUsdc(world.chainUrl, stranger.address, 10_000n)
  await giveBack(world.url, stranger, { payer, paymentNonce: nonce, amount: 10_000n })
  const byHand = await aSignedPayment({
    from: devnetMerchant.address,
    signer: devnetMerchant.account,
    to: payer,
    value: 10_000n,
  })
  expect((await world.post('/settle', byHand)).body).toMatchObject({ success: true })
  expect((await world.get(path)).body.refund).toBeNull()
  // The same from the address that was paid is a refund, and one of more than was paid is one of all of it.
  await mintUsdc(world.chainUrl, devnetMerchant.address, 10_000n)
  await giveBack(world.url, devnetMerchant.account, { payer, paymentNonce: nonce, amount: 15_000n })
  expect((await world.get(path)).body.refund).toMatchObject({ amount: '10000' })
})

it('the refund of a payment whose answer was lost is resolved, and sent once', async () => {
  await aBuyer()(`${url}/paid`)
  const { payload, accepted } = decodePaymentSignatureHeader(headers.at(-1) as string)
  const { from, nonce, validBefore } = payload.authorization as Record<string, string>
  const refund = {
    network: accepted.network,
    asset: accepted.asset,
    extra: { name: 'USDC', version: '2' },
    amount: '4000',
    payer: from as string,
    paymentNonce: nonce as string,
    paymentValidBefore: Number(validBefore),
  }
  const earned = await income(async () => {
    // This is like two processes that both hold the refund.
    for (const planned of [await refunds.plan(refund), await refunds.plan(refund)]) planned.leave()
    await refunds.run()
    await vi.waitFor(() => refunds.run().then(() => expect(refunds.pending()).toEqual([])), {
      timeout: 15_000,
    })
  })
  expect(earned).toBe(-4_000n)
})

it('a payment that never settles keeps its refund planned until it expires', async () => {
  const planned = await refunds.plan({
    network,
    asset: devnetContracts.usdc,
    extra: { name: 'USDC', version: '2' },
    amount: '4000',
    payer: devnetPayer.address,
    paymentNonce: `0x${'77'.repeat(32)}`,
    paymentValidBefore: Math.floor(Date.now() / 1000) - 3_600,
  })
  planned.leave()
  await refunds.run()
  expect(refunds.pending()).toEqual([])
})

/** Makes a ledger with one refund that is due. */
async function aDueRefund(paymentNonce: string, amount: string) {
  const path = join(folder, `${crypto.randomUUID()}.jsonl`)
  const signer = devnetMerchant.account
  const ownRefunds = await createRefunds({
    facilitator: world.url,
    signer,
    path,
    retrySeconds: 600,
  })
  const plan = await ownRefunds.plan({
    network,
    asset: devnetContracts.usdc,
    extra: { name: 'USDC', version: '2' },
    amount,
    payer: devnetPayer.address,
    paymentNonce,
    paymentValidBefore: Math.floor(Date.now() / 1000) + 60,
  })
  await plan.confirm()
  await ownRefunds.run()
  const landed = readFileSync(path, 'utf8').match(/"state":"landed".*"transaction":"(0x.*?)"/)?.[1]
  return { ownRefunds, landed }
}

it('a refund whose nonce is used has landed only when the same transfer is on chain', async () => {
  await mintUsdc(world.chainUrl, devnetMerchant.address, 1_000_000n)
  const nonce: Hex = `0x${'a1'.repeat(32)}`
  const first = await aDueRefund(nonce, '30000')
  expect(first.landed).toMatch(/^0x/)
  const before = await usdcBalance(world.chainUrl, devnetPayer.address)
  // The same refund again, as after a crash before the ledger recorded it, and one of another amount.
  const same = await aDueRefund(nonce, '30000')
  expect(same.landed).toBe(first.landed)
  const other = await aDueRefund(nonce, '20000')
  expect(other.landed).toBeUndefined()
  expect(other.ownRefunds.pending()).toMatchObject([{ state: 'due', amount: '20000' }])
  expect(await usdcBalance(world.chainUrl, devnetPayer.address)).toBe(before)
  for (const { ownRefunds } of [first, same, other]) await ownRefunds.close()
})

it('a refund whose authorization was cancelled has not landed', async () => {
  const paymentNonce: Hex = `0x${'a2'.repeat(32)}`
  const place = {
    network,
    asset: devnetContracts.usdc,
    payer: devnetPayer.address,
    paymentNonce,
  } as const
  const nonce = refundNonce(place) as Hex
  const signature = await devnetMerchant.account.signTypedData({
    domain: { name: 'USDC', version: '2', chainId: 5042, verifyingContract: devnetContracts.usdc },
    types: {
      CancelAuthorization: [
        { name: 'authorizer', type: 'address' },
        { name: 'nonce', type: 'bytes32' },
      ],
    },
    primaryType: 'CancelAuthorization',
    message: { authorizer: devnetMerchant.address, nonce },
  })
  await sendToToken(world.chainUrl, 'cancelAuthorization', [
    devnetMerchant.address,
    nonce,
    signature,
  ])
  const { ownRefunds, landed } = await aDueRefund(paymentNonce, '30000')
  expect(landed).toBeUndefined()
  expect(ownRefunds.pending()).toMatchObject([{ state: 'due', amount: '30000' }])
  await ownRefunds.close()
})
