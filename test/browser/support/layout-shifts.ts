import type { BrowserContext, Page } from 'playwright-core'

interface Shifts {
  sum: number
  /** The share of each shift, and what moved. */
  what: string[]
}

/** The entry of a shift, which the types of the browser do not have. */
interface LayoutShift extends PerformanceEntry {
  value: number
  hadRecentInput: boolean
  sources: { node?: Element | null }[]
}

/** Notes from now on what moves in the pages of a context without an input of the person right before. */
export async function watchShifts(context: BrowserContext): Promise<void> {
  await context.addInitScript(() => {
    const shifts: Shifts = { sum: 0, what: [] }
    Object.assign(window, { shifts })
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries() as LayoutShift[]) {
        if (entry.hadRecentInput) continue
        shifts.sum += entry.value
        for (const { node } of entry.sources) {
          shifts.what.push(`${entry.value.toFixed(3)} ${node?.nodeName} ${node?.className}`)
        }
      }
    }).observe({ type: 'layout-shift', buffered: true })
  })
}

/** Returns what has moved since the page was opened. */
export async function shiftsOf(page: Page): Promise<Shifts> {
  // Shifts are reported with the frame after the one that moved.
  await page.evaluate(() => new Promise((go) => requestAnimationFrame(() => setTimeout(go))))
  return page.evaluate(() => (window as Window & { shifts?: Shifts }).shifts as Shifts)
}
