import Fastify from 'fastify'
import { expect, it, onTestFinished } from 'vitest'
import { merchantListRoutes } from '../../../../src/directory/listings/merchant-list-routes.js'
import type { PublishedMerchant } from '../../../../src/directory/store/listings.js'
import { unexpected } from '../../../support/unexpected.js'

const KIB = 1_024

/** The list of so many merchants of a KiB each, and how many were asked for at each read. */
async function aList(merchants: number) {
  const reads: number[] = []
  const all = Array.from({ length: merchants }, (_, i): PublishedMerchant => {
    const id = String(i).padStart(8, '0')
    const json = JSON.stringify({ id, about: `${i} `.repeat(KIB).slice(0, KIB) })
    return { id, isLast: 0, json }
  })
  const app = Fastify()
  onTestFinished(() => app.close())
  await app.register(merchantListRoutes, {
    discovery: { merchants: async () => ({ bytes: Buffer.from(''), etag: '' }) },
    store: {
      lastChange: async () => 1,
      merchantUsageVersion: async () => 1,
      merchantsOwnedBy: unexpected,
      merchantsOfferedTo: unexpected,
      merchantsPaidTo: unexpected,
      endpointStates: unexpected,
      async publishedAfter(last, count) {
        reads.push(count)
        const from = last === undefined ? 0 : all.findIndex(({ id }) => id === last.id) + 1
        return all.slice(from, from + count)
      },
    },
    facilitator: 'https://pay.example.com',
    checksum: (address) => address,
    now: Date.now,
  })
  const read = async () => (await app.inject('/api/merchants')).body
  return { read, reads }
}

it.each([
  ['short', 100],
  ['that is too long to be kept as it is', 20_000],
])(
  'a list %s is read from the database once, for all who ask',
  async (_, merchants) => {
    const { read, reads } = await aList(merchants)
    const first = await read()
    const { length } = JSON.parse(first).merchants
    expect(length).toBe(merchants)
    const once = reads.length
    // Each may have a hundred endpoints: more of them at once would hold up others, and fewer take longer.
    expect([...new Set(reads)]).toEqual([20])
    const others = await Promise.all([read(), read()])
    expect(others.every((it) => it === first)).toBe(true)
    expect(reads).toHaveLength(once)
  },
  60_000,
)
