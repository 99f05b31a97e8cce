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
import { settled } from './support/console-steps.js'

let world: BrowserWorld
/** Inside the repository, so that the programs find the official packages. */
const folder = mkdtempSync(join(import.meta.dirname, 'guide-'))
let shop: ChildProcess | undefined

beforeAll(async () => {
  world = await startBrowserWorld()
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

describe('the docs', () => {
  it('are reached from every page, and lead to each other', async () => {
    const { page, faults } = await world.open()
    await page.goto('/status')
    const open = (nav: string, name: string) =>
      page.getByRole('navigation', { name: nav, exact: true }).getByRole('link', { name }).click()
    await open('Main', 'Docs')
    await page.getByRole('heading', { level: 1, name: 'How it works' }).waitFor()
    for (const [name, heading] of [
      ['Sell', 'Sell an API'],
      ['Buy', 'Buy from an API'],
      ['Agent', 'Find and pay as an agent'],
      ['Operate', 'Running Arcus'],
    ] as const) {
      await open('Docs', name)
      await page.getByRole('heading', { level: 1, name: heading }).waitFor()
      expect(await page.title()).toBe(`${heading} · Arcus`)
    }
    await open('Docs', 'How it works')
    await page.getByRole('link', { name: 'let an agent buy' }).click()
    await page.waitForURL('**/quickstart?part=agent')
    expect(faults).toEqual([])
  })

  it('have the runbook, to which the status leads, with a place for each alert', async () => {
    const { page, faults } = await world.open()
    await page.goto('/status')
    await page.getByRole('link', { name: 'each fault' }).click()
    const fault = page.getByRole('heading', { name: 'What can fail' })
    await fault.waitFor()
    await expect.poll(async () => (await fault.boundingBox())?.y).toBeLessThan(200)
    await page.goto('/operations#arcusdisklow')
    const alert = page.getByRole('row', { name: /^ArcusDiskLow page/ })
    await alert.waitFor()
    await expect.poll(async () => (await alert.boundingBox())?.y).toBeLessThan(200)
    await alert.getByText('Make room: nothing but payments is kept.').waitFor()
    expect(faults).toEqual([])
  })

  it('show a shop and a buyer that run as they are, and one cent moves', async () => {
    const { page } = await world.open()
    const port = await freePort()
    const code = await codeOn(page, '/quickstart', 'Express: server.mjs')
    expect(code).toContain(world.origin)
    const server = keep('shop.mjs', code.replaceAll('3000', String(port)))
    const buyer = keep(
      'buyer.mjs',
      await codeOn(page, '/quickstart?part=buy', 'With fetch: buy.mjs'),
    )
    shop = spawn(process.execPath, [server], {
      env: { ...process.env, PAY_TO: devnetMerchant.address },
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
    expect(stdout).toMatch(/^200 .*penny[\s\S]*paid in 0x[0-9a-f]{64}/)
    expect((await usdcBalance(world.chainUrl, devnetMerchant.address)) - before).toBe(10_000n)
  })

  it('show no public key and no public address where money is real', async () => {
    const { page } = await world.open()
    await page.route('**/api/console', async (route) => {
      const response = await route.fetch()
      await route.fulfill({ response, json: { ...(await response.json()), devnet: false } })
    })
    for (const part of ['sell', 'buy', 'agent']) {
      await page.goto(`/quickstart?part=${part}`)
      await settled(page)
      const text = await page.getByRole('main').innerText()
      expect(text).toContain(world.origin)
      expect(text).not.toContain(devnetPayer.privateKey)
      expect(text).not.toContain(devnetMerchant.address)
      expect(text).not.toContain('npm run dev')
      await page.getByText('faucet.circle.com').waitFor()
    }
  })

  it('copy the address of the MCP server', async () => {
    const { page, context } = await world.open()
    await context.grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.goto('/quickstart?part=agent')
    await page.getByRole('button', { name: 'Copy MCP server' }).click()
    await page.getByText('Copied', { exact: true }).waitFor({ state: 'attached' })
    const copied = await page.evaluate(() => navigator.clipboard.readText())
    expect(copied).toMatch(/^http:\/\/[^/]+\/mcp$/)
  })
})
