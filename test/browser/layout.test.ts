import type { BrowserContext, Page } from 'playwright-core'
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

const publicPaths = ['/', '/directory', '/merchants/penny-weather', '/payments', '/status']
const ownerPaths = [
  '/console',
  '/console/new',
  '/console/penny-weather',
  '/console/penny-weather/endpoints',
  '/console/penny-weather/edit',
  '/console/penny-weather/settings',
]
const fern = () => createTestWallet({ name: 'Fern', account: devnetMerchant.account })

/** A phone on “slow 4G”, as Lighthouse simulates it. */
async function slowDown(context: BrowserContext, page: Page): Promise<void> {
  const session = await context.newCDPSession(page)
  await session.send('Network.enable')
  const throughput = (1_600 * 1_024) / 8
  await session.send('Network.emulateNetworkConditions', {
    offline: false,
    latency: 150,
    downloadThroughput: throughput,
    uploadThroughput: throughput,
  })
}

async function signInAt(page: Page): Promise<void> {
  await page.goto('/console/penny-weather')
  await connectWallet(page, 'Fern')
  await signIn(page)
}

describe.skipIf(skipped !== undefined)('a phone on a slow network', () => {
  it('draws something before the code is there', async () => {
    const { page, close } = await world.open({ width: 390, height: 844 })
    await page.route('**/assets/*.js', (route) => route.abort())
    await page.goto('/', { waitUntil: 'commit' })
    await page.getByRole('banner').getByText('Arcus').waitFor()
    const painted = page.evaluate(
      () =>
        new Promise<number>((resolve) => {
          new PerformanceObserver((list) => {
            const entry = list.getEntriesByName('first-contentful-paint')[0]
            if (entry !== undefined) resolve(entry.startTime)
          }).observe({ type: 'paint', buffered: true })
        }),
    )
    expect(await painted).toBeGreaterThan(0)
    await close()
  })

  it('sees nothing move while a page loads', async () => {
    const { page, context, close } = await world.open({
      width: 390,
      height: 844,
      wallets: [fern()],
    })
    await context.addInitScript(() => {
      const shifts = { sum: 0, what: [] as string[] }
      Object.assign(window, { shifts })
      new PerformanceObserver((list) => {
        for (const entry of list.getEntries() as unknown as {
          value: number
          hadRecentInput: boolean
          sources: { node?: Element | null }[]
        }[]) {
          if (entry.hadRecentInput) continue
          shifts.sum += entry.value
          for (const { node } of entry.sources) {
            shifts.what.push(`${entry.value.toFixed(3)} ${node?.nodeName} ${node?.className}`)
          }
        }
      }).observe({ type: 'layout-shift', buffered: true })
    })
    const shiftOf = async (path: string) => {
      await page.goto(path)
      await settled(page)
      // Shifts are reported with the frame after the one that moved.
      await page.evaluate(() => new Promise((go) => requestAnimationFrame(() => setTimeout(go))))
      return page.evaluate(() => (window as unknown as { shifts: unknown }).shifts) as Promise<{
        sum: number
        what: string[]
      }>
    }
    const moved: unknown[] = []
    const measure = async (paths: readonly string[]) => {
      for (const path of paths) {
        const { sum, what } = await shiftOf(path)
        if (sum >= 0.1) moved.push([path, sum, what])
      }
    }
    await slowDown(context, page)
    // The fonts come last, so that a text whose width they change is seen to move.
    await context.route('**/*.woff2', async (route) => {
      await new Promise((go) => setTimeout(go, 400))
      await route.continue()
    })
    await measure([...publicPaths, '/console', '/console/new'])
    await signInAt(page)
    await measure(ownerPaths)
    expect(moved).toEqual([])
    await close()
  })
})

describe.skipIf(skipped !== undefined)('the focus', () => {
  it.each([390, 768, 1280])('is never under a bar that sticks, %i pixels wide', async (width) => {
    const { page, close } = await world.open({ width, height: 700, wallets: [fern()] })
    const hidden: unknown[] = []
    const walk = async (path: string) => {
      await page.goto(path)
      await settled(page)
      await page.evaluate(() => {
        scrollTo(0, document.body.scrollHeight)
        document.querySelector<HTMLElement>('footer a')?.focus()
      })
      for (let stops = 0; stops < 40; stops++) {
        await page.keyboard.press('Shift+Tab')
        const covered = await page.evaluate(() => {
          const it = document.activeElement as HTMLElement
          const { left, right, top, bottom } = it.getBoundingClientRect()
          if (it === document.body || right <= left || bottom <= top) return undefined
          const x = Math.min(Math.max((left + right) / 2, 1), innerWidth - 1)
          const above = document.elementFromPoint(x, top + 2)
          const bar = above?.closest('header, search')
          return bar == null || bar.contains(it) ? undefined : it.outerHTML.slice(0, 200)
        })
        if (covered !== undefined) hidden.push([path, covered])
      }
    }
    for (const path of ['/directory', '/merchants/penny-weather']) await walk(path)
    await signInAt(page)
    await walk('/console/penny-weather/settings')
    expect(hidden).toEqual([])
    await close()
  })

  it('finds tags that a finger can hit', async () => {
    const { page, close } = await world.open({ width: 390 })
    await page.goto('/directory')
    await settled(page)
    const heights = await page
      .getByTitle('Show endpoints with this tag')
      .evaluateAll((tags) => tags.map((it) => it.getBoundingClientRect().height))
    expect(heights.length).toBeGreaterThan(3)
    expect(Math.min(...heights)).toBeGreaterThanOrEqual(24)
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
