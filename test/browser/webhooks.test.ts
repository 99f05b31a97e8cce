import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { devnetMerchant } from '../../src/devnet/accounts.js'
import { agreeing, type Receiver, refusalOf, startReceiver } from '../support/a-receiver.js'
import { type BrowserWorld, startBrowserWorld } from './support/browser-world.js'
import { connectWallet } from './support/console-steps.js'
import { createTestWallet } from './support/test-wallet.js'

let world: BrowserWorld
let receiver: Receiver

beforeAll(async () => {
  world = await startBrowserWorld()
  receiver = await startReceiver()
  await world.list('hook-house', {})
})
afterAll(async () => {
  await receiver?.close()
  await world?.stop()
})

/** Signs in on the page of settings, and stays there. */
async function openSettings() {
  const wallet = createTestWallet({ name: 'Fern', account: devnetMerchant.account })
  const opened = await world.open({ wallets: [wallet] })
  const { page } = opened
  await page.goto('/console/hook-house/settings')
  await connectWallet(page, 'Fern')
  await page.getByRole('button', { name: 'Sign in with the wallet' }).click()
  await page.getByLabel('URL to call').waitFor()
  expect(new URL(page.url()).pathname).toBe('/console/hook-house/settings')
  return { ...opened, wallet }
}

describe('the webhooks of a listing', () => {
  it('ask the wallet for nothing while the URL or the events are wrong', async () => {
    const { page, wallet } = await openSettings()
    const before = wallet.requests.length
    const url = page.getByLabel('URL to call')
    const add = page.getByRole('button', { name: 'Sign and add' })
    await add.click()
    await page.getByText('Give the URL to call.').waitFor()
    for (const [text, problem] of [
      ['not a url', 'This URL cannot be called: The URL cannot be read'],
      ['ftp://shop.example.com/', 'Only https URLs are called.'],
      [`${world.origin}/settle`, 'leads back to this service'],
    ] as const) {
      await url.fill(text)
      await add.click()
      await page.getByText(problem).waitFor()
      expect(await url.getAttribute('aria-invalid')).toBe('true')
    }
    await url.fill(receiver.url)
    await page.getByLabel('Payments that settled').uncheck()
    await add.click()
    await page.getByText('Choose an event.').waitFor()
    expect(wallet.requests.slice(before)).toEqual([])
  })

  it('are added with a secret to copy, tested, replayed and removed', async () => {
    const { page, context, faults } = await openSettings()
    await context.grantPermissions(['clipboard-read', 'clipboard-write'])
    receiver.consent = () => ({ status: 401, body: '' })
    await page.getByLabel('URL to call').fill(receiver.url)
    await page.getByRole('button', { name: 'Sign and add' }).click()
    const secret = (await page.getByText(/^whsec_/).textContent()) ?? ''
    await page.getByRole('button', { name: 'Copy secret' }).click()
    await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toBe(secret)
    await page.getByText('The receiver answered the challenge with 401.').first().waitFor()
    await page.getByText('Not confirmed').waitFor()
    const test = page.getByRole('button', { name: 'Send a test event' })
    expect(await test.count()).toBe(0)
    const calls = page.getByRole('region', { name: 'Last deliveries' }).getByRole('row')
    const call = (...parts: (string | RegExp)[]) =>
      parts.reduce((rows, hasText) => rows.filter({ hasText }), calls)
    await call('challenge', '401').first().waitFor()
    receiver.consent = agreeing
    await page.getByRole('button', { name: 'Send the challenge again' }).click()
    await page.getByText('Active').waitFor()

    await test.click()
    await page.getByText('took the test event and answered 204').waitFor()
    const [tested] = receiver.deliveries
    expect(tested?.event.type).toBe('test')
    expect(tested && refusalOf(tested, secret)).toBeUndefined()
    await call('test', '204', /Today \d\d:\d\d/).waitFor()
    receiver.answer = () => 500
    await test.click()
    await page.getByText('The receiver answered 500.').waitFor()
    await call('test', '500').waitFor()
    receiver.answer = () => 204

    const { body } = await world.pay(`${world.strangers.url}/weather`)
    expect(body.success).toBe(true)
    await vi.waitUntil(() => receiver.deliveries.length === 3, { timeout: 20_000 })
    const [, , delivery] = receiver.deliveries
    expect(delivery && refusalOf(delivery, secret)).toBeUndefined()
    await call('payment.settled', '204').first().waitFor()
    await page.getByText('Missed something?').click()
    await page.getByRole('button', { name: 'Send all events again' }).click()
    await vi.waitUntil(() => receiver.deliveries.length === 4, { timeout: 20_000 })
    expect(receiver.deliveries[3]?.event.id).toBe(delivery?.event.id)
    await page.reload()
    await page.getByText(receiver.url).waitFor()
    expect(await page.getByText(/^whsec_/).count()).toBe(0)
    await page.getByRole('button', { name: 'Remove' }).click()
    await page.getByText(receiver.url).waitFor({ state: 'detached' })
    expect(faults).toEqual([])
  })
})
