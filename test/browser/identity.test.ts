import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { devnetMerchant } from '../../src/devnet/accounts.js'
import { devnetContracts } from '../../src/devnet/fixtures.js'
import { fillDirectory } from './support/a-directory.js'
import { fileOf, registerAgent } from './support/an-agent.js'
import { type BrowserWorld, startBrowserWorld } from './support/browser-world.js'
import { connectWallet } from './support/console-steps.js'
import { buyback } from './support/strangers.js'
import { createTestWallet } from './support/test-wallet.js'

const explorer = 'https://explorer.arc.io'
let world: BrowserWorld

beforeAll(async () => {
  world = await startBrowserWorld({ DEVNET: 'false' })
  await fillDirectory(world)
})
afterAll(() => world?.stop())

describe('an ERC-8004 agent', () => {
  it('is linked with one signature, shows its four checks, and is unlinked with another signature', async () => {
    await registerAgent(world.chainUrl, fileOf(1))
    await world.list('agent-house', { name: 'Agent House' })
    const wallet = createTestWallet({ name: 'Fern', account: devnetMerchant.account })
    const { page, faults } = await world.open({ wallets: [wallet] })
    await page.goto('/console/agent-house/settings')
    await connectWallet(page, 'Fern')
    await page.getByLabel('Agent id').fill('one')
    await page.getByRole('button', { name: 'Sign and link' }).click()
    await page.getByText('Give the number of the agent').waitFor()
    await page.getByLabel('Agent id').fill('1')
    await page.getByRole('button', { name: 'Sign and link' }).click()
    for (const check of ['Control', 'Payment', 'File', 'Domain']) {
      await page
        .getByRole('listitem')
        .filter({ hasText: `${check} passed` })
        .waitFor()
    }
    expect(wallet.signed[0]?.message).toMatchObject({ action: 'agent.link' })
    await page.goto('/merchants/agent-house')
    await page.getByText('Verified agent: 4 of 4 checks').first().waitFor()

    await page.goto('/console/agent-house/settings')
    await page.getByRole('button', { name: 'Sign and unlink' }).click()
    await page.getByText('The agent is unlinked.').waitFor()
    expect(wallet.signed).toHaveLength(2)
    expect(faults).toEqual([])
  })

  it('fails the check of control if the registry does not know it', async () => {
    await world.list('borrowed-house', { name: 'Borrowed House' })
    await world.client(devnetMerchant.account).linkAgent('borrowed-house', '77')
    const { page } = await world.open()
    await page.goto('/merchants/borrowed-house')
    await page.getByText('The registry has no agent with this id.').first().waitFor()
    expect(await page.getByText('Control not passed').count()).toBe(1)
    expect(await page.getByText('Verified agent').count()).toBe(0)
  })

  it('links to its entry in the registry', async () => {
    const { page } = await world.open()
    await page.goto('/merchants/penny-weather')
    const href = `${explorer}/token/${devnetContracts.identityRegistry}/instance/0`
    await page.locator(`a[href="${href}" i]`).waitFor()
  })
})

describe('an official merchant', () => {
  it('shows the buyback address with a link to the explorer', async () => {
    const { page } = await world.open()
    await page.goto('/merchants/arc-index')
    await page.getByText('Official', { exact: true }).first().waitFor()
    const row = page.locator('dl > div').filter({ hasText: 'Buyback address' })
    await row.locator(`a[href="${explorer}/address/${buyback}" i]`).waitFor()
    await row.getByText('goes to this public buyback wallet').waitFor()
    expect(await page.getByText('Nobody has reviewed it.').count()).toBe(0)
    await page.goto('/merchants/paper-trail')
    await page.getByText('Nobody has reviewed it.').waitFor()
  })
})
