import type { Locator, Page } from 'playwright-core'

export const hasFocus = (it: Locator) =>
  it.evaluate((element) => element === document.activeElement)

/** Presses Tab until the element has the focus. Throws if a keyboard cannot reach it. */
export async function tabTo(page: Page, it: Locator): Promise<void> {
  await it.waitFor()
  for (let presses = 0; presses < 60; presses++) {
    if (await hasFocus(it)) return
    await page.keyboard.press('Tab')
  }
  throw new Error('Tab does not lead there')
}

/** Goes to an element by Tab and presses a key there. */
export async function press(page: Page, it: Locator, key = 'Enter'): Promise<void> {
  await tabTo(page, it)
  await page.keyboard.press(key)
}
