import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { devnetMerchant, devnetPayer } from '../../src/devnet/accounts.js'
import { type BrowserWorld, startBrowserWorld } from './support/browser-world.js'
import {
  checkEndpoint,
  connectWallet,
  openRow,
  review,
  settled,
  sign,
  signIn,
} from './support/console-steps.js'
import { createNodeProxy } from './support/node-proxy.js'
import { createTestWallet } from './support/test-wallet.js'

const explorer = 'https://explorer.arc.io'
const node = createNodeProxy()
let world: BrowserWorld
let transaction: string

beforeAll(async () => {
  // As on the real network: with an explorer, and a node that may become unreachable.
  world = await startBrowserWorld({ DEVNET: 'false' }, node.between)
  await world.list('weather-house', {})
  transaction = (await world.pay(`${world.strangers.url}/weather`)).body.transaction
})
afterAll(async () => {
  await world?.stop()
  await node.stop()
})

const fern = () => createTestWallet({ name: 'Fern', account: devnetMerchant.account })
const linksTo = (page: Page, href: string) => page.locator(`main a[href="${href}"]`)

describe('where the network has an explorer', () => {
  it('addresses and transactions link to it, in a new tab without an opener', async () => {
    const { page } = await world.open({ wallets: [fern()] })
    await page.goto('/merchants/weather-house')
    const payTo = linksTo(page, `${explorer}/address/${devnetMerchant.address}`)
    await payTo.first().waitFor()
    expect(await payTo.first().getAttribute('rel')).toContain('noopener')
    expect(await payTo.first().getAttribute('target')).toBe('_blank')

    await page.goto(`/payments/${transaction}`)
    await linksTo(page, `${explorer}/tx/${transaction}`).waitFor()
    await linksTo(page, `${explorer}/address/${devnetPayer.address}`).waitFor()

    await page.goto('/console/weather-house')
    await connectWallet(page, 'Fern')
    await signIn(page)
    await linksTo(page, `/payments/${transaction}`).waitFor()
  })
})

describe('offline', () => {
  it('shows a banner, keeps what is shown and typed, and recovers by itself', async () => {
    const { page, context } = await world.open({ wallets: [fern()] })
    await page.goto('/console/new')
    await connectWallet(page, 'Fern')
    await checkEndpoint(page, `${world.strangers.url}/weather/offline`)
    await page.getByLabel('Name').fill('Offline House')
    await context.setOffline(true)
    await page.getByText('You are offline.').waitFor()
    await page.getByLabel('Title').fill('Typed without a network')
    await review(page)
    await page.getByRole('button', { name: 'Sign and list' }).click()
    await page.getByText('Not saved').waitFor()
    await context.setOffline(false)
    await page.getByText('You are offline.').waitFor({ state: 'detached' })
    await sign(page)
    const { body } = await world.get('/discovery/resources?merchant=offline-house')
    expect(body.items[0].metadata.title).toBe('Typed without a network')
  })

  it('keeps the last figures readable and says that they may be old', async () => {
    const { page, context } = await world.open()
    await page.goto('/status')
    await page.getByText('Payments settle', { exact: true }).waitFor()
    await context.setOffline(true)
    await page.getByText('What you see may be out of date').waitFor()
    expect(await page.getByText('Relayers ready').count()).toBe(1)
    await context.setOffline(false)
    await page.getByText('What you see may be out of date').waitFor({ state: 'detached' })
  })
})

describe('with the chain unreachable', () => {
  it('the status page says so and recovers, nothing is paid, and the directory stays readable', async () => {
    const { page } = await world.open()
    await page.goto('/status')
    await page.getByText('Payments settle', { exact: true }).waitFor()
    node.isUp = false
    try {
      const headline = page.getByRole('heading', { name: 'Payments cannot settle' })
      await headline.waitFor({ timeout: 45_000 })
      // Each fact once: nothing is said to be ready, and one sentence is about all wallets.
      await page.getByText(/^\d wallets cannot be read/).waitFor({ timeout: 30_000 })
      expect(await page.getByText('ready', { exact: true }).count()).toBe(0)
      expect(await page.getByText(/\d of \d/).count()).toBe(0)
      await page.getByRole('cell', { name: 'not known' }).first().waitFor()
      expect(
        await page
          .getByRole('main')
          .getByText(/cannot be read;/)
          .count(),
      ).toBe(0)
      await page.goto('/merchants/weather-house')
      await page.getByRole('button', { name: 'Try it', exact: true }).click()
      await page.locator('p').filter({ hasText: 'so nothing is signed here' }).waitFor()
      const pay = page.getByRole('button', { name: /^Call and pay/ })
      expect(await pay.getAttribute('title')).toContain('Payments cannot settle')
      await page.goto('/')
      await settled(page)
      await page.getByRole('button', { name: 'Weather', exact: true }).waitFor()
      await page.goto('/status')
    } finally {
      node.isUp = true
    }
    await page.getByText('Payments settle', { exact: true }).waitFor({ timeout: 45_000 })
  })
})

describe('opened at another address of the same service', () => {
  it('the console says why nothing can be signed there, and links to the right address', async () => {
    const wallet = fern()
    const { page } = await world.open({ wallets: [wallet], at: world.url })
    await page.goto('/console/weather-house/endpoints')
    await connectWallet(page, 'Fern')
    await page.getByText('Nothing can be signed at this address').waitFor()
    await openRow(page, 'Weather')
    await page.getByLabel('Title').fill('Signed elsewhere')
    await review(page)
    await page.getByRole('button', { name: 'Sign and save' }).click()
    await page.getByText(`Open this page at ${world.origin} to sign`).waitFor()
    expect(wallet.signed).toEqual([])
    await page.getByRole('link', { name: /^Open it at/ }).click()
    await page.waitForURL(`${world.origin}/console/weather-house/endpoints`)
    expect(await page.getByText('Nothing can be signed at this address').count()).toBe(0)
  })
})
