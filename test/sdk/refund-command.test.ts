import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { x402 } from '@arcus/merchant'
import { createRefunds, type RefundablePayment, type Refunds } from '@arcus/merchant/refunds'
import { decodePaymentResponseHeader } from '@x402/core/http'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import fastify, { type FastifyInstance } from 'fastify'
import { encodeFunctionData, type Hex } from 'viem'
import { afterAll, beforeAll, expect, it } from 'vitest'
import {
  devnetBuyback,
  devnetHost,
  devnetMerchant,
  devnetPayer,
} from '../../src/devnet/accounts.js'
import { devnetContracts, mintUsdc, readArtifact, usdcBalance } from '../../src/devnet/fixtures.js'
import { aSignedPayment } from '../support/a-signed-payment.js'
import { sendTogether } from '../support/a-stranger.js'
import { startWorld, type World } from '../support/arcus.js'
import { bundleClientCommand, runScript } from '../support/client-command.js'
import { payingBy } from '../support/paying.js'
import { authorizationArguments } from '../support/token.js'

const payTo = devnetMerchant.address
const folder = mkdtempSync(join(tmpdir(), 'arcus-refund-command-'))
const ledger = join(folder, 'refunds.jsonl')
let world: World
let refunds: Refunds
let app: FastifyInstance
let shop: string
let script: string
/** The payments that the shop took. */
const sold: RefundablePayment[] = []

beforeAll(async () => {
  ;[world, script] = await Promise.all([
    startWorld({ env: { RATE_LIMIT_MAX: '0' } }),
    bundleClientCommand(folder, 'packages/merchant/src/bin.ts'),
  ])
  // The server runs on with the same ledger.
  refunds = await createRefunds({
    facilitator: world.url,
    signer: devnetMerchant.account,
    path: ledger,
  })
  app = fastify()
  await app.register(x402, { facilitator: world.url, payTo, refunds })
  app.get('/goods', { config: { x402: '$1.00' } }, (request) => {
    sold.push(JSON.parse(JSON.stringify(request.payment)))
    return 'goods'
  })
  shop = await app.listen({ host: '127.0.0.1', port: 0 })
})
afterAll(async () => {
  await app?.close()
  await refunds?.close()
  await world?.stop()
  rmSync(folder, { recursive: true })
})

/** Buys from the shop, and returns the transaction. */
async function buy(): Promise<Hex> {
  const answer = await payingBy(new ExactEvmScheme(devnetPayer.account))(`${shop}/goods`)
  const { transaction } = decodePaymentResponseHeader(answer.headers.get('PAYMENT-RESPONSE') ?? '')
  return transaction as Hex
}

const merchant = { MERCHANT_KEY: devnetMerchant.privateKey }
/** Runs the command as the seller, or with another environment. */
const refund = (args: string[], env: Record<string, string> = merchant, path = ledger) =>
  runScript(script, ['refund', ...args, '--ledger', path], {
    ARCUS_URL: world.url,
    ARCUS_RPC_URL: world.chainUrl,
    ...env,
  })
const held = () => usdcBalance(world.chainUrl, devnetPayer.address)

it('gives a payment back by its transaction, once, next to the server that uses the ledger', async () => {
  const before = await held()
  const transaction = await buy()
  const ran = await refund([transaction, '$0.40'])
  expect(ran).toMatchObject({ code: 0, stderr: '' })
  expect(ran.stdout).toMatch(
    new RegExp(`^paid 1 USDC, returned 0.4 USDC to ${devnetPayer.address}\n0x\\w{64}\n$`),
  )
  expect(before - (await held())).toBe(600_000n)

  // Whoever asks again, for more or for the same, by the command, the server or without the ledger: it stays at that.
  const more = await refund([transaction])
  expect([more.code, more.stdout]).toEqual([1, expect.stringMatching(/before.*given back once/)])
  const again = await refund([transaction, '400000', '--json'])
  const payment = sold.at(-1) as RefundablePayment
  expect(again.code).toBe(0)
  const { refund: said, ...read } = JSON.parse(again.stdout)
  expect(read).toEqual({ ...read, nonce: payment.nonce, amount: '1000000', payTo })
  expect(ran.stdout).toContain(said.transaction)
  expect(await refunds.refund(payment)).toEqual(said)
  const forgetful = await refund([transaction], merchant, join(folder, 'other.jsonl'))
  expect([forgetful.code, forgetful.stdout]).toEqual([1, more.stdout])
  expect(before - (await held())).toBe(600_000n)
  expect(refunds.pending()).toEqual([])
})

it('shows the buyer what came back of their payment, in text and in JSON', async () => {
  const arcusClient = await bundleClientCommand(join(folder, 'client'))
  const run = (args: string[]) =>
    runScript(arcusClient, args, {
      ARCUS_URL: world.url,
      HOME: folder,
      PAYER_PRIVATE_KEY: devnetPayer.privateKey,
    })
  const pay = ['pay', `${shop}/goods`, '--max', '1', '--per-day', '2']
  const paid = await run(pay)
  expect(paid.code).toBe(0)
  const [transaction = ''] = /0x\w{64}/.exec(paid.stderr) ?? []
  expect((await run(['ledger'])).stdout).not.toContain('returned')
  expect((await refund([transaction])).code).toBe(0)
  expect((await run(pay)).code).toBe(0)
  const { stdout } = await run(['ledger'])
  const [last, first] = stdout.split('\n')
  expect(last).toMatch(/ 1 USDC {2}settled {2}/)
  expect(first).toMatch(/ 1 USDC {2}settled, returned 1 USDC {2}127\.0\.0\.1:\d+ {2}0x/)
  const { entries, left } = JSON.parse((await run(['ledger', '--json', '--per-day', '2'])).stdout)
  expect(entries[1]).toMatchObject({
    spent: '1 USDC',
    returned: '1 USDC',
    returnedAtomic: '1000000',
  })
  expect(entries[0]).not.toHaveProperty('returned')
  // A refund does not open the limit again: the seller of a loop that fails would empty the wallet.
  expect(left.perDay).toBe('0 USDC')
}, 60_000)

it('leaves the other refunds of the ledger alone', async () => {
  const transaction = await buy()
  const other = { ...JSON.parse(readFileSync(ledger, 'utf8').split('\n')[0] ?? ''), id: 'other' }
  const path = join(folder, 'with-another.jsonl')
  const waits = { ...other, state: 'due', paymentNonce: `0x${'99'.repeat(32)}` }
  writeFileSync(path, `${JSON.stringify(waits)}\n`)
  const before = await held()
  expect((await refund([transaction], merchant, path)).code).toBe(0)
  expect((await held()) - before).toBe(1_000_000n)
  const lines = readFileSync(path, 'utf8').trim().split('\n')
  expect(lines.filter((line) => line.includes('"other"'))).toHaveLength(1)
})

it('refuses what did not pay this seller', async () => {
  const ofOthers = await aSignedPayment({ to: devnetBuyback.address })
  const { body } = await world.post('/settle', ofOthers)
  const before = await held()
  const foreign = await refund([body.transaction])
  expect([foreign.code, foreign.stderr]).toEqual([1, expect.stringMatching(/holds no payment/)])
  const transaction = await buy()
  const stranger = await refund([transaction], { MERCHANT_KEY: devnetHost.privateKey })
  expect([stranger.code, stranger.stderr]).toEqual([1, expect.stringMatching(/holds no payment/)])
  const tooMuch = await refund([transaction, '$1.01'])
  expect([tooMuch.code, tooMuch.stderr]).toEqual([1, expect.stringMatching(/cannot be given back/)])
  const never = await refund([`0x${'12'.repeat(32)}`])
  expect([never.code, never.stderr]).toEqual([1, expect.stringMatching(/could not be found/)])
  const elsewhere = await refund([transaction, '--network', 'eip155:5042002'])
  expect([elsewhere.code, elsewhere.stderr]).toEqual([1, expect.stringMatching(/is not on/)])
  expect(before - (await held())).toBe(1_000_000n)
})

it('asks which payment is meant where a transaction holds several', async () => {
  await mintUsdc(world.chainUrl, devnetHost.address, 10_000n)
  const payments = [
    await aSignedPayment(),
    await aSignedPayment({ from: devnetHost.address, signer: devnetHost.account }),
  ]
  const { abi } = readArtifact('MockUsdc')
  const functionName = 'transferWithAuthorization'
  const hash = await sendTogether(
    world.chainUrl,
    payments.map((payment) => {
      const args = authorizationArguments(payment)
      return [devnetContracts.usdc, encodeFunctionData({ abi, functionName, args })] as const
    }),
  )
  const several = await refund([hash])
  expect([several.code, several.stderr]).toEqual([1, expect.stringMatching(/choose by --payer/)])
  // A stranger brought it on chain, and Arcus does not know it as settled.
  const unknown = await refund([hash, '--payer', devnetHost.address])
  expect([unknown.code, unknown.stderr]).toEqual([
    1,
    expect.stringMatching(/not known to be settled/),
  ])
})

it('says what it needs, and never takes a key as an argument', async () => {
  const hash = `0x${'12'.repeat(32)}`
  expect(await refund([hash], {})).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^There is no key of 32 bytes/),
  })
  expect(await runScript(script, ['refund', hash], merchant)).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/--ledger/),
  })
  expect(await runScript(script, ['refund', hash, '--key', 'x'], {})).toMatchObject({ code: 2 })
  const { code, stdout } = await runScript(script, ['--help'], {})
  expect([code, stdout]).toEqual([0, expect.stringMatching(/^arcus-merchant refund TRANSACTION/)])
})
