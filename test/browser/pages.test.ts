import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { devnetMerchant } from '../../src/devnet/accounts.js'
import { fillDirectory } from './support/a-directory.js'
import { seriousFindings } from './support/accessibility.js'
import { type BrowserWorld, startBrowserWorld } from './support/browser-world.js'
import { settled } from './support/console-steps.js'

let world: BrowserWorld
let transaction: string

beforeAll(async () => {
  world = await startBrowserWorld()
  await fillDirectory(world)
  const paid = await world.pay(`${world.strangers.url}/weather/forecast`)
  transaction = paid.body.transaction
})
afterAll(() => world?.stop())

describe('the first load', () => {
  it('is at most 130 kB over the wire, so that text is there within 3 s on slow 4G', async () => {
    const { page, received } = await world.open()
    await page.goto('/')
    await settled(page)
    const ours = [...received].filter(([path]) => !path.startsWith('/api/'))
    expect(ours.length).toBeGreaterThan(2)
    const bytes = ours.reduce((sum, [, size]) => sum + size, 0)
    expect(bytes).toBeLessThan(130_000)
    // A connection, the page, its code, what the API says, and then the code of the panel: 150 ms each, and 1.6 Mbit/s.
    expect(5 * 150 + (bytes * 8) / 1_600).toBeLessThan(3_000)
  })

  it('draws the frame of the page from its first files, which take less than 0.6 s', async () => {
    const { page, received } = await world.open({ width: 390, height: 844 })
    await page.route('**/assets/*.{js,woff2}', (route) => route.abort())
    await page.goto('/')
    await page.getByRole('banner').getByText('Arcus').waitFor()
    const painted = await page.evaluate(
      () => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0,
    )
    expect(painted).toBeGreaterThan(0)
    const first = [...received].filter(([path]) => /^\/$|\.css$|theme\.js$/.test(path))
    expect(first).toHaveLength(3)
    // “Slow 4G”, as Lighthouse simulates it: a connection, the page, and then the files that it names.
    const trips = 3
    const bytes = first.reduce((sum, [, size]) => sum + size, 0)
    expect(trips * 150 + (bytes * 8) / 1_638).toBeLessThan(600)
  })
})

describe('the public side', () => {
  it('finds a payment by its transaction, and shows everything of it after a reload too', async () => {
    const { page, faults } = await world.open()
    await page.goto('/payments')
    const newest = page.getByRole('region', { name: 'Payments', exact: true }).getByRole('row')
    await newest.nth(1).getByRole('button').click()
    const link = page.getByRole('link', { name: 'Timeline, receipt and proof' })
    expect(await link.getAttribute('href')).toMatch(/^\/payments\/eip155:5042\/0x/)
    await page.keyboard.press('Escape')
    // A hash is taken without its 0x.
    await page.keyboard.press('/')
    const box = page.getByRole('combobox', { name: 'Payment, address, seller or words' })
    await box.fill(transaction.slice(2))
    await page.keyboard.press('Enter')
    await page.waitForURL(`**/payments/${transaction}`)
    await page.reload()
    await page.getByText('The seller has the money. This is final.').waitFor()
    const timeline = page.getByRole('list').filter({ hasText: 'Accepted' })
    // A whole time with its zone, 26 Nov 2026, 14:05:12 UTC, and then the time since the step before.
    const whole = /\d{4}.*\d\d:\d\d:\d\d UTC$/
    const times = timeline.locator('time')
    expect(await times.first().textContent()).toMatch(whole)
    for (const [index, step] of ['Accepted', 'Sent', 'Confirmed', 'Answered'].entries()) {
      await timeline.getByRole('listitem').nth(index).getByText(step).first().waitFor()
      if (index === 0) continue
      expect(await times.nth(index).textContent()).toMatch(/^\d.* m?s later$/)
      expect(await times.nth(index).getAttribute('title')).toMatch(whole)
    }
    expect(await seriousFindings(page)).toEqual([])
    expect(faults).toEqual([])
    // Both ways: from the payment to its merchant, and to what else is paid at the address.
    await page.getByRole('link', { name: 'Penny Weather' }).click()
    await page.waitForURL('**/merchants/penny-weather')
  })

  it('opens a payment that failed, with its reason and whole times', async () => {
    const { page } = await world.open()
    const [payment] = (await world.get(`/payments/${transaction}`)).body.payments
    const path = `/payments/${payment.network}/${payment.payer}/${payment.nonce}`
    const failed = {
      state: 'failed',
      transaction: null,
      blockNumber: null,
      deliveredAt: null,
      errorReason: 'invalid_exact_evm_insufficient_balance',
    }
    const isIt = ({ pathname }: URL) => pathname.endsWith(payment.nonce)
    await page.route(isIt, async (route) => {
      if (route.request().resourceType() === 'document') return route.continue()
      const response = await route.fetch()
      return route.fulfill({ response, json: { ...(await response.json()), ...failed } })
    })
    await page.goto(path)
    await page.getByText('No money was moved.').first().waitFor()
    await page.getByText('The buyer does not have enough money').waitFor()
    const step = page.getByRole('listitem').filter({ hasText: 'Failed' })
    expect(await step.locator('time').getAttribute('title')).toMatch(/\d\d:\d\d:\d\d UTC$/)
  })

  it('names a seller that was deleted, and keeps its change log', async () => {
    const { page } = await world.open()
    await world.list('gone-house', { name: 'Gone House' })
    await world.client(devnetMerchant.account).delete('gone-house')
    await page.goto('/merchants/gone-house')
    await page.getByRole('heading', { name: 'This seller was deleted' }).waitFor()
    const log = await page.getByRole('link', { name: 'change log' }).getAttribute('href')
    expect((await world.get(log ?? '')).status).toBe(200)
  })

  it('narrows the list while typing, and keeps the search in the address', async () => {
    const { page } = await world.open()
    await page.goto('/')
    await page.getByRole('searchbox').fill('tides')
    await page.getByText('Tides today').waitFor()
    await page.getByText('Paper by DOI').waitFor({ state: 'detached' })
    await page.reload()
    await page.getByText('Tides today').waitFor()
    expect(await page.getByText('Paper by DOI').count()).toBe(0)
  })
})

describe('the description of the HTTP interface', () => {
  it('is linked from every page, fits a phone, travels compressed, and can be read by all', async () => {
    const { page, faults, received } = await world.open({ width: 390, height: 844 })
    await page.goto('/status')
    await settled(page)
    await page.getByRole('contentinfo').getByRole('link', { name: 'HTTP interface' }).click()
    await page.getByRole('heading', { level: 1, name: /Arcus/ }).waitFor()
    await page.evaluate(() => {
      for (const part of document.querySelectorAll('details')) part.open = true
    })
    const overflow = () =>
      page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)
    expect(await overflow()).toBe(0)
    await page.evaluate(() => {
      for (const part of document.querySelectorAll('details')) part.open = false
    })
    expect(await seriousFindings(page)).toEqual([])
    const whole = (await (await fetch(`${world.origin}/docs`)).text()).length
    expect(received.get('/docs')).toBeLessThan(whole / 5)
    expect(faults).toEqual([])
  })
})
