import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Payment, x402 } from '@arcus/merchant'
import { createRefunds, type RefundablePayment, type Refunds } from '@arcus/merchant/refunds'
import { decodePaymentResponseHeader } from '@x402/core/http'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import fastify, { type FastifyInstance } from 'fastify'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { devnetMerchant, devnetPayer } from '../../src/devnet/accounts.js'
import { usdcBalance } from '../../src/devnet/fixtures.js'
import { startWorld, type World } from '../support/arcus.js'
import { payingBy } from '../support/paying.js'

const payTo = devnetMerchant.address
const folder = mkdtempSync(join(tmpdir(), 'arcus-refund-flow-'))
const path = join(folder, 'refunds.jsonl')
let world: World
let refunds: Refunds
let app: FastifyInstance
let url: string
/** The payments that the shop took, as a seller would keep them. */
const sold: RefundablePayment[] = []

const openRefunds = () =>
  createRefunds({ facilitator: world.url, signer: devnetMerchant.account, path })

beforeAll(async () => {
  world = await startWorld({ env: { RATE_LIMIT_MAX: '0' } })
  refunds = await openRefunds()
  app = fastify()
  await app.register(x402, { facilitator: world.url, payTo, refunds })
  const keep = (payment: Payment | null) => void sold.push(JSON.parse(JSON.stringify(payment)))
  app.get('/goods', { config: { x402: '$0.01' } }, (request) => {
    keep(request.payment)
    return { goods: true }
  })
  app.get('/broken', { config: { x402: '$0.01' } }, async (request, reply) => {
    await request.payment?.settle()
    await request.payment?.refund()
    // Asking again gives nothing more.
    await request.payment?.refund('$0.005')
    return reply.code(503).send({ error: 'the machine broke' })
  })
  app.get('/half', { config: { x402: '$0.01' } }, async (request) => {
    keep(request.payment)
    return { back: await request.payment?.refund('$0.004') }
  })
  app.get('/greedy', { config: { x402: '$0.01' } }, async (request) => {
    await request.payment?.refund('$0.02')
  })
  url = await app.listen({ host: '127.0.0.1', port: 0 })
})
afterAll(async () => {
  await app?.close()
  await refunds?.close()
  await world?.stop()
  rmSync(folder, { recursive: true })
})

const buy = (route: string) => payingBy(new ExactEvmScheme(devnetPayer.account))(url + route)
const settlementOf = (answer: Response) =>
  decodePaymentResponseHeader(answer.headers.get('PAYMENT-RESPONSE') ?? '')
const balances = async () => [
  await usdcBalance(world.chainUrl, payTo),
  await usdcBalance(world.chainUrl, devnetPayer.address),
]
/** Returns what moved since: earned by the seller, spent by the buyer. */
async function moved(before: bigint[]) {
  const [earned = 0n, held = 0n] = await balances()
  return { earned: earned - (before[0] ?? 0n), spent: (before[1] ?? 0n) - held }
}
const lookUp = async ({ network, payer, nonce }: RefundablePayment) =>
  (await world.get(`/payments/${network}/${payer}/${nonce}`)).body

it('a call that fails after it was settled is given back whole, once', async () => {
  const before = await balances()
  const answer = await buy('/broken')
  expect([answer.status, await answer.json()]).toEqual([503, { error: 'the machine broke' }])
  const settlement = settlementOf(answer)
  expect(settlement).toMatchObject({ success: true, extra: { charged: '0', refund: '10000' } })
  await refunds.run()
  expect(refunds.pending()).toEqual([])
  expect(await moved(before)).toEqual({ earned: 0n, spent: 0n })
  const { payments } = (await world.get(`/payments/${settlement.transaction}`)).body
  expect(payments[0].refund).toMatchObject({ amount: '10000', from: payTo })
})

it('a part goes back while the rest is earned, and payment and receipt say both', async () => {
  const before = await balances()
  const answer = await buy('/half')
  expect([answer.status, await answer.json()]).toEqual([200, { back: '4000' }])
  expect(settlementOf(answer).extra).toMatchObject({ charged: '6000', refund: '4000' })
  await refunds.run()
  expect(await moved(before)).toEqual({ earned: 6_000n, spent: 6_000n })
  const payment = sold.at(-1) as RefundablePayment
  expect(await lookUp(payment)).toMatchObject({ amount: '10000', refund: { amount: '4000' } })
  const { network, payer, nonce } = payment
  const receipt = await fetch(`${world.url}/payments/${network}/${payer}/${nonce}/receipt`)
  expect(await receipt.text()).toMatch(/0\.004/)
  // Later words change nothing: it is the refund of this payment.
  const given = await refunds.refund(payment)
  expect(given).toEqual({ amount: '4000', transaction: expect.stringMatching(/^0x\w{64}$/) })
  expect(await moved(before)).toEqual({ earned: 6_000n, spent: 6_000n })
})

it('more than the price is refused before anything is settled', async () => {
  const before = await balances()
  expect((await buy('/greedy')).status).toBe(500)
  expect(await moved(before)).toEqual({ earned: 0n, spent: 0n })
})

it('a kept payment is given back later, once for any number of calls and starts', async () => {
  const before = await balances()
  expect((await buy('/goods')).status).toBe(200)
  const payment = sold.at(-1) as RefundablePayment
  expect(payment).not.toHaveProperty('settle')
  const given = await Promise.all([
    refunds.refund(payment, '$0.003'),
    refunds.refund(payment, '3000'),
    refunds.refund(payment, '$0.003'),
  ])
  expect(given.map(({ amount }) => amount)).toEqual(['3000', '3000', '3000'])
  expect(given[0]?.transaction).toMatch(/^0x\w{64}$/)
  expect(await moved(before)).toEqual({ earned: 7_000n, spent: 7_000n })
  // A process that remembers nothing, with another amount and without the file of the first.
  const forgetful = await createRefunds({
    facilitator: world.url,
    signer: devnetMerchant.account,
    path: join(folder, 'other.jsonl'),
  })
  expect(await forgetful.refund(payment, '$0.01')).toEqual(given[0])
  await forgetful.close()
  expect(await moved(before)).toEqual({ earned: 7_000n, spent: 7_000n })
  expect((await lookUp(payment)).refund).toMatchObject({ amount: '3000' })
})

it('what was not settled here, or not so, is not given back', async () => {
  const before = await balances()
  expect((await buy('/goods')).status).toBe(200)
  const payment = sold.at(-1) as RefundablePayment
  const lines = readFileSync(path, 'utf8')
  const never = { ...payment, nonce: `0x${'77'.repeat(32)}` }
  await expect(refunds.refund(never)).rejects.toThrow(/not known to be settled/)
  await expect(refunds.refund({ ...payment, amount: '20000' })).rejects.toThrow(/moved 10000 to/)
  await expect(refunds.refund(payment, '$0.02')).rejects.toThrow(/cannot be given back/)
  await expect(refunds.refund(payment, '$0')).rejects.toThrow(/cannot be given back/)
  await expect(refunds.refund(payment, '€0.01')).rejects.toThrow(/other money than the price/)
  await expect(refunds.refund({ ...payment, payTo: payment.payer })).rejects.toThrow(/was paid/)
  const { nonce: _, ...voucher } = payment
  await expect(refunds.refund(voucher)).rejects.toThrow(/only a payment by exact/)
  expect(readFileSync(path, 'utf8')).toBe(lines)
  expect(await moved(before)).toEqual({ earned: 10_000n, spent: 10_000n })
})
