import { readFileSync, writeFileSync } from 'node:fs'
import { type RouteCost, routeCosts, usualCost } from '@arcus/protocol/answers/costs'
import { reasons, reasonsNotProduced } from '@arcus/protocol/x402/reasons'

/** Writes the tables of the documentation that the code has; with `--check` it only reports whether that is needed. */
const codesPage = new URL('../docs/reasons.md', import.meta.url)
const operationsPage = new URL('../docs/operations.md', import.meta.url)

const sources = {
  x402: 'current TypeScript reference',
  'x402-spec': 'x402 v2, section 9',
  arcus: 'Arcus',
}

const codes = `# Codes

\`invalidReason\` of \`/verify\` and \`errorReason\` of \`/settle\`. A payment that fails a check is a 200.
Written by \`npm run tables\` from \`packages/protocol/src/x402/reasons.ts\`.

| Code | Status | When | Source |
|---|---|---|---|
${Object.values(reasons)
  .map(
    ({ code, status, meaning, source }) =>
      `| \`${code}\` | ${status} | ${meaning} | ${sources[source]} |`,
  )
  .join('\n')}

While the service stops, a request on a kept-alive connection is answered 503 with \`unexpected_verify_error\` or
\`unexpected_settle_error\` and \`Retry-After\`: nothing was done with it.

## Codes of the protocol that are never given

| Code | Why |
|---|---|
${Object.entries(reasonsNotProduced)
  .map(([code, why]) => `| \`${code}\` | ${why} |`)
  .join('\n')}
`

const parts: [keyof RouteCost, string][] = [
  ['request', 'each request'],
  ['bodyKiB', 'each KiB of its body'],
  ['row', 'each claim in its body'],
  ['answerKiB', 'each KiB of an answer made for it'],
]

function costRow(route: string, cost: RouteCost): string {
  return `| ${route} | ${parts.map(([part]) => cost[part]).join(' | ')} |`
}

const costs = `| Points for | ${parts.map(([, text]) => text).join(' | ')} |
|---|${parts.map(() => '---|').join('')}
${costRow('any route but these', usualCost)}
${Object.entries(routeCosts)
  .map(([route, cost]) => costRow(`\`${route}\``, { ...usualCost, ...cost }))
  .join('\n')}
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
