import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { devnetMerchant } from '../../src/devnet/accounts.js'
import { fillDirectory } from './support/a-directory.js'
import { seriousFindings } from './support/accessibility.js'
import { type BrowserWorld, startBrowserWorld } from './support/browser-world.js'
import { reasonToSkip } from './support/chromium.js'
import { connectWallet, settled, signIn } from './support/console-steps.js'
import { createTestWallet } from './support/test-wallet.js'

const skipped = reasonToSkip()
let world: BrowserWorld

beforeAll(async () => {
  if (skipped !== undefined) return
  world = await startBrowserWorld()
  await fillDirectory(world)
  await world.pay(`${world.strangers.url}/weather/forecast`)
})
afterAll(() => world?.stop())

const fern = () => createTestWallet({ name: 'Fern', account: devnetMerchant.account })

async function signInAt(page: Page): Promise<void> {
  await page.goto('/console/penny-weather')
  await connectWallet(page, 'Fern')
  await signIn(page)
}

describe.skipIf(skipped !== undefined)('a phone on a slow network', () => {
  it('draws the frame of the page from its first files, which take less than 0.6 s', async () => {
    const { page, received, close } = await world.open({ width: 390, height: 844 })
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
    await close()
  })
})

describe.skipIf(skipped !== undefined)('with forced colours', () => {
  it('what is chosen and what is a sign can be seen', async () => {
    const { page, close } = await world.open({ wallets: [fern()] })
    await page.emulateMedia({ forcedColors: 'active' })
    await signInAt(page)
    const colourOf = (selector: string) =>
      page
        .locator(selector)
        .first()
        .evaluate((it) => getComputedStyle(it).backgroundColor)
    const page_ = await colourOf('body')
    expect(await colourOf('[aria-pressed="true"]')).not.toBe(
      await colourOf('[aria-pressed="false"]'),
    )
    expect(await colourOf('nav[aria-label="Listing"] [aria-current]')).not.toBe(page_)
    expect(await colourOf('.dot')).not.toBe(page_)
    await page.goto('/merchants/penny-weather')
    await settled(page)
    expect(await colourOf('[role="tab"][aria-selected="true"]')).not.toBe(
      await colourOf('[role="tab"][aria-selected="false"]'),
    )
    expect(await seriousFindings(page)).toEqual([])
    await close()
  })
})

describe.skipIf(skipped !== undefined)('the description of the HTTP interface', () => {
  it('is linked from every page, fits a phone, travels compressed, and can be read by all', async () => {
    const { page, faults, received, close } = await world.open({ width: 390, height: 844 })
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
    await close()
  })
})
