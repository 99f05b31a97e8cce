import type { Page } from 'playwright-core'
import type { Address } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { devnetMerchant, devnetPayer } from '../../src/devnet/accounts.js'
import { giveBack } from '../support/a-refund.js'
import { writeMonth } from './support/a-month.js'
import { seriousFindings } from './support/accessibility.js'
import { type BrowserWorld, startBrowserWorld } from './support/browser-world.js'
import { settled } from './support/console-steps.js'

const overflow = () => document.documentElement.scrollWidth - window.innerWidth
let world: BrowserWorld
let settledCalls: number

beforeAll(async () => {
  world = await startBrowserWorld()
  await world.list('weather-house', {})
  const { endpoints } = (await world.get('/api/merchants/weather-house')).body
  const url = `${world.strangers.url}/weather`
  const paid = { id: endpoints[0].state.id, url, amount: 10_000n, aDay: 9 }
  const { address: payTo } = devnetMerchant
  settledCalls = await writeMonth(world.databasePath, {
    merchantId: 'weather-house',
    endpoints: [paid],
    payTo: payTo.toLowerCase() as Address,
  })
  const isRead = async () =>
    expect((await world.get('/api/endpoints')).body.items[0]?.usage).not.toBeNull()
  await vi.waitFor(isRead, { timeout: 30_000, interval: 500 })
})
afterAll(() => world?.stop())

describe('the page of payments', () => {
  it('shows what was paid by day, on a phone too', async () => {
    const { page, faults } = await world.open({ width: 390 })
    await page.goto('/payments')
    await settled(page)
    await page.getByRole('img', { name: /^Payments by day for 30 days: [\d,]+ in all/ }).waitFor()
    await page.getByRole('button', { name: 'Show the table' }).click()
    const chart = page.getByRole('region', { name: /^Payments by day/ }).getByRole('row')
    const counts = await chart.locator('td:nth-child(2)').allTextContents()
    const total = counts
      .map((text) => Number(text.replaceAll(',', '')))
      .reduce((sum, count) => sum + count, 0)
    expect(counts).toHaveLength(30)
    // The first day of the month may be one too early for the chart.
    expect(total).toBeGreaterThan(settledCalls * 0.9)
    expect(total).toBeLessThanOrEqual(settledCalls)
    expect(await seriousFindings(page)).toEqual([])
    expect(await page.evaluate(overflow)).toBe(0)
    expect(faults).toEqual([])
  })

  it('shows a payment as it settles, with its seller, and its figures follow', async () => {
    const { page } = await world.open()
    await page.goto('/payments')
    await page.getByText('Up to date').waitFor()
    const feed = page.getByRole('region', { name: 'Payments', exact: true })
    const shown = page.locator('dl > div').filter({ hasText: 'Payments, 30 days' })
    const calls = async () =>
      Number.parseInt(
        (await shown.locator('dd').first().textContent())?.replaceAll(',', '') ?? '',
        10,
      )
    await expect.poll(calls).toBeGreaterThan(0)
    const before = await calls()
    const secret = `${world.strangers.url}/secret/path`
    const paid = await world.pay(`${world.strangers.url}/weather`, { value: 123_456n })
    const other = privateKeyToAccount(generatePrivateKey()).address
    await world.pay(secret, { value: 234_567n, to: other })
    const mine = feed.getByRole('row').filter({ hasText: '$0.123' })
    await mine.getByRole('link', { name: 'Weather house' }).waitFor()
    const unlisted = feed.getByRole('row').filter({ hasText: '$0.234' })
    await unlisted.getByTitle(`${other}, of no listed seller`).waitFor()
    const { body } = await world.get('/api/explore')
    expect(body.settlements.length).toBeGreaterThan(2)
    expect(JSON.stringify(body)).not.toContain('secret')
    // The service counts at most every half minute, so the next figure comes from here.
    await page.route('**/api/explore', async (route) => {
      const response = await route.fetch()
      const figures = await response.json()
      figures.month.settled = before + 1
      await route.fulfill({ response, json: figures })
    })
    await expect.poll(calls, { timeout: 30_000 }).toBe(before + 1)
    await mine.getByText('Settled').click()
    const panel = page.getByRole('complementary', { name: /^\$0\.123/ })
    await panel.getByText('The seller has the money. This is final.').waitFor()
    await panel.getByRole('link', { name: 'Timeline, receipt and proof' }).click()
    await page.getByText('The seller has the money. This is final.').waitFor()
    await page.getByTitle(paid.body.transaction).first().waitFor()
  }, 120_000)

  it('shows what was given back of a payment, in the list and on its page', async () => {
    const { page, faults } = await world.open({ width: 390 })
    await page.goto('/payments')
    await page.getByText('Up to date').waitFor()
    const nonce = `0x${'9c'.repeat(32)}` as const
    const place = `/payments/eip155:5042/${devnetPayer.address}/${nonce}`
    await world.pay(`${world.strangers.url}/weather`, { value: 777_000n, nonce })
    const line = page.getByRole('row').filter({ hasText: '$0.777' })
    await line.waitFor()
    const refund = { payer: devnetPayer.address, paymentNonce: nonce, amount: 700_000n }
    await giveBack(world.url, devnetMerchant.account, refund)
    await line.getByText('$0.70 returned').waitFor({ timeout: 30_000 })
    await line.getByRole('button').first().click()
    const panel = page.getByRole('complementary', { name: '$0.777' })
    await panel.getByText('$0.70 returned').waitFor()
    await panel.getByRole('link', { name: 'Timeline, receipt and proof' }).click()
    await page.getByText('The seller gave $0.70 back and kept $0.077. Both are final.').waitFor()
    expect(await page.title()).toBe('Payment of $0.777, settled · Arcus')
    expect(await seriousFindings(page)).toEqual([])
    expect(await page.evaluate(overflow)).toBe(0)
    await page.goto(`${place}/receipt`)
    await page.getByText('Kept by the seller').waitFor()
    await page.goto(place)
    await page.getByRole('link', { name: '$0.70' }).click()
    await page.getByText(devnetMerchant.address).first().waitFor()
    await page.getByText('$0.70', { exact: true }).waitFor()
    expect(faults).toEqual([])
  }, 60_000)

  it('shows an empty service the command that pays, on the ports that run', async () => {
    const { page, context } = await world.open()
    await context.grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.route('**/api/payments?*', (route) =>
      route.fulfill({ json: { items: [], next: null } }),
    )
    await page.goto('/payments')
    await page.getByRole('button', { name: 'Copy command' }).click()
    await page.getByText('Copied', { exact: true }).waitFor({ state: 'attached' })
    const copied = await page.evaluate(() => navigator.clipboard.readText())
    expect(copied).toContain('npm run pay -- ')
    expect(copied).toContain(`--rpc ${world.chainUrl}`)
  })
})

describe('the list of payments', () => {
  const table = (page: Page) => page.getByRole('region', { name: 'Payments', exact: true })
  const [buyer, seller] = [devnetPayer.address, devnetMerchant.address]

  it('has all payments of one buyer in two presses, and of a seller', async () => {
    await world.pay(`${world.strangers.url}/weather`, { value: 321_000n })
    const { page, faults } = await world.open()
    await page.goto('/payments')
    const row = table(page).getByRole('row').filter({ hasText: '$0.321' })
    await row.getByTitle(buyer).click()
    await page.waitForURL(`**/buyers/${buyer}`)
    await table(page).getByRole('row').filter({ hasText: '$0.321' }).waitFor()
    expect(await table(page).getByRole('columnheader', { name: 'Buyer' }).count()).toBe(0)
    expect(await seriousFindings(page)).toEqual([])
    await page.goto('/merchants/weather-house')
    await table(page).getByRole('row').filter({ hasText: '$0.321' }).waitFor()
    expect(await table(page).getByRole('columnheader', { name: 'Seller' }).count()).toBe(0)
    expect(faults).toEqual([])
  })

  it('keeps its filters and its page in the address, and every amount in them', async () => {
    const { page, faults } = await world.open({ width: 390 })
    await page.goto('/payments')
    await table(page).waitFor()
    await page.getByText('Filter', { exact: true }).click()
    await page.getByLabel('Seller', { exact: true }).fill('weather-house')
    await page.getByLabel('At most', { exact: true }).fill('0.01')
    expect(await seriousFindings(page)).toEqual([])
    await page.getByRole('button', { name: 'Apply' }).click()
    await page.waitForURL('**/payments?max=10000&seller=weather-house')
    const csv = await page.getByRole('link', { name: 'CSV' }).getAttribute('href')
    expect(csv).toBe('/api/payments.csv?seller=weather-house&maxAmount=10000')
    await expect
      .poll(async () => new Set(await table(page).locator('td:nth-child(2)').allTextContents()))
      .toEqual(new Set(['$0.01']))
    expect(await table(page).getByRole('row').count()).toBe(51)
    const first = () => table(page).locator('time').first().getAttribute('datetime')
    const before = await first()
    await page.getByRole('button', { name: 'Older' }).click()
    // The first page stays until the second one is there.
    await expect.poll(first).not.toBe(before)
    const shown = await table(page).textContent()
    await page.reload()
    await page.getByText('Page 2').waitFor()
    expect(await table(page).textContent()).toBe(shown)
    await page.getByRole('button', { name: 'Remove the filter At most' }).click()
    await page.waitForURL('**/payments?seller=weather-house')
    expect(await page.evaluate(overflow)).toBe(0)
    await page.goto(`/payments?buyer=0x${'cd'.repeat(20)}`)
    await page.getByText('Nothing to show yet').waitFor()
    expect(faults).toEqual([])
  })

  it('opens every row beside it, goes on with the arrows and closes with Escape', async () => {
    const { page } = await world.open()
    await page.goto(`/payments?seller=${seller}`)
    const rows = table(page).getByRole('row')
    await rows.nth(3).waitFor()
    const time = (index: number) => rows.nth(index).locator('time').getAttribute('datetime')
    await rows.nth(1).getByRole('button').click()
    const panel = page.getByRole('complementary')
    const shown = () => panel.locator('time').getAttribute('datetime')
    expect(await shown()).toBe(await time(1))
    await page.keyboard.press('ArrowDown')
    await expect.poll(shown).toBe(await time(2))
    await page.keyboard.press('ArrowUp')
    await expect.poll(shown).toBe(await time(1))
    expect(await seriousFindings(page)).toEqual([])
    await page.keyboard.press('Escape')
    await panel.waitFor({ state: 'detached' })
    // The focus is where it was.
    expect(await page.evaluate(() => document.activeElement?.tagName)).toBe('BUTTON')
    expect(new URL(page.url()).searchParams.get('open')).toBeNull()
  })
})

describe('the one search box', () => {
  it('takes a hash, an address, a payer with a nonce, and words', async () => {
    const { page } = await world.open()
    const search = async (text: string) => {
      await page.goto('/status')
      await page.getByRole('heading', { name: 'Status' }).waitFor()
      await page.keyboard.press('/')
      await page.getByRole('combobox', { name: 'Payment, address, seller or words' }).fill(text)
      await page.keyboard.press('Enter')
    }
    await search('ab'.repeat(32))
    await page.waitForURL(`**/payments/0x${'ab'.repeat(32)}`)
    await page.getByText('No such payment here').waitFor()
    await search(`0x${'cd'.repeat(20)} 0x${'ab'.repeat(32)}`)
    await page.waitForURL(`**/payments/eip155:5042/0x${'cd'.repeat(20)}/0x${'ab'.repeat(32)}`)
    await search(devnetMerchant.address.slice(2))
    await page.getByRole('button', { name: /^Paid at/ }).waitFor()
    await page.getByRole('button', { name: 'Weather', exact: true }).waitFor()
    await search(devnetPayer.address)
    await page.waitForURL(`**/buyers/${devnetPayer.address.toLowerCase()}`)
    await page.goto(`/payments/${devnetPayer.address}`)
    await page.waitForURL(`**/buyers/${devnetPayer.address.toLowerCase()}`)
    await search('weather-house')
    await page.getByRole('link', { name: /The seller with the id/ }).click()
    await page.waitForURL('**/merchants/weather-house')

    // That of the directory finds payments too.
    await page.goto('/')
    await page.getByRole('searchbox').fill('ab'.repeat(32))
    await page.keyboard.press('Enter')
    await page.waitForURL(`**/payments/0x${'ab'.repeat(32)}`)
  })
})
