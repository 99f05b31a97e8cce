import type { Address } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { devnetMerchant } from '../../src/devnet/accounts.js'
import { writeMonth } from './support/a-month.js'
import { seriousFindings } from './support/accessibility.js'
import { type BrowserWorld, startBrowserWorld } from './support/browser-world.js'
import { reasonToSkip } from './support/chromium.js'
import { settled } from './support/console-steps.js'

const skipped = reasonToSkip()
let world: BrowserWorld
let settledCalls: number

beforeAll(async () => {
  if (skipped !== undefined) return
  world = await startBrowserWorld()
  await world.list('weather-house', {})
  const { endpoints } = (await world.get('/api/merchants/weather-house')).body
  const url = `${world.strangers.url}/weather`
  const paid = { id: endpoints[0].state.id, url, amount: 10_000n, aDay: 9 }
  const { address: payTo } = devnetMerchant
  settledCalls = await writeMonth(world.databasePath, {
    ...{ merchantId: 'weather-house', endpoints: [paid] },
    payTo: payTo.toLowerCase() as Address,
  })
  const isRead = async () =>
    expect((await world.get('/api/endpoints')).body.items[0]?.usage).not.toBeNull()
  await vi.waitFor(isRead, { timeout: 30_000, interval: 500 })
})
afterAll(() => world?.stop())

describe.skipIf(skipped !== undefined)('the home page', () => {
  it.each([390, 768, 1280])(
    'shows what is paid, by whom and what is new, %i pixels wide',
    async (width) => {
      const { page, faults, close } = await world.open({ width })
      await page.goto('/')
      await settled(page)
      const top = page.locator('section, div').filter({ hasText: 'Merchants with the most payers' })
      await top.getByRole('link', { name: 'Weather house' }).first().waitFor()
      await page.getByRole('link', { name: 'Weather', exact: true }).first().waitFor()
      const chart = page.getByRole('slider', { name: 'Payments by day' })
      await chart.focus()
      let total = 0
      await page.keyboard.press('Home')
      for (let day = 0; day < 30; day++) {
        const said = (await chart.getAttribute('aria-valuetext')) ?? ''
        total += Number(/: ([\d,]+) paid calls/.exec(said)?.[1]?.replaceAll(',', ''))
        await page.keyboard.press('ArrowRight')
      }
      // The first day of the month may be one too early for the chart.
      expect(total).toBeGreaterThan(settledCalls * 0.9)
      expect(total).toBeLessThanOrEqual(settledCalls)
      await page.getByText('Volume', { exact: true }).click()
      await page.getByRole('slider', { name: 'Volume by day' }).waitFor()
      expect(await seriousFindings(page)).toEqual([])
      const overflow = () => document.documentElement.scrollWidth - window.innerWidth
      expect(await page.evaluate(overflow)).toBe(0)
      expect(faults).toEqual([])
      await close()
    },
  )

  it('shows a payment as it settles, with its merchant, and leads to its page', async () => {
    const { page, close } = await world.open()
    await page.goto('/')
    await page.getByText('Live', { exact: true }).waitFor()
    const feed = page.getByRole('list', { name: 'Latest payments' })
    const secret = `${world.strangers.url}/secret/path`
    const paid = await world.pay(`${world.strangers.url}/weather`, { value: 123_456n })
    const other = privateKeyToAccount(generatePrivateKey()).address
    await world.pay(secret, { value: 234_567n, to: other })
    const mine = feed.getByRole('listitem').filter({ hasText: '$0.123' })
    await mine.getByRole('link', { name: 'Weather house' }).waitFor()
    const unlisted = feed.getByRole('listitem').filter({ hasText: '$0.234' })
    await unlisted.getByText('to an address that is not listed').waitFor()
    expect((await world.get('/api/explore')).body.settlements.length).toBeGreaterThan(2)
    expect(JSON.stringify((await world.get('/api/explore')).body)).not.toContain('secret')
    await mine.getByRole('link').first().click()
    await page.waitForURL(`**/payments/${paid.body.transaction}`)
    await page.getByText('The merchant has the money. This is final.').waitFor()
    await close()
  })

  it('has one search box for a hash, an address and words', async () => {
    const { page, close } = await world.open()
    const search = async (text: string) => {
      await page.goto('/')
      await page.getByRole('searchbox', { name: 'Payment, address, merchant or words' }).fill(text)
      await page.keyboard.press('Enter')
    }
    await search('ab'.repeat(32))
    await page.waitForURL(`**/payments/0x${'ab'.repeat(32)}`)
    await page.getByText('No such payment here').waitFor()
    await search(devnetMerchant.address.slice(2))
    await page.getByRole('button', { name: /^Paid at/ }).waitFor()
    await page.getByRole('link', { name: 'Weather', exact: true }).waitFor()
    await search(`0x${'cd'.repeat(20)}`)
    await page.getByRole('link', { name: 'Find a payment from this address' }).click()
    expect(await page.getByLabel('Transaction hash or payer address').inputValue()).toContain(
      'cdcd',
    )
    await search('weather-house')
    await page.getByRole('link', { name: /The merchant with the id/ }).click()
    await page.waitForURL('**/merchants/weather-house')
    await close()
  })
})

describe.skipIf(skipped !== undefined)('a row of the directory', () => {
  it('shows use and uptime by day, and comes with one request', async () => {
    const { page, faults, received, close } = await world.open({ width: 390 })
    await page.goto('/directory')
    const row = page.getByRole('listitem').filter({ hasText: 'Weather house' }).first()
    await row.getByRole('img', { name: /^Paid calls by day for 30 days: [\d,]+ in all/ }).waitFor()
    await row.getByRole('img', { name: /^Up in 100% of the checks/ }).waitFor()
    const asked = [...received.keys()].filter((path) => /endpoints|merchants/.test(path))
    expect(asked).toEqual(['/api/endpoints'])
    expect(await seriousFindings(page)).toEqual([])
    expect(faults).toEqual([])
    await close()
  })
})
