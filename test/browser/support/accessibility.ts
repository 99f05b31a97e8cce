import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

interface Finding {
  id: string
  impact: string
  help: string
  nodes: { target: string[]; failureSummary: string }[]
}

/** Returns the serious and critical findings of axe-core (WCAG 2.2 AA), one line each. */
export async function seriousFindings(page: Page): Promise<string[]> {
  // The debugger evaluates it, so the content policy of the page does not apply.
  await page.evaluate(source)
  const violations = await page.evaluate(async () => {
    const { axe } = window as Window &
      typeof globalThis & {
        axe: { run(root: Document, options: unknown): Promise<{ violations: Finding[] }> }
      }
    const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']
    return (await axe.run(document, { runOnly: tags })).violations
  })
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, help, nodes }) =>
      nodes.map(({ target, failureSummary }) => `${id}: ${help} at ${target} (${failureSummary})`),
    )
}
