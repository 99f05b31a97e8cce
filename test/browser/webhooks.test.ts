import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { devnetMerchant } from '../../src/devnet/accounts.js'
import { agreeing, type Receiver, refusalOf, startReceiver } from '../support/a-receiver.js'
import { type BrowserWorld, startBrowserWorld } from './support/browser-world.js'
import { reasonToSkip } from './support/chromium.js'
import { connectWallet, signIn } from './support/console-steps.js'
import { createTestWallet } from './support/test-wallet.js'

const skipped = reasonToSkip()
let world: BrowserWorld
let receiver: Receiver

beforeAll(async () => {
  if (skipped !== undefined) return
  world = await startBrowserWorld()
  receiver = await startReceiver()
  await world.list('hook-house', {})
})
afterAll(async () => {
  receiver?.close()
  await world?.stop()
})

describe.skipIf(skipped !== undefined)('the webhooks of a listing', () => {
  it('are added with a secret that is shown once, replayed and removed by signature', async () => {
    const wallet = createTestWallet({ name: 'Fern', account: devnetMerchant.account })
    const { page, faults, close } = await world.open({ wallets: [wallet] })
    await page.goto('/console/hook-house')
    await connectWallet(page, 'Fern')
    await signIn(page)
    await page.getByRole('navigation', { name: 'Listing' }).getByText('Settings').click()
    receiver.consent = () => ({ status: 401, body: '' })
    await page.getByLabel('URL to call').fill(receiver.url)
    await page.getByRole('button', { name: 'Sign and add' }).click()
    const secret = (await page.getByText(/^whsec_/).textContent()) ?? ''
    await page.getByText('nothing delivered yet').waitFor()
    await page.getByText('The receiver answered the challenge with 401.').waitFor()
    await page.getByText('Not confirmed').waitFor()
    receiver.consent = agreeing
    await page.getByRole('button', { name: 'Send the challenge again' }).click()
    await page.getByText('Active').waitFor()
    const { body } = await world.pay(`${world.strangers.url}/weather`)
    expect(body.success).toBe(true)
    await vi.waitUntil(() => receiver.deliveries.length === 1, { timeout: 20_000 })
    const [delivery] = receiver.deliveries
    expect(delivery && refusalOf(delivery, secret)).toBeUndefined()
    await page.getByText('last delivered').waitFor()
    await page.getByRole('button', { name: 'Send all events again' }).click()
    await vi.waitUntil(() => receiver.deliveries.length === 2, { timeout: 20_000 })
    expect(receiver.deliveries[1]?.event.id).toBe(delivery?.event.id)
    await page.reload()
    await page.getByText(receiver.url).waitFor()
    expect(await page.getByText(/^whsec_/).count()).toBe(0)
    await page.getByRole('button', { name: 'Remove' }).click()
    await page.getByText(receiver.url).waitFor({ state: 'detached' })
    expect(faults).toEqual([])
    await close()
  })
})
