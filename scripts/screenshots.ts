/**
 * Makes the pictures of the console in `docs/screenshots`: a directory and a month of payments on a fresh devnet.
 * `npm run screenshots -- NAME` makes only the pictures whose names contain NAME.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import sharp from 'sharp'
import { devnetMerchant } from '../src/devnet/accounts.js'
import { call } from '../src/devnet/rpc.js'
import { buildConsole } from '../src/devnet/stack.js'
import { fillDirectory } from '../test/browser/support/a-directory.js'
import { writeMonth } from '../test/browser/support/a-month.js'
import { type BrowserWorld, startBrowserWorld } from '../test/browser/support/browser-world.js'
import { connectWallet, settled, signIn } from '../test/browser/support/console-steps.js'
import { openPage } from '../test/browser/support/open-page.js'
import { createTestWallet } from '../test/browser/support/test-wallet.js'

const folder = fileURLToPath(new URL('../docs/screenshots/', import.meta.url))

const widths = { phone: 390, desktop: 1440 } as const
/** Enough for the first screen. The rest of the page repeats. */
const MAX_HEIGHT = 1_600

type Look = readonly [size: keyof typeof widths, theme: 'dark' | 'light']
const onDesktop: Look = ['desktop', 'light']
const onPhone: Look = ['phone', 'dark']

interface Shot {
  name: string
  path: string
  looks: readonly Look[]
  /** `true` when the seller's wallet is connected and signed in. */
  isOwner?: boolean
}

/** Twelve pictures. `{transaction}` is a payment that was made for them. */
const shots: readonly Shot[] = [
  { name: 'directory', path: '/', looks: [onDesktop, ['desktop', 'dark'], onPhone] },
  { name: 'merchant', path: '/merchants/penny-weather', looks: [onDesktop, onPhone] },
  { name: 'payments', path: '/payments', looks: [onDesktop] },
  { name: 'payment', path: '/payments/{transaction}', looks: [onDesktop] },
  { name: 'status', path: '/status', looks: [onDesktop] },
  { name: 'console', path: '/console', looks: [onDesktop], isOwner: true },
  {
    name: 'activity',
    path: '/console/penny-weather?range=30d',
    looks: [onDesktop, onPhone],
    isOwner: true,
  },
  { name: 'listing', path: '/console/penny-weather/endpoints', looks: [onDesktop], isOwner: true },
]

let transaction = ''
const only = process.argv[2] ?? ''
const build = await buildConsole()
if (build.state === 'failed') throw new Error(`The console does not build:\n${build.complaint}`)
mkdirSync(folder, { recursive: true })
const world = await startBrowserWorld()
const blocks = setInterval(() => void call(world.chainUrl, 'evm_mine').catch(() => {}), 500)
try {
  await fillWorld(world)
  for (const shot of shots) {
    for (const look of shot.looks) await takeLook(shot, look)
  }
} finally {
  clearInterval(blocks)
  await world.stop()
}

async function fillWorld(filled: BrowserWorld): Promise<void> {
  await fillDirectory(filled)
  const { body } = await filled.get('/api/merchants/penny-weather')
  const endpoints = body.endpoints.map(
    ({ state, url, price }: { state: { id: number }; url: string; price: string }, i: number) => ({
      id: state.id,
      url,
      amount: BigInt(price),
      aDay: [60, 25, 8][i] ?? 5,
    }),
  )
  const { payTo } = body
  await writeMonth(filled.databasePath, { merchantId: 'penny-weather', payTo, endpoints })
  for (const { url } of endpoints) {
    const { body: answer } = await filled.pay(url)
    transaction = answer.transaction
  }
}

async function takeLook(shot: Shot, [size, theme]: Look): Promise<void> {
  const name = `${shot.name}-${size}-${theme}`
  if (!name.includes(only)) return
  const wallet = createTestWallet({ name: 'Test wallet', account: devnetMerchant.account })
  const look = { theme, width: widths[size], height: 900, wallets: [wallet] }
  const { page, close } = await openPage(world.browser, world.origin, look)
  if (shot.isOwner === true) {
    await page.goto('/console/penny-weather')
    await connectWallet(page, 'Test wallet')
    await signIn(page)
  }
  await take(page, shot.path.replace('{transaction}', transaction), name)
  await close()
}

async function take(page: Page, path: string, name: string): Promise<void> {
  await page.goto(path)
  await settled(page)
  // Charts are drawn one frame after their numbers arrive.
  await page.waitForTimeout(600)
  const height = await page.evaluate('document.documentElement.scrollHeight')
  const { width } = page.viewportSize() as { width: number }
  const clip = { x: 0, y: 0, width, height: Math.min(Number(height), MAX_HEIGHT) }
  const png = await page.screenshot({ fullPage: true, clip })
  const small = await sharp(png)
    .png({ palette: true, quality: 100, dither: 0, effort: 8 })
    .toBuffer()
  writeFileSync(join(folder, `${name}.png`), small)
  process.stdout.write(`${name}.png ${Math.round(small.length / 1024)} kB\n`)
}
