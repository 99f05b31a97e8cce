import type { Stores } from '../../../../src/app/stores/stores.js'
import { anActivity } from '../../../support/an-activity.js'
import { anAttempt } from '../../../support/an-attempt.js'
import { anEndpoint, asset, owner } from '../../../support/directory/listed-merchants.js'
import { aJob, anOutcome, network, noon } from './store-contract.js'

export const relayer = '0x00000000000000000000000000000000000000f1'

/** Something in nearly every table. */
export async function fillStores(stores: Stores): Promise<void> {
  const { journal, deliveries, blocks, audit, listings, activity } = stores
  await stores.hostedRecords.change('refund', 'r', () => '{}')
  await stores.outbox.append('answers', '[]')
  await stores.outbox.noteOutcome({ key: 'k', fingerprint: 'f', status: '{}', at: 1 })
  for (const id of ['paid', 'queued', 'submitted']) {
    await journal.claim(aJob({ id }), `idempotency key of ${id}`, noon)
  }
  const gasCharge = { network, sums: new Map([['', 123_456_789_012_345_678_901n]]) }
  const customers = { network, pairs: [{ payTo: 'r', payer: 'p' }] }
  const outcomes = [{ id: 'paid', round: 0, outcome: anOutcome() }]
  await journal.resolve({ outcomes, gasCharge, customers, now: noon })
  await deliveries.leaseDelivery('paid', 'token', 1_000)
  await deliveries.completeDelivery('paid', 'token', 'a key', noon)
  await stores.shrinker.step('jobs', noon + 60_000)
  const budget = { name: 'p', amount: 2n ** 70n, limit: 2n ** 71n }
  await journal.recordAttempt(anAttempt({ relayer, jobIds: ['submitted'] }), 0, [budget])
  await blocks.addBlock({ role: 'payer', address: relayer, reason: 'fräud 💸', createdAt: noon })
  const decision = { at: noon, actor: 'alice@host', action: 'block', subject: `payer ${relayer}` }
  await audit.append({ ...decision, details: 'fräud 💸' })
  const merchant = { name: 'Wetter\n„heute“', description: '', network, asset, payTo: owner }
  await listings.applyWrite(
    {
      merchantId: 'weather',
      revision: 1,
      owner,
      nonce: `0x${'5'.repeat(64)}`,
      action: 'listing.create',
      message: '{}',
      body: '{}',
      signature: '0x',
      acceptedAt: 1_000,
    },
    { kind: 'save', merchant, endpoints: [anEndpoint(), anEndpoint({ url: 'https://b.example' })] },
  )
  const event = { merchantId: 'weather', type: 'payment.settled', at: noon, data: '{}' } as const
  await stores.events.keep([{ ...event, key: 'payment.settled/paid' }], [])
  const write = { merchantId: 'weather', owner, nonce: '0x6', deadline: 1_000 } as const
  const hook = { id: 'hook_1', merchantId: 'weather', url: 'https://a.example/ä', types: [] }
  const bounds = { since: 0, most: 1, now: 1_000 }
  await stores.hooks.set(write, { ...hook, seed: 'ff', keyId: '' }, bounds)
  await activity.append([
    anActivity(),
    anActivity({ amount: 10n ** 30n, resource: null, settlementId: 'paid' }),
  ])
  const windows = { '24h': 1, '7d': 1, '30d': 1 }
  const usage = {
    calls: windows,
    payers: windows,
    onlyHere: windows,
    topPayerShare: 1,
    settleP50Ms: 750,
    settleP95Ms: 750,
    firstPaid: 1_000,
    lastPaid: 1_000,
  }
  const places = [1, null].map((endpointId) => ({ merchantId: 'weather', endpointId }))
  await stores.usage.save(
    places.map((it) => ({
      place: { ...it, first: 1, last: 1 },
      usage,
      dueAt: 2_000,
    })),
  )
  const payment = { payer: owner, nonce: '0x01' as const, amount: 10_000n }
  const bought = {
    endpointId: 1,
    merchantId: 'weather',
    network,
    url: 'https://a.example/1',
    method: 'GET' as const,
    toolName: '',
    asset,
    payTo: owner,
    kind: 'first' as const,
    block: '192.0.2.0/24',
  }
  const limits = { dailyLimit: 50_000n, gapSeconds: 60 }
  const until = { validBefore: 2_000, afterBlock: 7 }
  await stores.checks.reserve(bought, { ...payment, ...until }, 1_000, limits)
  const wish = { owner, nonce: '0x02' as const, merchantId: 'weather', endpointId: 1, now: 1_000 }
  await stores.checks.request(wish)
}
