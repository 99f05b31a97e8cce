import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { devnetMerchant } from '../../src/devnet/accounts.js'
import { devnetContracts } from '../../src/devnet/fixtures.js'
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

const { usdc, eurc } = devnetContracts
let world: BrowserWorld
let shop: Shop

beforeAll(async () => {
  world = await startBrowserWorld({ MAINNET_ASSETS: `${usdc},${eurc}` })
  shop = await startShop(world.post, { asset: eurc, name: 'EURC' })
  shop.ask('50000')
})
afterAll(async () => {
  await shop?.stop()
  await world?.stop()
})

describe('an endpoint priced in euros', () => {
  it('is filled in, signed, listed and shown in euros, and nowhere in dollars', async () => {
    const wallet = createTestWallet({ name: 'Fern', account: devnetMerchant.account })
    const { page, faults } = await world.open({ wallets: [wallet] })
    await page.goto('/console/new')
    await connectWallet(page, 'Fern')
    await checkEndpoint(page, `${shop.url}/rates`)
    await page.getByRole('definition').filter({ hasText: '0.05 EURC' }).waitFor()
    await changeByHand(page)
    expect(await page.getByLabel('Price in EURC').inputValue()).toBe('0.05')
    expect(await page.getByLabel('Token').inputValue()).toBe(eurc)
    await page.getByLabel('Name').fill('Euro House')
    await page.getByLabel('Title').fill('Rates of the day')

    await page.getByLabel('Token').selectOption('USDC')
    await page.getByLabel('Price in USDC').fill('€0.05')
    await page.getByRole('button', { name: 'Check and sign' }).click()
    await page.getByText(/The price is in USD, and € is the sign of other money/).waitFor()
    await page.getByLabel('Token').selectOption('EURC')
    await review(page)
    expect(await page.getByText('0.05 EURC').count()).toBe(1)
    await sign(page)
    await settled(page)
    const { body } = await world.get('/api/merchants/euro-house')
    expect(body.endpoints).toMatchObject([{ price: '50000', asset: eurc, currency: 'EUR' }])

    for (const [path, role] of [
      ['/', 'row'],
      ['/merchants/euro-house', 'listitem'],
    ] as const) {
      const row = page.getByRole(role).filter({ hasText: 'Rates of the day' })
      await page.goto(path)
      await row.getByText('€0.05').waitFor()
      expect(await row.textContent()).not.toContain('$')
    }
    // A price limit is in dollars, and euros are never compared with dollars.
    await page.goto('/?maxPrice=100000')
    await page.getByText('Nothing matches').waitFor()
    expect(faults).toEqual([])
  })
})
