import Sqlite from 'better-sqlite3'
import { getAddress } from 'viem'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { receiptAnswer } from '../../src/api/payments.js'
import { facilitatorAnswer } from '../../src/api/service.js'
import { devnetContracts } from '../../src/devnet/fixtures.js'
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
  // Equal payments of one transaction would have one and the same statement.
  const payments = await Promise.all(
    Array.from({ length: 12 }, (_, i) => aSignedPayment({ value: 10_000n + BigInt(i) })),
  )
  const answers = await Promise.all(payments.map(settle))
  const attested = answers.map(({ body }) => body.extensions[NAME].info.attestation)
  expect(new Set(answers.map(({ body }) => body.transaction)).size).toBeLessThan(12)
  expect(new Set(attested.map(({ signature }) => signature)).size).toBe(attested.length)
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

it('a receipt shows the payment and its attestation, as a page without scripts and as JSON', async () => {
  const hostile = 'https://api.example/<script>alert(1)</script>?"x=\u202e'
  const payment = await aSignedPayment({ value: 1_234_500n })
  const { paymentPayload } = payment
  const stated = { ...payment, paymentPayload: { ...paymentPayload, resource: { url: hostile } } }
  const { transaction } = (await settle(stated as SignedPayment)).body
  const url = `${world.url}${pathOf(payment)}/receipt`
  const json = await fetch(url, { headers: { accept: 'application/json' } })
  const receipt = receiptAnswer.strict().parse(await json.json())
  const { from, to } = paymentPayload.payload.authorization
  expect(receipt).toMatchObject({
    amount: '1234500',
    price: '1.2345',
    symbol: 'USDC',
    merchant: null,
    resource: hostile.replace('\u202e', ''),
    payer: getAddress(from as string),
    payTo: getAddress(to as string),
    transaction,
  })
  expect(receipt.attestation).toEqual(JSON.parse(await textOf(payment)))
  const page = await fetch(url)
  const html = await page.text()
  expect(page.headers.get('content-type')).toContain('text/html')
  expect(page.headers.get('content-security-policy')).toMatch(
    /^default-src 'none'; style-src 'sha256-[^']+'; base-uri 'none'/,
  )
  expect(page.headers.get('vary')).toContain('accept')
  expect(html).not.toMatch(/<script|\u202e/)
  expect(html).toContain('&lt;script&gt;alert(1)&lt;/script&gt;?&quot;x=')
  expect(html).toContain('1.2345 USDC')
  expect(html).toContain(transaction)
})

it('a payment that is unknown, under way or failed has no receipt, and the status says so', async () => {
  const unknown = await world.get(`${pathOf(await aSignedPayment())}/receipt`)
  expect(unknown).toMatchObject({ status: 404, body: { error: 'not_found' } })
  const database = new Sqlite(world.databasePath)
  const states = [
    ['submitted', 'on its way'],
    ['failed', 'The payment failed'],
  ] as const
  for (const [state, words] of states) {
    const payment = await aSignedPayment()
    await settle(payment)
    const { nonce } = payment.paymentPayload.payload.authorization
    database.prepare(`UPDATE jobs SET state = ? WHERE key LIKE '%' || ?`).run(state, nonce)
    for (const part of ['receipt', 'attestation']) {
      expect(await world.get(`${pathOf(payment)}/${part}`)).toMatchObject({
        status: 409,
        body: { error: 'payment_not_confirmed', message: expect.stringContaining(words) },
      })
    }
    database.prepare(`UPDATE jobs SET state = 'confirmed' WHERE key LIKE '%' || ?`).run(nonce)
  }
  database.close()
})

it('/.well-known/x402 says what is served, by whose wallets, and which key attests', async () => {
  const answer = await fetch(`${world.url}/.well-known/x402`)
  expect(answer.headers.get('access-control-allow-origin')).toBe('*')
  expect(answer.headers.get('cache-control')).toContain('max-age=60')
  const about = facilitatorAnswer.strict().parse(await answer.json())
  const supported = (await world.get('/supported')).body
  const { extensions, signers } = supported
  expect(about).toMatchObject({ x402Version: 2, extensions, signers })
  const schemes = (kinds: readonly { scheme: string }[]) => kinds.map(({ scheme }) => scheme)
  expect(schemes(about.kinds)).toEqual(schemes(supported.kinds))
  expect(about.networks).toMatchObject([
    {
      network: 'eip155:5042',
      chainId: 5042,
      assets: [{ address: getAddress(devnetContracts.usdc), name: 'USDC', version: '2' }],
      relayers: supported.signers['eip155:*'],
    },
  ])
  expect(about.attestation).toEqual({ format: 'eip712', facilitator: key.address })
  const etag = answer.headers.get('etag') as string
  const again = await fetch(`${world.url}/.well-known/x402`, { headers: { 'if-none-match': etag } })
  expect(again.status).toBe(304)
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
