import type { BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { devnetMerchant } from '../../src/devnet/accounts.js'
import { fillDirectory } from './support/a-directory.js'
import { seriousFindings } from './support/accessibility.js'
import { type BrowserWorld, startBrowserWorld } from './support/browser-world.js'
import { connectWallet, settled, signIn } from './support/console-steps.js'
import { shiftsOf, watchShifts } from './support/layout-shifts.js'
import { createTestWallet } from './support/test-wallet.js'

let world: BrowserWorld
let publicPages: string[]

beforeAll(async () => {
  world = await startBrowserWorld()
  await fillDirectory(world)
  const { body } = await world.pay(`${world.strangers.url}/weather/forecast`)
  const [payment] = (await world.get(`/payments/${body.transaction}`)).body.payments
  const [card] = (await world.get('/api/endpoints?query=forecast')).body.items
  publicPages = [
    '/',
    '/?query=zzzz',
    `/?query=forecast&open=${card.id}`,
    '/merchants/penny-weather',
    '/merchants/arc-index',
    '/merchants/nobody-here',
    '/payments',
    `/payments/${body.transaction}`,
    `/payments/${payment.network}/${payment.payer}/${payment.nonce}`,
    `/buyers/${payment.payer}`,
    '/status',
    '/how-it-works',
    '/quickstart',
    '/quickstart?part=buy',
    '/quickstart?part=agent',
    '/operations',
    '/console',
    '/console/new',
    '/nowhere',
  ]
})
afterAll(() => world?.stop())

const ownerPages = [
  '/console',
  '/console/new',
  '/console/penny-weather',
  '/console/penny-weather?range=30d',
  '/console/penny-weather/endpoints',
  '/console/penny-weather/settings',
]

/** Own files of a page, over the wire: the console's with wallets and signatures, the editor's with zod and its form too. */
const MOST_BYTES = { public: 150_000, console: 175_000, editor: 230_000 }
const mostBytesOf = (path: string) =>
  /^\/console\/(?:new|[^/]+\/endpoints)$/.test(path)
    ? MOST_BYTES.editor
    : path.startsWith('/console')
      ? MOST_BYTES.console
      : MOST_BYTES.public
/** Charts and tables of a seller come after their sign-in, so the console may move a little. */
const MOST_SHIFT = { public: 0.02, console: 0.05 }
/** Stops of the Tab key that are looked at on each page. */
const STOPS = 25
/** “Slow 4G”, as Lighthouse simulates it. Every answer is late enough for the page to be drawn without it. */
const slow4G = { latency: 150, bytesPerSecond: (1_600 * 1_024) / 8 }

async function slowDown(
  context: BrowserContext,
  page: Page,
  bytesPerSecond: number,
): Promise<void> {
  const session = await context.newCDPSession(page)
  await session.send('Network.enable')
  await session.send('Network.emulateNetworkConditions', {
    offline: false,
    latency: slow4G.latency,
    downloadThroughput: bytesPerSecond,
    uploadThroughput: bytesPerSecond,
  })
}

async function whatMoved(page: Page, most: number): Promise<string[]> {
  const { sum, what } = await shiftsOf(page)
  return sum < most ? [] : [`moved by ${sum.toFixed(3)}: ${what.join('; ')}`]
}

/** Walks backwards with the Tab key, from the end of the page up. */
async function whatTheFocusMisses(page: Page): Promise<string[]> {
  await page.evaluate(() => {
    scrollTo(0, document.body.scrollHeight)
    document.querySelector<HTMLElement>('footer a')?.focus()
  })
  const missed: string[] = []
  for (let stops = 0; stops < STOPS; stops++) {
    await page.keyboard.press('Shift+Tab')
    const fault = await page.evaluate(() => {
      const it = document.activeElement as HTMLElement
      const { left, right, top, bottom } = it.getBoundingClientRect()
      if (it === document.body || right <= left || bottom <= top) return undefined
      const name = it.outerHTML.slice(0, 200)
      const { outlineStyle, outlineWidth } = getComputedStyle(it)
      if (it.id !== 'main' && (outlineStyle === 'none' || outlineWidth === '0px')) {
        return `no outline around ${name}`
      }
      const x = Math.min(Math.max((left + right) / 2, 1), innerWidth - 1)
      const bar = document.elementFromPoint(x, top + 2)?.closest('header, search')
      return bar == null || bar.contains(it) ? undefined : `under a bar: ${name}`
    })
    if (fault !== undefined) missed.push(fault)
  }
  return missed
}

/** Finds chosen tabs, ranges and pages that look like their neighbours when the system gives the colours. */
async function whatForcedColoursHide(page: Page): Promise<string[]> {
  await page.emulateMedia({ forcedColors: 'active' })
  const hidden = await page.evaluate(() => {
    const pairs = [
      ['[aria-pressed="true"]', '[aria-pressed="false"]'],
      ['[role="tab"][aria-selected="true"]', '[role="tab"][aria-selected="false"]'],
      ['nav [aria-current="page"]', 'nav a:not([aria-current])'],
    ] as const
    const looks = (it: Element) => getComputedStyle(it).backgroundColor
    const same = pairs.flatMap(([chosen, other]) =>
      [...document.querySelectorAll(chosen)].filter((it) => {
        const neighbour = it.parentElement?.parentElement?.querySelector(other)
        return neighbour != null && looks(neighbour) === looks(it)
      }),
    )
    const dots = [...document.querySelectorAll('.dot')].filter(
      (it) => looks(it) === looks(document.body),
    )
    return [...same, ...dots].map((it) => `forced colours hide ${it.outerHTML.slice(0, 200)}`)
  })
  await page.emulateMedia({ forcedColors: 'none' })
  return hidden
}

const looks = [
  [390, 'light'],
  [1024, 'dark'],
  [1440, 'light'],
] as const

/** Looks at every page, first as anybody and then as an owner. Returns what is wrong, by page. */
async function whatIsWrong([width, theme]: (typeof looks)[number]) {
  const wallets = [createTestWallet({ name: 'Fern', account: devnetMerchant.account })]
  const { page, context, faults, received } = await world.open({ width, theme, wallets })
  await watchShifts(context)
  // The fonts come last, so that a text whose width they change is seen to move.
  await context.route('**/*.woff2', async (route) => {
    await new Promise((go) => setTimeout(go, 250))
    await route.continue()
  })
  const isPhone = width === 390
  await slowDown(context, page, isPhone ? slow4G.bytesPerSecond : 10 * slow4G.bytesPerSecond)
  const problems: Record<string, string[]> = {}
  const titles = new Map<string, string>()
  const look = async (path: string, kind: 'public' | 'console') => {
    received.clear()
    await page.goto(path)
    await settled(page)
    const found = await whatMoved(page, MOST_SHIFT[kind])
    const over = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)
    if (over > 0) found.push(`${over} pixels too wide`)
    const bytes = [...received]
      .filter(([file]) => !file.startsWith('/api/'))
      .reduce((sum, [, size]) => sum + size, 0)
    if (bytes > mostBytesOf(path)) found.push(`${bytes} bytes`)
    const headings = await page.getByRole('heading', { level: 1 }).count()
    if (headings !== 1) found.push(`${headings} main headings`)
    titles.set(path, await page.title())
    found.push(...(await seriousFindings(page)), ...faults.splice(0))
    found.push(...(await whatForcedColoursHide(page)))
    // Between a phone and a wide screen the order of what the Tab key reaches is the same.
    if (width !== 1024) found.push(...(await whatTheFocusMisses(page)))
    if (found.length > 0) problems[path] = found
  }
  for (const path of publicPages) {
    await look(path, path.startsWith('/console') ? 'console' : 'public')
  }
  await page.goto('/console/penny-weather')
  await connectWallet(page, 'Fern')
  await signIn(page)
  for (const path of ownerPages) await look(path, 'console')
  return { problems, titles }
}

it('every page stays in place, fits, is light, and is of use to everybody, on each screen', async () => {
  // The pages wait for a slow network most of the time, so the screens are looked at side by side.
  const seen = await Promise.all(looks.map(whatIsWrong))
  expect(seen.map(({ problems }) => problems)).toEqual(looks.map(() => ({})))
  const apart = ['/', '/merchants/penny-weather', '/merchants/nobody-here', '/payments', '/status']
  const { titles } = seen[0] as (typeof seen)[number]
  expect(new Set([...apart, '/quickstart'].map((path) => titles.get(path))).size).toBe(6)
}, 400_000)
