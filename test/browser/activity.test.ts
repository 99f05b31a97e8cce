import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { devnetMerchant, devnetPayer } from '../../src/devnet/accounts.js'
import { anActivity } from '../support/an-activity.js'
import { owners } from './support/a-directory.js'
import { writeActivity, writeMonth } from './support/a-month.js'
import { type BrowserWorld, startBrowserWorld } from './support/browser-world.js'
import { connectWallet, settled, signIn } from './support/console-steps.js'
import { shiftsOf, watchShifts } from './support/layout-shifts.js'
import { createTestWallet } from './support/test-wallet.js'

let world: BrowserWorld
let url: string

beforeAll(async () => {
  world = await startBrowserWorld()
  url = `${world.strangers.url}/weather`
  await world.list('weather-house', {})
})
afterAll(() => world?.stop())

async function openActivity(search = '', id = 'weather-house', width = 1280) {
  const wallet = createTestWallet({ name: 'Fern', account: devnetMerchant.account })
  const opened = await world.open({ wallets: [wallet], width })
  await opened.page.goto(`/console/${id}${search}`)
  await connectWallet(opened.page, 'Fern')
  await signIn(opened.page)
  return { ...opened, wallet }
}

describe('activity', () => {
  it('shows a payment while the page is open, and leads to its page', async () => {
    const { page, faults, wallet } = await openActivity()
    await page.getByText('Nothing to show yet').waitFor()
    const { body } = await world.pay(url)
    expect(body.success).toBe(true)
    const table = page.getByRole('region', { name: 'Payments', exact: true })
    const row = table.getByRole('row').filter({ hasText: 'Settled' })
    await row.waitFor()
    const text = await row.textContent()
    expect(text).toContain('$0.01')
    expect(text).toMatch(/Today \d{1,2}:\d\d:\d\d/)
    expect(text).toContain(devnetPayer.address.slice(0, 6))
    expect(await table.getByRole('columnheader', { name: 'Time, UTC' }).count()).toBe(1)
    expect(await row.locator('time').getAttribute('title')).toMatch(/^\d{4}-\d\d-\d\dT.*Z$/)
    // The verification before it is shown on request only.
    expect(await table.getByRole('row').count()).toBe(2)
    await page.getByLabel('Show', { exact: true }).selectOption('Verifications')
    const verified = page.getByRole('region', { name: 'Verifications' }).getByRole('row')
    await verified.filter({ hasText: 'Valid' }).waitFor()
    await page.getByLabel('Show', { exact: true }).selectOption('All payments')
    // The whole row opens it.
    await row.getByText('Weather').click()
    const panel = page.getByRole('complementary')
    await panel.getByTitle(body.transaction).waitFor()
    await panel.getByRole('link', { name: 'Timeline, receipt and proof' }).click()
    await page.waitForURL(/\/payments\/eip155:5042\/0x[0-9a-fA-F]{40}\/0x[0-9a-f]{64}/)
    await page.getByRole('heading', { name: 'Payment' }).first().waitFor()
    await page.getByTitle(body.transaction).first().waitFor()
    // The sign-in is not typed data, and nothing else was signed.
    expect(wallet.signed).toEqual([])
    expect(faults).toEqual([])
  })

  it('opens a refused payment, and keeps what was chosen when the page is loaded again', async () => {
    const stranger = owners[3] as (typeof owners)[number]
    const { body } = await world.pay(url, { from: stranger.address, signer: stranger })
    expect(body.success).toBe(false)
    const failed = Array.from({ length: 120 }, (_, i) => {
      const at = Date.now() - 86_400_000 * 2 - i * 1_000
      const nonce = `0x${i.toString(16).padStart(64, '0')}` as const
      const over = { nonce, reason: 'asset_paused', transaction: null, endpointId: null }
      return anActivity({ ...over, merchantId: 'weather-house', at, state: 'failed' })
    })
    await writeActivity(world.databasePath, failed.reverse())
    const { page } = await openActivity('?range=7d&show=refused')
    const row = page.getByRole('region', { name: 'Payments', exact: true }).getByRole('row').nth(1)
    await row.getByText('The buyer does not have enough money').waitFor()
    expect(await row.getByText('Refused').count()).toBe(1)
    await row.getByRole('button', { name: /Today/ }).click()
    const panel = page.getByRole('complementary')
    await panel.getByText('The buyer does not have enough money.').waitFor()
    await panel.getByText('the buyer has to see to their wallet').waitFor()
    await panel.getByTitle(stranger.address).waitFor()
    // There is no settlement that a page could show.
    expect(await panel.getByRole('link', { name: /^Timeline/ }).count()).toBe(0)
    await page.keyboard.press('Escape')
    await panel.waitFor({ state: 'detached' })
    const show = page.getByLabel('Show', { exact: true })
    await show.selectOption('Failed')
    await page.getByRole('button', { name: 'Older' }).click()
    await page.getByText('Page 2').waitFor()
    await page.getByRole('button', { name: 'Older' }).click()
    await page.getByText('Page 3').waitFor()
    await page.getByRole('button', { name: 'Revenue' }).click()
    const place = page.url()
    const shown = () => page.getByRole('region', { name: 'Payments', exact: true }).textContent()
    const before = await shown()
    await page.reload()
    await page.getByText('Page 3').waitFor()
    expect(await show.inputValue()).toBe('failed')
    expect(await page.getByLabel('Period').inputValue()).toBe('7d')
    expect(page.url()).toBe(place)
    expect(await shown()).toBe(before)
    await page.getByRole('button', { name: 'Newer' }).click()
    await page.getByText('Page 2').waitFor()
    // Another choice begins at its first page.
    await show.selectOption('Settled')
    await page.waitForURL(({ searchParams }) => searchParams.get('page') === null)
  })

  it('asks for the newest rows alone while nothing happens, and reads the figures once after a payment', async () => {
    const { page } = await openActivity('?view=apis')
    const apis = page.getByRole('region', { name: 'By API' }).getByRole('row').nth(1)
    await apis.waitFor()
    const asked: string[] = []
    page.on('request', (request) => {
      const { pathname } = new URL(request.url())
      if (pathname.includes('/activity')) asked.push(pathname.split('/activity')[1] ?? '')
    })
    const before = Number(await apis.getByRole('cell').nth(2).textContent())
    await expect.poll(() => asked.length).toBeGreaterThan(1)
    expect(new Set(asked)).toEqual(new Set(['/table']))
    for (let i = 0; i < 3; i++) expect((await world.pay(url)).body.success).toBe(true)
    await expect.poll(() => apis.getByRole('cell').nth(2).textContent()).toBe(String(before + 3))
    const sums = asked.filter((part) => part === '/breakdown').length
    expect(sums).toBeGreaterThan(0)
    expect(sums).toBeLessThanOrEqual(2)
    // Both tables say the same about the last payment.
    const at = await apis.locator('time').getAttribute('datetime')
    await page.getByRole('button', { name: 'Payments' }).last().click()
    const newest = page
      .getByRole('region', { name: 'Payments', exact: true })
      .locator('time')
      .first()
    expect((await newest.getAttribute('datetime'))?.slice(0, 19)).toBe(at?.slice(0, 19))
  })

  it('cuts no table off from 1024 pixels, and shows failures early on a phone', async () => {
    const { page } = await openActivity('?range=7d')
    for (const width of [1024, 1280, 1440, 1920]) {
      await page.setViewportSize({ width, height: 900 })
      for (const [button, label] of [
        ['By API', 'By API'],
        ['Top buyers', 'Top buyers'],
        ['Payments', 'Payments'],
      ] as const) {
        await page.getByRole('button', { name: button }).last().click()
        const region = page.getByRole('region', { name: label, exact: true })
        await region.getByRole('row').nth(1).waitFor()
        const [whole, seen] = await region.evaluate((it) => [it.scrollWidth, it.clientWidth])
        expect([label, width, whole]).toEqual([label, width, Math.min(whole, seen)])
      }
    }
    await page.setViewportSize({ width: 390, height: 844 })
    const failures = await page
      .getByRole('heading', { name: 'Not settled, by reason' })
      .boundingBox()
    expect(failures?.y).toBeLessThan(1_200)
    await page
      .getByTitle(/Press to see these payments/)
      .filter({ hasText: 'failed' })
      .first()
      .click()
    expect(new URL(page.url()).searchParams.get('show')).toBe('failed')
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390)
  })

  it('moves nothing while it loads, at three widths', async () => {
    expect((await world.pay(url)).body.success).toBe(true)
    const { page, context } = await openActivity('?range=7d')
    await watchShifts(context)
    let delayMs = 0
    await page.route('**/api/**', async (route) => {
      delayMs = (delayMs + 170) % 600
      await new Promise((resolve) => setTimeout(resolve, delayMs))
      await route.continue()
    })
    for (const width of [390, 1280, 1440]) {
      await page.setViewportSize({ width, height: 900 })
      await page.goto('/console/weather-house?range=7d')
      await page.getByRole('region', { name: 'Payments', exact: true }).waitFor()
      await settled(page)
      const loaded = await shiftsOf(page)
      // The account in the header belongs to every page.
      expect(loaded.sum, loaded.what.join()).toBeLessThan(0.01)
      await page.goto('/console/weather-house/settings')
      await page.getByLabel('URL to call').waitFor()
      await page.getByText('All signed messages as JSON').waitFor()
      await settled(page)
      const settings = await shiftsOf(page)
      expect(settings.sum, settings.what.join()).toBeLessThan(0.01)
    }
    await page.unrouteAll({ behavior: 'ignoreErrors' })
  })

  it('offers no sign-in to a wallet that does not own the listing', async () => {
    const wallet = createTestWallet({ name: 'Moss', account: devnetPayer.account })
    const { page } = await world.open({ wallets: [wallet] })
    await page.goto('/console/weather-house')
    await connectWallet(page, 'Moss')
    await page.getByText('Only its owner sees this').waitFor()
    expect(await page.getByRole('button', { name: 'Sign in with the wallet' }).count()).toBe(0)
  })

  it('allows another sign-in after a refused one', async () => {
    const wallet = createTestWallet({ name: 'Fern', account: devnetMerchant.account })
    const { page } = await world.open({ wallets: [wallet] })
    await page.goto('/console/weather-house')
    await connectWallet(page, 'Fern')
    wallet.rejectNext('personal_sign')
    await page.getByRole('button', { name: 'Sign in with the wallet' }).click()
    await page.getByText('You refused in the wallet.').waitFor()
    await signIn(page)
  })

  it('asks to sign in again when the session has ended, and continues after it', async () => {
    const { page } = await openActivity()
    expect((await page.request.delete('/api/session')).ok()).toBe(true)
    await page.getByLabel('Period').selectOption('7 days')
    await page.getByText('Sign in to see payments').waitFor()
    await signIn(page)
    await page.getByLabel('Period').selectOption('30 days')
    await page.getByRole('region', { name: 'Payments', exact: true }).waitFor()
  })

  it('downloads as CSV with the present filter', async () => {
    const { page } = await openActivity('?show=settled')
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'CSV' }).click(),
    ])
    expect(download.suggestedFilename()).toBe('weather-house-activity.csv')
    const lines = readFileSync(await download.path(), 'utf8')
      .trim()
      .split(/\r?\n/)
    expect(lines).toHaveLength(6)
    expect(lines[1]).toContain(devnetPayer.address)
  })

  it('says which payment listed nothing, and which side left something out', async () => {
    const missing = `${world.strangers.url}/nowhere`
    expect((await world.pay(missing)).body.success).toBe(true)
    const asked = new URLSearchParams({ resource: missing })
    const refusals = async () =>
      (await (await fetch(`${world.url}/discovery/status?${asked}`)).json()).refusals
    await expect.poll(refusals, { timeout: 15_000 }).toHaveLength(1)
    const { page, faults } = await openActivity()
    await page.getByRole('heading', { name: 'Paid and not listed' }).waitFor()
    await page.getByText(missing, { exact: true }).first().waitFor()
    await page.getByText("the buyer's client left the bazaar extension out").first().waitFor()
    expect(faults).toEqual([])
  })

  it('tells of payments that fail one after another, and of an endpoint that begins to', async () => {
    await world.list('failing-house', {})
    const failed = anActivity({
      merchantId: 'failing-house',
      endpointId: null,
      at: Date.now(),
      state: 'failed',
      reason: 'asset_paused',
      transaction: null,
    })
    await writeActivity(world.databasePath, [failed, failed])
    const { page } = await openActivity('', 'failing-house')
    const table = page.getByRole('region', { name: 'Payments', exact: true })
    await table.getByRole('row').nth(2).waitFor()
    const alert = page.getByRole('alert').filter({ hasText: 'The last 3 payments failed' })
    expect(await alert.count()).toBe(0)
    await page.clock.install()
    await writeActivity(world.databasePath, [failed])
    await page.reload()
    await alert.waitFor()
    expect(await page.getByText('An API fails').count()).toBe(0)
    await page.route('**/api/merchants/failing-house', async (route) => {
      const answer = await route.fetch()
      const view = await answer.json()
      view.endpoints[0].state.status = 'failing'
      await route.fulfill({ response: answer, json: view })
    })
    await page.clock.fastForward(61_000)
    await page.getByRole('alert').filter({ hasText: 'An API fails' }).waitFor()
    expect(await page.getByRole('link', { name: 'See why' }).getAttribute('href')).toBe(
      '/console/failing-house/endpoints',
    )
  })

  it('pages through a month on the server and keeps the range in the address', async () => {
    const { body } = await world.get('/api/merchants/weather-house')
    const endpoints = [{ id: body.endpoints[0].state.id, url, amount: 10_000n, aDay: 10 }]
    const written = await writeMonth(world.databasePath, {
      merchantId: 'weather-house',
      payTo: devnetMerchant.address,
      endpoints,
    })
    const { page } = await openActivity()
    await page.getByLabel('Period').selectOption('All time')
    expect(new URL(page.url()).searchParams.get('range')).toBe('all')
    // The tests before made six payments.
    const payments = page.getByText(String(written + 6), { exact: true }).first()
    await payments.waitFor()
    const chart = (name: string) => page.locator(`[aria-label="${name}"]`).first()
    await chart('Payments by day').waitFor()
    await page.getByRole('button', { name: 'Show the table' }).click()
    const today = await page.getByRole('row').nth(1).getByRole('cell').allTextContents()
    expect(today).toHaveLength(4)
    expect(today.at(-1)).toMatch(/^[\d.,]+ USDC$/)
    await page.getByRole('button', { name: 'Show the chart' }).click()
    await page.getByRole('button', { name: 'Revenue' }).click()
    await chart('Revenue by day').waitFor()
    await page.reload()
    await payments.waitFor()
    await chart('Revenue by day').waitFor()
    const day = (ago: number) => new Date(Date.now() - ago * 86_400_000).toISOString().slice(0, 10)
    // A day is shown by the hour.
    for (const [name, ago] of [
      ['Today', 0],
      ['Yesterday', 1],
    ] as const) {
      const [request] = await Promise.all([
        page.waitForRequest((it) => it.url().includes(`from=${day(ago)}&to=${day(ago)}`)),
        page.getByLabel('Period').selectOption(name),
      ])
      expect(request.url()).toContain('range=custom')
      await chart('Revenue by hour').waitFor()
      expect(new URL(page.url()).searchParams.get('range')).toBe(name.toLowerCase())
    }
    await page.getByLabel('Period').selectOption('Custom')
    await page.getByLabel('From day, UTC').fill(day(20))
    await page.getByLabel('To day, UTC').fill(day(18))
    await page.waitForURL(({ searchParams }) => searchParams.get('to') === day(18))
    const { searchParams } = new URL(page.url())
    expect([searchParams.get('from'), searchParams.get('to')]).toEqual([day(20), day(18)])
    const query = `range=custom&from=${day(20)}&to=${day(18)}`
    const path = `/api/merchants/weather-house/activity/breakdown?${query}`
    const breakdown = await (await page.request.get(path)).json()
    await page.getByRole('button', { name: 'Top buyers' }).click()
    const payers = page.getByRole('region', { name: 'Top buyers' }).getByRole('row')
    await payers.nth(breakdown.topPayers.length).waitFor()
    expect(await payers.count()).toBe(breakdown.topPayers.length + 1)
    await page.getByRole('button', { name: 'By API' }).click()
    const row = page.getByRole('region', { name: 'By API' }).getByRole('row').nth(1)
    await row.getByText(String(breakdown.endpoints[0].settled), { exact: true }).waitFor()
    await row.getByRole('button').click()
    await page.getByRole('region', { name: 'Payments', exact: true }).waitFor()
    expect(new URL(page.url()).searchParams.get('endpoint')).toBe(String(endpoints[0]?.id))
  })
})
