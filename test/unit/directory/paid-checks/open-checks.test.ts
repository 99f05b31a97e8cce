import { zeroHash } from 'viem'
import { expect, it, vi } from 'vitest'
import type { AuthorizationUse } from '../../../../src/chain/authorization-uses.js'
import { OpenChecks } from '../../../../src/directory/paid-checks/open-checks.js'
import type { CheckVerdict, PaidCheck } from '../../../../src/directory/store/paid-checks.js'

const END = 1_000

const check: PaidCheck = {
  id: 1,
  endpointId: 1,
  merchantId: 'weather',
  network: 'eip155:5042',
  url: 'https://api.example.com/weather',
  method: 'GET',
  toolName: '',
  asset: `0x${'36'.repeat(20)}`,
  payTo: `0x${'b2'.repeat(20)}`,
  amount: 10,
  payer: `0x${'a1'.repeat(20)}`,
  nonce: zeroHash,
  validBefore: END,
  afterBlock: 1,
  startedAt: END - 60,
  reason: 'delivered',
  ms: 5,
  bytes: 1,
  sha256: zeroHash,
  transaction: null,
  closedAt: null,
  checker: null,
  signature: null,
}

/** Looks once at checks whose payments the journal does not know. */
async function lookAt(
  chain: { timestamp: number; use: AuthorizationUse },
  nowSeconds: number,
  count = 1,
) {
  const verdicts: CheckVerdict[] = []
  const readHead = vi.fn(async () => ({
    number: 2,
    timestamp: chain.timestamp,
    baseFeePerGas: 0n,
    gasLimit: 30_000_000n,
    transactions: [],
  }))
  const findUse = vi.fn(async () => chain.use)
  const checks = new OpenChecks({
    store: { open: async () => Array.from({ length: count }, () => check) },
    listings: { saveCheck: async (_id, verdict) => void verdicts.push(verdict) },
    signer: undefined,
    findPayment: async () => undefined,
    findUse,
    readHead,
    now: () => nowSeconds * 1_000,
    log: { info() {}, warn: (details) => expect(details).toBeUndefined() },
  })
  await checks.closeKnown(() => true)
  return { verdicts, readHead, findUse }
}

const notFound = { state: 'notFound', isFinal: true } as const

it.each([
  ['a clock here that is hours ahead', { timestamp: END - 1, use: notFound }],
  [
    'a search that has not seen all blocks',
    { timestamp: END, use: { ...notFound, isFinal: false } },
  ],
])('a payment is not called unpaid by %s', async (_, chain) => {
  expect((await lookAt(chain, END + 9_999)).verdicts).toEqual([])
})

it('a payment that no block has by its end was not made', async () => {
  const { verdicts } = await lookAt({ timestamp: END, use: notFound }, END - 500)
  expect(verdicts).toMatchObject([{ reason: 'delivered', transaction: null, closedAt: END - 500 }])
})

it('payments that sellers keep for an hour cost the nodes one call a look', async () => {
  const chain = { timestamp: END - 1, use: notFound }
  const { readHead, findUse } = await lookAt(chain, END - 500, 60)
  expect(readHead).toHaveBeenCalledTimes(1)
  expect(findUse).not.toHaveBeenCalled()
})
