import { expect, it } from 'vitest'
import { Checks } from '../../../../src/directory/paid-checks/checks.js'
import type { Resolve } from '../../../../src/directory/probe/target-rules.js'
import type { CheckTarget } from '../../../../src/directory/store/paid-checks.js'
import { anEntry, aQuote, network, payTo } from '../../../support/directory/a-catalog.js'

const entry = anEntry(
  { status: 'live', accepts: [aQuote({ payTo })] },
  { network, payTo, owner: payTo },
)
const { endpoint } = entry

/** Runs the checks over one endpoint that was never checked. Returns the blocks of what was bought, and what was put off. */
async function firstCheck(resolve: Resolve, isPrivateAllowed = false) {
  const [bought, putOff]: [string[], string[]] = [[], []]
  let now = 1_800_000_000_000
  const checks = new Checks({
    store: {
      open: async () => [],
      lastStart: async () => 0,
      signedAwaySince: async () => 0n,
      candidates: async () => [{ id: endpoint.id, kind: 'first' }],
      isFirstOfBlock: async () => true,
      keepUnpaid: async ({ url }: CheckTarget) => void putOff.push(url),
      reserve: async ({ block }: CheckTarget) => bought.push(block),
      noteOutcome: async () => 1,
    },
    listings: { entriesById: async () => [entry] },
    buyer: {
      wallets: [payTo],
      async buy({ beforeSigning }: { beforeSigning(terms: object): Promise<void> }) {
        await beforeSigning({ nonce: '0x01', amount: 1_000n, validBefore: now / 1_000 + 60 })
        return { kind: 'redirected' }
      },
    },
    openFetch: () => ({ fetch, close() {} }),
    pace: { enter: () => true, leave() {} },
    asset: endpoint.asset,
    dailyLimit: 500_000n,
    maxAmount: 50_000n,
    canPay: async () => true,
    probeSoon() {},
    network,
    isPayToBlocked: () => false,
    now: () => now,
    readHead: async () => ({ number: 1 }),
    resolve,
    isPrivateAllowed,
    log: { warn() {}, info() {} },
  } as never)
  await checks.run(() => true)
  // The first purchase comes some time after the start.
  now += 60_000
  await checks.run(() => true)
  return { bought, putOff }
}

it('the block of addresses is noted with a check', async () => {
  const resolve = async () => ['93.184.216.34']
  expect(await firstCheck(resolve)).toEqual({ bought: ['93.184.216.0/24'], putOff: [] })
})

it.each<[string, Resolve]>([
  ['has no address', async () => []],
  ['fails to resolve', () => Promise.reject(new Error('ESERVFAIL'))],
  ['leads to a private address', async () => ['10.0.0.1']],
])(
  'nothing is bought at a name that %s: the next answer for it may be another',
  async (_, resolve) => {
    expect(await firstCheck(resolve)).toEqual({ bought: [], putOff: [endpoint.url] })
  },
)

it('endpoints of private networks share no block where they are allowed', async () => {
  const resolve = async () => ['10.0.0.1']
  expect(await firstCheck(resolve, true)).toEqual({ bought: [''], putOff: [] })
})
