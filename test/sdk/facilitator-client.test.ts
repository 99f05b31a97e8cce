import { HTTPFacilitatorClient } from '@x402/core/server'
import { SettleError, VerifyError } from '@x402/core/types'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { aSignedPayment, type PaymentWish } from '../support/a-signed-payment.js'
import { startWorld, type World } from '../support/arcus.js'
import { takesUsdc } from '../support/token.js'

let world: World
let client: HTTPFacilitatorClient
beforeAll(async () => {
  world = await startWorld({ env: { RATE_LIMIT_MAX: '40' } })
  client = new HTTPFacilitatorClient({ url: world.url })
})
afterAll(() => world.stop())

async function wished(wish?: PaymentWish) {
  const { paymentPayload, paymentRequirements } = await aSignedPayment(wish)
  // biome-ignore lint/suspicious/noExplicitAny: some of these payments are wrong on purpose
  return [paymentPayload as any, paymentRequirements as any] as const
}

it('reads what is supported', async () => {
  const supported = await client.getSupported()
  expect(supported.kinds).toMatchObject([
    { x402Version: 2, scheme: 'exact', network: 'eip155:5042', extra: takesUsdc },
    { x402Version: 2, scheme: 'upto', network: 'eip155:5042', extra: takesUsdc },
    { x402Version: 2, scheme: 'batch-settlement', network: 'eip155:5042', extra: takesUsdc },
  ])
  expect(supported.signers['eip155:*']?.length).toBe(3)
})

it('reads both outcomes of verify and settle', async () => {
  const good = await wished()
  expect(await client.verify(...good)).toMatchObject({ isValid: true })
  const settled = await client.settle(...good)
  expect(settled).toMatchObject({ success: true, network: 'eip155:5042' })
  expect(settled.transaction).toMatch(/^0x[0-9a-f]{64}$/)
  expect(await client.settle(...good)).toMatchObject({
    success: false,
    errorReason: 'invalid_exact_evm_nonce_already_used',
    transaction: settled.transaction,
  })
  const bad = await wished({ requirement: { amount: '1' } })
  expect(await client.verify(...bad)).toMatchObject({
    isValid: false,
    invalidReason: 'invalid_exact_evm_payload_authorization_value_mismatch',
  })
})

it('reads a 400 and a 429 as errors with our codes', async () => {
  const malformed = await wished({ authorization: { value: '0x1' } })
  await expect(client.verify(...malformed)).rejects.toSatisfy(
    (error) => error instanceof VerifyError && error.invalidReason === 'invalid_payload',
  )
  await expect(client.settle(...malformed)).rejects.toSatisfy(
    (error) => error instanceof SettleError && error.errorReason === 'invalid_payload',
  )
  const good = await wished()
  const answers = await Promise.allSettled(Array.from({ length: 45 }, () => client.verify(...good)))
  const refused = answers.flatMap((answer) => (answer.status === 'rejected' ? answer.reason : []))
  expect(refused.length).toBeGreaterThan(0)
  for (const error of refused) {
    expect(error).toBeInstanceOf(VerifyError)
    expect(error).toMatchObject({ statusCode: 429, invalidReason: 'rate_limited' })
  }
  // A verified payment settles whatever the caller's rate is; an unverified one is refused.
  expect(await client.settle(...good)).toMatchObject({ success: true })
  await expect(client.settle(...(await wished()))).rejects.toSatisfy(
    (error) => error instanceof SettleError && error.errorReason === 'rate_limited',
  )
})
