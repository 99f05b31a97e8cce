import { reasons } from '@arcus/protocol/x402/reasons'
import Sqlite from 'better-sqlite3'
import type { Address } from 'viem'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { devnetPayer } from '../../src/devnet/accounts.js'
import { mintUsdc } from '../../src/devnet/fixtures.js'
import { call } from '../../src/devnet/rpc.js'
import { aChannel } from '../support/a-channel.js'
import { aPermit2Payment, approvePermit2, charging } from '../support/a-permit2-payment.js'
import { aSignedPayment, type SignedPayment } from '../support/a-signed-payment.js'
import { anAttestationKey } from '../support/an-attestation.js'
import { startWorld, type World } from '../support/arcus.js'

const TEN_DAYS_MS = 10 * 86_400_000
const wallet: Address = '0x000000000000000000000000000000000000a11e'
/** ERC-1271 that says yes to everything, and code that reverts. */
const yes = '0x631626ba7e60e01b5f5260205ff3'
const no = '0x5f5ffd'

const env: Record<string, string> = {
  RATE_LIMIT_MAX: '0',
  ATTESTATION_PRIVATE_KEY: anAttestationKey().privateKey,
}
let world: World
beforeAll(async () => {
  world = await startWorld({ env })
  await call(world.chainUrl, 'anvil_setCode', [wallet, yes])
  await mintUsdc(world.chainUrl, wallet, 1_000_000n)
  await approvePermit2(world.chainUrl, devnetPayer.address, 1_000_000n)
})
afterAll(() => world.stop())

const settle = (payment: unknown, key?: string) =>
  world.post('/settle', payment, key === undefined ? {} : { 'idempotency-key': key })

async function aPaymentFor(resource: string, from?: Address): Promise<SignedPayment> {
  const payment = await aSignedPayment(from === undefined ? {} : { from })
  return { ...payment, paymentPayload: { ...payment.paymentPayload, ...aResource(resource) } }
}

const aResource = (url: string) => ({ resource: { url, description: '', mimeType: '' } })

/** A deposit into a channel; that of a wallet has a signature which only its code accepts. */
async function aDeposit(code?: string) {
  const channel = aChannel()
  const { address } = channel.payer
  await mintUsdc(world.chainUrl, address, 1_000_000n)
  const body = await channel.deposit()
  if (code !== undefined) {
    await call(world.chainUrl, 'anvil_setCode', [address, code])
    const { authorization } = body.paymentPayload.payload.deposit as {
      authorization: { erc3009Authorization: { signature: string } }
    }
    authorization.erc3009Authorization.signature = `0x${'ab'.repeat(64)}1b`
  }
  return { body, payer: address }
}

/** Every public answer about these payments, as bytes. */
async function everything(payments: readonly { path: string; transaction: string; id: string }[]) {
  const asked = payments.flatMap(({ path, transaction, id }) => [
    [path],
    [`${path}/attestation`],
    [`${path}/receipt`, 'application/json'],
    [`${path}/receipt`, 'text/html'],
    [`/payments/${transaction}`],
    [`/payments/status/${id}`],
  ])
  return Promise.all(
    asked.map(async ([path = '', accept = 'application/json']) => {
      const response = await fetch(world.url + path, { headers: { accept } })
      return `${path} ${response.status} ${await response.text()}`
    }),
  )
}

async function restart(
  retention: Record<string, string>,
  prepare?: (journal: Sqlite.Database) => void,
) {
  await world.stopService()
  if (prepare !== undefined) {
    const journal = new Sqlite(world.databasePath)
    prepare(journal)
    journal.close()
  }
  Object.assign(env, retention)
  await world.startService()
}

it('an old payment answers as it did, to the byte, when calldata and signed bytes are gone', async () => {
  const url = 'https://api.example.com/weather'
  const plain = await aPaymentFor(`${url}?city=Oslo`)
  const keyed = await aPaymentFor(url)
  const undelivered = await aPaymentFor(url)
  const byWallet = await aPaymentFor(url, wallet)
  const upto = charging(await aPermit2Payment(), 4_000n)
  const deposits = await Promise.all([aDeposit(), aDeposit(yes)])
  const settled: { path: string; transaction: string; id: string }[] = []
  for (const payment of [plain, keyed, undelivered, byWallet, upto]) {
    const { body } = await settle(payment, payment === keyed ? 'merchant-order-0001' : undefined)
    expect(body.success).toBe(true)
    const { payments } = (await world.get(`/payments/${body.transaction}`)).body
    const [{ network, payer, nonce, paymentId: id }] = payments
    const path = `/payments/${network}/${payer}/${nonce}`
    settled.push({ path, transaction: body.transaction as string, id })
  }
  const deposited: string[] = []
  for (const { body } of deposits) {
    const answer = (await settle(body)).body
    expect(answer.success).toBe(true)
    deposited.push(answer.transaction)
  }
  const forged = structuredClone(keyed)
  forged.paymentPayload.payload.signature = plain.paymentPayload.payload.signature

  // Everything becomes ten days older, as if the service had stood still; one success was never answered.
  await restart({}, (journal) => {
    journal.exec(`UPDATE jobs SET created_at = created_at - ${TEN_DAYS_MS}, updated_at = updated_at - ${TEN_DAYS_MS};
      UPDATE attempts SET created_at = created_at - ${TEN_DAYS_MS}`)
    const change = journal.prepare(
      'UPDATE jobs SET delivered_at = NULL, delivered_key = NULL WHERE id = ?',
    )
    expect(change.run(settled[2]?.id).changes).toBe(1)
  })
  const before = await everything(settled)
  expect(before.join()).toContain(url)
  expect(before.join()).not.toContain('Oslo')

  await restart({ JOURNAL_RETENTION_DAYS: '2' })
  const journal = new Sqlite(world.databasePath, { readonly: true })
  const left = journal.prepare(
    `SELECT (SELECT count(*) FROM jobs WHERE calldata <> '0x') +
       (SELECT count(*) FROM attempts WHERE raw_transaction <> '0x')`,
  )
  await vi.waitFor(() => expect(left.pluck().get()).toBe(0), { timeout: 30_000 })
  const rows = JSON.stringify(journal.prepare('SELECT * FROM jobs, attempts').all())
  journal.close()
  for (const payment of [plain, upto]) {
    expect(rows).not.toContain(payment.paymentPayload.payload.signature.slice(2))
  }
  expect(await everything(settled)).toEqual(before)

  // The wallet takes its yes back: what it signed settled all the same.
  await call(world.chainUrl, 'anvil_setCode', [wallet, no])
  await call(world.chainUrl, 'anvil_setCode', [deposits[1]?.payer, no])
  for (const [i, payment] of [plain, keyed, undefined, byWallet, upto].entries()) {
    if (payment === undefined) continue
    const { code } = payment === upto ? reasons.permit2InvalidNonce : reasons.nonceAlreadyUsed
    const refusal = { success: false, errorReason: code, transaction: settled[i]?.transaction }
    expect((await settle(payment)).body).toMatchObject(refusal)
    // A verify of `upto` is about the whole ceiling.
    if (payment === upto) continue
    expect((await world.post('/verify', payment)).body.invalidReason).toBe(code)
  }
  const { transaction } = settled[1] ?? {}
  expect((await settle(keyed, 'merchant-order-0001')).body).toMatchObject({
    success: true,
    transaction,
  })
  expect((await settle(forged, 'merchant-order-0001')).body.success).toBe(false)
  // A success that nobody was told is told once.
  const told = await Promise.all([settle(undelivered), settle(undelivered)])
  expect(told.filter(({ body }) => body.success)).toHaveLength(1)
  expect(new Set(told.map(({ body }) => body.transaction))).toEqual(
    new Set([settled[2]?.transaction]),
  )
  for (const [i, { body }] of deposits.entries()) {
    const again = (await settle(body)).body
    expect(again).toMatchObject({ success: true, transaction: deposited[i] })
  }
})
