import { readFileSync, writeFileSync } from 'node:fs'
import { type RouteCost, routeCosts, usualCost } from '@arcus/protocol/answers/costs'
import { reasons, reasonsNotProduced } from '@arcus/protocol/x402/reasons'

/** Writes the tables of the documentation that the code has; with `--check` it only reports whether that is needed. */
const codesPage = new URL('../docs/reasons.md', import.meta.url)
const operationsPage = new URL('../docs/operations.md', import.meta.url)

const sources = [
  ['x402', 'the current TypeScript reference'],
  ['x402-spec', 'x402 v2, section 9'],
  ['arcus', 'Arcus alone'],
] as const

/** Lists the codes of one source. */
function codesOf(source: (typeof sources)[number][0]): string {
  return Object.values(reasons)
    .filter((it) => it.source === source)
    .map(({ code, status, meaning }) => {
      const before = status === 200 ? '' : `**${status}.** `
      return `- \`${code}\`: ${before}${meaning}`
    })
    .join('\n')
}

const codes = `# Codes

This page is for everybody who reads \`invalidReason\` of \`/verify\` or \`errorReason\` of \`/settle\`. A payment that fails a check is a 200; any other status is named. \`npm run tables\` writes the page from \`packages/protocol/src/x402/reasons.ts\`.

${sources.map(([source, title]) => `## Codes of ${title}\n\n${codesOf(source)}`).join('\n\n')}

While the service stops, a request on a kept-alive connection is answered 503 with \`unexpected_verify_error\` or
\`unexpected_settle_error\` and \`Retry-After\`: nothing was done with it.

## Codes of the protocol that are never given

${Object.entries(reasonsNotProduced)
  .map(([code, why]) => `- \`${code}\`: ${why}.`)
  .join('\n')}
`

const parts: [keyof RouteCost, string][] = [
  ['request', 'for the request'],
  ['bodyKiB', 'for each KiB of its body'],
  ['row', 'for each claim in its body'],
  ['answerKiB', 'for each KiB of an answer made for it'],
]

/** Names the parts of a cost. */
function describeCost(cost: Partial<RouteCost>): string {
  const named = parts.filter(([part]) => (cost[part] ?? 0) !== 0)
  return named.map(([part, text]) => `${cost[part]} ${text}`).join(', ')
}

const routesByCost = new Map<string, string[]>([[describeCost(usualCost), ['any route']]])
for (const [route, cost] of Object.entries(routeCosts)) {
  const text = describeCost(cost)
  routesByCost.set(text, [...(routesByCost.get(text) ?? []), `\`${route}\``])
}

const costs = `| Route | Points; a route that is named differs in these |
|---|---|
${[...routesByCost].map(([text, routes]) => `| ${routes.join(', ')} | ${text} |`).join('\n')}
`

/** Returns a page with a table between the two comments that name it. */
function withTable(page: string, name: string, table: string): string {
  const [open, close] = [`<!-- ${name}: npm run tables -->\n`, `<!-- /${name} -->`]
  const [before, rest] = page.split(open, 2)
  const after = rest?.split(close, 2)[1]
  if (after === undefined) throw new Error(`the page has no place for the table ${name}`)
  return `${before}${open}${table}${close}${after}`
}

const operations = readFileSync(operationsPage, 'utf8')
const pages: [URL, string][] = [
  [codesPage, codes],
  [operationsPage, withTable(operations, 'costs', costs)],
]
for (const [page, text] of pages) {
  if (!process.argv.includes('--check')) writeFileSync(page, text)
  else if (readFileSync(page, 'utf8') !== text) {
    process.stderr.write(`${page.pathname} is not what the code says: run "npm run tables".\n`)
    process.exitCode = 1
  }
}
