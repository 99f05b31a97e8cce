import { type Figure, short } from './figures.js'

/** The figures of the chart, in words of the reader; where less is better the ratio is turned round. */
const rows = [
  ['verify/s at 64', 'verifies a second, 64 connections', 'more'],
  ['verify p99 at 64', 'slowest verify in a hundred', 'less'],
  ['settle/s at 50', 'settles a second, 50 connections', 'more'],
  ['settle p50 at 1, 1 s blocks', 'one settle on blocks of a second', 'less'],
  ['chain calls a verify at 64', 'calls to the chain for a verify', 'less'],
  ['chain calls a settle at 64', 'calls to the chain for a settle', 'less'],
  ['gas a payment at 50', 'gas a payment, 50 connections', 'less'],
] as const

const WIDTH = 760
const ROW = 34
const LEFT = 270
const RIGHT = 150
const TOP = 46

/** Bars of how many times better Arcus did than the reference in the same run, on a logarithmic scale. */
export function drawChart(figures: readonly Figure[]): string {
  const bars = rows.flatMap(([name, label, better]) => {
    const figure = figures.find((it) => it.name === name)
    if (figure === undefined) return []
    const times = better === 'more' ? figure.ratio : 1 / figure.ratio
    return [{ label, figure, times }]
  })
  const most = Math.max(10, ...bars.map(({ times }) => times))
  const widthOf = (times: number) =>
    Math.max(2, (Math.log10(Math.max(1, times)) / Math.log10(most)) * (WIDTH - LEFT - RIGHT))
  const height = TOP + bars.length * ROW + 14
  const lines = bars.map(({ label, figure, times }, i) => {
    const y = TOP + i * ROW
    const width = widthOf(times)
    const { arcus, reference, unit } = figure
    return [
      `<text x="${LEFT - 12}" y="${y + 15}" text-anchor="end" class="label">${label}</text>`,
      `<rect x="${LEFT}" y="${y}" width="${width.toFixed(1)}" height="22" rx="3" class="bar"/>`,
      `<text x="${(LEFT + width + 8).toFixed(1)}" y="${y + 15}" class="times">×${short(times)}` +
        `<tspan class="detail" dx="6">${short(arcus)} / ${short(reference)} ${unit}</tspan></text>`,
    ].join('\n')
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="Arcus next to the reference facilitator">
<style>
text { font: 13px system-ui, sans-serif; fill: #57606a }
.title { font-weight: 600; font-size: 15px; fill: #24292f }
.times { font-weight: 600; fill: #24292f }
.detail { font-weight: 400; font-size: 11px; fill: #6e7781 }
.bar { fill: #2f6feb }
@media (prefers-color-scheme: dark) {
  text, .detail { fill: #9da7b3 } .title, .times { fill: #e6edf3 } .bar { fill: #4f8cff }
}
</style>
<text x="0" y="22" class="title">How many times better than the facilitator of the official packages, same run</text>
${lines.join('\n')}
</svg>
`
}
