import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { devnetMerchant } from '../../src/devnet/accounts.js'
import { fillDirectory } from './support/a-directory.js'
import { seriousFindings } from './support/accessibility.js'
import { type BrowserWorld, startBrowserWorld } from './support/browser-world.js'
import { reasonToSkip } from './support/chromium.js'
import { settled } from './support/console-steps.js'

const skipped = reasonToSkip()
let world: BrowserWorld
let transaction: string

beforeAll(async () => {
  if (skipped !== undefined) return
  world = await startBrowserWorld()
  await fillDirectory(world)
  const paid = await world.pay(`${world.strangers.url}/weather/forecast`)
  transaction = paid.body.transaction
})
afterAll(() => world?.stop())

describe.skipIf(skipped !== undefined)('every page', () => {
  it('has its own title', async () => {
    const { page, close } = await world.open()
    const titles = new Set<string>()
    for (const path of [
      '/',
      '/quickstart',
      '/merchants/nobody',
      '/merchants/penny-weather',
      '/payments',
      '/status',
    ]) {
      await page.goto(path)
      await settled(page)
      titles.add(await page.title())
    }
    expect(titles.size).toBe(6)
    await close()
  })
})

describe.skipIf(skipped !== undefined)('the first load', () => {
  it('is at most 125 kB over the wire, so that text is there within 3 s on slow 4G', async () => {
    const { page, received, close } = await world.open()
    await page.goto('/')
    await settled(page)
    const ours = [...received].filter(([path]) => !path.startsWith('/api/'))
    expect(ours.length).toBeGreaterThan(2)
    const bytes = ours.reduce((sum, [, size]) => sum + size, 0)
    expect(bytes).toBeLessThan(125_000)
    // A connection, the page, its code, what the API says, and then the code of the panel: 150 ms each, and 1.6 Mbit/s.
    expect(5 * 150 + (bytes * 8) / 1_600).toBeLessThan(3_000)
    await close()
  })

  it('is below 150 kB with gzip', async () => {
    const { page, received, close } = await world.open()
    await page.goto('/')
    await settled(page)
    const paths = [...received.keys()].filter((path) => !path.startsWith('/api/'))
    const sizes = await Promise.all(
      paths.map(async (path) => {
        const headers = { 'accept-encoding': 'identity', accept: 'text/html,*/*' }
        const answer = await fetch(world.origin + path, { headers })
        const bytes = Buffer.from(await answer.arrayBuffer())
        // Fonts are compressed as they are.
        return path.endsWith('.woff2') ? bytes.length : gzipSync(bytes).length
      }),
    )
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(150_000)
    await close()
  })
})

describe.skipIf(skipped !== undefined)('the public side', () => {
  it('finds a payment by its transaction, and shows everything of it after a reload too', async () => {
    const { page, faults, close } = await world.open()
    await page.goto('/payments')
    const newest = page.getByRole('list', { name: 'Latest payments' })
    expect(await newest.getByRole('link').first().getAttribute('href')).toBe(
      `/payments/${transaction}`,
    )
    // A hash is taken without its 0x.
    await page.getByRole('searchbox').fill(transaction.slice(2))
    await page.keyboard.press('Enter')
    await page.waitForURL(`**/payments/${transaction}`)
    await page.reload()
    await page.getByText('The seller has the money. This is final.').waitFor()
    const timeline = page.getByRole('list').filter({ hasText: 'Accepted' })
    for (const step of ['Accepted', 'Sent', 'Confirmed', 'Answered']) {
      const shown = timeline.getByRole('listitem').filter({ hasText: step }).first()
      // A whole time with its zone: 26 Nov 2026, 14:05:12 UTC.
      expect(await shown.locator('time').textContent()).toMatch(/\d{4}.*\d\d:\d\d:\d\d UTC$/)
    }
    expect(await seriousFindings(page)).toEqual([])
    expect(faults).toEqual([])
    // Both ways: from the payment to its merchant, and to what else is paid at the address.
    await page.getByRole('link', { name: 'Penny Weather' }).click()
    await page.waitForURL('**/merchants/penny-weather')
    await close()
  })

  it('finds a payment by payer and nonce, and says that another is unknown', async () => {
    const { page, close } = await world.open()
    const [payment] = (await world.get(`/payments/${transaction}`)).body.payments
    await page.goto('/payments')
    const box = page.getByRole('searchbox')
    await box.fill(`${payment.payer} ${payment.nonce}`)
    await page.keyboard.press('Enter')
    await page.waitForURL(`**/payments/eip155:5042/**`)
    await page.getByText('Confirmed', { exact: true }).first().waitFor()
    await page.goto(`/payments/0x${'77'.repeat(32)}`)
    await page.getByText('No such payment here').waitFor()
    await close()
  })

  it('opens a payment that failed, with its reason and whole times', async () => {
    const { page, close } = await world.open()
    const [payment] = (await world.get(`/payments/${transaction}`)).body.payments
    const path = `/payments/${payment.network}/${payment.payer}/${payment.nonce}`
    const failed = {
      ...{ state: 'failed', transaction: null, blockNumber: null, deliveredAt: null },
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
    expect(await step.locator('time').textContent()).toMatch(/\d\d:\d\d:\d\d UTC$/)
    await close()
  })

  it('names a seller that was deleted, and keeps its change log', async () => {
    const { page, close } = await world.open()
    await world.list('gone-house', { name: 'Gone House' })
    await world.client(devnetMerchant.account).delete('gone-house')
    await page.goto('/merchants/gone-house')
    await page.getByRole('heading', { name: 'This seller was deleted' }).waitFor()
    const log = await page.getByRole('link', { name: 'change log' }).getAttribute('href')
    expect((await world.get(log ?? '')).status).toBe(200)
    await close()
  })

  it('opens the receipt of a payment', async () => {
    const { page, close } = await world.open()
    await page.goto(`/payments/${transaction}`)
    await page.getByRole('link', { name: 'Receipt' }).click()
    await page.getByRole('heading', { name: /receipt/i }).waitFor()
    await page.getByText(transaction).first().waitFor()
    await close()
  })

  it('narrows the list while typing, and keeps the search in the address', async () => {
    const { page, close } = await world.open()
    await page.goto('/')
    await page.getByRole('searchbox').fill('tides')
    await page.getByText('Tides today').waitFor()
    await page.getByText('Paper by DOI').waitFor({ state: 'detached' })
    await page.reload()
    await page.getByText('Tides today').waitFor()
    expect(await page.getByText('Paper by DOI').count()).toBe(0)
    await close()
  })

  it('marks listings as unreviewed, and shows where official ones are paid', async () => {
    const { page, close } = await world.open()
    await page.goto('/merchants/paper-trail')
    await page.getByText('Nobody has reviewed it.').waitFor()
    await page.goto('/merchants/arc-index')
    await page
      .getByText(/buyback/i)
      .first()
      .waitFor()
    expect(await page.getByText('Nobody has reviewed it.').count()).toBe(0)
    await close()
  })
})
