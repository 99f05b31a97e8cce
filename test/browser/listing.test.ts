import { getAddress } from 'viem'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { devnetMerchant, devnetPayer } from '../../src/devnet/accounts.js'
import { owners } from './support/a-directory.js'
import { type BrowserWorld, startBrowserWorld } from './support/browser-world.js'
import {
  accountButton,
  changeByHand,
  checkEndpoint,
  connectWallet,
  openRow,
  review,
  settled,
  sign,
  signIn,
  switchWallet,
} from './support/console-steps.js'
import { deployContractWallet } from './support/contract-wallet.js'
import { hasFocus } from './support/keys.js'
import type { PageOptions } from './support/open-page.js'
import { createTestWallet } from './support/test-wallet.js'

let world: BrowserWorld

beforeAll(async () => {
  world = await startBrowserWorld()
})
afterAll(() => world?.stop())

/** Opens a page, which must have no faults at the end of the test. */
async function open(options: PageOptions) {
  const { page, faults } = await world.open(options)
  onTestFinished(() => expect(faults).toEqual([]))
  return page
}

const fern = () => createTestWallet({ name: 'Fern', account: devnetMerchant.account })
const discovered = async (id: string) =>
  (await world.get(`/discovery/resources?merchant=${id}`)).body.items
const signatures = ({ requests }: ReturnType<typeof fern>) =>
  requests.filter(({ method }) => method === 'eth_signTypedData_v4')

describe('listing an API', () => {
  it('takes a connection, a URL, a review and one signature, and discovery has it', async () => {
    const wallet = fern()
    const page = await open({ wallets: [wallet] })
    await page.goto('/console')
    await connectWallet(page, 'Fern')
    await page.getByRole('link', { name: 'Sell your API' }).first().click()
    await checkEndpoint(page, `${world.strangers.url}/header-only`)
    await page.getByRole('definition').filter({ hasText: '0.01 USDC' }).waitFor()
    expect(await page.getByLabel('Payout address').inputValue()).toBe(devnetMerchant.address)
    // The id cannot be changed later, so it waits for a name.
    expect(await page.getByLabel('Id', { exact: true }).inputValue()).toBe('')
    expect(await page.getByLabel('Id', { exact: true }).isDisabled()).toBe(true)
    await page.getByLabel('Name').fill('Head House')
    await page.getByLabel('Title').fill('A head')
    expect(await page.getByLabel('Id', { exact: true }).inputValue()).toBe('head-house')
    await review(page)
    await page.getByText('Head House').first().waitFor()
    await sign(page)
    await page.waitForURL('**/console/head-house?saved')
    await page.getByText('Live in the directory').waitFor()
    expect(await discovered('head-house')).toMatchObject([
      { resource: `${world.strangers.url}/header-only`, metadata: { title: 'A head' } },
    ])
    expect(signatures(wallet)).toHaveLength(1)
    expect(wallet.signed[0]?.message).toMatchObject({
      action: 'listing.create',
      audience: world.origin,
      merchantId: 'head-house',
      payTo: devnetMerchant.address.toLowerCase(),
    })
    expect(wallet.requests.map(({ method }) => method)).not.toContain('eth_sendTransaction')
  })

  it('finds the method of a POST endpoint, and the scheme of this machine', async () => {
    const page = await open({ wallets: [fern()] })
    await page.goto('/console/new')
    const { host } = new URL(world.strangers.url)
    await checkEndpoint(page, `${host}/post-only/ask`)
    await page.getByRole('definition').filter({ hasText: '0.05 USDC' }).waitFor()
    await changeByHand(page)
    expect(await page.getByLabel('Method').inputValue()).toBe('POST')
  })

  it('waits for a slow endpoint', async () => {
    const page = await open({ wallets: [fern()] })
    await page.goto('/console/new')
    await checkEndpoint(page, `${world.strangers.url}/slow`)
    await page.getByText(/may take five seconds/).waitFor()
    await page.getByText('It works: a call costs 0.01 USDC').waitFor()
  })

  it.each([
    ['/wrong-asset', /asks for payment in another token/i],
    ['/wrong-network', /asks for payment on another network/i],
    ['/free', /does not ask for payment/i],
    ['/moved', /sends callers to another address/i],
  ])('says why %s cannot be listed', async (path, words) => {
    const page = await open({})
    await page.goto('/console/new')
    await checkEndpoint(page, `${world.strangers.url}${path}`)
    const alert = page.getByRole('alert')
    await alert.getByText('It cannot be listed like this.').waitFor()
    expect(await alert.textContent()).toMatch(words)
  })

  it('takes a host without a dot for a typing error', async () => {
    const page = await open({})
    await page.goto('/console/new')
    await checkEndpoint(page, 'hello')
    await page.getByText('“hello” is not the name of a host').waitFor()
    expect(await page.getByLabel('URL of your API').getAttribute('aria-invalid')).toBe('true')
    expect(await page.getByRole('button', { name: 'Fill in by hand' }).count()).toBe(0)
  })

  it('by hand says that nothing is in the directory yet, and why', async () => {
    const page = await open({ wallets: [fern()] })
    await page.goto('/console')
    await connectWallet(page, 'Fern')
    await page.goto('/console/new')
    await checkEndpoint(page, `${world.strangers.url}/broken/hand`)
    await page.getByText('Nothing was saved.').waitFor()
    await page.getByRole('button', { name: 'Fill in by hand' }).click()
    await page.getByLabel('Title').fill('By hand')
    // Another URL is read like a pasted one, and what the owner wrote stays.
    const url = await page.getByLabel('URL', { exact: true }).inputValue()
    await page.getByLabel('URL', { exact: true }).fill(`${world.strangers.url}/tides/hand`)
    await page.getByRole('button', { name: 'Check By hand' }).click()
    await page.getByRole('definition').filter({ hasText: '0.0025 USDC' }).waitFor()
    await changeByHand(page)
    await page.getByLabel('URL', { exact: true }).fill(url)
    await page.getByLabel('Price in USDC').fill('0.01')
    await page.getByLabel('Name').fill('Hand House')
    await review(page)
    await sign(page)
    await page.getByText('Saved, not in the directory yet: not reachable').waitFor()
    expect(await discovered('hand-house')).toMatchObject([{ status: 'unverified' }])
  })

  it('checks the target of a redirect with one click', async () => {
    const page = await open({ wallets: [fern()] })
    await page.goto('/console/new')
    await checkEndpoint(page, `${world.strangers.url}/moved`)
    await page.getByRole('button', { name: 'Check that address' }).click()
    await page.getByText(/^It works/).waitFor()
    await changeByHand(page)
    expect(await page.getByLabel('URL', { exact: true }).inputValue()).toBe(
      `${world.strangers.url}/weather`,
    )
  })

  it('with another payout address than the 402 is refused beside the field, and the form keeps its texts', async () => {
    const wallet = fern()
    const page = await open({ wallets: [wallet] })
    await page.goto('/console')
    await connectWallet(page, 'Fern')
    await page.goto('/console/new')
    await checkEndpoint(page, `${world.strangers.url}/somebody-else`)
    await page.getByLabel('Title').fill('Not mine')
    await page.getByLabel('Name').fill('Crooked')
    await page.getByLabel('Payout address').fill(devnetMerchant.address)
    await review(page)
    await page.getByRole('button', { name: 'Sign and list' }).click()
    await page.getByText('Not saved: Arcus refused it').waitFor()
    expect(await page.getByLabel('Title').inputValue()).toBe('Not mine')
    const url = page.getByLabel('URL', { exact: true })
    expect(await url.getAttribute('aria-invalid')).toBe('true')
    await expect.poll(() => hasFocus(url)).toBe(true)
    expect(await discovered('crooked')).toEqual([])
  })

  it('keeps the draft after a refused signature and a reload', async () => {
    const wallet = fern()
    const page = await open({ wallets: [wallet] })
    await page.goto('/console')
    await connectWallet(page, 'Fern')
    await page.goto('/console/new')
    await checkEndpoint(page, `${world.strangers.url}/weather/kept`)
    await page.getByLabel('Name').fill('Kept House')
    await page.getByLabel('Title').fill('Kept')
    wallet.rejectNext('eth_signTypedData_v4')
    await review(page)
    await page.getByRole('button', { name: 'Sign and list' }).click()
    await page.getByText('You refused in the wallet.').waitFor()
    await page.getByRole('button', { name: 'Back to editing' }).click()
    expect(await page.getByLabel('Name').inputValue()).toBe('Kept House')
    // Neither a reload nor another account loses it.
    await page.reload()
    await page.getByText('This device kept your draft').waitFor()
    wallet.useAddress(devnetPayer.address)
    wallet.useAddress(devnetMerchant.address)
    expect(await page.getByLabel('Name').inputValue()).toBe('Kept House')
    expect(await page.getByLabel('Title').inputValue()).toBe('Kept')
    await review(page)
    await sign(page)
    expect(await discovered('kept-house')).toHaveLength(1)
    await page.goto('/console/new')
    await settled(page)
    expect(await page.getByText('This device kept your draft').count()).toBe(0)
  })
})

describe('an owner', () => {
  it('edits, sees the changes and signs them', async () => {
    await world.list('edit-house', { name: 'Edit House' })
    const wallet = fern()
    const page = await open({ wallets: [wallet] })
    await page.goto('/console')
    await connectWallet(page, 'Fern')
    await page.getByRole('link', { name: 'Edit House' }).click()
    await page.getByRole('link', { name: 'APIs', exact: true }).click()
    const row = page.getByRole('group', { name: 'Weather' })
    await row.getByText('Live').waitFor()
    await row.getByText('$0.01').waitFor()
    await row.getByText('not paid yet').waitFor()
    await openRow(page, 'Weather')
    expect(await page.getByLabel('Price in USDC').count()).toBe(0)
    await page.getByLabel('Title').fill('Weather, edited')
    await review(page)
    expect(await page.getByRole('deletion').allTextContents()).toContainEqual(
      expect.stringContaining('Weather'),
    )
    expect(await page.getByRole('insertion').allTextContents()).toContainEqual(
      expect.stringContaining('Weather, edited'),
    )
    await sign(page)
    await page.waitForURL('**/console/edit-house?saved')
    expect((await discovered('edit-house'))[0].metadata.title).toBe('Weather, edited')
    expect(wallet.signed[0]?.message).toMatchObject({ action: 'listing.update', revision: '2' })
  })

  it('on another chain is asked to switch as it signs, and the chain is added with a public node', async () => {
    await world.list('far-house', { name: 'Far House' })
    const wallet = createTestWallet({ name: 'Fern', account: devnetMerchant.account, chainId: 1 })
    const page = await open({ wallets: [wallet] })
    await page.goto('/console/far-house')
    await connectWallet(page, 'Fern')
    // Nothing warns before: the wallet switches with the signature.
    expect(await page.getByRole('status').getByText(/chain/).count()).toBe(0)
    await signIn(page)
    expect(wallet.chainId()).toBe(5042)
    const added = wallet.requests.find(({ method }) => method === 'wallet_addEthereumChain')
    expect(added?.params).toMatchObject([
      {
        chainId: '0x13b2',
        chainName: 'Arc',
        nativeCurrency: { name: 'USDC', symbol: 'USDC', decimals: 18 },
        rpcUrls: [world.chainUrl],
      },
    ])
  })

  it('who refuses to switch stays on their chain', async () => {
    await world.list('far-house', { name: 'Far House' })
    const wallet = createTestWallet({
      name: 'Fern',
      account: devnetMerchant.account,
      chainId: 1,
      knows: [5042],
    })
    const page = await open({ wallets: [wallet] })
    await page.goto('/console/far-house')
    await connectWallet(page, 'Fern')
    wallet.rejectNext('wallet_switchEthereumChain')
    await page.getByRole('button', { name: 'Sign in with the wallet' }).click()
    await page.getByText('You refused in the wallet.').waitFor()
    expect(wallet.chainId()).toBe(1)
  })

  it('chooses among wallets, and the page follows from one to the other', async () => {
    await world.list('first-house', { name: 'First House' })
    await world.list('second-house', { name: 'Second House' }, owners[0])
    const second = createTestWallet({ name: 'Moss', account: owners[0] as (typeof owners)[number] })
    const page = await open({ wallets: [fern(), second] })
    await page.goto('/console')
    await connectWallet(page, 'Moss')
    await page.getByRole('link', { name: 'Second House' }).waitFor()
    expect(await page.getByRole('link', { name: 'First House' }).count()).toBe(0)
    await switchWallet(page, 'Fern')
    await page.getByRole('link', { name: 'First House' }).waitFor()
    expect(await page.getByRole('link', { name: 'Second House' }).count()).toBe(0)
    await page.goto('/console/second-house/endpoints')
    await page.getByText('Another wallet owns this listing').waitFor()
  })

  it('who refuses to connect can choose again', async () => {
    const wallet = fern()
    wallet.rejectNext('eth_requestAccounts')
    wallet.rejectNext('wallet_requestPermissions')
    const page = await open({ wallets: [wallet] })
    await page.goto('/console')
    await page.getByRole('button', { name: 'Connect wallet', exact: true }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Fern' }).click()
    await page.getByText('You refused in the wallet.').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Fern' }).click()
    await accountButton(page).waitFor()
  })

  it('with a contract wallet lists like any other owner', async () => {
    const address = await deployContractWallet(world.chainUrl, devnetPayer)
    const wallet = createTestWallet({ name: 'Vault', account: devnetPayer.account, address })
    const page = await open({ wallets: [wallet] })
    await page.goto('/console')
    await connectWallet(page, 'Vault')
    await page.goto('/console/new')
    await checkEndpoint(page, `${world.strangers.url}/weather/vault`)
    await page.getByLabel('Name').fill('Vault House')
    await page.getByLabel('Title').fill('Vaulted')
    await review(page)
    await sign(page)
    expect((await world.get('/api/merchants/vault-house')).body.owner).toBe(getAddress(address))
  })

  it('has an endpoint checked by hand and sees the result', async () => {
    await world.list('probe-house', {
      name: 'Probe House',
      endpoints: [
        { url: `${world.strangers.url}/broken`, method: 'GET', title: 'Broken', price: '10000' },
      ],
    })
    const page = await open({ wallets: [fern()] })
    await page.goto('/console')
    await connectWallet(page, 'Fern')
    await page.goto('/console/probe-house/endpoints')
    await page.getByText(/Problem.*Not reachable/).waitFor()
    const answers: unknown[] = []
    await page.route('**/api/merchants/probe-house/probe', async (route) => {
      const response = await route.fetch()
      answers.push(await response.json())
      await route.fulfill({ response })
    })
    await page.getByRole('button', { name: 'Check Broken' }).click()
    await page.getByText(/500.*Checked just now/).waitFor()
    await expect.poll(() => answers).toMatchObject([{ endpoints: [{ state: 'probed' }] }])
  })

  it('sees a price that the API no longer asks, and lists it at the right one with one press', async () => {
    const url = `${world.strangers.url}/tides/dear`
    const endpoints = [{ url, method: 'GET' as const, title: 'Dear tides', price: '30000' }]
    await world.list('price-house', { name: 'Price House', endpoints })
    await world.pay(url, { value: 2_500n })
    const page = await open({ wallets: [fern()] })
    await page.goto('/console/price-house/endpoints')
    await connectWallet(page, 'Fern')
    const row = page.getByRole('group', { name: 'Dear tides' })
    await row.getByText(/Problem.*asks for 0\.0025 USDC/).waitFor()
    expect(await row.locator('del').textContent()).toContain('$0.03')
    await row.getByRole('button', { name: 'List it at 0.0025 USDC' }).click()
    await row.getByText(/Problem/).waitFor({ state: 'detached' })
    await review(page)
    await sign(page)
    expect((await world.get('/api/merchants/price-house')).body.endpoints[0].price).toBe('2500')
  })

  it('with another payout address has it confirm them, and sees a note until then', async () => {
    const [owner, paid] = [owners[0], devnetMerchant.account] as const
    await world.list('treasury-house', { name: 'Treasury House' }, owner)
    const page = await open({
      wallets: [createTestWallet({ name: 'Moss', account: owner as typeof paid }), fern()],
    })
    await page.goto('/console/treasury-house')
    await connectWallet(page, 'Moss')
    await page.getByText('Payments are not counted here yet').waitFor()
    await page.getByRole('link', { name: 'Confirm the payout address' }).click()
    const confirm = page.getByRole('button', { name: 'Sign and confirm' })
    await page.getByText('switch to the wallet of this address').waitFor()
    expect(await confirm.count()).toBe(0)
    await switchWallet(page, 'Fern')
    await confirm.click()
    await page.getByText('It has confirmed the owner.').waitFor()
    const { body } = await world.get('/api/merchants/treasury-house')
    expect(body.payToProof).toBe('confirmation')
  })
})
