import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { devnetMerchant } from '../../src/devnet/accounts.js'
import { owners } from './support/a-directory.js'
import { seriousFindings } from './support/accessibility.js'
import { type BrowserWorld, startBrowserWorld } from './support/browser-world.js'
import {
  accountButton,
  chooseInAccountMenu,
  connectWallet,
  settled,
  signIn,
} from './support/console-steps.js'
import { hasFocus, press, tabTo } from './support/keys.js'
import { createTestWallet } from './support/test-wallet.js'

let world: BrowserWorld

beforeAll(async () => {
  world = await startBrowserWorld()
})
afterAll(() => world?.stop())

async function type(page: Page, label: string, text: string): Promise<void> {
  await tabTo(page, page.getByLabel(label, { exact: true }))
  await page.keyboard.press('ControlOrMeta+a')
  await page.keyboard.type(text)
}

describe('without a mouse', () => {
  it('an API is listed, and the focus follows the page', async () => {
    const wallet = createTestWallet({ name: 'Fern', account: devnetMerchant.account })
    const { page, faults } = await world.open({ wallets: [wallet] })
    await page.goto('/console')
    await settled(page)
    await press(page, page.getByRole('button', { name: 'Connect wallet' }))
    await press(page, page.getByRole('dialog').getByRole('button', { name: 'Fern' }))
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(await hasFocus(accountButton(page))).toBe(true)

    await press(page, page.getByRole('link', { name: 'Sell your API' }).first())
    await page.getByRole('heading', { level: 1, name: 'Sell your API' }).waitFor()
    await tabTo(page, page.getByLabel('URL of your API'))
    await page.keyboard.type(`${world.strangers.url}/weather/keys`)
    await page.keyboard.press('Enter')
    const title = page.getByLabel('Title')
    await title.waitFor()
    await expect.poll(() => hasFocus(title)).toBe(true)
    await page.keyboard.press('ControlOrMeta+a')
    await page.keyboard.type('By keys alone')
    await type(page, 'Name', 'Key House')
    await press(page, page.getByRole('button', { name: 'Check and sign' }))
    await page.getByRole('heading', { name: 'Check and sign' }).waitFor()
    await page.keyboard.press('Tab')
    // The first stop after the beginning of the step lies inside the step.
    const isInStep = await page.evaluate(
      () => document.activeElement?.closest('main [tabindex="-1"]') !== null,
    )
    expect(isInStep).toBe(true)
    await press(page, page.getByRole('button', { name: 'Sign and list' }))
    await page.getByRole('region', { name: 'Saved' }).waitFor()
    expect(await hasFocus(page.getByRole('main'))).toBe(true)
    const { body } = await world.get('/discovery/resources?merchant=key-house')
    expect(body.items[0].metadata.title).toBe('By keys alone')
    expect(faults).toEqual([])
  })

  it('an invalid field takes the focus and says why', async () => {
    const wallet = createTestWallet({ name: 'Fern', account: devnetMerchant.account })
    const { page } = await world.open({ wallets: [wallet] })
    await page.goto('/console/new')
    await tabTo(page, page.getByLabel('URL of your API'))
    await page.keyboard.type(`${world.strangers.url}/weather/wrong`)
    await page.keyboard.press('Enter')
    await expect.poll(() => hasFocus(page.getByLabel('Title'))).toBe(true)
    // Backwards, to the button that opens the price.
    while (!(await hasFocus(page.getByRole('button', { name: 'Change', exact: true })))) {
      await page.keyboard.press('Shift+Tab')
    }
    await page.keyboard.press('Enter')
    await type(page, 'Price in USDC', 'a lot')
    // Of a row that is closed too: it opens.
    const row = page.getByRole('group').locator('[aria-expanded]')
    while (!(await hasFocus(row))) await page.keyboard.press('Shift+Tab')
    await page.keyboard.press('Enter')
    await page.getByLabel('Title').waitFor({ state: 'detached' })
    await press(page, page.getByRole('button', { name: 'Check and sign' }))
    const price = page.getByLabel('Price in USDC')
    await expect.poll(() => hasFocus(price)).toBe(true)
    const described = (await price.getAttribute('aria-describedby')) ?? ''
    const said = await page.evaluate(
      (ids) => ids.split(' ').map((id) => document.getElementById(id)?.textContent),
      described,
    )
    expect(said.join(' ')).toContain('at most six decimals')
    expect(await seriousFindings(page)).toEqual([])
  })

  it('a dialog keeps the focus, closes with Escape and gives the focus back', async () => {
    const wallet = createTestWallet({ name: 'Fern', account: devnetMerchant.account })
    const { page } = await world.open({ wallets: [wallet] })
    await page.goto('/console')
    const button = page.getByRole('button', { name: 'Connect wallet' })
    await press(page, button)
    await page.getByRole('dialog').waitFor()
    for (let presses = 0; presses < 6; presses++) {
      await page.keyboard.press('Tab')
      const where = await page.evaluate(() => {
        const at = document.activeElement
        return at === document.body || at?.closest('dialog') !== null
      })
      expect(where).toBe(true)
    }
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(await hasFocus(button)).toBe(true)
  })
})

describe('the menu of the account', () => {
  it('copies the address, shows the explorer, signs out, and is used by keys alone', async () => {
    const wallet = createTestWallet({ name: 'Fern', account: devnetMerchant.account })
    const { page, context } = await world.open({ wallets: [wallet], width: 390 })
    await context.grantPermissions(['clipboard-read', 'clipboard-write'])
    // A devnet has no explorer.
    await page.route('**/api/console', async (route) => {
      const answer = await route.fetch()
      const body = await answer.json()
      for (const network of body.networks) network.explorerUrl = 'https://explorer.example'
      await route.fulfill({ response: answer, json: body })
    })
    await page.goto('/console')
    await connectWallet(page, 'Fern')
    const item = (name: string) => page.locator('[popover]').getByText(name, { exact: true })
    await press(page, accountButton(page))
    await page.getByText('Connected with Fern').waitFor()
    await press(page, item('Copy address'), 'Shift')
    expect(await item('Show in the block explorer').getAttribute('href')).toBe(
      `https://explorer.example/address/${devnetMerchant.address}`,
    )
    expect(await seriousFindings(page)).toEqual([])
    expect(await item('Sign out').count()).toBe(0)
    await page.keyboard.press('Escape')
    await item('Copy address').waitFor({ state: 'hidden' })
    expect(await hasFocus(accountButton(page))).toBe(true)

    await page.keyboard.press('Enter')
    await press(page, item('Copy address'))
    await page.getByText('The address is copied.').waitFor()
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(devnetMerchant.address)
    await item('Copy address').waitFor({ state: 'hidden' })
    expect(await hasFocus(accountButton(page))).toBe(true)

    await world.list('menu-house', {})
    await page.goto('/console/menu-house')
    await signIn(page)
    await chooseInAccountMenu(page, 'Sign out')
    await page.getByText('Sign in to see payments').waitFor()
    await page.getByText('You are signed out. The wallet stays connected.').waitFor()
    await accountButton(page).waitFor()
  })
})

describe('a word that explains itself', () => {
  it('does so to a finger and to a key, and keeps the focus', async () => {
    const { page } = await world.open({ width: 390, hasTouch: true })
    await world.list('hint-house', { name: 'Hint House' }, owners[0])
    await page.goto('/merchants/hint-house')
    const word = page.getByRole('button', { name: 'Unproven' }).first()
    const text = page.locator('.hint').filter({ hasText: /\w/ })
    await word.tap()
    await text.waitFor()
    expect(await seriousFindings(page)).toEqual([])
    await page.touchscreen.tap(5, 5)
    await text.waitFor({ state: 'detached' })
    await press(page, word)
    await text.waitFor()
    await page.keyboard.press('Escape')
    await text.waitFor({ state: 'detached' })
    expect(await hasFocus(word)).toBe(true)
  })
})

describe('the search of every page', () => {
  it('opens with a key, has the focus, and leads to what was typed', async () => {
    const { page } = await world.open({ width: 390 })
    await page.goto('/')
    await settled(page)
    await page.keyboard.press('/')
    await expect.poll(() => hasFocus(page.getByRole('searchbox'))).toBe(true)
    expect(await page.getByRole('dialog').count()).toBe(0)
    await page.goto('/status')
    await settled(page)
    await page.keyboard.press('/')
    const box = page.getByRole('dialog').getByRole('combobox')
    await expect.poll(() => hasFocus(box)).toBe(true)
    expect(await seriousFindings(page)).toEqual([])
    await page.keyboard.type('ab'.repeat(32))
    await page.keyboard.press('Enter')
    await page.waitForURL(`**/payments/0x${'ab'.repeat(32)}`)
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Search everything' }).click()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(await hasFocus(page.getByRole('button', { name: 'Search everything' }))).toBe(true)
  })

  it('suggests APIs, sellers and what a hash is, which the arrow keys choose', async () => {
    await world.list('suggested-house', {
      name: 'Suggested House',
      endpoints: [
        {
          url: `${world.strangers.url}/weather/suggested`,
          method: 'GET',
          title: 'Suggested tides',
          price: '10000',
        },
      ],
    })
    const { page, faults } = await world.open()
    await page.goto('/status')
    await settled(page)
    await page.keyboard.press('Control+k')
    const box = page.getByRole('combobox')
    await expect.poll(() => hasFocus(box)).toBe(true)
    await page.keyboard.type('suggested tides')
    const option = (name: RegExp) => page.getByRole('option', { name })
    const api = option(/^Suggested tides Live · API by Suggested House$/)
    await api.waitFor()
    const seller = option(/^Suggested House Seller$/)
    expect(await box.getAttribute('aria-expanded')).toBe('true')
    expect(await seriousFindings(page)).toEqual([])
    await page.keyboard.press('ArrowDown')
    expect(await api.getAttribute('aria-selected')).toBe('true')
    expect(await box.getAttribute('aria-activedescendant')).toBe(await api.getAttribute('id'))
    await page.keyboard.press('ArrowDown')
    expect(await seller.getAttribute('aria-selected')).toBe('true')
    expect(await hasFocus(box)).toBe(true)
    // Escape takes the list away first, then the dialog.
    await page.keyboard.press('Escape')
    await api.waitFor({ state: 'detached' })
    await page.getByRole('dialog').waitFor()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/merchants\/suggested-house#endpoint-\d+$/)

    await page.keyboard.press('Control+k')
    await page.keyboard.type('ab'.repeat(32))
    await option(/This is a transaction: see its payment\.$/).click()
    await page.waitForURL(`**/payments/0x${'ab'.repeat(32)}`)
    expect(faults).toEqual([])
  })
})

describe('a reader who prefers reduced motion', () => {
  it('sees no animation', async () => {
    const { page } = await world.open({ reducedMotion: true })
    await page.goto('/console')
    await settled(page)
    const moving = await page.evaluate(() =>
      [...document.querySelectorAll('*')]
        .map((element) => getComputedStyle(element))
        .filter(
          ({ animationName, transitionDuration }) =>
            animationName !== 'none' || !/^0s(, 0s)*$/.test(transitionDuration),
        )
        .map(({ animationName, transitionDuration }) => animationName + transitionDuration),
    )
    expect(moving).toEqual([])
  })
})
