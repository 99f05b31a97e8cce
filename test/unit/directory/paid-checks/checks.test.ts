import { zeroHash } from 'viem'
import { expect, it, vi } from 'vitest'
import type { AuthorizationUse } from '../../../../src/chain/authorization-uses.js'
import { Checks } from '../../../../src/directory/paid-checks/checks.js'
import { judge } from '../../../../src/directory/paid-checks/verdicts.js'
import type { StoredEndpoint } from '../../../../src/directory/store/listings.js'
import type { PaidCheck } from '../../../../src/directory/store/paid-checks.js'
import { runEvery } from '../../../support/run-every.js'

const END = 1_000

/** Checks whose payments the journal does not know, and the verdicts about them. */
function closing(
  chain: { timestamp: number; use: AuthorizationUse },
  nowSeconds: number,
  count = 1,
) {
  const check = { payer: '0x1', nonce: zeroHash, validBefore: END, afterBlock: 1, amount: 10 }
  const saveCheck = vi.fn(async () => {})
  const open = vi.fn(async () => Array.from({ length: count }, () => check as unknown as PaidCheck))
  const readHead = vi.fn(async () => ({ number: 2, timestamp: chain.timestamp }))
  const findUse = vi.fn(async () => chain.use)
  const checks = new Checks({
    store: { open, lastStart: async () => nowSeconds },
    listings: { saveCheck },
    findPayment: async () => undefined,
    findUse,
    readHead,
    now: () => nowSeconds * 1_000,
    log: { info() {}, warn: (details: object) => expect(details).toBeUndefined() },
  } as unknown as ConstructorParameters<typeof Checks>[0])
  const { stop } = runEvery(20, (mayGoOn) => checks.run(mayGoOn))
  return { saveCheck, open, readHead, findUse, stop }
}

const notFound = { state: 'notFound', isFinal: true } as const

it.each([
  ['a clock here that is hours ahead', { timestamp: END - 1, use: notFound }],
  [
    'a search that has not seen all blocks',
    { timestamp: END, use: { ...notFound, isFinal: false } },
  ],
])('a payment is not called unpaid by %s', async (_, chain) => {
  const { saveCheck, open, stop } = closing(chain, END + 9_999)
  await vi.waitFor(() => expect(open.mock.calls.length).toBeGreaterThan(1))
  await stop()
  expect(saveCheck).not.toHaveBeenCalled()
})

it('a payment that no block has by its end was not made', async () => {
  const { saveCheck, stop } = closing({ timestamp: END, use: notFound }, END - 500)
  await vi.waitFor(() => expect(saveCheck).toHaveBeenCalled())
  await stop()
  expect(saveCheck).toHaveBeenCalledWith(undefined, expect.objectContaining({ transaction: null }))
})

it('payments that sellers keep for an hour cost the nodes one call a look', async () => {
  const chain = { timestamp: END - 1, use: notFound }
  const { open, readHead, findUse, stop } = closing(chain, END - 500, 60)
  await vi.waitFor(() => expect(readHead.mock.calls.length).toBeGreaterThan(1))
  await stop()
  expect(readHead.mock.calls.length).toBeLessThanOrEqual(open.mock.calls.length)
  expect(findUse).not.toHaveBeenCalled()
})

it.each([
  ['fits', '[1]', 'delivered'],
  ['does not fit', '["1"]', 'wrong_shape'],
  ['nests too deep to be compared', `${'['.repeat(20_000)}${']'.repeat(20_000)}`, 'delivered'],
  ['is too large to be compared', `[${'1,'.repeat(70_000)}1]`, 'delivered'],
])('an answer that %s', async (_, body, reason) => {
  const example = { const: [1] }
  const schema = { properties: { output: { properties: { example } } } }
  const extras = { extensions: { bazaar: { schema } } }
  expect(await judge(new Response(body), { extras } as unknown as StoredEndpoint)).toMatchObject({
    reason,
  })
})
