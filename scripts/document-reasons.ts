import { readFileSync, writeFileSync } from 'node:fs'
import { reasons, reasonsNotProduced } from '@arcus/protocol/x402/reasons'

/** Writes docs/reasons.md from the table that answers; with `--check` it only reports whether that is needed. */
const target = new URL('../docs/reasons.md', import.meta.url)

const sources = {
  x402: 'current TypeScript reference',
  'x402-spec': 'x402 v2, section 9',
  arcus: 'Arcus',
}

const text = `# Codes

\`invalidReason\` of \`/verify\` and \`errorReason\` of \`/settle\`. A payment that fails a check is a 200.
Written by \`npm run reasons\` from \`packages/protocol/src/x402/reasons.ts\`.

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

if (process.argv.includes('--check')) {
  if (readFileSync(target, 'utf8') !== text) {
    process.stderr.write('docs/reasons.md is not what the table says: run `npm run reasons`.\n')
    process.exitCode = 1
  }
} else writeFileSync(target, text)
