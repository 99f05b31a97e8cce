import { existsSync, writeFileSync } from 'node:fs'
import { measureOneSecondBlocks } from './block-time.js'
import { countChainCalls } from './chain-calls.js'
import { drawChart } from './chart.js'
import { type Figure, line } from './figures.js'
import { measureFlood } from './flood.js'
import { measureSettle, measureVerify } from './throughput.js'
import { measureUpto } from './upto.js'

/**
 * Arcus beside the facilitator of the official packages, driven one after the other with fresh signed payments, each
 * on a fresh chain. Run `npm run build` first. `--quick` takes one round instead of three; names of sections
 * (`verify`, `settle`, `upto`, `calls`, `blocks`, `flood`) run only those. A full run draws `docs/bench.svg`.
 */
const rounds = process.argv.includes('--quick') ? 1 : 3
const wanted = process.argv.slice(2).filter((argument) => !argument.startsWith('--'))

const sections: Record<string, () => Promise<Figure[]>> = {
  verify: () => measureVerify(rounds),
  settle: () => measureSettle(rounds),
  upto: () => measureUpto(rounds),
  calls: countChainCalls,
  blocks: () => measureOneSecondBlocks(rounds),
  flood: () => measureFlood(rounds),
}

if (!existsSync('dist/main.js')) throw new Error('run `npm run build` first')
const unknown = wanted.filter((name) => sections[name] === undefined)
if (unknown.length > 0) {
  throw new Error(`no section ${unknown.join(', ')}: there are ${Object.keys(sections).join(', ')}`)
}

const figures: Figure[] = []
for (const [name, run] of Object.entries(sections)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue
  line(`\n# ${name}, ${rounds} ${rounds === 1 ? 'round' : 'rounds'}`)
  figures.push(...(await run()))
}
if (wanted.length === 0) {
  writeFileSync('docs/bench.svg', drawChart(figures))
  line('\ndrawn: docs/bench.svg')
}
