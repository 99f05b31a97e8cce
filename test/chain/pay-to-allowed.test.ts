import { reasons } from '@arcus/protocol/x402/reasons'
import { afterEach, expect, it } from 'vitest'
import { devnetMerchant } from '../../src/devnet/accounts.js'
import { mintUsdc } from '../../src/devnet/fixtures.js'
import { aChannel, fillChannels } from '../support/a-channel.js'
import { aPermit2Payer, aPermit2Payment } from '../support/a-permit2-payment.js'
import { aSignedPayment } from '../support/a-signed-payment.js'
import { anAccount } from '../support/an-account.js'
import { startWorld, type World } from '../support/arcus.js'
import { startGasWorld } from '../support/gas-world.js'

const refused = { success: false, errorReason: reasons.payToNotAllowed.code, transaction: '' }
const invalid = { isValid: false, invalidReason: reasons.payToNotAllowed.code }

let world: Pick<World, 'post' | 'get' | 'chainUrl' | 'stop'>
afterEach(() => world.stop())

const settle = async (body: unknown) => (await world.post('/settle', body)).body
const verify = async (body: unknown) => (await world.post('/verify', body)).body

it('gas is paid for the recipients of PAY_TO_ALLOWED alone, by verify and settle alike', async () => {
  world = await startWorld({ env: { PAY_TO_ALLOWED: devnetMerchant.address } })
  expect(await settle(await aSignedPayment())).toMatchObject({ success: true })
  const other = await aSignedPayment({ to: anAccount().address })
  expect(await verify(other)).toMatchObject(invalid)
  expect(await settle(other)).toMatchObject(refused)
  const channel = aChannel()
  await mintUsdc(world.chainUrl, channel.payer.address, 1_000_000n)
  const deposit = await channel.deposit('100000')
  expect(await verify(deposit)).toMatchObject(invalid)
  expect(await settle(deposit)).toMatchObject(refused)
  await fillChannels(world.chainUrl, [channel], 1_000_000n)
  expect(await settle(await channel.claim({ max: '1000', total: '1000' }))).toMatchObject(refused)
  const payer = await aPermit2Payer(world.chainUrl)
  for (const scheme of ['exact', 'upto'] as const) {
    const byPermit2 = await aPermit2Payment({ scheme, ...payer, to: anAccount().address })
    expect(await verify(byPermit2)).toMatchObject(invalid)
    expect(await settle(byPermit2)).toMatchObject(refused)
  }
  // Everybody reads the same, because the list may change.
  const { kinds } = (await world.get('/supported')).body
  expect(kinds.length).toBeGreaterThan(0)
})

it('with the word listed, a recipient must have a proven listing', async () => {
  world = await startWorld({ env: { PAY_TO_ALLOWED: 'listed' } })
  expect(await settle(await aSignedPayment())).toMatchObject(refused)
})

it('a ring of own keys leaves the ceiling of the day to others', async () => {
  world = await startGasWorld({ DAILY_GAS_LIMIT_USD: '0.03', TRUST_PROXY: '1' })
  const ring = Array.from({ length: 4 }, anAccount)
  for (const { address } of ring) await mintUsdc(world.chainUrl, address, 100_000n)
  const from = (ip: string) => ({ 'x-forwarded-for': ip })
  const turn = async (i: number) => {
    const [key, next] = [ring[i % 4], ring[(i + 1) % 4]] as [(typeof ring)[0], (typeof ring)[0]]
    const payment = { from: key.address, signer: key, to: next.address, value: 2_500n }
    return (await world.post('/settle', await aSignedPayment(payment), from('203.0.113.7'))).body
  }
  let last: { errorReason?: string } = {}
  for (let i = 0; i < 40 && last.errorReason === undefined; i++) last = await turn(i)
  expect(last.errorReason).toBe(reasons.gasBudgetExceeded.code)
  const honest = await aSignedPayment()
  const answers = [
    (await world.post('/verify', honest, from('198.51.100.9'))).body,
    (await world.post('/settle', honest, from('198.51.100.9'))).body,
  ]
  expect(answers).toMatchObject([{ isValid: true }, { success: true }])
})
