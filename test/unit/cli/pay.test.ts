import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { x402 } from '@arcus/merchant'
import { fastify } from 'fastify'
import { expect, it, onTestFinished } from 'vitest'
import { complaintOf, reasonOf } from '../../../src/cli/pay.js'
import { devnetMerchant } from '../../../src/devnet/accounts.js'
import { startWorld } from '../../support/arcus.js'
import { arcus } from '../../support/scripts.js'

const failed = { ok: false, status: 502, headers: new Headers() }
const transaction = '0xab'
const unsigned = { isSigned: false, spent: 0n }
const signed = { isSigned: true, spent: 0n }

it.each([
  ['no price', undefined, unsigned, 'Not paid: nothing was asked.'],
  [
    'nothing said of a signed payment',
    undefined,
    signed,
    'Not known whether it is paid: the payment was signed, and the seller answered 502 without saying what became of it.',
  ],
  [
    'nothing said of money that left',
    undefined,
    { isSigned: true, spent: 10_000n },
    'Charged 0.01 USDC, although the call failed: the seller names no transaction.',
  ],
  [
    'a success',
    { success: true, transaction },
    { isSigned: true, spent: 10_000n },
    'Charged, although the call failed: transaction 0xab.',
  ],
  [
    'a refusal',
    { success: false, transaction: '', errorReason: 'insufficient_balance' },
    signed,
    'Not paid: insufficient_balance.',
  ],
  [
    'a refusal, and money that left all the same',
    { success: false, transaction: '', errorReason: 'insufficient_balance' },
    { isSigned: true, spent: 10_000n },
    'Charged 0.01 USDC, although the call failed: the seller names no transaction.',
  ],
  [
    'a payment that is on its way',
    { success: false, transaction, errorReason: 'settlement_pending' },
    signed,
    'Not known yet whether it is paid: settlement_pending, transaction 0xab.',
  ],
])('a call that failed with %s says whether money left', (_, settlement, call, said) => {
  expect(complaintOf(failed, settlement, call)).toBe(said)
})

it('says what to do where nothing listens', () => {
  const closed = Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })
  expect(reasonOf(new Error('fetch failed', { cause: closed }))).toMatch(
    /\(ECONNREFUSED\)\. Nothing listens there: start the seller/,
  )
  expect(reasonOf(new Error('The price is above the limit.'))).toBe('The price is above the limit.')
})

it('an answer that breaks off is said to be charged, with its transaction', async () => {
  const world = await startWorld()
  const shop = fastify()
  onTestFinished(async () => {
    await shop.close()
    await world.stop()
  })
  await shop.register(x402, { facilitator: world.url, payTo: devnetMerchant.address })
  shop.get('/quote', { config: { x402: '$0.01' } }, async (request, reply) => {
    await request.payment?.settle()
    reply.raw.writeHead(200, { 'content-length': '100' })
    reply.raw.write('half of it')
    setTimeout(() => reply.raw.destroy(), 200)
    return reply.hijack()
  })
  const url = `${await shop.listen({ port: 0, host: '127.0.0.1' })}/quote`
  const child = spawn(process.execPath, arcus('pay', url, '--rpc', world.chainUrl))
  const [shown, complaint, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit'),
  ])
  expect(shown).toMatch(/answer {8}200 OK {3}half of it\n {2}transaction {3}0x[0-9a-f]{64}/)
  expect(complaint).toMatch(/Charged, although the call failed: transaction 0x[0-9a-f]{64}/)
  expect(code).toBe(1)
})
