import { createHash } from 'node:crypto'
import { afterEach, expect, it } from 'vitest'
import { anAttestationKey, isSoundAttestation } from '../support/an-attestation.js'
import { pause } from './support/behaviours.js'
import { aSignedPayment, network, type SignedPayment, somePayments } from './support/payments.js'
import { startReplicas } from './support/replicas.js'
import { expectAllSettledAndTrue, startWorld } from './support/world.js'

const key = anAttestationKey()
let world: { close(): Promise<void> } | undefined
afterEach(() => world?.close())

const NAME = 'facilitator-attestation'

async function attestationAt(url: string, { payer, nonce }: SignedPayment): Promise<string> {
  const answer = await fetch(`${url}/payments/${network}/${payer}/${nonce}/attestation`)
  expect(answer.status).toBe(200)
  return answer.text()
}

const digestOf = (text: string) => createHash('sha256').update(text).digest('hex')

it('an attestation is the same bytes after kill -9 under load, whatever key the next start has', async () => {
  const env = { ATTESTATION_PRIVATE_KEY: key.privateKey }
  const own = await startWorld({ env })
  world = own
  const { client } = own
  const payments = await somePayments(300)
  const told = payments.map(async (payment, i) => {
    await pause(i * 20)
    await client.settleUntilTold([payment], 30_000)
  })
  const kept = new Map<SignedPayment, Set<string>>()
  const note = (payment: SignedPayment, text: string) => {
    kept.set(payment, (kept.get(payment) ?? new Set()).add(digestOf(text)))
  }
  for (let crashes = 0; crashes < 3; crashes++) {
    await pause(1_500)
    await own.service().crash()
    env.ATTESTATION_PRIVATE_KEY = anAttestationKey().privateKey
    await own.restart()
  }
  await Promise.all(told)
  await expectAllSettledAndTrue(own, payments, { mayRepeat: true })
  for (const { payment, body } of client.answers) {
    // biome-ignore lint/suspicious/noExplicitAny: the client knows the members that all answers have
    const attestation = (body as any)?.extensions?.[NAME]?.info.attestation
    if (body?.success === true) note(payment, JSON.stringify(attestation))
  }
  const signers = new Set<string>()
  for (const payment of payments) {
    const text = await attestationAt(own.service().url, payment)
    note(payment, text)
    expect(await isSoundAttestation(JSON.parse(text))).toBe(true)
    signers.add(JSON.parse(text).payload.facilitator)
  }
  expect([...kept.values()].filter(({ size }) => size !== 1)).toEqual([])
  expect(signers.size).toBeGreaterThan(1)
})

it('every replica answers with the attestation that one of them signed, also with another key', async () => {
  const replicas = await startReplicas({
    replicas: 2,
    relayers: 2,
    envOf: () => ({ ATTESTATION_PRIVATE_KEY: anAttestationKey().privateKey }),
  })
  world = replicas
  const payments = [...(await somePayments(20)), await aSignedPayment()]
  await replicas.client.settleAll(payments)
  await expectAllSettledAndTrue(replicas, payments)
  for (const payment of payments) {
    const [one, other] = await Promise.all(
      [0, 1].map((i) => attestationAt(replicas.service(i).url, payment)),
    )
    expect(one).toBe(other)
    expect(await isSoundAttestation(JSON.parse(one as string))).toBe(true)
  }
})
