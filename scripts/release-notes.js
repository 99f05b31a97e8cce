import { readFileSync } from 'node:fs'

/*
 * node scripts/release-notes.js 1.2.3
 *
 * Writes the section of the changelog about a version. Fails if there is none: a release without one is a mistake.
 */

const [version = ''] = process.argv.slice(2)
const [, ...sections] = readFileSync(new URL('../CHANGELOG.md', import.meta.url), 'utf8').split(
  /^## /m,
)
const section = sections.find((text) => text.startsWith(`[${version}]`))
const notes = section?.split('\n').slice(1).join('\n').trim()
if (!notes) {
  process.stderr.write(`CHANGELOG.md has no section about ${version}.\n`)
  process.exit(1)
}
process.stdout.write(`${notes}\n\n`)
