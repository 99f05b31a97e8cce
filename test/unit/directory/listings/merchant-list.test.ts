import Fastify from 'fastify'
import { expect, it, onTestFinished } from 'vitest'
import { merchantListRoutes } from '../../../../src/directory/listings/merchant-list-routes.js'
import type { PublishedMerchant } from '../../../../src/directory/store/listings.js'

const KIB = 1_024

/** The list of so many merchants of a KiB each, and how often they were read. */
async function aList(merchants: number) {
  let reads = 0
  const all = Array.from({ length: merchants }, (_, i) => {
    const id = String(i).padStart(8, '0')
    return { id, json: JSON.stringify({ id, about: `${i} `.repeat(KIB).slice(0, KIB) }) }
  }) as unknown as PublishedMerchant[]
  const app = Fastify()
  onTestFinished(() => app.close())
  await app.register(merchantListRoutes, {
    discovery: { merchants: async () => ({ bytes: Buffer.from(''), etag: '' }) },
    store: {
      lastChange: async () => 1,
      merchantUsageVersion: async () => 1,
      async publishedAfter(last: PublishedMerchant | undefined, count: number) {
        reads++
        const from = last === undefined ? 0 : all.indexOf(last) + 1
        return all.slice(from, from + count)
      },
    } as never,
    facilitator: 'https://pay.example.com',
    checksum: (address) => address,
    now: Date.now,
  })
  const read = async () => (await app.inject('/api/merchants')).body
  return { read, reads: () => reads }
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
    const once = reads()
    const others = await Promise.all([read(), read()])
    expect(others.every((it) => it === first)).toBe(true)
    expect(reads()).toBe(once)
  },
  60_000,
)
