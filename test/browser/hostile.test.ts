import { rate } from '@arcus/client/rating'
import type { Hex } from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { devnetMerchant, devnetPayer } from '../../src/devnet/accounts.js'
import { aSignedPayment } from '../support/a-signed-payment.js'
import { seriousFindings } from './support/accessibility.js'
import { type BrowserWorld, startBrowserWorld } from './support/browser-world.js'
import { settled } from './support/console-steps.js'

const markup = '<img src=x onerror=alert(1)><b>Bold</b>'
const link = 'https://buyer.example/%3Cb%3E?<script>alert(1)</script>'
let world: BrowserWorld

beforeAll(async () => {
  world = await startBrowserWorld()
  const [url, title] = [`${world.strangers.url}/weather`, `${markup} {{7*7}} javascript:alert(1)`]
  await world.list('hostile-house', {
    name: markup,
    description: `${markup} [click](javascript:alert(1)) <script>alert(1)</script>`,
    endpoints: [
      {
        url,
        method: 'GET',
        title,
        description: '"><svg onload=alert(1)>',
        price: '10000',
        tags: ['<i>tag</i>'],
        example: { queryParams: { q: "'; rm -rf / #$(id)" } },
      },
    ],
  })
  // A rating of a payment by the devnet's payer, with markup in its tag and in the answer.
  const payment = await aSignedPayment()
  Object.assign(payment.paymentPayload, { resource: { url } })
  await world.post('/settle', payment)
  const { nonce } = payment.paymentPayload.payload.authorization
  const { id } = await rate(world.origin, {
    signer: devnetPayer.account,
    payment: { network: 'eip155:5042', nonce: nonce as Hex },
    ...{ resource: url, score: 12, tag: '<b>Bold</b>', link },
  })
  await world.client(devnetMerchant.account).answerRating('hostile-house', id, markup)
})
afterAll(() => world?.stop())

describe('a listing with markup in every text', () => {
  it.each(['/', '/merchants/hostile-house'])('is shown as text at %s', async (path) => {
    const { page, faults } = await world.open()
    page.on('dialog', (dialog) => faults.push(`dialog: ${dialog.message()}`))
    await page.goto(path)
    await settled(page)
    await page.getByText('<b>Bold</b>').first().waitFor()
    const harm = await page.evaluate(() =>
      [
        ...document.querySelectorAll(
          'main img, main b, main script, main i, a[href^="javascript"]',
        ),
      ].map(({ outerHTML }) => outerHTML),
    )
    expect(harm).toEqual([])
    // The head is the server's: a title, a description and data that the policy for scripts leaves alone.
    const data = await page.locator('head script[type="application/ld+json"]').textContent()
    expect(JSON.parse(data ?? '')).toMatchObject({ '@type': 'Service' })
    expect(await page.locator('head meta[name="description"]').count()).toBe(1)
    expect(await page.locator('head img, head svg, head b').count()).toBe(0)
    expect(faults).toEqual([])
  })

  it.each([
    [390, 'light'],
    [1280, 'dark'],
  ] as const)('is rated in text, at %i px, in the %s theme', async (width, theme) => {
    const { page, faults } = await world.open({ width, theme })
    await page.goto('/merchants/hostile-house')
    await page.getByText('Rated 12 of 100 from 1 payment by 1 buyer').waitFor()
    await page.getByText('Read the ratings').focus()
    await page.keyboard.press('Enter')
    const rating = page.getByRole('listitem').filter({ hasText: 'The seller answers:' }).last()
    await rating.getByText(markup).waitFor()
    expect(await rating.locator('b, img, script').count()).toBe(0)
    const out = rating.getByRole('link', { name: /buyer\.example/ })
    expect(await out.getAttribute('rel')).toBe('noopener noreferrer nofollow ugc')
    expect(await seriousFindings(page)).toEqual([])
    const overflow = await page.evaluate(
      () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
    )
    expect(overflow).toBe(0)
    expect(faults).toEqual([])
  })
})
