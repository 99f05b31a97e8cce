import { dirname, join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { listArchive, readArchive } from '../../src/store/archive.js'
import { reasons } from '../../src/x402/reasons.js'
import { aSignedPayment, type SignedPayment } from '../support/a-signed-payment.js'
import { anAttestationKey } from '../support/an-attestation.js'
import { startWorld, type World } from '../support/arcus.js'

const used = reasons.nonceAlreadyUsed.code
const TEN_DAYS_MS = 10 * 86_400_000

let world: World
beforeAll(async () => {
  const ATTESTATION_PRIVATE_KEY = anAttestationKey().privateKey
  const env = { RATE_LIMIT_MAX: '0', JOURNAL_RETENTION_DAYS: '2', ATTESTATION_PRIVATE_KEY }
  world = await startWorld({ env })
})
afterAll(() => world.stop())

const settle = (payment: SignedPayment, key?: string) =>
  world.post('/settle', payment, key === undefined ? {} : { 'idempotency-key': key })

function lookUp({ paymentPayload, paymentRequirements }: SignedPayment, part = '') {
  const { from, nonce } = paymentPayload.payload.authorization
  return world.get(`/payments/${paymentRequirements.network}/${from}/${nonce}${part}`)
}

/** Makes everything in the journal ten days older, as if the service had stood still. */
function age(database: Sqlite.Database): void {
  for (const column of ['created_at', 'updated_at']) {
    database.exec(`UPDATE jobs SET ${column} = ${column} - ${TEN_DAYS_MS}`)
  }
  database.exec(`UPDATE attempts SET created_at = created_at - ${TEN_DAYS_MS}`)
}

it('an archived payment is looked up and refused as before, and its files have the rest', async () => {
  const key = 'merchant-order-0001'
  const payment = await aSignedPayment()
  const keyed = await aSignedPayment()
  const { transaction } = (await settle(payment)).body
  expect((await settle(keyed, key)).body.success).toBe(true)
  const byNonce = (await lookUp(payment)).body
  const byHash = (await world.get(`/payments/${transaction}`)).body
  expect(byNonce).toMatchObject({ state: 'confirmed', delivered: true })
  const attested = (await lookUp(payment, '/attestation')).body
  expect(attested).toMatchObject({ format: 'eip712', payload: { transaction } })

  await world.stopService()
  const database = new Sqlite(world.databasePath)
  age(database)
  await world.startService()
  const whole = database.prepare(`SELECT count(*) FROM jobs WHERE calldata <> '0x'`).pluck()
  const signed = database.prepare(`SELECT count(*) FROM attempts`).pluck()
  await vi.waitFor(() => expect([whole.get(), signed.get()]).toEqual([0, 0]), { timeout: 30_000 })
  database.close()

  const aged = (body: { createdAt: string; updatedAt: string }) => ({
    ...body,
    createdAt: new Date(Date.parse(body.createdAt) - TEN_DAYS_MS).toISOString(),
    updatedAt: new Date(Date.parse(body.updatedAt) - TEN_DAYS_MS).toISOString(),
    // The transaction as it was signed is in the archive alone.
    sentAt: null,
  })
  expect((await lookUp(payment)).body).toEqual(aged(byNonce))
  expect((await lookUp(payment, '/attestation')).body).toEqual(attested)
  expect((await world.get(`/payments/${transaction}`)).body).toEqual({
    ...byHash,
    payments: byHash.payments.map(aged),
  })
  expect((await settle(payment)).body).toMatchObject({
    success: false,
    errorReason: used,
    transaction,
  })
  expect((await world.post('/verify', payment)).body.invalidReason).toBe(used)
  // The merchant that was told asks again with its key.
  expect((await settle(keyed, key)).body.success).toBe(true)
  const forged = structuredClone(keyed)
  forged.paymentPayload.payload.signature = payment.paymentPayload.payload.signature
  expect((await settle(forged, key)).body.success).toBe(false)

  const folder = join(dirname(world.databasePath), 'archive')
  const files = await listArchive(folder)
  expect(files.map(({ shelf }) => shelf)).toEqual(
    expect.arrayContaining(['payments', 'transactions']),
  )
  const details: unknown[] = []
  for (const { path } of files) {
    for await (const row of readArchive(path)) {
      if (typeof row.details === 'string') details.push(JSON.parse(row.details))
    }
  }
  const { signature, authorization } = payment.paymentPayload.payload
  expect(details).toContainEqual(expect.objectContaining({ nonce: authorization.nonce, signature }))
})
