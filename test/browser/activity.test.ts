import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { devnetMerchant, devnetPayer } from '../../src/devnet/accounts.js'
import { writeMonth } from './support/a-month.js'
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

async function openActivity(search = '') {
  const wallet = createTestWallet({ name: 'Fern', account: devnetMerchant.account })
  const opened = await world.open({ wallets: [wallet] })
  await opened.page.goto(`/console/weather-house${search}`)
  await connectWallet(opened.page, 'Fern')
  await signIn(opened.page)
  return { ...opened, wallet }
}

describe.skipIf(skipped !== undefined)('activity', () => {
  it('shows a payment while the page is open, with payer, amount and transaction', async () => {
    const { page, faults, close, wallet } = await openActivity()
    await page.getByText('Nothing here yet').waitFor()
    await page.getByText('Live', { exact: true }).waitFor()
    const { body } = await world.pay(url)
    expect(body.success).toBe(true)
    const table = page.getByRole('region', { name: 'Payments' })
    const row = table.getByRole('row').filter({ hasText: 'settled' })
    await row.waitFor()
    const text = await row.textContent()
    expect(text).toContain('$0.01')
    expect(text).toContain(devnetPayer.address.slice(0, 6))
    expect(await row.getByTitle(body.transaction).count()).toBe(1)
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
      .getByText(String(settled + 1), { exact: true })
      .first()
      .waitFor()
    const chart = page.getByRole('slider', { name: 'Payments by day' })
    await chart.focus()
    await page.keyboard.press('Home')
    expect(await chart.getAttribute('aria-valuenow')).toBe('0')
    await page.keyboard.press('End')
    const today = await chart.getAttribute('aria-valuetext')
    expect(today).toMatch(/\d settled, \d+ failed, \d+ verified, [\d.,]+ USDC$/)
    await page.getByText(today as string).waitFor()
    await page.getByRole('button', { name: 'Revenue' }).click()
    await page.getByRole('slider', { name: 'Revenue by day' }).waitFor()
    await page.getByRole('button', { name: 'Older' }).click()
    await page.getByText('Page 2').waitFor()
    await page.getByRole('button', { name: 'Newer' }).click()
    await page.getByText('Page 1').waitFor()
    await page.reload()
    await page.getByRole('heading', { name: 'Activity' }).waitFor()
    await page
      .getByText(String(settled + 1), { exact: true })
      .first()
      .waitFor()
    await close()
  })
})
