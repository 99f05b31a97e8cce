import Sqlite from 'better-sqlite3'
import type { Locator } from 'playwright-core'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { devnetMerchant, devnetPayer } from '../../src/devnet/accounts.js'
import { devnetContracts, mintUsdc } from '../../src/devnet/fixtures.js'
import { freePort } from '../../src/devnet/process.js'
import { startSampleApi } from '../../src/devnet/sample-api.js'
import { seriousFindings } from './support/accessibility.js'
import { type BrowserWorld, startBrowserWorld } from './support/browser-world.js'
import { connectWallet, settled, signIn } from './support/console-steps.js'
import { createTestWallet } from './support/test-wallet.js'

const key = generatePrivateKey()
let world: BrowserWorld
let sample: Awaited<ReturnType<typeof startSampleApi>>
/** The time between a check that delivered and the moment at which the page is read. */
const THREE_DAYS = 3 * 86_400

interface Check {
  at: number
  ms: number
  reason: string
  transaction: string
}

const database = (change: (database: Sqlite.Database) => void) => {
  const opened = new Sqlite(world.databasePath)
  change(opened)
  opened.close()
}
/** Lets the minute between two checks pass. */
const passMinute = () =>
  database((it) => it.exec('UPDATE paid_checks SET started_at = started_at - 61'))

const checksOf = async (index: number): Promise<Check[]> => {
  const { endpoints } = (await world.get('/api/merchants/shop')).body
  const path = `/api/merchants/shop/endpoints/${endpoints[index].state.id}/checks`
  return (await world.get(path)).body.checks
}

/** Waits until an API of the shop has so many checks. */
const untilChecked = (index: number, count: number) =>
  vi.waitFor(
    async () => {
      passMinute()
      const checks = await checksOf(index)
      expect(checks).toHaveLength(count)
      return checks[0] as Check
    },
    { timeout: 40_000, interval: 500 },
  )

beforeAll(async () => {
  world = await startBrowserWorld({ CHECK_PRIVATE_KEYS: key, CHECK_DAILY_USD: '5' })
  await mintUsdc(world.chainUrl, privateKeyToAccount(key).address, 1_000_000n)
  sample = await startSampleApi({
    port: await freePort(),
    facilitatorUrl: world.url,
    payTo: devnetMerchant.address,
    assets: devnetContracts,
    network: 'eip155:5042',
  })
  const api = { method: 'GET' as const, price: '10000' }
  await world.list('shop', {
    name: 'Shop of lines',
    endpoints: [
      { ...api, url: `${sample.url}/quote`, title: 'A line' },
      { ...api, url: `${sample.url}/broken`, title: 'No line' },
    ],
  })
  await untilChecked(0, 1)
  await untilChecked(1, 1)
})
afterAll(async () => {
  await sample?.stop()
  await world?.stop()
})

describe('the paid checks of an API', () => {
  it('are on its page, with time, transaction, and what was wrong', async () => {
    const [delivered] = await checksOf(0)
    const [failed] = await checksOf(1)
    const at = (delivered?.at ?? 0) - THREE_DAYS
    database((it) =>
      it
        .prepare(
          // The service writes its answer again after a change of this kind.
          `UPDATE endpoints SET delivery = json_set(delivery, '$.last.at', ?), next_probe_at = next_probe_at + 1
           WHERE title = 'A line'`,
        )
        .run(at),
    )
    const { page, faults } = await world.open()
    await page.goto('/merchants/shop')
    await settled(page)
    const line = page.getByText(`Bought here 3 days ago: delivered in ${delivered?.ms} ms`)
    await line.waitFor()
    const link = line.locator('..').getByRole('link')
    expect(await link.getAttribute('href')).toBe(`/payments/${delivered?.transaction}`)
    // The transaction leads to the payment that was made.
    await link.click()
    await page.getByText('The seller has the money. This is final.').waitFor()
    await page.goBack()
    await page.getByRole('button', { name: /^No line/ }).click()
    const wrong = page.getByText(
      /^Bought here .*\d{4}.*UTC: not delivered, it answered with an error$/,
    )
    await wrong.waitFor()
    expect(await wrong.locator('..').getByRole('link').getAttribute('href')).toBe(
      `/payments/${failed?.transaction}`,
    )
    expect(await wrong.locator('time').getAttribute('datetime')).toBe(
      new Date((failed?.at ?? 0) * 1_000).toISOString(),
    )
    expect(await seriousFindings(page)).toEqual([])
    expect(faults).toEqual([])
  })

  it('are in the console of the owner, who asks for another one with a signature', async () => {
    const wallet = createTestWallet({ name: 'Fern', account: devnetMerchant.account })
    const { page, faults } = await world.open({ wallets: [wallet] })
    await page.goto('/console/shop')
    await connectWallet(page, 'Fern')
    await signIn(page)
    await page.getByText('An API did not deliver when Arcus bought from it').waitFor()
    await page.getByRole('link', { name: 'See why' }).click()
    const row = (name: string) => page.getByRole('group', { name, exact: true })
    await row('A line')
      .getByText(/^Bought here .*: delivered in \d+ ms$/)
      .waitFor()
    await row('No line')
      .getByText(/UTC: not delivered, it answered with an error$/)
      .waitFor()

    const before = wallet.signed.length
    wallet.rejectNext('eth_signTypedData_v4')
    const ask = row('No line').getByRole('button', { name: /^Ask for a paid check/ })
    await ask.click()
    await row('No line').getByText('You refused in the wallet.').waitFor()
    await ask.click()
    await row('No line').getByText('You may ask 2 times more within a day.').waitFor()
    expect(wallet.signed.slice(before).map(({ message }) => message.action)).toEqual([
      'check.request',
    ])
    expect(await seriousFindings(page)).toEqual([])
    const again = await untilChecked(1, 2)
    // The page shows the new check by itself, and the owner may ask again.
    await ask.waitFor()
    expect(await row('No line').locator('p time').first().getAttribute('datetime')).toBe(
      new Date(again.at * 1_000).toISOString(),
    )
    expect(faults).toEqual([])
  })

  it('are asked for by nobody but the owner', async () => {
    const wallet = createTestWallet({ name: 'Moss', account: devnetPayer.account })
    const { page } = await world.open({ wallets: [wallet] })
    await page.goto('/console/shop/endpoints')
    await connectWallet(page, 'Moss')
    await page.getByText(/^Bought here .*: delivered/).waitFor()
    expect(await page.getByRole('button', { name: /^Ask for a paid check/ }).count()).toBe(0)
  })
})

describe('an API with a fault', () => {
  const faults = [
    ['Did not deliver', `delivery = (SELECT delivery FROM endpoints WHERE title = 'No line')`],
    [
      'Failing, 1 of 3',
      `failures = 1, probe = json_set(probe, '$.verdict', 'unreachable'), delivery = NULL`,
    ],
    ['Price differs', `accepts = json_set(accepts, '$[0].amount', '20000'), delivery = NULL`],
    [
      'Cannot be paid',
      `probe = json_set(probe, '$.warnings', json_array('wrong_domain')), delivery = NULL`,
    ],
  ] as const

  it.each(faults)('is live on no page: each one says “%s”', async (name, change) => {
    const id = `dud-${name.toLowerCase().replace(/\W+/g, '-')}`
    const title = `Dud: ${name}`
    const url = `${world.strangers.url}/weather/${id}`
    await world.list(id, {
      name: `House of ${id}`,
      endpoints: [{ url, method: 'GET', title, price: '10000' }],
    })
    database((it) =>
      it.exec(
        `UPDATE endpoints SET ${change}, next_probe_at = next_probe_at + 1 WHERE title = '${title}'`,
      ),
    )
    const wallet = createTestWallet({ name: 'Fern', account: devnetMerchant.account })
    const { page } = await world.open({ wallets: [wallet] })
    const expectIn = async (place: Locator) => {
      await place.getByText(name, { exact: true }).first().waitFor()
      expect(await place.getByText(/^(1 )?live$/i).count()).toBe(0)
    }
    await page.goto(`/?query=${encodeURIComponent(title)}`)
    await expectIn(page.getByRole('row', { name: title }))
    await page.goto(`/merchants/${id}`)
    await expectIn(page.getByRole('main'))
    await page.goto('/console')
    await connectWallet(page, 'Fern')
    await expectIn(page.getByRole('listitem').filter({ hasText: id }))
    await page.goto(`/console/${id}/endpoints`)
    await expectIn(page.getByRole('group', { name: title, exact: true }))
    await page.goto(`/console/${id}`)
    await signIn(page)
    await page.getByText('Revenue').first().waitFor()
    expect(await page.getByRole('main').getByText('Live', { exact: true }).count()).toBe(0)
  })
})
