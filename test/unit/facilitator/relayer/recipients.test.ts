import { setTimeout as sleep } from 'node:timers/promises'
import type { Address } from 'viem'
import { expect, it, onTestFinished, vi } from 'vitest'
import { createRecipients } from '../../../../src/facilitator/relayer/recipients.js'
import type { PayToAllowed } from '../../../../src/facilitator/settings.js'

const [payer, shop, seller, stranger, refunds] = ['1', '2', '3', '4', '5'].map(
  (digit) => `0x${digit.repeat(40)}` as Address,
) as [Address, Address, Address, Address, Address]

/** Recipients of which `seller` is listed; `paid` is who paid the stranger on earlier days, and whom else. */
function someRecipients(allowed?: PayToAllowed, paid: { payer: Address; other: Address }[] = []) {
  const recipients = createRecipients({
    network: 'eip155:5042',
    allowed,
    own: [refunds],
    isListed: async (payTo) => payTo === seller,
    customers: { othersPaid: async (_network, payTo) => (payTo === stranger ? paid : []) },
    now: () => Date.UTC(2026, 10, 21),
  })
  return async (payTo: Address, from = payer) => {
    const found = await recipients.check({ payer: from, payTo })
    return typeof found === 'string' ? found : found.reason
  }
}

it('all may be paid where the operator names none, and listings give standing', async () => {
  const check = someRecipients()
  expect(await check(stranger)).toBe('none')
  expect(await check(seller)).toBe('known')
  expect(await check(shop)).toBe('none')
})

it('only recipients that the operator names are paid, and they may pay back', async () => {
  const check = someRecipients({ addresses: [shop], listed: false })
  expect(await check(shop)).toBe('own')
  expect(await check(stranger)).toBe('payToNotAllowed')
  expect(await check(seller)).toBe('payToNotAllowed')
  expect(await check(stranger, shop)).toBe('own')
  expect(await check(stranger, refunds)).toBe('own')
})

it('only listed recipients are paid where the operator says so', async () => {
  const check = someRecipients({ addresses: [], listed: true })
  expect(await check(seller)).toBe('known')
  expect(await check(shop)).toBe('payToNotAllowed')
  expect(await someRecipients({ addresses: [shop], listed: true })(shop)).toBe('own')
})

it('customers give standing: three of them, each of whom also paid somebody who is known', async () => {
  const customer = (digit: string, other: Address) => {
    return { payer: `0x${digit.repeat(40)}` as Address, other }
  }
  const two = [customer('a', seller), customer('b', seller), customer('b', refunds)]
  expect(await someRecipients(undefined, two)(stranger)).toBe('none')
  expect(await someRecipients(undefined, [...two, customer('c', seller)])(stranger)).toBe('known')
  // Keys that only pay each other, and the recipient itself.
  const ring = ['c', 'd', 'e'].map((digit) => customer(digit, shop))
  expect(await someRecipients(undefined, [...two, ...ring])(stranger)).toBe('none')
  expect(await someRecipients(undefined, [...two, customer('4', seller)])(stranger)).toBe('none')
})

it('a listing counts for half a minute once it is seen, and is looked for again after a second', async () => {
  let ms = 1_000
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => ms)
  onTestFinished(() => clock.mockRestore())
  const asked: Record<string, number> = {}
  const count = (name: string) => {
    asked[name] = (asked[name] ?? 0) + 1
  }
  const recipients = createRecipients({
    network: 'eip155:5042',
    allowed: undefined,
    own: [],
    async isListed(payTo) {
      count(payTo)
      return payTo === seller
    },
    customers: {
      async othersPaid() {
        count('customers')
        return []
      },
    },
    now: () => Date.UTC(2026, 10, 21),
  })
  /** Checks both recipients when so much time has passed, and returns what had to be read for that. */
  async function readsAfter(passedMs: number) {
    ms += passedMs
    // The record looks at the clock once a millisecond.
    await sleep(5)
    for (const name of Object.keys(asked)) delete asked[name]
    for (const payTo of [seller, stranger]) await recipients.check({ payer, payTo })
    return asked
  }
  expect(await readsAfter(0)).toEqual({ [seller]: 1, [stranger]: 1, customers: 1 })
  expect(await readsAfter(1_000)).toEqual({})
  expect(await readsAfter(1)).toEqual({ [stranger]: 1 })
  expect(await readsAfter(28_999)).toEqual({ [stranger]: 1 })
  expect(await readsAfter(1)).toEqual({ [seller]: 1, customers: 1 })
})
