import type { Page } from 'playwright-core'
import type { Address } from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { devnetMerchant, devnetPayer } from '../../src/devnet/accounts.js'
import { anActivity } from '../support/an-activity.js'
import { owners } from './support/a-directory.js'
import { writeActivity } from './support/a-month.js'
import { type BrowserWorld, startBrowserWorld } from './support/browser-world.js'
import { connectWallet, signIn } from './support/console-steps.js'
import { createTestWallet } from './support/test-wallet.js'

let world: BrowserWorld
let url: string

beforeAll(async () => {
  world = await startBrowserWorld()
  url = `${world.strangers.url}/weather`
  await world.list('weather-house', {})
})
afterAll(() => world?.stop())

async function openAsOwner(search = '') {
  const wallet = createTestWallet({ name: 'Fern', account: devnetMerchant.account })
  const opened = await world.open({ wallets: [wallet] })
  await opened.page.goto(`/console/weather-house${search}`)
  await connectWallet(opened.page, 'Fern')
  await signIn(opened.page)
  return opened
}

const table = (page: Page) => page.getByRole('region', { name: 'Payments', exact: true })
const panel = (page: Page) => page.getByRole('complementary')

describe('a payment', () => {
  it('opens from every row of its seller, whatever became of it, with the reason in words', async () => {
    const poor = owners[3] as (typeof owners)[number]
    await world.pay(url)
    await world.pay(url, { from: poor.address, signer: poor })
    const failing = { state: 'failed', transaction: null, endpointId: null } as const
    const reasons = ['asset_paused', 'not_sent_in_time', 'invalid_exact_evm_signature', 'new_code']
    await writeActivity(
      world.databasePath,
      reasons.map((reason, i) => {
        const at = Date.now() - (i + 1) * 60_000
        return anActivity({ ...failing, merchantId: 'weather-house', at, reason })
      }),
    )
    const { page, faults } = await openAsOwner('?range=24h')
    const rows = table(page).getByRole('row')
    await expect.poll(() => rows.count()).toBe(7)
    for (let i = 1; i <= 6; i++) {
      const row = rows.nth(i)
      const isSettled = (await row.getByText('Settled').count()) === 1
      await row.getByRole('button').first().click()
      const time = await row.locator('time').getAttribute('datetime')
      await expect.poll(() => panel(page).locator('time').getAttribute('datetime')).toBe(time)
      const text = (await panel(page).textContent()) ?? ''
      if (isSettled) expect(text).toContain('The seller has the money. This is final.')
      else {
        expect(text).toContain((await row.locator('td span[title]').nth(1).textContent()) ?? '?')
        // It also says what to do.
        expect(text).toMatch(/moved\.(You|Settle|Check|Send|Change|Give)/)
      }
      expect(text).not.toContain('No such payment')
    }
    expect(faults).toEqual([])
  })

  it('has the same words everywhere', async () => {
    const { body } = await world.pay(url, { value: 456_000n })
    const { page } = await openAsOwner()
    const found = new Map<string, string>()
    const note = async (place: string) => {
      const row = table(page).getByRole('row').filter({ hasText: '$0.456' })
      await row.waitFor()
      await row.getByRole('button').first().click()
      const shown = panel(page)
      await shown.getByRole('link', { name: /^Timeline/ }).waitFor()
      const words = await shown.locator('h2, h2 + div, h2 ~ p').allTextContents()
      const meaning = await shown.getByText('The seller has the money. This is final.').count()
      found.set(place, [...words, meaning].join(' | '))
    }
    await note('activity')
    for (const place of [
      '/payments',
      `/buyers/${devnetPayer.address}`,
      '/merchants/weather-house',
    ]) {
      await page.goto(place)
      await note(place)
    }
    expect(new Set(found.values())).toEqual(new Set(['$0.456 | Settled | 1']))
    await page.goto(`/payments/${body.transaction}`)
    await page.getByText('Settled', { exact: true }).waitFor()
    await page.getByText('The seller has the money. This is final.').waitFor()
  })

  it('of a seller to themselves is marked on every page, and counted on none', async () => {
    const { address } = devnetMerchant
    const [payer, at] = [address.toLowerCase() as Address, Date.now()]
    const own = { merchantId: 'weather-house', at, amount: 7_000n, isSelf: true }
    await writeActivity(world.databasePath, [anActivity({ ...own, payer, payTo: payer })])
    const { page } = await world.open()
    for (const place of ['/payments', `/buyers/${address}`, '/merchants/weather-house']) {
      await page.goto(place)
      const row = table(page).getByRole('row').filter({ hasText: '$0.007' })
      await row.getByText('Own payment').waitFor()
    }
  })
})
