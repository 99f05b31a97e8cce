import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { stringify } from 'yaml'
import { devnetMerchant } from '../../src/devnet/accounts.js'
import { seriousFindings } from './support/accessibility.js'
import { type BrowserWorld, startBrowserWorld } from './support/browser-world.js'
import { reasonToSkip } from './support/chromium.js'
import { connectWallet, review, settled, signIn } from './support/console-steps.js'
import { createTestWallet } from './support/test-wallet.js'

const skipped = reasonToSkip()
const folder = mkdtempSync(join(tmpdir(), 'arcus-openapi-'))
let world: BrowserWorld

beforeAll(async () => {
  if (skipped === undefined) world = await startBrowserWorld()
})
afterAll(async () => {
  rmSync(folder, { recursive: true })
  await world?.stop()
})

const fern = () => createTestWallet({ name: 'Fern', account: devnetMerchant.account })

function aFile(name: string, write: (document: unknown) => string): string {
  const city = { name: 'city', in: 'query', schema: { type: 'string', example: 'Lisbon' } }
  const document = {
    openapi: '3.1.0',
    info: { title: 'Imported House', description: 'From a file' },
    servers: [{ url: world.strangers.url }],
    paths: {
      '/weather/now': { get: { summary: 'Weather now', parameters: [city] } },
      '/post-only/air': { post: { summary: 'Air' } },
      '/free/lunch': { get: { summary: 'Lunch' } },
      '/weather/then': { get: { summary: 'Not wanted' }, trace: {} },
      '/weather/note': { put: { summary: 'Note' } },
    },
  }
  const path = join(folder, name)
  writeFileSync(path, write(document))
  return path
}

describe.skipIf(skipped !== undefined)('an OpenAPI file', () => {
  it.each([
    ['openapi.json', JSON.stringify],
    ['openapi.yaml', stringify],
  ] as const)(
    '%s becomes a listing: operations are chosen, probed, filled in and signed once',
    async (name, write) => {
      const wallet = fern()
      const { page, faults, close } = await world.open({ wallets: [wallet] })
      await page.goto('/console/new')
      await connectWallet(page, 'Fern')
      await page.getByText('Import from an OpenAPI file').click()
      await page.getByLabel('OpenAPI file').setInputFiles(aFile(name, write))
      await page.getByText('1 cannot be listed').waitFor()
      expect(await seriousFindings(page)).toEqual([])
      await page.getByRole('checkbox', { name: /Not wanted/ }).uncheck()
      await page.getByRole('button', { name: 'Check and add 4' }).click()
      await page.getByText('3 added below, 1 left out').waitFor()
      await page.getByText(/free\/lunch: Does not ask for payment/).waitFor()
      const id = `imported-${name.replace('.', '-')}`
      expect(await page.getByLabel('Name').inputValue()).toBe('Imported House')
      expect(await page.getByLabel('Price in USDC').first().inputValue()).toBe('0.01')
      // A PUT is never called, so its price is for the owner to enter.
      await page.getByText(/Enter the prices of PUT/).waitFor()
      await page.getByLabel('Price in USDC').last().fill('0.07')
      await page.getByLabel('Id', { exact: true }).fill(id)
      await review(page)
      await page.getByRole('button', { name: 'Sign and list' }).click()
      await page.getByRole('heading', { name: 'Listed' }).waitFor()
      const { body } = await world.get(`/api/merchants/${id}`)
      expect(body.endpoints).toMatchObject([
        {
          title: 'Weather now',
          method: 'GET',
          price: '10000',
          example: { queryParams: { city: 'Lisbon' } },
          inputSchema: { properties: { city: { type: 'string' } } },
        },
        { title: 'Air', method: 'POST', price: '50000' },
        { title: 'Note', method: 'PUT', price: '70000', state: { status: 'unverified' } },
      ])
      expect(wallet.signed).toHaveLength(1)
      expect(faults).toEqual([])
      await close()
    },
  )

  it('is refused with a reason if it is not OpenAPI 3', async () => {
    const { page, close } = await world.open({ wallets: [fern()] })
    await page.goto('/console/new')
    await page.getByText('Import from an OpenAPI file').click()
    await page
      .getByLabel('OpenAPI file')
      .setInputFiles(aFile('old.json', () => '{"swagger":"2.0"}'))
    await page.getByText('This is not an OpenAPI file').waitFor()
    await close()
  })
})

describe.skipIf(skipped !== undefined)('the prices of an endpoint', () => {
  it('stand side by side: listed, asked for at the last check, and paid', async () => {
    const url = `${world.strangers.url}/tides/dear`
    await world.list('price-house', {
      endpoints: [{ url, method: 'GET', title: 'Dear tides', price: '30000' }],
    })
    await world.pay(url, { value: 2_500n })
    const { page, close } = await world.open({ wallets: [fern()] })
    await page.goto('/console/price-house')
    await connectWallet(page, 'Fern')
    await signIn(page)
    await page.getByRole('navigation', { name: 'Listing' }).getByText('Endpoints').click()
    await settled(page)
    const figures = page.getByRole('listitem').filter({ hasText: 'Dear tides' }).locator('dl > div')
    await expect
      .poll(() => figures.allTextContents())
      .toEqual(['Listed$0.03', 'Asked$0.0025', 'Paid, 30 days$0.0025'])
    await page.getByText(/asks for another price than the listing/).waitFor()
    await close()
  })
})
