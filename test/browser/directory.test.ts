import type { Address } from 'viem'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { devnetMerchant } from '../../src/devnet/accounts.js'
import { writeMonth } from './support/a-month.js'
import { seriousFindings } from './support/accessibility.js'
import { type BrowserWorld, startBrowserWorld } from './support/browser-world.js'
import { settled } from './support/console-steps.js'
import { hasFocus, press } from './support/keys.js'
import { shiftsOf, watchShifts } from './support/layout-shifts.js'

/** More than fit on the first screen, and on the first page of the list. */
const APIS = 35

let world: BrowserWorld

beforeAll(async () => {
  world = await startBrowserWorld()
})
afterAll(() => world?.stop())

describe('a directory without an API', () => {
  it('offers what can be done there', async () => {
    const { page, faults } = await world.open()
    await page.goto('/')
    await page.getByText('Nothing is listed yet').waitFor()
    const links = ['Sell the first API', 'Make an API that charges', 'Pay any x402 API']
    for (const name of links) await page.getByRole('link', { name }).waitFor()
    expect(await seriousFindings(page)).toEqual([])
    expect(faults).toEqual([])
  })
})

describe('the rows of the directory', () => {
  beforeAll(async () => {
    const many = Array.from({ length: APIS }, (_, at) => ({
      url: `${world.strangers.url}/weather/${at}`,
      method: 'GET' as const,
      title: `Weather of place ${String(at).padStart(2, '0')}`,
      description: 'Wind and rain by the hour.',
      price: '10000',
    }))
    await world.list('weather-house', { endpoints: many })
    const { endpoints } = (await world.get('/api/merchants/weather-house')).body
    const [first, second] = endpoints.map((it: { state: { id: number }; url: string }) => ({
      id: it.state.id,
      url: it.url,
      amount: 10_000n,
    }))
    await writeMonth(world.databasePath, {
      merchantId: 'weather-house',
      payTo: devnetMerchant.address.toLowerCase() as Address,
      endpoints: [
        { ...first, aDay: 3 },
        { ...second, aDay: 9 },
      ],
    })
    await vi.waitFor(
      async () => {
        const { items } = (await world.get('/api/endpoints?sort=payments')).body
        expect(items[0].usage?.daily).toHaveLength(30)
        expect(items[0].title).toBe('Weather of place 01')
      },
      { timeout: 30_000, interval: 500 },
    )
  }, 120_000)

  it.each([
    ['/', 1440, 900, 12],
    ['/', 390, 844, 8],
    ['/?query=weather', 1440, 900, 12],
    ['/?query=weather', 390, 844, 8],
  ])('of %s at %d by %d pixels: the first screen has at least %d', async (path, ...size) => {
    const [width, height, least] = size
    const { page, context } = await world.open({ width, height })
    await watchShifts(context)
    await page.goto(path)
    await settled(page)
    const rows = page.getByRole('row').filter({ has: page.locator('[aria-expanded]') })
    const bottoms = await rows.evaluateAll((all) =>
      all.map((row) => row.getBoundingClientRect().bottom),
    )
    expect(bottoms.filter((bottom) => bottom <= height).length).toBeGreaterThanOrEqual(least)
    // A search is the whole page: nothing of the door stands above it.
    const isDoor = path === '/'
    const heading = isDoor ? 'Charge a cent per API call.' : 'Directory'
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe(heading)
    expect(await page.locator('main [data-pay]').count()).toBe(isDoor ? 1 : 0)
    const { sum, what } = await shiftsOf(page)
    expect(sum, what.join('\n')).toBeLessThan(0.02)
    expect(await seriousFindings(page)).toEqual([])
  })

  it('show state, price, payments and success, and come with one request', async () => {
    const { page, faults, received } = await world.open()
    await page.goto('/?sort=payments')
    const row = page.getByRole('row', { name: /Weather of place 01/ })
    await row.waitFor()
    const texts = await row.getByRole('cell').allTextContents()
    expect(texts).toEqual([
      expect.stringMatching(/^\$0\.01/),
      '–',
      expect.stringMatching(/^\d{2,3}$/),
      expect.stringMatching(/^9\d(\.\d)?%$/),
      expect.stringMatching(/ago$/),
    ])
    await row.getByText('Live', { exact: true }).waitFor()
    await row.getByText('by Weather house').waitFor()
    expect(await row.locator('polyline').count()).toBe(2)
    expect([...received.keys()].filter((path) => path === '/api/endpoints')).toHaveLength(1)
    expect(faults).toEqual([])
  })

  it('are in the order of any column, which the address keeps', async () => {
    const { page } = await world.open()
    await page.goto('/?query=weather')
    const heads = page.getByRole('columnheader')
    const first = () => page.getByRole('rowheader').first().getByRole('button').textContent()
    const orders = [
      ['API', 'title', 'ascending', '00'],
      ['Price', 'price', 'ascending', '00'],
      ['Payments', 'payments', 'descending', '01'],
      ['Success', 'success', 'descending', ''],
      ['Last paid', 'lastPaid', 'descending', ''],
      ['Delivered', 'delivered', 'descending', '00'],
    ] as const
    for (const [name, sort, direction, place] of orders) {
      const head = heads.filter({ hasText: name })
      await head.getByRole('button').click()
      await page.waitForURL((url) => url.searchParams.get('sort') === sort)
      await expect.poll(() => head.getAttribute('aria-sort')).toBe(direction)
      await expect.poll(first).toMatch(new RegExp(`^Weather of place ${place}`))
      // The words stay.
      expect(new URL(page.url()).searchParams.get('query')).toBe('weather')
    }
    await page.reload()
    const now = heads.and(page.locator('[aria-sort]'))
    await now.waitFor()
    expect(await now.allTextContents()).toEqual([expect.stringContaining('Delivered')])
  })

  it('open into the description and the URL, in the address, with the keyboard too', async () => {
    const { page, faults } = await world.open()
    await page.goto('/?query=weather&sort=title')
    const row = page.getByRole('button', { name: 'Weather of place 02' })
    await press(page, row)
    await page.getByText('Wind and rain by the hour.').waitFor()
    expect(await hasFocus(row)).toBe(true)
    await page.waitForURL(/open=\d+/)
    await page.getByText(/\/weather\/2$/).waitFor()
    expect(await seriousFindings(page)).toEqual([])
    await page.reload()
    await page.getByText('Wind and rain by the hour.').waitFor()
    await page.getByRole('button', { name: 'Weather of place 03' }).click()
    await page.getByText(/\/weather\/3$/).waitFor()
    expect(await page.getByText('Wind and rain by the hour.').count()).toBe(1)
    await page.getByRole('link', { name: 'Try it, and see the code' }).click()
    await page.waitForURL(/\/merchants\/weather-house#endpoint-\d+$/)
    await page.goBack()
    await page.getByText(/\/weather\/3$/).waitFor()
    await page.getByRole('button', { name: 'Weather of place 03' }).click()
    await page.waitForURL((url) => !url.searchParams.has('open'))
    expect(faults).toEqual([])
  })

  it('leave the door as it is while one is opened there, and only a search takes its place', async () => {
    const { page } = await world.open({ width: 390, height: 844 })
    await page.goto('/')
    const door = page.getByRole('heading', { level: 1, name: 'Charge a cent per API call.' })
    await door.waitFor()
    await page
      .getByRole('button', { name: /^Weather of place/ })
      .first()
      .click()
    await page.waitForURL(/open=\d+/)
    expect(await door.count()).toBe(1)
    await page.goto('/status')
    await page.getByRole('button', { name: 'Search everything' }).click()
    await page.getByRole('combobox').fill('weather')
    await page.keyboard.press('Enter')
    await page.waitForURL(/query=weather/)
    const result = page.getByRole('button', { name: /^Weather of place/ }).first()
    await result.waitFor()
    expect((await result.boundingBox())?.y).toBeLessThan(400)
    expect(await door.count()).toBe(0)
  })
})
