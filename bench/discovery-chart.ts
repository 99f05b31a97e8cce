import type { Measured } from './discovery-client.js'

/** The questions that the chart follows, from the bottom of its legend to the top. */
const lines = [
  ['default page, each limit', '#57606a'],
  ['any offset', '#8250df'],
  ['q of one hit', '#1a7f37'],
  ['q just below 1 %', '#2f6feb'],
  ['q of 37 %', '#bf8700'],
  ['q of two letters', '#cf222e'],
  ['save, then found', '#0e8a8a'],
] as const

const WIDTH = 760
const HEIGHT = 380
const LEFT = 56
const RIGHT = 190
const TOP = 48
const BOTTOM = 40
const LEAST_MS = 0.1
const MOST_MS = 100

/** Milliseconds by size of the catalog, both on logarithmic scales. */
export function drawGrowth(measured: readonly Measured[]): string {
  const sizes = [...new Set(measured.map(({ size }) => size))].sort((a, b) => a - b)
  const [first = 1, last = 1] = [sizes[0], sizes.at(-1)]
  const share = (value: number, from: number, to: number) =>
    Math.log(value / from) / Math.log(to / from || Math.E)
  const x = (size: number) => Math.round(LEFT + share(size, first, last) * (WIDTH - LEFT - RIGHT))
  const y = (ms: number) => {
    const up = share(Math.max(ms, LEAST_MS), LEAST_MS, MOST_MS)
    return Math.round(HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM))
  }
  const grid = [0.1, 1, 10, 100].map(
    (ms) =>
      `<line x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${y(ms)}" y2="${y(ms)}" class="grid"/><text x="${LEFT - 8}" y="${y(ms) + 4}" text-anchor="end">${ms} ms</text>`,
  )
  const marks = sizes.map(
    (size) =>
      `<text x="${x(size)}" y="${HEIGHT - BOTTOM + 20}" text-anchor="middle">${size.toLocaleString('en')}</text>`,
  )
  const drawn = lines.flatMap(([name, colour]) => {
    const points = measured.filter((it) => it.name === name)
    const end = points.at(-1)
    if (end === undefined) return []
    const path = points.map(({ size, p50Ms }) => `${x(size)},${y(p50Ms)}`)
    return [{ name, colour, path: path.join(' '), end }]
  })
  const labelYs = spread(drawn.map(({ end }) => y(end.p50Ms)))
  const curves = drawn.map(
    ({ name, colour, path, end }, i) =>
      `<polyline points="${path}" fill="none" stroke="${colour}" stroke-width="2"/><text x="${WIDTH - RIGHT + 8}" y="${(labelYs[i] ?? 0) + 4}" style="fill:${colour}">${name}, ${end.p50Ms.toFixed(1)} ms</text>`,
  )
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="Time of an answer by size of the catalog">
<style>
text { font: 12px system-ui, sans-serif; fill: #57606a }
.title { font-weight: 600; font-size: 15px; fill: #24292f }
.grid { stroke: #d0d7de }
@media (prefers-color-scheme: dark) { text { fill: #9da7b3 } .title { fill: #e6edf3 } .grid { stroke: #30363d } }
</style>
<text x="0" y="22" class="title">Median answer of discovery by number of endpoints</text>
${[...grid, ...marks, ...curves].join('\n')}
</svg>
`
}

/** Labels no closer to each other than a line of text. */
function spread(ys: readonly number[]): number[] {
  const placed = ys.map((y, i) => ({ y, i })).sort((a, b) => b.y - a.y)
  let above = Number.POSITIVE_INFINITY
  for (const label of placed) {
    label.y = Math.min(label.y, above - 15)
    above = label.y
  }
  return placed.sort((a, b) => a.i - b.i).map(({ y }) => y)
}
