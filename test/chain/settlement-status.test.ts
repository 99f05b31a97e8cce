import { HTTPFacilitatorClient } from '@x402/core/server'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { devnetPayer } from '../../src/devnet/accounts.js'
import { mintUsdc } from '../../src/devnet/fixtures.js'
import { call } from '../../src/devnet/rpc.js'
import { aChannel } from '../support/a-channel.js'
import { approvePermit2 } from '../support/a-permit2-payment.js'
import { aSignedPayment } from '../support/a-signed-payment.js'
import { startWorld, type World } from '../support/arcus.js'

const key = `0x${'a7'.repeat(32)}` as const
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

let world: World
beforeAll(async () => {
  world = await startWorld({ env: { RATE_LIMIT_MAX: '0', ATTESTATION_PRIVATE_KEY: key } })
  await approvePermit2(world.chainUrl, devnetPayer.address, 10n ** 15n)
})
afterAll(() => world.stop())

const settle = (body: unknown) => world.post('/settle', body)

/** Returns the extension of an answer and what its address answers with. */
async function follow({ body }: { body: { extensions?: Record<string, unknown> } }) {
  const extension = body.extensions?.['settlement-status'] as
    | (Record<string, string> & { info: unknown; schema: { required: string[] } })
    | undefined
  if (extension === undefined) return undefined
  const { info, schema, ...told } = extension
  // The members are there twice: as other facilitators have them, and as x402 has those of every extension.
  expect(info).toEqual(told)
  expect(schema.required).toEqual(Object.keys(told))
  const { pathname, search } = new URL(told.statusUrl as string)
  const found = await fetch(world.url + pathname + search)
  return { told, found: (await found.json()) as Record<string, unknown> }
}

it('a success says where the payment is followed, and the address has the same status and id', async () => {
  const payment = await aSignedPayment()
  const answer = await settle(payment)
  const { from, nonce } = payment.paymentPayload.payload.authorization
  const asset = payment.paymentRequirements.asset
  const followed = await follow(answer)
  expect(followed?.told).toEqual({
    status: 'completed',
    paymentId: expect.stringMatching(uuid),
    statusUrl: expect.stringMatching(
      new RegExp(`/payments/eip155:5042/${from}/${nonce}\\?asset=${asset}&method=eip3009$`),
    ),
  })
  const { paymentId } = followed?.told ?? {}
  expect(followed?.found).toMatchObject({
    paymentId,
    settlementId: paymentId,
    status: 'completed',
    state: 'confirmed',
    transaction: answer.body.transaction,
  })
  // The attestation stays beside it.
  expect(Object.keys(answer.body.extensions).sort()).toEqual([
    'facilitator-attestation',
    'settlement-status',
  ])
  const again = await world.get(`/payments/status/${paymentId}`)
  expect(again.body).toEqual({
    paymentId,
    status: 'completed',
    network: 'eip155:5042',
    transaction: answer.body.transaction,
    updatedAt: expect.any(String),
  })
})

it('a repeat with its Idempotency-Key says the same, and a refusal says nothing', async () => {
  const payment = await aSignedPayment()
  const send = () =>
    fetch(`${world.url}/settle`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'idempotency-key': 'a-key-of-the-merchant',
        // Headers of other facilitators change nothing.
        authorization: 'Bearer not-for-us',
        'facilitator-seller-proof': 'eyJ2ZXJzaW9uIjoxfQ',
      },
      body: JSON.stringify(payment),
    }).then((answer) => answer.json())
  const [first, second] = [await send(), await send()]
  expect(first).toMatchObject({ success: true })
  expect(second).toEqual(first)
  const { body } = await settle(payment)
  expect(body).toMatchObject({ errorReason: 'invalid_exact_evm_nonce_already_used' })
  expect(body).not.toHaveProperty('extensions')
  const dearer = structuredClone(await aSignedPayment())
  dearer.paymentRequirements.amount = '999999'
  const refused = await settle(dearer)
  expect(refused.body.success).toBe(false)
  expect(refused.body).not.toHaveProperty('extensions')
})

it('a pending payment has a status that changes at its address once it is on chain', async () => {
  await call(world.chainUrl, 'evm_setAutomine', [false])
  const payment = await aSignedPayment()
  const hasty = structuredClone(payment)
  hasty.paymentRequirements.maxTimeoutSeconds = 2
  const accepted = hasty.paymentPayload.accepted as { maxTimeoutSeconds: number }
  accepted.maxTimeoutSeconds = 2
  const answer = await settle(hasty)
  expect(answer.body).toMatchObject({ success: false, errorReason: 'settlement_pending' })
  const waiting = await follow(answer)
  expect(waiting?.told.status).toBe('pending')
  expect(waiting?.found).toMatchObject({ status: 'pending', state: 'submitted' })
  await call(world.chainUrl, 'evm_setAutomine', [true])
  await call(world.chainUrl, 'evm_mine')
  const done = await settle(payment)
  expect(done.body).toMatchObject({ success: true })
  const later = await follow(answer)
  expect(later?.found).toMatchObject({ status: 'completed', paymentId: waiting?.told.paymentId })
  expect((await follow(done))?.told).toMatchObject({ paymentId: waiting?.told.paymentId })
})

it('jobs of channels have a status by their id', async () => {
  const channel = aChannel()
  await mintUsdc(world.chainUrl, channel.payer.address, 1_000_000n)
  const answer = await settle(await channel.deposit('100000'))
  const followed = await follow(answer)
  const { paymentId, statusUrl } = followed?.told ?? {}
  expect(statusUrl).toMatch(new RegExp(`/payments/status/${paymentId}$`))
  expect(followed?.found).toMatchObject({
    paymentId,
    status: 'completed',
    transaction: answer.body.transaction,
  })
  const unknown = await world.get('/payments/status/00000000-0000-4000-8000-000000000000')
  expect([unknown.status, unknown.body.error]).toEqual([404, 'not_found'])
  expect((await world.get('/payments/status/..%2f..%2fx')).status).toBe(400)
})

it('the official client reads it, and loses nothing', async () => {
  const client = new HTTPFacilitatorClient({ url: world.url })
  const { paymentPayload, paymentRequirements } = await aSignedPayment()
  // biome-ignore lint/suspicious/noExplicitAny: the builder's types are wider than the client's
  const settled = await client.settle(paymentPayload as any, paymentRequirements as any)
  expect(settled).toMatchObject({
    success: true,
    extensions: { 'settlement-status': { status: 'completed' } },
  })
})
