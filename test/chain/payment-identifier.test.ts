import { reasons } from '@arcus/protocol/x402/reasons'
import {
  appendPaymentIdentifierToExtensions,
  declarePaymentIdentifierExtension,
  PAYMENT_IDENTIFIER,
} from '@x402/extensions/payment-identifier'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { mintUsdc } from '../../src/devnet/fixtures.js'
import { aChannel } from '../support/a-channel.js'
import { aPermit2Payment, charging } from '../support/a-permit2-payment.js'
import { aSignedPayment, type PaymentWish } from '../support/a-signed-payment.js'
import { anAccount } from '../support/an-account.js'
import { startWorld, type World } from '../support/arcus.js'

const conflict = reasons.paymentIdentifierConflict.code
const required = reasons.paymentIdentifierRequired.code

let world: World
beforeAll(async () => {
  world = await startWorld({ env: { RATE_LIMIT_MAX: '0' } })
})
afterAll(() => world.stop())

let ids = 0
const anId = () => `order-of-the-test-${ids++}`

/** Writes the id into the payload as the official client does. */
function withId<Body extends { paymentPayload: object }>(
  payment: Body,
  id?: string,
  isRequired = false,
) {
  const extensions: Record<string, unknown> = {
    [PAYMENT_IDENTIFIER]: declarePaymentIdentifierExtension(isRequired),
  }
  if (id !== undefined) appendPaymentIdentifierToExtensions(extensions, id)
  return { ...payment, paymentPayload: { ...payment.paymentPayload, extensions } }
}

const anIdentified = async (id: string, wish?: PaymentWish) =>
  withId(await aSignedPayment(wish), id)
const settle = (payment: object, headers = {}) => world.post('/settle', payment, headers)
const verify = (payment: object) => world.post('/verify', payment)

it('is named among the extensions', async () => {
  expect((await world.get('/supported')).body.extensions).toContain(PAYMENT_IDENTIFIER)
})

it('the same id and payment get the stored outcome, and no second merchant a second success', async () => {
  const payment = await anIdentified(anId())
  expect((await verify(payment)).body.isValid).toBe(true)
  const first = await settle(payment)
  expect(first.body.success).toBe(true)
  const again = await settle(payment)
  expect(again).toMatchObject({
    status: 200,
    body: {
      success: false,
      errorReason: reasons.nonceAlreadyUsed.code,
      transaction: first.body.transaction,
    },
  })
  expect((await verify(payment)).body).toMatchObject({
    isValid: false,
    invalidReason: reasons.nonceAlreadyUsed.code,
  })
})

it('the merchant that was answered is answered again by its own key, whatever the id', async () => {
  const payment = await anIdentified(anId())
  const headers = { 'idempotency-key': 'merchant-order-0001' }
  const { transaction } = (await settle(payment, headers)).body
  expect((await settle(payment, headers)).body).toMatchObject({ success: true, transaction })
  expect((await settle(payment)).body.success).toBe(false)
})

it('the same id with another payment is a conflict for verify and settle, and moves nothing', async () => {
  const id = anId()
  await settle(await anIdentified(id))
  const other = await anIdentified(id)
  expect(await verify(other)).toMatchObject({
    status: 409,
    body: { isValid: false, invalidReason: conflict },
  })
  expect(await settle(other)).toMatchObject({
    status: 409,
    body: { success: false, errorReason: conflict, transaction: '' },
  })
  const { from, nonce } = other.paymentPayload.payload.authorization
  expect((await world.get(`/payments/eip155:5042/${from}/${nonce}`)).status).toBe(404)
})

it('a payment that settled before is answered with its hash when it comes with an id of another', async () => {
  const id = anId()
  await settle(await anIdentified(id))
  const payment = await aSignedPayment()
  const { transaction } = (await settle(payment)).body
  expect(await settle(withId(payment, id))).toMatchObject({
    status: 409,
    body: { success: false, errorReason: conflict, transaction },
  })
})

it('of many payments with one id at the same time one settles', async () => {
  const id = anId()
  const payments = await Promise.all(Array.from({ length: 8 }, () => anIdentified(id)))
  const answers = await Promise.all(payments.map((payment) => settle(payment)))
  expect(answers.filter(({ body }) => body.success)).toHaveLength(1)
  expect(answers.filter(({ body }) => body.errorReason === conflict)).toHaveLength(7)
})

it('another payer may have the same id, and learns nothing of it', async () => {
  const id = anId()
  await settle(await anIdentified(id))
  const account = privateKeyToAccount(generatePrivateKey())
  await mintUsdc(world.chainUrl, account.address, 1_000_000n)
  const theirs = await anIdentified(id, { from: account.address, signer: account })
  expect((await verify(theirs)).body.isValid).toBe(true)
  expect((await settle(theirs)).body.success).toBe(true)
})

it('nobody binds or probes an id without the payer’s signature', async () => {
  const [taken, free] = [anId(), anId()]
  await settle(await anIdentified(taken))
  const stranger = privateKeyToAccount(generatePrivateKey())
  for (const id of [taken, free]) {
    const forged = await anIdentified(id, { signer: stranger })
    expect((await verify(forged)).body.invalidReason).toBe(reasons.signature.code)
    expect((await settle(forged)).body.errorReason).toBe(reasons.signature.code)
  }
  expect((await settle(await anIdentified(free))).body.success).toBe(true)
})

it('an id that is required and missing or malformed is a 400, and one that is not is ignored', async () => {
  const plain = await aSignedPayment()
  const missing = withId(plain, undefined, true)
  expect(await verify(missing)).toMatchObject({
    status: 400,
    body: { isValid: false, invalidReason: required },
  })
  expect(await settle(missing)).toMatchObject({
    status: 400,
    body: { success: false, errorReason: required },
  })
  const info = { required: true, id: 'too short' }
  const malformed = structuredClone(missing)
  malformed.paymentPayload.extensions[PAYMENT_IDENTIFIER] = { info }
  expect((await world.post('/settle', malformed)).body.errorMessage).toContain('another form')
  for (const extension of [{ info: { ...info, required: false } }, { info: null }, 'x', null]) {
    malformed.paymentPayload.extensions[PAYMENT_IDENTIFIER] = extension
    expect((await world.post('/verify', malformed)).body.isValid).toBe(true)
  }
})

it('holds for a charge of nothing, which moves nothing, as for every other', async () => {
  const signer = anAccount()
  const payer = { signer, from: signer.address }
  await mintUsdc(world.chainUrl, signer.address, 1_000_000n)
  const id = anId()
  expect((await settle(await anIdentified(id, payer))).body.success).toBe(true)
  const nothing = charging(await aPermit2Payment(payer), 0n)
  expect(await settle(withId(nothing, id))).toMatchObject({
    status: 409,
    body: { success: false, errorReason: conflict, transaction: '' },
  })
  const free = await settle(withId(nothing, anId()))
  expect(free.body).toMatchObject({ success: true, amount: '0', transaction: '' })
})

it('that is required must be there for channels too', async () => {
  const voucher = await aChannel().voucher('1000')
  const missing = withId(voucher, undefined, true)
  expect(await verify(missing)).toMatchObject({ status: 400, body: { invalidReason: required } })
  const refusal = (await verify(withId(voucher, anId(), true))).body.invalidReason
  expect(refusal).toBe(reasons.batchChannelNotFound.code)
})
