import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type BrowserWorld, startBrowserWorld } from './support/browser-world.js'
import { settled } from './support/console-steps.js'

const markup = '<img src=x onerror=alert(1)><b>Bold</b>'
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
})
