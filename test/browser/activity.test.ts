import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { devnetMerchant, devnetPayer } from '../../src/devnet/accounts.js'
import { anActivity } from '../support/an-activity.js'
import { writeActivity, writeMonth } from './support/a-month.js'
import { type BrowserWorld, startBrowserWorld } from './support/browser-world.js'
import { reasonToSkip } from './support/chromium.js'
import { connectWallet, signIn } from './support/console-steps.js'
import { createTestWallet } from './support/test-wallet.js'

const skipped = reasonToSkip()
let world: BrowserWorld
let url: string

beforeAll(async () => {
  if (skipped !== undefined) return
  world = await startBrowserWorld()
  url = `${world.strangers.url}/weather`
  await world.list('weather-house', {})
})
afterAll(() => world?.stop())

async function openActivity(search = '', id = 'weather-house') {
  const wallet = createTestWallet({ name: 'Fern', account: devnetMerchant.account })
  const opened = await world.open({ wallets: [wallet] })
  await opened.page.goto(`/console/${id}${search}`)
  await connectWallet(opened.page, 'Fern')
  await signIn(opened.page)
  return { ...opened, wallet }
}

describe.skipIf(skipped !== undefined)('activity', () => {
  it('shows a payment while the page is open, with payer, amount and transaction', async () => {
    const { page, faults, close, wallet } = await openActivity()
    await page.getByText('Nothing to show yet').waitFor()
    const { body } = await world.pay(url)
    expect(body.success).toBe(true)
    const table = page.getByRole('region', { name: 'Payments' })
    const row = table.getByRole('row').filter({ hasText: 'settled' })
    await row.waitFor()
    const text = await row.textContent()
    expect(text).toContain('$0.01')
    expect(text).toContain(devnetPayer.address.slice(0, 6))
    expect(await row.getByTitle(body.transaction).count()).toBe(1)
    // The verification before it is shown on request only.
    expect(await table.getByRole('row').count()).toBe(2)
    await page.getByLabel('Kind').selectOption('Payments and verifications')
    await table.getByRole('row').filter({ hasText: 'verification' }).waitFor()
    // The sign-in is not typed data, and nothing else was signed.
    expect(wallet.signed).toEqual([])
    expect(faults).toEqual([])
    await close()
  })

  it('offers no sign-in to a wallet that does not own the listing', async () => {
    const wallet = createTestWallet({ name: 'Moss', account: devnetPayer.account })
    const { page, close } = await world.open({ wallets: [wallet] })
    await page.goto('/console/weather-house')
    await connectWallet(page, 'Moss')
    const button = page.getByRole('button', { name: 'Sign in with the wallet' })
    expect(await button.isDisabled()).toBe(true)
    await close()
  })

  it('allows another sign-in after a refused one', async () => {
    const wallet = createTestWallet({ name: 'Fern', account: devnetMerchant.account })
    const { page, close } = await world.open({ wallets: [wallet] })
    await page.goto('/console/weather-house')
    await connectWallet(page, 'Fern')
    wallet.rejectNext('personal_sign')
    await page.getByRole('button', { name: 'Sign in with the wallet' }).click()
    await page.getByText('You refused in the wallet.').waitFor()
    await signIn(page)
    await close()
  })

  it('asks to sign in again when the session has ended, and continues after it', async () => {
    const { page, close } = await openActivity()
    expect((await page.request.delete('/api/session')).ok()).toBe(true)
    await page.getByRole('button', { name: '7 days' }).click()
    await page.getByText('Sign in to see payments').waitFor()
    await signIn(page)
    await page.getByRole('button', { name: '30 days' }).click()
    await page.getByRole('region', { name: 'Payments' }).waitFor()
    await close()
  })

  it('downloads as CSV with the present filter', async () => {
    const { page, close } = await openActivity()
    await page.getByLabel('Kind').selectOption('settle')
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'CSV' }).click(),
    ])
    expect(download.suggestedFilename()).toBe('weather-house-activity.csv')
    const lines = readFileSync(await download.path(), 'utf8')
      .trim()
      .split(/\r?\n/)
    expect(lines).toHaveLength(2)
    expect(lines[1]).toContain(devnetPayer.address)
    await close()
  })

  it('counts payments in the title while the tab is hidden, and says so once', async () => {
    const { page, close } = await openActivity()
    const title = await page.title()
    const hide = (hidden: boolean) =>
      page.evaluate((isHidden) => {
        Object.defineProperty(document, 'hidden', { configurable: true, get: () => isHidden })
        document.dispatchEvent(new Event('visibilitychange'))
      }, hidden)
    await page.getByRole('region', { name: 'Payments' }).waitFor()
    await hide(true)
    expect((await world.pay(url)).body.success).toBe(true)
    await page.waitForFunction(() => document.title.startsWith('(1) '))
    await hide(false)
    await page.getByText('A payment arrived while you were away.').waitFor()
    expect(await page.title()).toBe(title)
    // While the tab is seen, the table says it.
    expect((await world.pay(url)).body.success).toBe(true)
    const rows = page.getByRole('region', { name: 'Payments' }).getByRole('row')
    await rows.nth(3).waitFor()
    expect(await page.title()).toBe(title)
    expect(await page.getByText('while you were away').count()).toBe(1)
    await close()
  })

  it('tells of payments that fail one after another, and of an endpoint that begins to', async () => {
    await world.list('failing-house', {})
    const failed = anActivity({
      ...{ merchantId: 'failing-house', endpointId: null, at: Date.now(), state: 'failed' },
      ...{ reason: 'asset_paused', transaction: null },
    })
    await writeActivity(world.databasePath, [failed, failed])
    const { page, close } = await openActivity('', 'failing-house')
    const table = page.getByRole('region', { name: 'Payments' })
    await table.getByRole('row').nth(2).waitFor()
    const alert = page.getByRole('alert').filter({ hasText: 'The last 3 payments failed' })
    expect(await alert.count()).toBe(0)
    await page.clock.install()
    await writeActivity(world.databasePath, [failed])
    await page.reload()
    await alert.waitFor()
    expect(await page.getByText('An endpoint fails').count()).toBe(0)
    await page.route('**/api/merchants/failing-house', async (route) => {
      const answer = await route.fetch()
      const view = await answer.json()
      view.endpoints[0].state.status = 'failing'
      await route.fulfill({ response: answer, json: view })
    })
    await page.clock.fastForward(61_000)
    await page.getByRole('alert').filter({ hasText: 'An endpoint fails' }).waitFor()
    expect(await page.getByRole('link', { name: 'See why' }).getAttribute('href')).toBe(
      '/console/failing-house/endpoints',
    )
    await close()
  })

  it('pages through a month on the server and keeps the range in the address', async () => {
    const { body } = await world.get('/api/merchants/weather-house')
    const endpoints = [{ id: body.endpoints[0].state.id, url, amount: 10_000n, aDay: 10 }]
    const settled = await writeMonth(world.databasePath, {
      merchantId: 'weather-house',
      payTo: devnetMerchant.address,
      endpoints,
    })
    const { page, close } = await openActivity()
    await page.getByRole('button', { name: 'All', exact: true }).click()
    expect(new URL(page.url()).searchParams.get('range')).toBe('all')
    await page
      .getByText(String(settled + 3), { exact: true })
      .first()
      .waitFor()
    await page.getByRole('img', { name: 'Payments by day' }).waitFor()
    await page.getByRole('button', { name: 'Show the table' }).click()
    const today = await page.getByRole('row').first().getByRole('cell').textContent()
    expect(today).toMatch(/\d settled, \d+ failed, \d+ verified, [\d.,]+ USDC$/)
    await page.getByRole('button', { name: 'Show the chart' }).click()
    await page.getByRole('button', { name: 'Revenue' }).click()
    await page.getByRole('img', { name: 'Revenue by day' }).waitFor()
    await page.getByRole('button', { name: 'Older' }).click()
    await page.getByText('Page 2').waitFor()
    await page.getByRole('button', { name: 'Newer' }).click()
    await page.getByText('Page 1').waitFor()
    await page.reload()
    await page.getByRole('heading', { name: 'Activity' }).waitFor()
    await page
      .getByText(String(settled + 3), { exact: true })
      .first()
      .waitFor()
    await page.getByRole('button', { name: '7 days' }).click()
    await page.getByRole('button', { name: 'Custom' }).click()
    const day = (ago: number) => new Date(Date.now() - ago * 86_400_000).toISOString().slice(0, 10)
    await page.getByLabel('From day, UTC').fill(day(20))
    await page.getByLabel('To day, UTC').fill(day(18))
    await page.waitForURL(({ searchParams }) => searchParams.get('to') === day(18))
    const { searchParams } = new URL(page.url())
    expect([searchParams.get('from'), searchParams.get('to')]).toEqual([day(20), day(18)])
    const query = `range=custom&from=${day(20)}&to=${day(18)}`
    const path = `/api/merchants/weather-house/activity/breakdown?${query}`
    const breakdown = await (await page.request.get(path)).json()
    const payers = page.getByRole('region', { name: 'Top payers' }).getByRole('row')
    await payers.nth(breakdown.topPayers.length).waitFor()
    expect(await payers.count()).toBe(breakdown.topPayers.length + 1)
    const row = page.getByRole('region', { name: 'By endpoint' }).getByRole('row').nth(1)
    expect(await row.textContent()).toContain(String(breakdown.endpoints[0].settled))
    await row.getByRole('button').click()
    await page.getByRole('region', { name: 'By endpoint' }).waitFor({ state: 'detached' })
    expect(new URL(page.url()).searchParams.get('endpoint')).toBe(String(endpoints[0]?.id))
    await close()
  })
})
