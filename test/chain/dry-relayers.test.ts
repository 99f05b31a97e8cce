import { reasons } from '@arcus/protocol/x402/reasons'
import { describe, expect, it } from 'vitest'
import { type DevnetAccount, devnetPayer, devnetRelayers } from '../../src/devnet/accounts.js'
import { fundNative } from '../../src/devnet/fixtures.js'
import { aChannel } from '../support/a-channel.js'
import { aSignedPayment } from '../support/a-signed-payment.js'
import { startWorld } from '../support/arcus.js'

const [first, second] = devnetRelayers as readonly [DevnetAccount, DevnetAccount]
const FUNDS = 100n * 10n ** 18n
/** A settle that nobody can pay for is answered long before this wait is over. */
const WAIT_MS = 60_000
/** Balances are read again every three seconds; a busy machine takes longer. */
const SOON = { timeout: 30_000, interval: 300 }

/** A service whose wallets hold this much when it starts, until the end of the test. */
async function start(balances: readonly bigint[], onTestFinished: OnTestFinished) {
  const warnings: string[] = []
  const world = await startWorld({
    env: {
      RELAYER_PRIVATE_KEYS: devnetRelayers
        .slice(0, balances.length)
        .map(({ privateKey }) => privateKey)
        .join(','),
      DATABASE_URL: 'sqlite::memory:',
      SETTLE_WAIT_SECONDS: String(WAIT_MS / 1_000),
      LOG_LEVEL: 'warn',
    },
    async between(chainUrl) {
      for (const [i, balance] of balances.entries()) {
        await fundNative(chainUrl, (devnetRelayers[i] as DevnetAccount).address, balance)
      }
      return chainUrl
    },
    onLine({ level, msg }) {
      if (level === 'warn' && /too little for one settlement/.test(String(msg))) {
        warnings.push(String(msg))
      }
    },
  })
  onTestFinished(() => world.stop())
  async function post(path: string, body: unknown) {
    const startedAt = Date.now()
    const { status, body: told } = await world.post(path, body)
    return { status, body: told, tookMs: Date.now() - startedAt }
  }
  return {
    post,
    warnings,
    fund: (it: DevnetAccount, wei: bigint) => fundNative(world.chainUrl, it.address, wei),
  }
}

type OnTestFinished = (stop: () => Promise<void>) => void

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
      /No relayer .* can sign and pay for gas now; nothing was sent/,
    ),
    transaction: '',
    network: 'eip155:5042',
  },
}

// They wait most of the time, each for its own service.
describe.concurrent('a relayer wallet without gas', () => {
  it('empty wallets are named at start, and verify accepts nothing until one is refilled', async ({
    expect,
    onTestFinished,
  }) => {
    const { post, warnings, fund } = await start([0n, 1n], onTestFinished)
    expect(warnings).toEqual([
      expect.stringMatching(
        RegExp(`${first.address} holds 0 USDC on eip155:5042.*: send USDC`, 'i'),
      ),
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

    await fund(second, FUNDS)
    await expect
      .poll(async () => (await post('/verify', payment)).body, SOON)
      .toMatchObject({ isValid: true })
    expect((await post('/settle', payment)).body).toMatchObject({ success: true })
  })

  it('a wallet that was emptied since is found before anything is signed, and nothing is called on its way', async ({
    expect,
    onTestFinished,
  }) => {
    const { post, fund } = await start([FUNDS], onTestFinished)
    expect((await post('/settle', await aSignedPayment())).body).toMatchObject({ success: true })
    await fund(first, 0n)
    const payment = await aSignedPayment()
    const settled = await post('/settle', payment)
    expect(settled).toMatchObject(unsent)
    expect(settled.tookMs).toBeLessThan(WAIT_MS / 2)
    expect(await post('/verify', await aSignedPayment())).toMatchObject(unavailable)
    await fund(first, FUNDS)
    await expect
      .poll(async () => (await post('/settle', payment)).body, SOON)
      .toMatchObject({ success: true, transaction: expect.stringMatching(/^0x/) })
  })
})
