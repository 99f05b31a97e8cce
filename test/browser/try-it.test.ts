import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { devnetPayer } from '../../src/devnet/accounts.js'
import { usdcBalance } from '../../src/devnet/fixtures.js'
import { type Shop, startShop } from '../support/a-shop.js'
import { startToolShop, type ToolShop } from '../support/a-tool-shop.js'
import { seriousFindings } from './support/accessibility.js'
import { type BrowserWorld, startBrowserWorld } from './support/browser-world.js'
import { settled } from './support/console-steps.js'
import { press, tabTo } from './support/keys.js'
import { shiftsOf, watchShifts } from './support/layout-shifts.js'
import { createTestWallet, type TestWallet } from './support/test-wallet.js'

let world: BrowserWorld
let shop: Shop
let tools: ToolShop

beforeAll(async () => {
  // Arcus lets one visitor make few calls a minute, so each page comes from an address of its own.
  world = await startBrowserWorld({ TRUST_PROXY: '1' })
  shop = await startShop(world.post)
  tools = await startToolShop({ facilitatorUrl: world.url })
  await world.list('tool-shop', {
    endpoints: [
      {
        url: tools.url,
        method: 'MCP',
        toolName: 'forecast',
        title: 'Forecast',
        price: '10000',
        example: { arguments: { city: 'Lisbon' } },
      },
    ],
  })
  await world.list('meter-shop', {
    endpoints: [
      {
        url: `${shop.url}/metered`,
        method: 'GET',
        title: 'Metered',
        price: '10000',
        pricing: 'metered',
        example: { queryParams: { words: 'two words' } },
      },
    ],
  })
  await world.list('corner-shop', {
    endpoints: [
      {
        url: `${shop.url}/goods`,
        method: 'GET',
        title: 'Goods',
        price: '10000',
        example: { queryParams: { city: 'Lisbon', days: 3 } },
        inputSchema: {
          type: 'object',
          properties: {
            city: { type: 'string', description: 'A place name' },
            days: { type: 'integer' },
            unit: { enum: ['c', 'f'] },
          },
          required: ['city'],
        },
      },
    ],
  })
})
afterAll(async () => {
  await shop?.stop()
  tools?.stop()
  await world?.stop()
})
afterEach(() => {
  shop?.ask('10000')
  shop?.presented.splice(0)
  Object.assign(shop ?? {}, { hangsUp: 0 })
})

const aWallet = () =>
  createTestWallet({ name: 'Fern', account: devnetPayer.account, node: world.chainUrl })
const balance = () => usdcBalance(world.chainUrl, devnetPayer.address)
const pay = (page: Page) => page.getByRole('button', { name: /^Call and pay/ }).click()

/** Sees that no second payment is offered while the first may still be taken. */
async function refusesAnother(page: Page) {
  const button = page.getByRole('button', { name: /^Call/ })
  await button.focus()
  await page.keyboard.press('Enter')
  expect(await button.getAttribute('title')).toContain('no other one is signed here')
}

let visitors = 0
const comesFromAnotherAddress = (page: Page) =>
  page.setExtraHTTPHeaders({ 'x-forwarded-for': `198.51.100.${++visitors}` })

/** Opens the panel of the endpoint, with the wallet connected if there is one. */
async function openPanel(wallet?: TestWallet, options = {}) {
  const opened = await world.open({ ...options, wallets: wallet === undefined ? [] : [wallet] })
  const { page } = opened
  await comesFromAnotherAddress(page)
  await page.goto('/merchants/corner-shop')
  await page.getByRole('button', { name: 'Try it', exact: true }).click()
  await page.getByRole('region', { name: 'Try it' }).waitFor()
  if (wallet !== undefined) {
    await page.getByRole('button', { name: 'My wallet' }).click()
    await page.getByRole('button', { name: 'Connect wallet' }).click()
    await page.getByRole('dialog').getByRole('button', { name: wallet.info.name }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
  }
  return opened
}

describe('Try it', () => {
  it('pays the listed price with the visitor’s wallet, and shows answer, cost and receipt', async () => {
    const wallet = aWallet()
    const { page, faults } = await openPanel(wallet)
    const before = await balance()
    await page.getByLabel('city').fill('Porto')
    await pay(page)
    await page.getByText('Paid', { exact: true }).waitFor()
    const answer = page.getByRole('region', { name: 'Answer' })
    expect(await answer.locator('pre').textContent()).toBe(
      '{\n  "goods": true,\n  "for": "/goods?city=Porto&days=3"\n}',
    )
    await page.getByText('0.01 USDC', { exact: true }).waitFor()
    expect(before - (await balance())).toBe(10_000n)
    expect(shop.presented).toHaveLength(1)
    expect(wallet.signed.map(({ message }) => message.value)).toEqual(['10000'])

    const link = page.getByRole('link', { name: 'Receipt' })
    const [receipt] = await Promise.all([page.waitForEvent('popup'), link.click()])
    await receipt.getByRole('heading', { name: /receipt/i }).waitFor()
    await receipt.close()
    expect(faults).toEqual([])
  })

  it('is called with what was typed', async () => {
    const { page } = await openPanel(aWallet())
    await page.getByLabel('city').fill('Évora')
    await page.getByLabel('days').fill('x')
    await page.getByText('Write a number.').waitFor()
    await page.getByLabel('days').fill('2')
    await page.getByLabel('unit').selectOption('f')
    await pay(page)
    await page.getByText('Paid', { exact: true }).waitFor()
    const answer = page.getByRole('region', { name: 'Answer' })
    expect(await answer.locator('pre').textContent()).toContain(
      '/goods?city=%C3%89vora&days=2&unit=f',
    )
  })

  it('signs nothing for a 402 that asks for more, and nothing that the person refuses', async () => {
    const wallet = aWallet()
    const { page } = await openPanel(wallet)
    const before = await balance()
    shop.ask('10001')
    await pay(page)
    await page.getByText('Nothing was signed, nothing was paid').waitFor()
    await page
      .getByText('asks for 0.010001 USDC, and the limit is 0.01 USDC', { exact: false })
      .waitFor()
    shop.ask('10000')
    wallet.rejectNext('eth_signTypedData_v4')
    await pay(page)
    await page.getByText('You refused in the wallet', { exact: false }).waitFor()
    expect(wallet.signed).toEqual([])
    expect(shop.presented).toEqual([])
    expect(await balance()).toBe(before)
  })

  it('says what it does not know after a lost answer, looks the payment up, and signs no other one', async () => {
    const wallet = aWallet()
    const { page } = await openPanel(wallet)
    const before = await balance()
    // The page's journal is silent too, so that nothing is known but the silence.
    await page.route('**/payments/**', (route) => route.abort())
    shop.hangsUp = 1
    await pay(page)
    await page.getByText('It is not known whether the payment went through').waitFor()
    expect(await page.getByText('nothing that Arcus knows of').count()).toBe(0)
    await refusesAnother(page)

    // The payment is not forgotten when the panel is closed.
    const card = page.getByRole('button', { name: /^Goods/ })
    await card.click()
    await card.click()
    await page.getByText('It is not known whether the payment went through').waitFor()
    await refusesAnother(page)
    await page.unroute('**/payments/**')
    await page.getByText('Paid, and the answer is lost').waitFor()
    await page.getByRole('button', { name: /^Call again/ }).waitFor()
    expect([wallet.signed.length, shop.presented.length]).toEqual([1, 1])
    expect(before - (await balance())).toBe(10_000n)
  })

  it('says that nothing was sent on where Arcus refuses to, and may then sign another payment', async () => {
    const wallet = aWallet()
    const { page } = await openPanel(wallet)
    const before = await balance()
    const refusal = { error: 'rate_limited', message: 'Too many requests. Try again in 9 seconds.' }
    await page.route('**/api/try', (route) =>
      route.request().postDataJSON().payment === undefined
        ? route.continue()
        : route.fulfill({ status: 429, headers: { 'retry-after': '9' }, json: refusal }),
    )
    await pay(page)
    await page.getByText('The payment was not sent', { exact: true }).waitFor()
    await page.getByText('Too many requests.', { exact: false }).waitFor()
    await page.getByText('nothing that Arcus knows of').waitFor()
    expect(await page.getByText('It is not known').count()).toBe(0)
    expect(shop.presented).toEqual([])
    await page.unroute('**/api/try')
    await pay(page)
    await page.getByText('Paid', { exact: true }).waitFor()
    expect(wallet.signed).toHaveLength(2)
    expect(before - (await balance())).toBe(10_000n)
  })

  it('warns before the tab is closed while a payment has no answer', async () => {
    const { page } = await openPanel(aWallet())
    const asked: string[] = []
    page.on('dialog', (dialog) => {
      asked.push(dialog.type())
      void dialog.accept()
    })
    const release = shop.holdNext()
    await pay(page)
    await expect.poll(() => shop.presented.length).toBe(1)
    await page.getByText('Keep this tab open', { exact: false }).waitFor()
    await page.reload()
    expect(asked).toEqual(['beforeunload'])
    release()
    await page.reload()
    expect(asked).toHaveLength(1)
  })

  it('leads to the code for every payment that a wallet cannot make here', async () => {
    for (const [merchant, name, part] of [
      ['tool-shop', 'Forecast', "'x402/payment': payment"],
      ['meter-shop', 'Metered', 'new UptoEvmScheme(account'],
    ] as const) {
      const { page } = await world.open()
      await page.goto(`/merchants/${merchant}`)
      await page.getByRole('button', { name: new RegExp(`^${name}`) }).waitFor()
      await page.getByText('Copy the code below.', { exact: false }).waitFor()
      expect(await page.getByRole('button', { name: 'Try it', exact: true }).count()).toBe(0)
      await page.getByRole('button', { name: 'Pay with @x402/fetch' }).click()
      expect(await page.getByRole('main').textContent()).toContain(part)
    }
    const wallet = aWallet()
    const { page } = await openPanel(wallet)
    shop.demand({ extra: { name: 'USDC', version: '2', assetTransferMethod: 'permit2' } })
    await pay(page)
    await page.getByText('copy the code below', { exact: false }).waitFor()
    await page.getByText('no payment by exact with EIP-3009', { exact: false }).waitFor()
    expect([wallet.signed, shop.presented]).toEqual([[], []])
  })

  it('does not take the word of a seller who says paid, and signs no other payment', async () => {
    const wallet = aWallet()
    const { page } = await openPanel(wallet)
    const before = await balance()
    const said = { success: true, transaction: `0x${'ab'.repeat(32)}`, network: 'eip155:5042' }
    await page.route('**/api/try', (route) => {
      if (route.request().postDataJSON().payment === undefined) return route.continue()
      const headers = { 'payment-response': Buffer.from(JSON.stringify(said)).toString('base64') }
      return route.fulfill({
        json: { outcome: 'answered', status: 200, headers, body: 'e30=', missing: null },
      })
    })
    await pay(page)
    await page.getByText('Arcus does not know this payment', { exact: false }).waitFor()
    await page.getByText('could take this one payment, once, until', { exact: false }).waitFor()
    await page.getByText('0.01 USDC, if it is taken', { exact: true }).waitFor()
    await page.getByText('as the seller says', { exact: false }).waitFor()
    expect(await page.getByText('Paid', { exact: true }).count()).toBe(0)
    await refusesAnother(page)
    expect(wallet.signed).toHaveLength(1)
    expect(await balance()).toBe(before)
  })

  it('calls a payment over by what Arcus says after its time, and not before', async () => {
    const { page } = await openPanel(aWallet())
    await page.clock.install()
    await page.route('**/api/try', (route) =>
      route.request().postDataJSON().payment === undefined
        ? route.continue()
        : route.fulfill({ json: { outcome: 'unanswered', message: 'Silence.', wasSent: true } }),
    )
    await pay(page)
    await page.getByText('It is not known whether the payment went through').waitFor()
    await page.route('**/payments/**', (route) => route.abort())
    const late = page.waitForEvent('requestfailed', (it) => it.url().includes('/payments/'))
    await page.clock.fastForward('01:10')
    await late
    await page.unroute('**/payments/**')
    // The clock of the visitor is fast now, and the payment could still be taken.
    const asked = page.waitForResponse((it) => it.url().includes('/payments/'))
    await page.clock.fastForward(3_000)
    await asked
    expect(await page.getByText('its time is over', { exact: false }).count()).toBe(0)
    await refusesAnother(page)
    await page.route('**/api/signing', async (route) => {
      const answer = await (await route.fetch()).json()
      const time = { ...answer.time, now: answer.time.now + 120 }
      await route.fulfill({ json: { ...answer, time } })
    })
    await page.clock.fastForward(3_000)
    await page.getByText('its time is over', { exact: false }).waitFor()
    await page.getByRole('button', { name: /^Call and pay/ }).waitFor()
  })

  it('has a play wallet where the service is a devnet, and nowhere else', async () => {
    const before = await balance()
    const { page } = await openPanel(undefined, { width: 390, theme: 'dark' })
    await page.getByText('Play money of this devnet', { exact: false }).waitFor()
    await pay(page)
    await page.getByText('Paid', { exact: true }).waitFor()
    expect(before - (await balance())).toBe(10_000n)
    expect(await seriousFindings(page)).toEqual([])
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390)

    const real = await world.open()
    await real.page.route('**/api/console', async (route) => {
      const response = await route.fetch()
      await route.fulfill({ response, json: { ...(await response.json()), devnet: false } })
    })
    await real.page.goto('/merchants/corner-shop')
    await real.page.getByRole('button', { name: 'Try it', exact: true }).click()
    await real.page.getByText('Connect a wallet to pay.').waitFor()
    expect(await real.page.getByText(/play/i).count()).toBe(0)

    // Without a wallet in the browser, the picker leads to those of a phone.
    await real.page.getByRole('button', { name: 'Connect wallet' }).click()
    const links = real.page.getByRole('dialog').locator('a')
    await links.first().waitFor({ state: 'attached' })
    const hrefs = await links.evaluateAll((all) => all.map((link) => link.getAttribute('href')))
    const here = `${world.origin}/merchants/corner-shop`
    expect(hrefs).toEqual([
      `https://link.metamask.io/dapp/${here.replace('http://', '')}`,
      `https://go.cb-w.com/dapp?cb_url=${encodeURIComponent(here)}`,
      `https://link.trustwallet.com/open_url?coin_id=60&url=${encodeURIComponent(here)}`,
    ])
    expect(await seriousFindings(real.page)).toEqual([])
  })

  it('stands open at the door, and pays with play money within a press', async () => {
    const before = await balance()
    const { page, faults } = await world.open({ width: 390 })
    await page.goto('/')
    await page.getByRole('heading', { level: 1, name: 'Charge a cent per API call.' }).waitFor()
    await page.getByText('Devnet', { exact: true }).waitFor()
    const card = page.getByRole('region', { name: 'Try a paid call' })
    const pay = card.getByRole('button', { name: /^Call and pay/ })
    await pay.waitFor()
    // It is the one thing on the page that is to be pressed first.
    expect(await page.locator('main .bg-accent').count()).toBe(1)
    await press(page, pay)
    await card.getByText('Paid', { exact: true }).waitFor()
    expect(before - (await balance())).toBe(10_000n)
    // The time is that of this payment, as the service measured it.
    const hash = await card.getByRole('link', { name: /^0x/ }).getAttribute('href')
    const [payment] = (await world.get(hash ?? '')).body.payments
    const ms = Date.parse(payment.updatedAt) - Date.parse(payment.createdAt)
    const time = ms < 1_000 ? `${ms} ms` : `${Math.round(ms / 100) / 10} s`
    await card.getByText(`Settled in ${time}.`, { exact: true }).waitFor()
    expect(await card.getByRole('listitem').allTextContents()).toEqual([
      'Accepted: done',
      expect.stringMatching(/^Sent: doneafter \d/),
      `Confirmed: doneafter ${time}`,
    ])
    // After a visit to another page the answer that was paid for is still there.
    await card.getByRole('link', { name: 'Look the payment up' }).click()
    await page.getByRole('heading', { name: 'Payment' }).waitFor()
    await page.goBack()
    await card.getByText(`Settled in ${time}.`, { exact: true }).waitFor()
    await card.getByRole('region', { name: 'Answer' }).waitFor()
    expect(faults).toEqual([])
  })

  it('says that a slow call goes on, and pays it once', async () => {
    const wallet = aWallet()
    const { page } = await openPanel(wallet)
    await page.clock.install()
    const before = await balance()
    const release = shop.holdNext()
    await pay(page)
    await expect.poll(() => shop.presented.length).toBe(1)
    await page.clock.fastForward(11_000)
    await page.getByText('You cannot pay twice', { exact: false }).waitFor()
    await page.getByRole('button', { name: /^Call and pay/ }).focus()
    await page.keyboard.press('Enter')
    release()
    await page.getByText('Paid', { exact: true }).waitFor()
    expect(before - (await balance())).toBe(10_000n)
    expect([wallet.signed.length, shop.presented.length]).toEqual([1, 1])
  })

  it.each([
    [390, 'dark'],
    [768, 'light'],
    [1280, 'dark'],
  ] as const)(
    'fits %i pixels (%s), keeps still, and is used by keys alone',
    async (width, theme) => {
      const { page, context } = await world.open({ width, theme })
      await watchShifts(context)
      const before = await balance()
      await page.goto('/merchants/corner-shop')
      await settled(page)
      const atFirst = await shiftsOf(page)
      await press(page, page.getByRole('button', { name: 'Try it', exact: true }))
      await page.getByRole('region', { name: 'Try it' }).waitFor()
      await tabTo(page, page.getByLabel('city'))
      await page.keyboard.type(' more')
      await press(page, page.getByRole('button', { name: /^Call and pay/ }))
      await page.getByText('Paid', { exact: true }).waitFor()
      expect(before - (await balance())).toBe(10_000n)
      await tabTo(page, page.getByRole('link', { name: 'Look the payment up' }))
      expect(await seriousFindings(page)).toEqual([])
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width)
      const { sum, what } = await shiftsOf(page)
      expect(sum - atFirst.sum < 0.1 ? [] : what.slice(atFirst.what.length)).toEqual([])
      await page.emulateMedia({ forcedColors: 'active' })
      const colourOf = (selector: string) =>
        page
          .locator(selector)
          .first()
          .evaluate((it) => getComputedStyle(it).backgroundColor)
      expect(await colourOf('section [aria-pressed="true"]')).not.toBe(
        await colourOf('section [aria-pressed="false"]'),
      )
    },
  )
})
