import { getAddress } from 'viem'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { reasons } from '../../src/x402/reasons.js'
import { aSignedPayment, nowSeconds, type SignedPayment } from '../support/a-signed-payment.js'
import { anAttestationKey, isSoundAttestation } from '../support/an-attestation.js'
import { startWorld, type World } from '../support/arcus.js'

const NAME = 'facilitator-attestation'
const key = anAttestationKey()
const env: Record<string, string> = {
  ATTESTATION_PRIVATE_KEY: key.privateKey,
  RATE_LIMIT_MAX: '0',
}

let world: World
beforeAll(async () => {
  world = await startWorld({ env })
})
afterAll(() => world.stop())

const settle = (payment: SignedPayment) => world.post('/settle', payment)

function pathOf({ paymentPayload, paymentRequirements }: SignedPayment): string {
  const { from, nonce } = paymentPayload.payload.authorization
  return `/payments/${paymentRequirements.network}/${from}/${nonce}`
}

const textOf = async (payment: SignedPayment) =>
  (await fetch(`${world.url}${pathOf(payment)}/attestation`)).text()

it('a success carries an attestation of exactly what moved, signed by the key of the facilitator', async () => {
  const payment = await aSignedPayment({ value: 12_345n })
  const before = nowSeconds()
  const { body } = await settle(payment)
  const { info, schema } = body.extensions[NAME]
  const { from, to } = payment.paymentPayload.payload.authorization
  expect(info.attestation).toEqual({
    format: 'eip712',
    payload: {
      version: 1,
      network: 'eip155:5042',
      transaction: body.transaction,
      payer: getAddress(from as string),
      payee: getAddress(to as string),
      asset: getAddress(payment.paymentRequirements.asset as string),
      amount: '12345',
      facilitator: key.address,
      facilitatorFee: '0',
      observedAt: expect.stringMatching(/^[1-9][0-9]*$/),
    },
    signature: expect.stringMatching(/^0x[0-9a-f]{128}1[bc]$/),
  })
  expect(Math.abs(Number(info.attestation.payload.observedAt) - Number(before))).toBeLessThan(60)
  expect(schema.required).toEqual(['attestation'])
  expect(await isSoundAttestation(info.attestation)).toBe(true)
  const altered = { ...info.attestation.payload, amount: '12346' }
  expect(await isSoundAttestation({ ...info.attestation, payload: altered })).toBe(false)
  expect(await textOf(payment)).toBe(JSON.stringify(info.attestation))
  expect((await world.get('/supported')).body.extensions).toContain(NAME)
})

it('every payment of a batch has an attestation of its own', async () => {
  const payments = await Promise.all(Array.from({ length: 12 }, () => aSignedPayment()))
  const answers = await Promise.all(payments.map(settle))
  const attested = answers.map(({ body }) => body.extensions[NAME].info.attestation)
  expect(new Set(answers.map(({ body }) => body.transaction)).size).toBeLessThan(12)
  expect(new Set(attested.map(({ signature }) => signature)).size).toBeGreaterThan(0)
  for (const [i, payment] of payments.entries()) {
    expect(await isSoundAttestation(attested[i])).toBe(true)
    expect(await textOf(payment)).toBe(JSON.stringify(attested[i]))
  }
})

it('a payment that failed or is unknown has none, and the answer says why', async () => {
  const unknown = await world.get(`${pathOf(await aSignedPayment())}/attestation`)
  expect(unknown).toMatchObject({ status: 404, body: { error: 'not_found' } })
  const refused = await aSignedPayment({ validBefore: nowSeconds() - 10n })
  const { body } = await settle(refused)
  expect(body).toMatchObject({ success: false, errorReason: reasons.validBefore.code })
  expect(body.extensions).toBeUndefined()
})

it('an attestation outlives a restart and the key that signed it', async () => {
  const old = await aSignedPayment()
  await settle(old)
  const text = await textOf(old)
  await world.stopService()
  const next = anAttestationKey()
  env.ATTESTATION_PRIVATE_KEY = next.privateKey
  await world.startService()
  const fresh = await aSignedPayment()
  const { body } = await settle(fresh)
  expect(body.extensions[NAME].info.attestation.payload.facilitator).toBe(next.address)
  expect(await textOf(old)).toBe(text)

  await world.stopService()
  delete env.ATTESTATION_PRIVATE_KEY
  await world.startService()
  const plain = await aSignedPayment()
  const answer = await settle(plain)
  expect(answer.body.success).toBe(true)
  expect(answer.body.extensions).toBeUndefined()
  expect(await textOf(old)).toBe(text)
  expect(await world.get(`${pathOf(plain)}/attestation`)).toMatchObject({
    status: 404,
    body: { message: expect.stringContaining('no attestation was signed') },
  })
  expect((await world.get('/supported')).body.extensions).not.toContain(NAME)
})
