import { type Budget, leftOf } from '@arcus/client/budget'
import { entriesOf, foldEvents, type LedgerEvent } from '@arcus/client/ledger'
import { describe, expect, it } from 'vitest'

const seller = { network: 'eip155:5042', asset: '0xa', payTo: '0xb', host: 'a.example' }
const payment = { network: 'eip155:5042', payer: '0x1', nonce: '0x2', asset: '0xa' } as const
const budget: Budget = {
  perCall: 100n,
  perDay: 1_000n,
  total: 1_000n,
  network: seller.network,
  asset: seller.asset,
}

/** A payment of a hundred that left, and what was heard of it. */
function heard(isCeiling: boolean, ...steps: Partial<LedgerEvent>[]): LedgerEvent[] {
  const { id, at } = { id: 'one', at: 1_000 }
  const named = { ...payment, method: 'eip3009' as const }
  return [
    { v: 1, id, at, type: 'reserved', ...seller, amount: '100', call: 'c', isCeiling },
    { v: 1, id, at, type: 'signed', payment: named, validBefore: 60 },
    ...steps.map((step) => ({ v: 1, id, at, ...step }) as LedgerEvent),
  ]
}

const settled = (amount: string) => ({ type: 'settled', amount, transaction: '0x3' }) as const

describe('the ledger', () => {
  it.each([
    ['less than nothing', true, '-1000000000', 100n],
    ['no number', true, 'all', 100n],
    ['more than was signed', true, '101', 100n],
    ['a part of a ceiling', true, '40', 40n],
    ['a part of what was signed', false, '40', 100n],
    ['nothing of what was signed', false, '0', 100n],
  ])('hears that a payment of a hundred cost %s', (_, isCeiling, amount, spent) => {
    expect(entriesOf(heard(isCeiling, settled(amount)))).toMatchObject([{ spent }])
  })

  it.each([
    ['a part of a ceiling', heard(true, settled('40')), 960n],
    ['all of it', heard(false, { type: 'released', reason: 'failed' }), 1_000n],
  ])('counts %s that a facilitator gave back in total, until the chain agrees', (_, said, left) => {
    const agreed = [...said, { v: 1, id: 'one', at: 1_000, type: 'agreed' } as const]
    expect(leftOf(entriesOf(said), budget, 2_000)).toEqual({ total: 900n, perDay: left })
    expect(leftOf(entriesOf(agreed), budget, 2_000)).toEqual({ total: left, perDay: left })
  })

  it('keeps that over the sum of old calls', () => {
    const day = 86_400_000
    const said = heard(true, settled('40'))
    const [sum, ...rest] = foldEvents(said, 3 * day)
    expect([sum, rest]).toMatchObject([{ type: 'carried', amount: '40', unproven: '60' }, []])
    expect(leftOf(entriesOf([sum as LedgerEvent]), budget, 3 * day).total).toBe(900n)
  })

  it('takes nothing back for a payment that has left, without the word of chain or facilitator', () => {
    const left = entriesOf(heard(false, { type: 'released', reason: 'unsigned' }))
    expect(left).toMatchObject([{ state: 'signed', spent: 100n, unproven: 0n }])
    const unused = entriesOf(heard(false, { type: 'released', reason: 'unused' }))
    expect(unused).toMatchObject([{ state: 'released', spent: 0n, unproven: 0n }])
  })
})
