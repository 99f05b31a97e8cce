import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { startDirectory, type TestDirectory } from '../support/a-directory.js'
import { openMarket, save } from '../support/directory/a-catalog.js'
import { type PaymentWish, payTo } from '../support/directory/payments.js'

let directory: TestDirectory
let app: TestDirectory['app']
let store: TestDirectory['store']
let get: TestDirectory['get']

beforeEach(async () => {
  directory = await startDirectory()
  ;({ app, store, get } = directory)
})
afterEach(() => app.close())

/** Makes payments for the first endpoint of a merchant. */
async function pay(merchantId: string, payers: readonly number[], over: PaymentWish = {}) {
  const [endpoint] = await store.endpointsOf(merchantId)
  const paid = { resourceUrl: endpoint?.url, ...over }
  await directory.pay(...payers.map((payer) => ({ payer: wallet(payer), ...paid })))
}

const wallet = (number: number) => `0x${number.toString(16).padStart(40, '0')}` as const
const range = (from: number, count: number) => Array.from({ length: count }, (_, i) => from + i)
const own = (id: string) => ({ id, name: id, owner: payTo })

interface Found {
  metadata: { title: string; usage?: object }
}
const titlesOf = (items: Found[]) => items.map(({ metadata }) => metadata.title)

/** Lists the titles of the answers that are never kept. */
async function browse(query: string): Promise<string[]> {
  const { items } = (await get(`/api/endpoints?${query}`)).json()
  return items.map(({ title }: { title: string }) => title)
}
const search = (words: string) => browse(`query=${words}`)
const sorted = async (sort: string) =>
  (await browse(`sort=${sort}`)).filter((title) => title !== 'Stall')

/** Waits until the figures have reached the list. */
function shown(read: () => Promise<string[]>, titles: readonly string[]): Promise<void> {
  return vi.waitFor(async () => expect(await read()).toEqual(titles), {
    timeout: 15_000,
    interval: 100,
  })
}

describe('payments as evidence', () => {
  it('stand in items and cards while the address stands behind the owner', async () => {
    await save(store, own('paid'), [{ title: 'Paid' }])
    await save(store, own('unpaid'), [{ title: 'Unpaid' }])
    await pay('paid', [1, 2, 1])
    const usage = {
      calls: { '24h': 3, '7d': 3, '30d': 3 },
      payers: { '24h': 0, '7d': 0, '30d': 0 },
      onlyHere: { '24h': 2, '7d': 2, '30d': 2 },
      topPayerShare: 0.6667,
      lastPaid: directory.clock.seconds,
    }
    await vi.waitFor(async () => {
      const cards = (await get('/api/endpoints')).json().items
      expect(cards[0].usage).toMatchObject(usage)
      expect(cards[1].usage).toBeNull()
    }, 15_000)
    const { items } = (await get('/discovery/resources')).json()
    expect(items[0].metadata.usage).toMatchObject(usage)
    expect(items[1].metadata).not.toHaveProperty('usage')
    // Signed by a key that is not the one that is paid.
    const stranger = wallet(77)
    const merchant = await store.findMerchant('paid')
    const write = {
      merchantId: 'paid',
      revision: (merchant?.revision ?? 0) + 1,
      owner: payTo,
      nonce: `0x${'1'.repeat(64)}`,
      action: 'owner.offer',
      message: '{}',
      body: '{}',
      signature: '0x00',
      acceptedAt: 1_000,
    } as const
    await store.applyWrite(write, { kind: 'offer', to: stranger, until: 2_000 })
    const accepted = {
      ...write,
      owner: stranger,
      revision: write.revision + 1,
      nonce: '0x02',
    } as const
    expect(await store.applyWrite(accepted, { kind: 'accept' })).toMatchObject({ state: 'applied' })
    const after = (await get('/discovery/resources')).json().items
    expect(after[0].metadata).not.toHaveProperty('usage')
    expect((await get('/api/endpoints')).json().items[0].usage).toBeNull()
  })

  it('of a merchant are those of all its endpoints, from the first payment to the last', async () => {
    const urls = ['https://a.example.com/1', 'https://a.example.com/2']
    await save(
      store,
      own('two'),
      urls.map((url) => ({ url })),
    )
    const { ms, seconds } = directory.clock
    await directory.pay(
      { resourceUrl: urls[0], payer: wallet(1) },
      { resourceUrl: urls[1], payer: wallet(2), at: ms - 60_000 },
    )
    await vi.waitFor(async () => {
      // The list takes new figures in once a minute.
      directory.clock.ms += 60_000
      const [merchant] = (await get('/api/merchants')).json().merchants
      const figures = { firstPaid: seconds - 60, lastPaid: seconds, calls: { '24h': 2 } }
      expect(merchant.usage).toMatchObject(figures)
    }, 15_000)
  })

  it('leave the figures of a day as they grow older', async () => {
    const hours = (count: number) => count * 3_600_000
    await save(store, own('old'), [{ title: 'Old' }])
    await pay('old', [1], { at: directory.clock.ms - hours(22.5) })
    const calls = (wanted: object) =>
      vi.waitFor(async () => {
        const [card] = (await get('/api/endpoints')).json().items
        expect(card.usage?.calls).toEqual(wanted)
      }, 15_000)
    await calls({ '24h': 1, '7d': 1, '30d': 1 })
    // The next looks read the newest payments once more, and from then on what is due alone.
    await new Promise((resolve) => setTimeout(resolve, 300))
    directory.clock.ms += hours(1)
    await calls({ '24h': 0, '7d': 1, '30d': 1 })
  })

  it('count a payer in every order once they also paid another seller, and not one who is the same', async () => {
    await save(store, own('crowd'), [{ title: 'Weather of a crowd' }])
    await save(store, own('honest'), [{ title: 'Weather of honest people' }])
    // A second shop of the same key, and one that only shares the domain.
    await save(store, own('twin'), [{ title: 'Twin', url: 'https://twin.example.net' }])
    const alias = { id: 'alias', name: 'alias', owner: wallet(9), payTo: wallet(9) }
    await save(store, alias, [{ title: 'Alias', url: 'https://other.example.com/1' }])
    const stall = await openMarket(store)
    await pay('crowd', range(100, 64))
    await pay('twin', range(100, 64))
    await pay('alias', range(100, 64), { payTo: wallet(9) })
    await pay('honest', range(300, 2))
    await directory.pay(...range(300, 2).map((number) => ({ ...stall, payer: wallet(number) })))
    const order = ['Weather of honest people', 'Weather of a crowd']
    await shown(() => search('weather'), order)
    await vi.waitFor(async () => {
      for (const sort of ['payers', 'calls']) {
        expect((await sorted(sort)).filter((title) => order.includes(title))).toEqual(order)
      }
    }, 15_000)
    const { items } = (await get('/api/endpoints?query=weather')).json()
    expect(items).toMatchObject([
      { usage: { payers: { '30d': 2 }, onlyHere: { '30d': 0 } } },
      { usage: { calls: { '30d': 64 }, payers: { '30d': 0 }, onlyHere: { '30d': 64 } } },
    ])
  })

  it('rank an honest merchant before one that pays itself, and text before both', async () => {
    const stall = await openMarket(store)
    const buyers = [1, 2, 3, 4, ...range(100, 12), ...range(200, 100)]
    await directory.pay(...buyers.map((number) => ({ ...stall, payer: wallet(number) })))
    await save(store, own('washer'), [{ title: 'Weather of the washer' }])
    await save(store, own('honest'), [{ title: 'Weather of honest people' }])
    await save(store, own('busy'), [{ title: 'Busy', description: 'weather too' }])
    await shown(
      () => search('weather'),
      ['Weather of the washer', 'Weather of honest people', 'Busy'],
    )
    // Payments of the owner count for nothing; a second wallet of theirs, however busy, is one payer.
    await pay('washer', Array(300).fill(1), { payer: payTo })
    await pay('washer', Array(300).fill(1))
    await pay('honest', range(100, 12))
    await pay('busy', range(200, 100))
    await shown(
      () => search('weather'),
      ['Weather of honest people', 'Weather of the washer', 'Busy'],
    )
    // Three more wallets for show do not outweigh that one of them makes nearly all the calls.
    await pay('washer', [2, 3, 4])
    await shown(
      () => sorted('payers'),
      ['Busy', 'Weather of honest people', 'Weather of the washer'],
    )
    expect(await search('weather')).toEqual([
      'Weather of honest people',
      'Weather of the washer',
      'Busy',
    ])
    await shown(
      () => sorted('calls'),
      ['Busy', 'Weather of honest people', 'Weather of the washer'],
    )
  })

  it('sort lists by price, age and last payment, with pages and words', async () => {
    const priced = (title: string, amount: bigint) => ({ title, price: amount, accepts: [] })
    await save(store, own('a'), [priced('Sea a', 30n)])
    await save(store, own('b'), [priced('Sea b', 10n)])
    await save(store, own('c'), [priced('Sky c', 20n)])
    await pay('a', [1], { at: directory.clock.ms - 5_000 })
    await pay('c', [1])
    await shown(() => sorted('lastPaid'), ['Sky c', 'Sea a', 'Sea b'])
    const { items } = (await get('/discovery/resources?sort=lastPaid')).json()
    expect(titlesOf(items)).toEqual(['Sky c', 'Sea a', 'Sea b'])
    expect(await sorted('price')).toEqual(['Sea b', 'Sky c', 'Sea a'])
    const euros = { symbol: 'EURC', accepts: [] }
    await save(store, own('d'), [
      { ...euros, title: 'Euro dear', price: 15n },
      { ...euros, title: 'Euro cheap', price: 5n },
      { ...euros, symbol: 'ODD', title: 'Odd', price: 1n },
    ])
    const dollarsFirst = ['Sea b', 'Sky c', 'Sea a', 'Euro cheap', 'Euro dear', 'Odd']
    await vi.waitFor(async () => expect(await sorted('price')).toEqual(dollarsFirst), {
      timeout: 15_000,
    })
    await save(store, own('d'), [])
    await vi.waitFor(async () => expect(await sorted('price')).toHaveLength(3), { timeout: 15_000 })
    expect(await sorted('new')).toEqual(['Sky c', 'Sea b', 'Sea a'])
    const page = (await get('/api/endpoints?sort=price&query=sea&limit=1')).json()
    expect(page).toMatchObject({ items: [{ title: 'Sea b' }], total: 2, next: '1' })
    const rest = (await get('/api/endpoints?sort=price&query=sea&limit=1&cursor=1')).json()
    expect(rest).toMatchObject({ items: [{ title: 'Sea a' }], total: 2, next: null })
  })

  it('show the sales of each day of a month and the share that settled, and order cards by them', async () => {
    const day = 86_400_000
    await save(store, own('b'), [{ title: 'Steady' }])
    await save(store, own('a'), [{ title: 'Broken now and then' }])
    await pay('b', [1, 2], { at: directory.clock.ms - 2 * day })
    await pay('b', [1])
    await pay('a', [1, 2, 3, 4], { at: directory.clock.ms - day })
    await pay('a', [1], { state: 'failed' })
    await pay('a', [1])
    const month = (...last: number[]) => [...Array(30 - last.length).fill(0), ...last]
    const usageOf = async (title: string) => {
      const { items } = (await get('/api/endpoints')).json()
      return items.find((card: { title: string }) => card.title === title).usage
    }
    await vi.waitFor(async () => {
      expect(await usageOf('Steady')).toMatchObject({ daily: month(2, 0, 1), successRate: 1 })
      const broken = await usageOf('Broken now and then')
      expect(broken).toMatchObject({ daily: month(4, 1) })
      expect(broken.successRate).toBeCloseTo(5 / 6, 3)
    }, 15_000)
    const [best, most] = [
      ['Steady', 'Broken now and then'],
      ['Broken now and then', 'Steady'],
    ]
    await shown(() => sorted('payments'), most as string[])
    expect(await sorted('success')).toEqual(best)
    expect(await sorted('title')).toEqual(most)
    // These orders are of the cards alone.
    expect((await get('/discovery/resources?sort=title')).statusCode).toBe(400)
  })
})
