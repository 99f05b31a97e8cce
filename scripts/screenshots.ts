/**
 * Makes the pictures of the console in `docs/screenshots`: a directory and a month of payments on a fresh devnet, in three
 * widths and both themes. `npm run screenshots -- NAME` makes only the pictures whose names contain NAME.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import sharp from 'sharp'
import { devnetMerchant } from '../src/devnet/accounts.js'
import { call } from '../src/devnet/rpc.js'
import { buildDashboard } from '../src/devnet/stack.js'
import { fillDirectory } from '../test/browser/support/a-directory.js'
import { writeMonth } from '../test/browser/support/a-month.js'
import { type BrowserWorld, startBrowserWorld } from '../test/browser/support/browser-world.js'
import { connectWallet, settled, signIn } from '../test/browser/support/console-steps.js'
import { createTestWallet } from '../test/browser/support/test-wallet.js'

const folder = fileURLToPath(new URL('../docs/screenshots/', import.meta.url))

const widths = { phone: 390, tablet: 834, desktop: 1440 } as const
const themes = ['light', 'dark'] as const
/** Enough for the first screen. The rest of the page repeats. */
const MAX_HEIGHT = 1_600

interface Shot {
  name: string
  path: string
  /** `true` when the merchant's wallet is connected and signed in. */
  isOwner?: boolean
  prepare?: (page: Page) => Promise<void>
}

const shots: readonly Shot[] = [
  { name: 'explore', path: '/' },
  { name: 'directory', path: '/directory' },
  { name: 'merchant', path: '/merchants/penny-weather' },
  { name: 'status', path: '/status' },
  { name: 'payment', path: '/payments', prepare: findPayment },
  { name: 'console', path: '/console', isOwner: true },
  { name: 'activity', path: '/console/penny-weather?range=30d', isOwner: true },
  { name: 'listing', path: '/console/penny-weather/endpoints', isOwner: true },
]

let transaction = ''
const only = process.argv[2] ?? ''
const build = await buildDashboard()
if (build.state === 'failed') throw new Error(`The console does not build:\n${build.complaint}`)
mkdirSync(folder, { recursive: true })
const world = await startBrowserWorld()
const blocks = setInterval(() => void call(world.chainUrl, 'evm_mine').catch(() => {}), 500)
try {
  await fillWorld(world)
  for (const theme of themes) {
    for (const [size, width] of Object.entries(widths)) await takeAll(theme, size, width)
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

async function takeAll(theme: 'dark' | 'light', size: string, width: number): Promise<void> {
  const wanted = shots.filter(({ name }) => `${name}-${size}-${theme}`.includes(only))
  for (const isOwner of [false, true]) {
    const these = wanted.filter((shot) => (shot.isOwner ?? false) === isOwner)
    if (these.length === 0) continue
    const wallet = createTestWallet({ name: 'Test wallet', account: devnetMerchant.account })
    const { page, close } = await world.open({ theme, width, height: 900, wallets: [wallet] })
    if (isOwner) {
      await page.goto('/console/penny-weather')
      await connectWallet(page, 'Test wallet')
      await signIn(page)
    }
    for (const shot of these) await take(page, shot, `${shot.name}-${size}-${theme}`)
    await close()
  }
}

async function take(page: Page, { path, prepare }: Shot, name: string): Promise<void> {
  await page.goto(path)
  await settled(page)
  await prepare?.(page)
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

async function findPayment(page: Page): Promise<void> {
  await page.getByRole('textbox').first().fill(transaction)
  await page.keyboard.press('Enter')
  await settled(page)
}
