import type { Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { devnetMerchant, devnetPayer } from '../../src/devnet/accounts.js'
import { type BrowserWorld, startBrowserWorld } from './support/browser-world.js'
import {
  chooseInAccountMenu,
  connectWallet,
  signIn,
  switchWallet,
} from './support/console-steps.js'
import type { OpenPage } from './support/open-page.js'
import { createTestWallet, type TestWallet } from './support/test-wallet.js'

const path = '/console/weather-house'
let world: BrowserWorld
let fern: TestWallet
let opened: OpenPage
let page: Page

beforeAll(async () => {
  world = await startBrowserWorld()
  await world.list('weather-house', {})
  await world.pay(`${world.strangers.url}/weather`)
})
afterAll(() => world?.stop())

beforeEach(async () => {
  fern = createTestWallet({ name: 'Fern', account: devnetMerchant.account })
  const moss = createTestWallet({ name: 'Moss', account: devnetPayer.account })
  opened = await world.open({ wallets: [fern, moss] })
  page = opened.page
  await page.goto(path)
  await connectWallet(page, 'Fern')
  await signIn(page)
  await figures(page).waitFor()
})

const figures = (of: Page) => of.getByRole('region', { name: 'Payments' })
const isSignInShown = (of: Page) => of.getByText('Sign in to see payments').waitFor()

/** Asks the service whether the cookies of this browser still allow reading. */
const readActivity = () => page.request.get('/api/merchants/weather-house/activity')

async function isOver(): Promise<void> {
  await isSignInShown(page)
  expect(await figures(page).count()).toBe(0)
  await expect.poll(async () => (await readActivity()).status()).toBe(401)
  await page.reload()
  await isSignInShown(page)
  expect(await figures(page).count()).toBe(0)
}

describe('private figures leave the screen and the session ends', () => {
  it('when the wallet is disconnected, also after a reload and a new connection', async () => {
    expect((await readActivity()).status()).toBe(200)
    await chooseInAccountMenu(page, 'Disconnect wallet')
    await isOver()
    await connectWallet(page, 'Fern')
    await page.getByRole('button', { name: 'Sign in with the wallet' }).waitFor()
    expect(await figures(page).count()).toBe(0)
    expect(opened.faults).toEqual([])
  })

  it('when the wallet uses another account', async () => {
    fern.useAddress(devnetPayer.address)
    await isOver()
    fern.useAddress(devnetMerchant.address)
    await isOver()
  })

  it('when the wallet is locked, or forgets this page', async () => {
    fern.lock()
    await isOver()
  })

  it('when another wallet is chosen', async () => {
    await switchWallet(page, 'Moss')
    await isOver()
  })

  it('when the account changes while another page of the console is shown', async () => {
    await page.getByRole('link', { name: 'Directory', exact: true }).first().click()
    await page.getByRole('searchbox').waitFor()
    fern.useAddress(devnetPayer.address)
    await expect.poll(async () => (await readActivity()).status()).toBe(401)
    await page.goBack()
    await isOver()
  })

  it('when the account changed while no page of the console was open', async () => {
    await page.goto('about:blank')
    fern.useAddress(devnetPayer.address)
    await page.goto(path)
    await isOver()
  })

  it('in every other tab', async () => {
    const other = await opened.context.newPage()
    await other.goto(path)
    await figures(other).waitFor()
    await chooseInAccountMenu(page, 'Disconnect wallet')
    await isSignInShown(other)
    expect(await figures(other).count()).toBe(0)
    await isOver()
  })

  it('when the service is unreachable, and no cookie brings them back', async () => {
    await opened.context.setOffline(true)
    await chooseInAccountMenu(page, 'Disconnect wallet')
    await isSignInShown(page)
    expect(await figures(page).count()).toBe(0)
    const cookies = await opened.context.cookies()
    await opened.context.setOffline(false)
    // The first request to the service carries the cookies as they were left.
    const header = cookies.map(({ name, value }) => `${name}=${value}`).join('; ')
    const answer = await fetch(`${world.origin}/api/merchants/weather-house/activity`, {
      headers: { cookie: header },
    })
    expect(answer.status).toBe(401)
    await isOver()
    await connectWallet(page, 'Fern')
    await signIn(page)
    await figures(page).waitFor()
  })

  it('when a request to end the session is refused', async () => {
    await page.route('**/api/session', (route) =>
      route.request().method() === 'DELETE' ? route.fulfill({ status: 500 }) : route.continue(),
    )
    await chooseInAccountMenu(page, 'Disconnect wallet')
    await isOver()
  })

  it('when the account changes while the wallet is asked to sign in', async () => {
    await chooseInAccountMenu(page, 'Disconnect wallet')
    await isSignInShown(page)
    await connectWallet(page, 'Fern')
    const release = fern.holdNext('personal_sign')
    await page.getByRole('button', { name: 'Sign in with the wallet' }).click()
    await expect.poll(() => fern.requests.at(-1)?.method).toBe('personal_sign')
    fern.useAddress(devnetPayer.address)
    release()
    await page.getByText('Not signed in').waitFor()
    await isOver()
  })
})

describe('a session continues', () => {
  it('after a reload with the same wallet, and after a switch of its chain', async () => {
    fern.switchTo(1)
    await page.reload()
    await figures(page).waitFor()
    expect(fern.chainId()).toBe(1)
  })
})
