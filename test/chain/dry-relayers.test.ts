import { afterEach, expect, it } from 'vitest'
import { devnetPayer, devnetRelayers } from '../../src/devnet/accounts.js'
import type { Anvil } from '../../src/devnet/anvil.js'
import { fundNative } from '../../src/devnet/fixtures.js'
import { freePort } from '../../src/devnet/process.js'
import { reasons } from '../../src/x402/reasons.js'
import { type Service, startService } from '../faults/support/service.js'
import { aChannel } from '../support/a-channel.js'
import { aSignedPayment } from '../support/a-signed-payment.js'
import { startChain } from '../support/arcus.js'

const [first, second] = devnetRelayers as unknown as [Relayer, Relayer]
type Relayer = (typeof devnetRelayers)[number]
const FUNDS = 100n * 10n ** 18n
/** A settle that nobody can pay for is answered long before this wait is over. */
const WAIT_MS = 30_000

let anvil: Anvil
let service: Service | undefined

afterEach(async () => {
  await service?.stop()
  service = undefined
  await anvil.stop()
})

/** A service whose wallets hold this much when it starts. */
async function start(balances: readonly bigint[]): Promise<void> {
  anvil = await startChain()
  for (const [i, balance] of balances.entries()) {
    await fundNative(anvil.url, (devnetRelayers[i] as Relayer).address, balance)
  }
  service = await startService({
    port: await freePort(),
    rpcUrls: [anvil.url],
    relayerKeys: devnetRelayers.slice(0, balances.length).map(({ privateKey }) => privateKey),
    databaseUrl: 'sqlite::memory:',
    env: { SETTLE_WAIT_SECONDS: String(WAIT_MS / 1_000) },
  })
}

async function post(path: string, body: unknown) {
  const startedAt = Date.now()
  const response = await fetch(`${service?.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  // biome-ignore lint/suspicious/noExplicitAny: answers are what the test looks into
  const told = (await response.json()) as any
  return { status: response.status, body: told, tookMs: Date.now() - startedAt }
}

const warnings = () =>
  (service?.log() ?? [])
    .map((line) => JSON.parse(line) as { level: string; msg: string })
    .filter(({ level, msg }) => level === 'warn' && /too little for one settlement/.test(msg))
    .map(({ msg }) => msg)

const unavailable = {
  status: 500,
  body: {
    isValid: false,
    invalidReason: reasons.unexpectedVerifyError.code,
    invalidMessage: expect.stringMatching(
      /^No relayer of this facilitator can sign and pay for gas/,
    ),
    payer: devnetPayer.address,
  },
}
const unsent = {
  status: 500,
  body: {
    success: false,
    errorReason: reasons.unexpectedSettleError.code,
    errorMessage: expect.stringMatching(
      /No relayer .* can sign and pay for gas at present; nothing was sent/,
    ),
    transaction: '',
    network: 'eip155:5042',
  },
}

it('empty wallets are named at start, and verify accepts nothing until one is refilled', async () => {
  await start([0n, 1n])
  expect(warnings()).toEqual([
    expect.stringMatching(RegExp(`${first.address} holds 0 USDC on eip155:5042.*: send USDC`, 'i')),
    expect.stringMatching(
      RegExp(`${second.address} holds .* USDC on eip155:5042.*: send USDC`, 'i'),
    ),
  ])
  const payment = await aSignedPayment()
  expect(await post('/verify', payment)).toMatchObject(unavailable)
  // A faulty payment is refused with its own reason all the same.
  const late = await aSignedPayment({ validBefore: 1n })
  expect(await post('/verify', late)).toMatchObject({
    status: 200,
    body: { invalidReason: reasons.validBefore.code },
  })
  const settled = await post('/settle', payment)
  expect(settled).toMatchObject(unsent)
  expect(settled.tookMs).toBeLessThan(WAIT_MS / 2)
  const channel = aChannel({ payer: devnetPayer.account })
  expect(await post('/verify', await channel.deposit('20000', '1000'))).toMatchObject(unavailable)

  await fundNative(anvil.url, second.address, FUNDS)
  await expect
    .poll(async () => (await post('/verify', payment)).body, { timeout: 10_000 })
    .toMatchObject({ isValid: true })
  expect((await post('/settle', payment)).body).toMatchObject({ success: true })
}, 60_000)

it('one wallet that can pay is enough, and the other is named', async () => {
  await start([0n, FUNDS])
  expect(warnings()).toHaveLength(1)
  const payment = await aSignedPayment()
  expect((await post('/verify', payment)).body).toMatchObject({ isValid: true })
  const settled = await post('/settle', payment)
  expect(settled.body).toMatchObject({ success: true })
  expect(settled.tookMs).toBeLessThan(WAIT_MS / 2)
}, 60_000)

it('a wallet that was emptied since is found before anything is signed, and nothing is called on its way', async () => {
  await start([FUNDS])
  expect((await post('/settle', await aSignedPayment())).body).toMatchObject({ success: true })
  await fundNative(anvil.url, first.address, 0n)
  const payment = await aSignedPayment()
  const settled = await post('/settle', payment)
  expect(settled).toMatchObject(unsent)
  expect(settled.tookMs).toBeLessThan(WAIT_MS / 2)
  expect(await post('/verify', await aSignedPayment())).toMatchObject(unavailable)
  await fundNative(anvil.url, first.address, FUNDS)
  await expect
    .poll(async () => (await post('/settle', payment)).body, { timeout: 15_000, interval: 500 })
    .toMatchObject({ success: true, transaction: expect.stringMatching(/^0x/) })
}, 60_000)

it('a wallet that is emptied while nothing happens makes verify say so within seconds', async () => {
  await start([FUNDS])
  await fundNative(anvil.url, first.address, 0n)
  await expect
    .poll(async () => post('/verify', await aSignedPayment()), { timeout: 8_000, interval: 300 })
    .toMatchObject(unavailable)
  expect(warnings()).toHaveLength(1)
}, 60_000)
