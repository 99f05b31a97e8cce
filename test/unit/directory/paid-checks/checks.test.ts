import { zeroHash } from 'viem'
import { expect, it, vi } from 'vitest'
import type { AuthorizationUse } from '../../../../src/chain/authorization-uses.js'
import { type ChecksOptions, createChecks } from '../../../../src/directory/paid-checks/checks.js'
import type { PaidCheck } from '../../../../src/directory/store/paid-checks.js'

const END = 1_000

/** A check whose payment the journal does not know, and the verdicts about it. */
function closing(chain: { timestamp: number; use: AuthorizationUse }, nowSeconds: number) {
  const check = { payer: '0x1', nonce: zeroHash, validBefore: END, afterBlock: 1, amount: 10 }
  const saveCheck = vi.fn(async () => {})
  const open = vi.fn(async () => [check as unknown as PaidCheck])
  const checks = createChecks({
    store: { open, lastStart: async () => nowSeconds },
    listings: { saveCheck },
    findPayment: async () => undefined,
    findUse: async () => chain.use,
    readHead: async () => ({ number: 2, timestamp: chain.timestamp }),
    isKeeper: () => true,
    isDiskLow: () => false,
    now: () => nowSeconds * 1_000,
    log: { info() {}, warn: (details: object) => expect(details).toBeUndefined() },
  } as unknown as ChecksOptions)
  checks.start()
  return { saveCheck, open, checks }
}

const notFound = { state: 'notFound', isFinal: true } as const

it.each([
  ['a clock here that is hours ahead', { timestamp: END - 1, use: notFound }],
  [
    'a search that has not seen all blocks',
    { timestamp: END, use: { ...notFound, isFinal: false } },
  ],
])('a payment is not called unpaid by %s', async (_, chain) => {
  const { saveCheck, open, checks } = closing(chain, END + 9_999)
  await vi.waitFor(() => expect(open.mock.calls.length).toBeGreaterThan(1))
  await checks.stop()
  expect(saveCheck).not.toHaveBeenCalled()
})

it('a payment that no block has by its end was not made', async () => {
  const { saveCheck, checks } = closing({ timestamp: END, use: notFound }, END - 500)
  await vi.waitFor(() => expect(saveCheck).toHaveBeenCalled())
  await checks.stop()
  expect(saveCheck).toHaveBeenCalledWith(undefined, expect.objectContaining({ transaction: null }))
})
