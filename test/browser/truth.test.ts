import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { devnetMerchant, devnetRelayers } from '../../src/devnet/accounts.js'
import { fundNative } from '../../src/devnet/fixtures.js'
import { withResolvers } from '../support/with-resolvers.js'
import { owners } from './support/a-directory.js'
import { type BrowserWorld, startBrowserWorld } from './support/browser-world.js'
import {
  changeByHand,
  checkEndpoint,
  connectWallet,
  review,
  settled,
  sign,
  switchWallet,
} from './support/console-steps.js'
import { createTestWallet } from './support/test-wallet.js'

let world: BrowserWorld

beforeAll(async () => {
  world = await startBrowserWorld()
  await world.list('weather-house', {})
})
afterAll(() => world?.stop())

const fern = () => createTestWallet({ name: 'Fern', account: devnetMerchant.account })
const go = (page: Page, name: string) =>
  page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name, exact: true }).click()
const never = () => {}

describe('code that cannot be loaded', () => {
  const code = /\/assets\/status-.*\.js/

  it('loads the page again once, and needs an answer of the service for that', async () => {
    const { page } = await world.open()
    await page.goto('/')
    await settled(page)
    // A new version has other names, and the old ones are answered with a 404.
    await page.route(code, (route) => route.fulfill({ status: 404, body: 'not found' }), {
      times: 1,
    })
    const { promise: held, resolve: letGo } = withResolvers()
    await page.route(
      '**/status',
      async (route) => {
        await held
        return route.continue()
      },
      { times: 1 },
    )
    const again = page.waitForEvent('load')
    await go(page, 'Status')
    letGo()
    await again
    await page.getByText('Payments settle', { exact: true }).waitFor()
  })

  it('says so on the page while the service does not answer, and loads nothing again', async () => {
    const { page } = await world.open()
    await page.goto('/')
    await settled(page)
    let loads = 0
    page.on('load', () => loads++)
    await page.route(code, (route) => route.abort())
    await page.route('**/status', (route) => route.abort())
    await go(page, 'Status')
    await page.getByText('This page could not be shown').waitFor()
    expect(loads).toBe(0)
  })

  it('that stays away breaks one page alone, and is asked for again with the next click', async () => {
    const { page } = await world.open()
    let asked = 0
    await page.route(code, (route) => {
      asked++
      return route.abort()
    })
    await page.goto('/status')
    await page.getByText('This page could not be shown').waitFor()
    expect(asked).toBe(2)
    await go(page, 'Payments')
    await page.getByRole('heading', { level: 1 }).waitFor()
    expect(await page.getByText('This page could not be shown').count()).toBe(0)
    await page.unroute(code)
    await go(page, 'Status')
    await page.getByText('Payments settle', { exact: true }).waitFor()
  })
})

describe('a service that hangs', () => {
  it('is not shown as settling payments: the figure tells its age, and requests end', async () => {
    const { page } = await world.open()
    await page.clock.install()
    await page.goto('/status')
    await page.getByText('Payments settle', { exact: true }).waitFor()
    await page.route('**/api/status', never)
    await page.clock.runFor(26_000)
    await page.getByText('Not known at this moment').waitFor()
    await page.getByText('When last read: Payments settle.').waitFor()
    await page.getByText('Arcus does not answer.').waitFor()
    await page.clock.runFor(40_000)
    await page.getByText('Arcus does not answer.').waitFor()
    await page.unroute('**/api/status')
    await page.clock.runFor(16_000)
    await page.getByText('Payments settle', { exact: true }).waitFor()
  })

  it('is said once on every page, within twenty seconds, and taken back', async () => {
    for (const path of ['/', '/payments', '/status', '/merchants/weather-house', '/console']) {
      const { page } = await world.open()
      await page.clock.install()
      await page.goto(path)
      await settled(page)
      const silence = page.getByText('What you see may be out of date')
      // An answer of just before counts from its own time on.
      await page.clock.runFor(8_000)
      expect(await silence.count()).toBe(0)
      await page.route('**/api/**', never)
      await page.clock.runFor(20_000)
      await silence.waitFor()
      expect(await silence.count()).toBe(1)
      await page.clock.runFor(60_000)
      expect(await silence.count()).toBe(1)
      await page.unroute('**/api/**')
      await page.clock.runFor(20_000)
      await silence.waitFor({ state: 'detached' })
    }
  })
})

describe('relayer wallets without gas', () => {
  const rich = 10n ** 21n
  const fund = (wei: bigint, wallets = devnetRelayers) =>
    Promise.all(wallets.map(({ address }) => fundNative(world.chainUrl, address, wei)))

  it('degrade the service while some are left, and every page says so when none is', async () => {
    const { page } = await world.open()
    try {
      await fund(0n, devnetRelayers.slice(0, 1))
      await page.goto('/status')
      const words = `Degraded: ${devnetRelayers.length - 1} of ${devnetRelayers.length} relayers`
      await page.getByText(words).waitFor({ timeout: 30_000 })
      await page.getByRole('cell', { name: /needs gas|closed/ }).waitFor()
      await page.goto('/')
      await settled(page)
      expect(await page.getByText('Payments cannot settle').count()).toBe(0)

      await fund(0n)
      await expect
        .poll(async () => (await world.get('/api/status')).body.status, { timeout: 30_000 })
        .toBe('not_ready')
      for (const path of ['/', '/payments', '/console', '/merchants/weather-house']) {
        await page.goto(path)
        const banner = page.getByText('Payments cannot settle at this moment.')
        await banner.getByRole('link', { name: 'See why' }).waitFor()
      }
    } finally {
      await fund(rich)
    }
  })
})

describe('what a check found', () => {
  it('is text, and a difference made by hand is a problem before the signature', async () => {
    const wallet = fern()
    const { page, faults } = await world.open({ wallets: [wallet] })
    await page.goto('/console/new')
    await connectWallet(page, 'Fern')
    await checkEndpoint(page, `${world.strangers.url}/weather/told`)
    await page.getByRole('definition').filter({ hasText: '0.01 USDC' }).waitFor()
    expect(await page.getByLabel('Price in USDC').count()).toBe(0)
    expect(await page.getByLabel('URL', { exact: true }).count()).toBe(0)
    await page.getByLabel('Name').fill('Told House')
    await review(page)
    expect(await page.getByText('Problem.').count()).toBe(0)
    await page.getByRole('button', { name: 'Back to editing' }).click()

    await changeByHand(page)
    await page.getByLabel('Price in USDC').fill('0.02')
    await page.getByLabel('Payout address').fill(devnetRelayers[0]?.address as string)
    await page.getByText(/Problem.*asks for 0\.01 USDC/).waitFor()
    await review(page)
    await page.getByText(/Buyers pay what it asks for/).waitFor()
    await page.getByText(/It is refused unless both are the same/).waitFor()
    expect(wallet.signed).toEqual([])

    // One press takes the mistake back.
    await page.getByRole('button', { name: 'Back to editing' }).click()
    await page.getByRole('button', { name: 'List it at 0.01 USDC' }).click()
    await page.getByText(/Buyers pay what it asks for/).waitFor({ state: 'detached' })
    // Another address is another API, about which nothing is known.
    await changeByHand(page)
    await page.getByLabel('URL', { exact: true }).fill(`${world.strangers.url}/tides/other`)
    await page.getByText(/It is refused unless both are the same/).waitFor({ state: 'detached' })
    expect(faults).toEqual([])
  })

  it('says at the paste that a 402 of zero cannot be paid, and needs no wallet', async () => {
    const { page } = await world.open()
    await page.goto('/console/new')
    await checkEndpoint(page, `${world.strangers.url}/zero`)
    await page
      .getByText(/Problem.*asks for an amount of zero/)
      .first()
      .waitFor()
    // What cannot be paid is nowhere said to work.
    await page.getByText('Nobody can pay it like this.', { exact: false }).waitFor()
    expect(await page.getByText(/^It works/).count()).toBe(0)
    await page.getByText('It is not in the directory yet.').waitFor()
  })

  it('never takes the focus or the text of somebody who went on', async () => {
    const { page } = await world.open()
    await page.goto('/console/new')
    let answer = never
    const asked = new Promise<void>((resolve) => {
      void page.route('**/discovery/validate', async (route) => {
        resolve()
        await new Promise<void>((go) => {
          answer = go
        })
        await route.continue()
      })
    })
    await checkEndpoint(page, `${world.strangers.url}/weather/late`)
    await asked
    await page.getByLabel(/^URL of/).fill('https://another.example')
    answer()
    await page.getByLabel('Title').waitFor()
    const box = page.getByLabel(/^URL of/)
    expect(await box.evaluate((it) => it === document.activeElement)).toBe(true)
    expect(await box.inputValue()).toBe('https://another.example')
  })
})

describe('after a save', () => {
  it('each warning is said once, in words that link to the page that cures it', async () => {
    const { page } = await world.open({ wallets: [fern()] })
    await page.goto('/console/new')
    await connectWallet(page, 'Fern')
    for (const [index, path] of ['/weather/one', '/weather/two'].entries()) {
      await checkEndpoint(page, world.strangers.url + path)
      await page.getByLabel('Title').nth(index).waitFor()
    }
    await page.getByLabel('Name').fill('Warned House')
    await review(page)
    await sign(page)
    await page.waitForURL('**/console/warned-house?saved')
    await page.reload()
    const saved = page.getByRole('region', { name: 'Saved' })
    await saved.getByText('Live in the directory').waitFor()
    expect(await saved.getByText(/Minor.*Add an input schema so that agents/).count()).toBe(1)
    expect(await saved.getByText('One, Two', { exact: true }).count()).toBe(1)
    await saved.getByRole('link', { name: 'Edit', exact: true }).click()
    await page.waitForURL('**/console/warned-house/endpoints')

    // Advice to the owner is none of a visitor's concern.
    await page.goto('/merchants/warned-house')
    await settled(page)
    await page.getByRole('button', { name: 'See the price' }).waitFor()
    expect(await page.getByText(/input schema so that agents/).count()).toBe(0)
  })

  it('a visitor reads what a fault means for a buyer', async () => {
    const url = `${world.strangers.url}/broken`
    const endpoints = [{ url, method: 'GET' as const, title: 'Broken', price: '10000' }]
    await world.list('broken-house', { endpoints })
    const { page } = await world.open()
    await page.goto('/merchants/broken-house')
    await page.getByText(/A payment may buy nothing/).waitFor()
    expect(await page.getByText(/tried again later/).count()).toBe(0)
  })

  it('a visitor reads no share of a few checks', async () => {
    const { page } = await world.open()
    await page.goto('/merchants/weather-house')
    await page.getByText(/^1 check so far/).waitFor()
    expect(await page.getByText(/^Up \d/).count()).toBe(0)
    await page.route('**/health', async (route) => {
      const response = await route.fetch()
      const health = await response.json()
      health.uptime['30d'] = { probes: 20, share: 0.95 }
      await route.fulfill({ response, json: health })
    })
    await page.reload()
    await page.getByText(/^Up 95% in 1 day/).waitFor()
  })
})

describe('a change of the owner', () => {
  const said = (page: Page) => page.getByRole('status', { name: 'What happened' })
  const focused = (page: Page) => page.evaluate(() => document.activeElement?.textContent)

  it('is said in one place, and the focus goes to the heading of its section', async () => {
    await world.list('given-house', { name: 'Given House' })
    const next = owners[0] as (typeof owners)[number]
    const wallets = [fern(), createTestWallet({ name: 'Moss', account: next })]
    const { page, faults } = await world.open({ wallets })
    await page.goto('/console/given-house/settings')
    await connectWallet(page, 'Fern')
    const offer = async () => {
      await page.getByLabel('New owner').fill(next.address)
      await page.getByRole('button', { name: 'Sign and offer' }).click()
      await said(page).getByText('Offered. The new owner finds it in their console.').waitFor()
      await expect.poll(() => focused(page)).toBe('Payout and owner')
    }
    await offer()
    await page.getByRole('button', { name: 'Take the offer back' }).click()
    await said(page).getByText('The offer is taken back.').waitFor()
    await expect.poll(() => focused(page)).toBe('Payout and owner')
    await offer()
    await page.getByRole('link', { name: 'Your APIs' }).click()
    await page.getByText('The new owner finds it in their console.').waitFor()
    await switchWallet(page, 'Moss')
    await page.getByRole('heading', { name: 'Offered to you' }).waitFor()
    // What was said to one wallet is not said to the next.
    expect(await page.getByText('The new owner finds it in their console.').count()).toBe(0)
    await page.getByRole('link', { name: 'Given House' }).click()
    await page.getByText(/Some things start again when you accept/).waitFor()
    await page.getByRole('button', { name: 'Sign and accept' }).click()
    await said(page)
      .getByText(/You are the owner now/)
      .waitFor()
    await expect.poll(() => focused(page)).toBe('Payout and owner')
    expect((await world.get('/api/merchants/given-house')).body.owner).toBe(next.address)
    await page.getByRole('button', { name: 'Delete this listing' }).click()
    await page.getByRole('button', { name: 'Sign and delete' }).click()
    await page.getByText('Type given-house first.').waitFor()
    await page.getByLabel('Type given-house to confirm').fill('given-house')
    await page.getByRole('button', { name: 'Sign and delete' }).click()
    await said(page).getByText('given-house is deleted.').waitFor()
    expect((await world.get('/api/merchants/given-house')).status).toBe(410)
    expect(faults).toEqual([])
  })

  it('shows each wallet what it can do there, and nothing else', async () => {
    await world.list('shown-house', { name: 'Shown House' })
    const [next, stranger] = owners as [(typeof owners)[number], (typeof owners)[number]]
    await world.client(devnetMerchant.account).offerOwner('shown-house', next.address)
    const moss = createTestWallet({ name: 'Moss', account: next })
    const reed = createTestWallet({ name: 'Reed', account: stranger })
    const { page } = await world.open({ wallets: [fern(), moss, reed] })
    await page.goto('/console/shown-house/settings')
    await page.getByText('Only its owner can change it').waitFor()
    const headings = () => page.getByRole('heading', { level: 2 }).allTextContents()
    const signs = page.getByRole('button', { name: /^Sign and|^Delete/ })
    await expect.poll(headings).toEqual(['Payout and owner', 'Change log'])
    expect(await signs.count()).toBe(0)

    await connectWallet(page, 'Moss')
    await page.getByText('This listing is offered to you').waitFor()
    expect(await page.getByText('Another wallet owns this listing').count()).toBe(0)
    expect(await signs.allTextContents()).toEqual(['Sign and accept'])
    expect(await headings()).toEqual(['Payout and owner', 'Change log'])
    // The service offers for seven days.
    expect(await page.getByText(/The offer ends in 7 days/).count()).toBeGreaterThan(0)
    await page.getByText('Offered to another owner').waitFor()

    await switchWallet(page, 'Reed')
    await page.getByText('Another wallet owns this listing').waitFor()
    expect(await signs.count()).toBe(0)

    await switchWallet(page, 'Fern')
    await signs.first().waitFor()
    expect(await headings()).toEqual([
      ...['Payout and owner', 'Webhooks', 'ERC-8004 agent', 'Delete', 'Change log'],
    ])
    expect(moss.signed).toEqual([])
  })
})

describe('the address of a page', () => {
  it('keeps every filter, on the way back from a seller too', async () => {
    const url = `${world.strangers.url}/weather/kept`
    const endpoints = [{ url, method: 'GET' as const, title: 'Kept', price: '10000' }]
    await world.list('kept-house', { endpoints })
    const { page, faults } = await world.open()
    await page.goto('/?maxPrice=50000&query=kept&utm_source=friend')
    const filters = () => Object.fromEntries(new URL(page.url()).searchParams)
    await page.getByRole('button', { name: 'Passed its check' }).click()
    const all = { maxPrice: '50000', query: 'kept', verified: 'true', utm_source: 'friend' }
    await expect.poll(filters).toEqual(all)
    expect(await page.getByLabel('Price').inputValue()).toBe('50000')
    await page.getByText('up to $0.05').waitFor({ state: 'attached' })
    await page.getByRole('button', { name: 'Kept', exact: true }).click()
    await page.getByRole('link', { name: 'Try it, and see the code' }).click()
    await page.reload()
    await page.getByRole('link', { name: '← Directory' }).click()
    const kept = page.getByRole('button', { name: 'Kept', exact: true })
    await kept.waitFor()
    // The row that was open is open again.
    const { open, ...rest } = filters()
    expect([rest, Number(open) > 0, await kept.getAttribute('aria-expanded')]).toEqual([
      all,
      true,
      'true',
    ])
    expect(faults).toEqual([])
  })

  it('and times are those of the reader, in their language, with their zone', async () => {
    const context = await world.browser.newContext({
      baseURL: world.origin,
      locale: 'de-DE',
      timezoneId: 'Asia/Tokyo',
    })
    const page = await context.newPage()
    await page.goto('/merchants/weather-house')
    await settled(page)
    const time = page.locator('main time').first()
    const at = new Date((await time.getAttribute('datetime')) as string)
    const expected = new Intl.DateTimeFormat('de-DE', {
      dateStyle: 'medium',
      timeStyle: 'long',
      timeZone: 'Asia/Tokyo',
    })
    expect(await time.getAttribute('title')).toBe(expected.format(at))
    expect(await time.getAttribute('title')).toMatch(/(JST|GMT\+9)$/)
    await context.close()
  })
})
