import { receiptAnswer } from '@arcus/protocol/answers/payments'
import { facilitatorAnswer } from '@arcus/protocol/answers/service'
import Sqlite from 'better-sqlite3'
import { getAddress } from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { devnetPayer } from '../../src/devnet/accounts.js'
import { devnetContracts } from '../../src/devnet/fixtures.js'
import { aPermit2Payment, approvePermit2, charging } from '../support/a-permit2-payment.js'
import { aSignedPayment, nowSeconds, type SignedPayment } from '../support/a-signed-payment.js'
import { anAttestationKey, isSoundAttestation } from '../support/an-attestation.js'
import { startWorld, type World } from '../support/arcus.js'
import { inEurc } from '../support/token.js'

const NAME = 'facilitator-attestation'
const key = anAttestationKey()
const env: Record<string, string> = {
  ATTESTATION_PRIVATE_KEY: key.privateKey,
  RATE_LIMIT_MAX: '0',
  MAINNET_ASSETS: `${devnetContracts.usdc},${devnetContracts.eurc}`,
}

let world: World
beforeAll(async () => {
  world = await startWorld({ env })
  await approvePermit2(world.chainUrl, devnetPayer.address, 10n ** 15n)
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

describe('one nonce', () => {
  const nonce = `0x${'6e'.repeat(32)}` as const
  const paths = ['', '/attestation', '/receipt']
  const lookUp = (query = '') =>
    Promise.all(
      paths.map(async (path) => {
        const url = `${world.url}/payments/eip155:5042/${devnetPayer.address}/${nonce}${path}${query}`
        const answer = await fetch(url, { headers: { accept: 'application/json' } })
        return { status: answer.status, body: JSON.parse(await answer.text()) }
      }),
    )

  it('of one payment needs no further query; of a charge by upto the attestation states what moved', async () => {
    const upto = await aPermit2Payment({ permitted: 9_000n, nonce: BigInt(nonce) })
    const { body } = await world.post('/settle', charging(upto, 1_234n))
    const { attestation } = body.extensions[NAME].info
    expect(attestation.payload).toMatchObject({ amount: '1234', transaction: body.transaction })
    expect(await isSoundAttestation(attestation)).toBe(true)
    const [status, kept] = await lookUp()
    expect(status?.body).toMatchObject({ state: 'confirmed', amount: '1234' })
    expect(kept?.body).toEqual(attestation)
  })

  it('of several payments is distinguished by token and method, and never answered with one of them', async () => {
    for (const wish of [{ nonce, value: 2_000n }, inEurc({ nonce, value: 3_000n })]) {
      expect((await settle(await aSignedPayment(wish))).body).toMatchObject({ success: true })
    }
    const { usdc, eurc } = devnetContracts
    for (const query of ['', `?asset=${usdc}`, '?method=eip3009']) {
      for (const { status, body } of await lookUp(query)) {
        expect({ status, error: body.error }).toEqual({ status: 409, error: 'ambiguous_nonce' })
        expect(body.message).toContain(`?asset=${getAddress(usdc)}&method=eip3009`)
      }
    }
    for (const [query, amount, symbol] of [
      [`?asset=${usdc}&method=permit2`, '1234', 'USDC'],
      [`?asset=${usdc}&method=eip3009`, '2000', 'USDC'],
      [`?asset=${eurc.toLowerCase()}`, '3000', 'EURC'],
    ] as const) {
      const [status, attestation, printed] = await lookUp(query)
      expect(status?.body).toMatchObject({ amount, symbol })
      expect(attestation?.body.payload).toMatchObject({ amount })
      expect(await isSoundAttestation(attestation?.body)).toBe(true)
      const receipt = receiptAnswer.parse(printed?.body)
      expect(receipt).toMatchObject({ amount, symbol, attestation: attestation?.body })
    }
    const [wrong] = await lookUp('?method=cash')
    expect(wrong).toMatchObject({ status: 400, body: { error: 'invalid_request' } })
    expect(wrong?.body.message).toBe('method must be eip3009 or permit2.')
  })
})

it('a receipt shows the payment and its attestation, as a page without scripts and as JSON', async () => {
  const hostile = 'https://api.example/<script>alert(1)</script>/a&lt;\u202e?token="secret'
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
    resource: 'https://api.example/%3Cscript%3Ealert(1)%3C/script%3E/a&lt;%E2%80%AE',
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
  expect(html).toContain('%3C/script%3E/a&amp;lt;%E2%80%AE')
  expect(html).not.toContain('secret')
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
      assets: [
        { address: getAddress(devnetContracts.usdc), name: 'USDC', version: '2' },
        { address: getAddress(devnetContracts.eurc), name: 'EURC', version: '2' },
      ],
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
  expect(answer.body.extensions).not.toHaveProperty(NAME)
  expect(await textOf(old)).toBe(text)
  expect(await world.get(`${pathOf(plain)}/attestation`)).toMatchObject({
    status: 404,
    body: { message: expect.stringContaining('no attestation was signed') },
  })
  expect((await world.get('/supported')).body.extensions).not.toContain(NAME)
})
