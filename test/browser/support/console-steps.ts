import type { Page } from 'playwright-core'

/** Waits until the page shows what it has: a heading, nothing that still loads, fonts drawn. */
export async function settled(page: Page): Promise<void> {
  await page.getByRole('heading', { level: 1 }).waitFor()
  await page.waitForFunction(() => {
    const loading = '[aria-busy="true"], [role="status"][aria-label^="Loading"]'
    return document.querySelector(loading) === null
  })
  await page.evaluate(() => document.fonts.ready.then(() => undefined))
}

/** Through the console's own picker. */
export async function connectWallet(page: Page, name: string): Promise<void> {
  await page
    .getByRole('button', { name: /connect/i })
    .first()
    .click()
  await page.getByRole('button', { name: new RegExp(name) }).click()
}

/** Signs the message that opens the private figures. */
export async function signIn(page: Page): Promise<void> {
  await page.getByRole('button', { name: /sign in/i }).click()
}
