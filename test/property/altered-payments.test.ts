import type { ParsedPayment } from '@arcus/protocol/x402/payment'
import fc from 'fast-check'
import type { Address, Hex } from 'viem'
import { beforeEach, expect, it } from 'vitest'
import { aFacilitator } from '../support/simulated/a-facilitator.js'
import { aWorld, usdc, useVirtualClock } from '../support/simulated/a-relayer.js'
import { aPayment, nowSeconds, payer, signPayment } from '../unit/protocol/x402/a-payment.js'

let verify: ReturnType<typeof aFacilitator>['verify']
let signed: ParsedPayment

useVirtualClock()
beforeEach(async () => {
  const world = aWorld()
  verify = aFacilitator(world, await world.start()).verify
  world.chain.change(({ tokens }) => tokens.set(`${usdc}/${payer}`, 10n ** 30n))
  const payment = aPayment()
  signed = { ...payment, signature: await signPayment(payment) }
})

const hex = (length: number) =>
  fc
    .uint8Array({ minLength: length, maxLength: length })
    .map((bytes): Hex => `0x${Buffer.from(bytes).toString('hex')}`)
const address: fc.Arbitrary<Address> = hex(20)
const amount = fc.bigInt({ min: 1n, max: 10n ** 12n })

function withAuthorization(
  changes: Partial<ParsedPayment['authorization']>,
): Partial<ParsedPayment> {
  return { authorization: { ...signed.authorization, ...changes } }
}

/** The alterations. Each may adapt the other members too, so that only the signature shows it. */
const lies: Record<string, fc.Arbitrary<() => Partial<ParsedPayment>>> = {
  from: address.map((from) => () => withAuthorization({ from })),
  to: address.map((to) => () => withAuthorization({ to })),
  'to and payTo': address.map((to) => () => ({ ...withAuthorization({ to }), payTo: to })),
  payTo: address.map((payTo) => () => ({ payTo })),
  value: amount.map((value) => () => withAuthorization({ value })),
  'value and amount': amount.map((value) => () => ({
    ...withAuthorization({ value }),
    amount: value,
  })),
  amount: amount.map((amount) => () => ({ amount })),
  validAfter: fc
    .integer({ min: 1, max: nowSeconds + 100 })
    .map((at) => () => withAuthorization({ validAfter: BigInt(at) })),
  validBefore: fc
    .integer({ min: 0, max: 2 * nowSeconds })
    .map((at) => () => withAuthorization({ validBefore: BigInt(at) })),
  nonce: hex(32).map((nonce) => () => withAuthorization({ nonce })),
  asset: address.map((asset) => () => ({ asset })),
  network: fc.constantFrom('eip155:5042002', 'eip155:1', '').map((network) => () => ({ network })),
  'the domain': fc
    .record({ name: fc.string(), version: fc.string() })
    .map((quotedDomain) => () => ({ quotedDomain })),
  'a bit of the signature': fc.nat({ max: 65 * 8 - 1 }).map((bit) => () => {
    const bytes = Buffer.from(signed.signature.slice(2), 'hex')
    bytes.writeUInt8(bytes.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3)
    return { signature: `0x${bytes.toString('hex')}` as Hex }
  }),
  'the signature': fc
    .uint8Array({ maxLength: 200 })
    .map((bytes) => () => ({ signature: `0x${Buffer.from(bytes).toString('hex')}` as Hex })),
}

const fingerprint = (payment: ParsedPayment) =>
  JSON.stringify(payment, (_, value) => (typeof value === 'bigint' ? value.toString() : value))

it('finds the payment valid as it was signed', async () => {
  expect((await verify(signed)).state).toBe('valid')
})

it.each(Object.keys(lies))('refuses a signed payment in which %s is altered', async (name) => {
  await fc.assert(
    fc.asyncProperty(lies[name] as (typeof lies)[string], async (lie) => {
      const altered = { ...signed, ...lie() }
      fc.pre(fingerprint(altered) !== fingerprint(signed))
      expect((await verify(altered)).state).toBe('rejected')
    }),
    { numRuns: 60 },
  )
})
