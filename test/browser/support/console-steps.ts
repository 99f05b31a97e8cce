import type { Page } from 'playwright-core'

/** Waits until the page has a heading, nothing loads any more and the fonts are drawn. */
export async function settled(page: Page): Promise<void> {
  await page.getByRole('heading', { level: 1 }).waitFor()
  await page.waitForFunction(() => {
    const loading = '[aria-busy="true"], [role="status"][aria-label^="Loading"]'
    return document.querySelector(loading) === null
  })
  await page.evaluate(() => document.fonts.ready.then(() => undefined))
}

/** Connects a wallet through the picker of the console. */
export async function connectWallet(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name: 'Connect wallet', exact: true }).click()
  await pickWallet(page, name)
}

/** The button that opens the menu of the connected account. */
export const accountButton = (page: Page) => page.getByRole('button', { name: /^Account 0x/ })

export async function chooseInAccountMenu(page: Page, name: string): Promise<void> {
  await accountButton(page).click()
  await page.locator('[popover]').getByRole('button', { name }).click()
}

export async function switchWallet(page: Page, name: string): Promise<void> {
  await chooseInAccountMenu(page, 'Switch wallet')
  await pickWallet(page, name)
}

async function pickWallet(page: Page, name: string): Promise<void> {
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('button', { name }).click()
  await dialog.waitFor({ state: 'detached' })
}

/** Signs in to see the private figures of a listing that the connected wallet owns. */
export async function signIn(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Sign in with the wallet' }).click()
  await page.getByRole('heading', { name: 'Activity' }).waitFor()
}

/** Pastes the URL of an API and has the console check it. */
export async function checkEndpoint(page: Page, url: string): Promise<void> {
  await page.getByLabel(/^URL of/).fill(url)
  await page.getByRole('button', { name: 'Check', exact: true }).click()
}

export async function review(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Check and sign' }).click()
  await page.getByRole('heading', { name: /^Check and sign|^Nothing changes/ }).waitFor()
}

/** Signs what is reviewed, and waits until the page says that it is saved. */
export async function sign(page: Page): Promise<void> {
  await page.getByRole('button', { name: /^Sign and (list|save)/ }).click()
  await page.getByRole('region', { name: 'Saved' }).waitFor()
}

/** Opens the fields that are text once an API was checked. */
export async function changeByHand(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Change', exact: true }).click()
}

/** Opens the fields of a listed API. */
export async function openRow(page: Page, title: string): Promise<void> {
  await page.getByRole('group', { name: title, exact: true }).locator('[aria-expanded]').click()
}
