import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { devnetMerchant, devnetPayer } from '../../src/devnet/accounts.js'
import { usdcBalance } from '../../src/devnet/fixtures.js'
import { freePort } from '../../src/devnet/process.js'
import { type BrowserWorld, startBrowserWorld } from './support/browser-world.js'
import { reasonToSkip } from './support/chromium.js'
import { settled } from './support/console-steps.js'

const skipped = reasonToSkip()
let world: BrowserWorld
/** Inside the repository, so that the programs find the official packages. */
const folder = mkdtempSync(join(import.meta.dirname, 'guide-'))
let shop: ChildProcess | undefined

beforeAll(async () => {
  if (skipped === undefined) world = await startBrowserWorld()
})
afterAll(async () => {
  shop?.kill('SIGKILL')
  rmSync(folder, { recursive: true })
  await world?.stop()
})

async function codeOn(page: Page, path: string, name: string): Promise<string> {
  await page.goto(path)
  await settled(page)
  return page.getByRole('region', { name, exact: true }).innerText()
}

function keep(name: string, code: string): string {
  const file = join(folder, name)
  writeFileSync(file, code)
  return file
}

describe.skipIf(skipped !== undefined)('the guides', () => {
  it('are reached from every page, and lead to each other', async () => {
    const { page, faults, close } = await world.open()
    await page.goto('/status')
    await page.getByRole('contentinfo').getByRole('link', { name: 'How it works' }).click()
    for (const name of ['How it works', 'For merchants', 'For agents', 'For operators']) {
      await page.getByRole('navigation', { name: 'Guides', exact: true }).getByText(name).click()
      await page.getByRole('heading', { level: 1, name }).waitFor()
      expect(await page.title()).toBe(`${name} · Arcus`)
    }
    await page.getByRole('navigation', { name: 'Guides', exact: true }).getByText('How').click()
    await page.getByText('A play wallet pays').getByRole('link', { name: 'directory' }).click()
    await page.getByRole('heading', { level: 1, name: 'Directory' }).waitFor()
    expect(faults).toEqual([])
    await close()
  })

  it('show a shop and a buyer that run as they are, and one cent moves', async () => {
    const { page, close } = await world.open()
    const port = await freePort()
    const server = keep('shop.mjs', await codeOn(page, '/for/merchants', 'shop'))
    const buyer = keep('buyer.mjs', await codeOn(page, '/for/agents', 'buyer'))
    shop = spawn(process.execPath, [server], {
      env: { ...process.env, PORT: String(port), PAY_TO: devnetMerchant.address },
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    const url = `http://localhost:${port}/quote`
    const isOpen = () =>
      fetch(url).then(
        ({ status }) => status === 402,
        () => false,
      )
    while (!(await isOpen())) await new Promise((resolve) => setTimeout(resolve, 100))

    const before = await usdcBalance(world.chainUrl, devnetMerchant.address)
    const { stdout } = await promisify(execFile)(process.execPath, [buyer, url], {
      env: { ...process.env, PAYER_KEY: devnetPayer.privateKey },
    })
    expect(stdout).toMatch(/^200 .*Measure twice[\s\S]*paid in 0x[0-9a-f]{64}/)
    expect((await usdcBalance(world.chainUrl, devnetMerchant.address)) - before).toBe(10_000n)

    // The shop declares the discovery extension, so it is in the directory now.
    await page.goto('/for/merchants')
    await page.getByLabel('Address of your endpoint').fill(url)
    await page.getByRole('button', { name: 'Check' }).click()
    await page.getByText(/Your endpoint (asks for payment correctly|works)/).waitFor()
    await page.getByText('$0.01', { exact: true }).waitFor()
    expect(await page.getByText('In the directory:').locator('..').innerText()).not.toMatch(
      /not listed/i,
    )
    await close()
  })

  it('say what is wrong with a 402, without a wallet', async () => {
    const { page, close } = await world.open()
    await page.goto('/for/merchants')
    const check = async (path: string, answer: string) => {
      await page.getByLabel('Address of your endpoint').fill(world.strangers.url + path)
      await page.getByRole('button', { name: 'Check' }).click()
      await page.getByText(answer).first().waitFor()
    }
    await check('/weather/today', 'Your endpoint')
    await check('/free', 'Does not ask for payment')
    await check('/wrong-network', 'Asks for payment on another network')
    await page.getByText('In the directory:').waitFor()
    await page.getByLabel('Address of your endpoint').fill('no address')
    await page.getByRole('button', { name: 'Check' }).click()
    await page.getByText('It could not be checked').waitFor()
    await page.getByText('Write the whole address').waitFor()
    await page.getByLabel('Address of your endpoint').fill('api.example.com/quote')
    await page.getByRole('button', { name: 'Check' }).click()
    await page.getByText('Write the whole address').waitFor()
    await close()
  })

  it('copy the address of the MCP server', async () => {
    const { page, context, close } = await world.open()
    await context.grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.goto('/for/agents')
    await page.getByRole('button', { name: 'Copy MCP server' }).click()
    await page.getByText('Copied', { exact: true }).waitFor({ state: 'attached' })
    const copied = await page.evaluate(() => navigator.clipboard.readText())
    expect(copied).toMatch(/^http:\/\/[^/]+\/mcp$/)
    await close()
  })
})
