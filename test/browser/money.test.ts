import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { devnetMerchant, devnetPayer } from '../../src/devnet/accounts.js'
import { usdcBalance } from '../../src/devnet/fixtures.js'
import { type Shop, startShop } from '../support/a-shop.js'
import { type BrowserWorld, startBrowserWorld } from './support/browser-world.js'
import {
  changeByHand,
  checkEndpoint,
  connectWallet,
  review,
  settled,
  sign,
} from './support/console-steps.js'
import { createTestWallet } from './support/test-wallet.js'

const run = promisify(execFile)
let world: BrowserWorld
let shop: Shop

beforeAll(async () => {
  world = await startBrowserWorld()
  shop = await startShop(world.post)
})
afterAll(async () => {
  await shop?.stop()
  await world?.stop()
})
afterEach(() => shop?.ask('10000'))

function anEndpoint(path: string, title: string) {
  return { url: `${shop.url}/${path}`, method: 'GET', title, price: '10000' } as const
}

/** Runs code as a buyer does who pasted it into a file of their own project. */
async function runAsBuyer(code: string): Promise<{ ok: boolean; said: string }> {
  const args = ['--input-type=module', '--eval', `${code}\nconsole.log(response.status, answer)`]
  const env = { PATH: process.env.PATH, PAYER_KEY: devnetPayer.privateKey }
  return run(process.execPath, args, { env }).then(
    ({ stdout }) => ({ ok: true, said: stdout }),
    ({ stderr }) => ({ ok: false, said: stderr }),
  )
}

const probeAgain = (id: string) => world.post(`/api/merchants/${id}/probe`, {})
const cardOf = async (title: string) => {
  const { items } = (await world.get(`/api/endpoints?query=${encodeURIComponent(title)}`)).body
  return items.find((item: { title: string }) => item.title === title)
}

describe('the code on a merchant’s page', () => {
  async function codeOf(page: Page, id: string): Promise<string> {
    await page.goto(`/merchants/${id}`)
    await page.getByRole('button', { name: 'Pay with @x402/fetch' }).click()
    const block = page.getByRole('region', { name: 'TypeScript client' })
    return (await block.locator('code').textContent()) as string
  }

  it('pays the listed price, and signs nothing for a 402 that asks for more', async () => {
    await world.list('snippet-house', { endpoints: [anEndpoint('snippet', 'Snippet')] })
    const { page } = await world.open()
    const code = await codeOf(page, 'snippet-house')
    const before = await usdcBalance(world.chainUrl, devnetPayer.address)
    expect(await runAsBuyer(code)).toMatchObject({
      ok: true,
      said: '200 {"goods":true,"for":"/snippet"}\n',
    })
    expect(before - (await usdcBalance(world.chainUrl, devnetPayer.address))).toBe(10_000n)
    expect(shop.presented.splice(0)).toHaveLength(1)

    shop.ask('10001')
    const refused = await runAsBuyer(code)
    expect(refused.ok).toBe(false)
    expect(refused.said).toContain('maxAmountPerPayment')
    // A page that is opened after the price changed allows no more than the listing either.
    shop.ask('9000000')
    await probeAgain('snippet-house')
    expect((await runAsBuyer(await codeOf(page, 'snippet-house'))).ok).toBe(false)
    expect(shop.presented).toEqual([])
  })
})

describe('a price that changed after it was listed', () => {
  it('is shown and used by the filter; the listed price is struck through beside a warning', async () => {
    await world.list('turning-house', { endpoints: [anEndpoint('turning', 'Turning price')] })
    expect(await cardOf('Turning price')).toMatchObject({ price: '10000', livePrice: '10000' })
    const { page, faults } = await world.open()
    await page.goto('/?query=turning')
    const row = page.getByRole('row', { name: /Turning price/ })
    await row.getByRole('button').click()
    await page.getByRole('link', { name: 'All APIs of this seller' }).waitFor()
    await row.getByText('Live', { exact: true }).waitFor()
    expect(await page.getByText('than listed').count()).toBe(0)
    expect(await page.locator('del').count()).toBe(0)

    shop.ask('9000000')
    await probeAgain('turning-house')
    expect(await cardOf('Turning price')).toMatchObject({
      price: '10000',
      priceUsd: '0.01',
      livePrice: '9000000',
      livePriceUsd: '9',
      status: 'live',
      probe: { warnings: ['price_drift', 'schema_missing'] },
    })
    const cheap = await world.get('/api/endpoints?query=turning&maxPrice=10000')
    expect(cheap.body.items).toEqual([])
    await page.reload()
    await page.getByText('Asks more than listed').waitFor()
    expect(await page.locator('del').textContent()).toContain('$0.01')
    await row.getByText('Price differs').waitFor()
    expect(await row.textContent()).toContain('$9.00')
    // The next probe gets no answer, and what the API asked before stays.
    shop.isOpen = false
    await probeAgain('turning-house').finally(() => {
      shop.isOpen = true
    })
    expect(await cardOf('Turning price')).toMatchObject({
      status: 'live',
      livePrice: '9000000',
      probe: { verdict: 'unreachable' },
    })
    await page.reload()
    await page.getByText('Asks more than listed').waitFor()
    await row.getByText('Failing, 1 of 3').waitFor()

    await page.goto('/merchants/turning-house')
    const endpoint = page.getByRole('listitem').filter({ hasText: 'Turning price' })
    await endpoint.getByText('Asks more than listed').waitFor()
    expect(await endpoint.locator('del').first().textContent()).toContain('$0.01')
    expect(faults).toEqual([])
  })
})

describe('a price typed with a comma', () => {
  it('is the intended price, or is refused with a reason', async () => {
    const wallet = createTestWallet({ name: 'Fern', account: devnetMerchant.account })
    const { page } = await world.open({ wallets: [wallet] })
    await page.goto('/console/new')
    await connectWallet(page, 'Fern')
    await checkEndpoint(page, `${shop.url}/comma`)
    await page.getByLabel('Name').fill('Comma House')
    await changeByHand(page)
    const price = page.getByLabel('Price in USDC')
    for (const typed of ['1,000', '0,01,5', '1.000,50']) {
      await price.fill(typed)
      await page.getByRole('button', { name: 'Check and sign' }).click()
      await page.getByText(/comma/i).first().waitFor()
      expect(await price.getAttribute('aria-invalid')).toBe('true')
    }
    await price.fill('0,01')
    await review(page)
    expect(await page.getByText('0.01 USDC').count()).toBe(1)
    await sign(page)
    const { body } = await world.get('/api/merchants/comma-house')
    expect(body.endpoints[0].price).toBe('10000')
    await settled(page)
  })
})
