import uPlot from 'uplot'
import type { ActivityPoint } from '../api/activity-types.js'
import { shortCount, shortUsd } from '../format/amounts.js'
import { bucketName } from './buckets.js'

export type Measure = 'payments' | 'revenue'

export interface PlotWish {
  points: readonly ActivityPoint[]
  stepSeconds: number
  measure: Measure
  width: number
  /** Called with the bucket under the pointer, or `null`. */
  onHover: (index: number | null) => void
}

const HEIGHT = 220
/** Of the place of a bucket; its widest in pixels. */
const BAR = { share: 0.66, maxWidth: 26, radius: 0.25 }

/** What uPlot needs to draw the bars of a range, in the colours of the page as they are now. */
export function plotOptions(wish: PlotWish): uPlot.Options {
  const { points, stepSeconds, measure, width, onHover } = wish
  const colour = readColours()
  const bars = (paths: Partial<uPlot.Series>): uPlot.Series => ({
    paths: (uPlot.paths.bars as uPlot.Series.BarsPathBuilderFactory)({
      size: [BAR.share, BAR.maxWidth],
      radius: BAR.radius,
    }),
    points: { show: false },
    ...paths,
  })
  const axis = { stroke: colour.faint, font: '11px system-ui', ticks: { show: false } }
  return {
    width,
    height: HEIGHT,
    padding: [8, 12, 0, 0],
    legend: { show: false },
    cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
    scales: { x: { time: false, range: [-0.6, points.length - 0.4] }, y: { range: fromZero } },
    axes: [
      {
        ...axis,
        size: 28,
        grid: { show: false },
        space: 64,
        incrs: [1, 2, 3, 4, 6, 7, 12, 14, 30, 60, 90],
        values: (_, ticks) =>
          ticks.map((tick) => {
            const point = points[tick]
            return point === undefined ? '' : bucketName(point.at, stepSeconds)
          }),
      },
      {
        ...axis,
        size: 56,
        space: 40,
        grid: { stroke: colour.line, width: 1 },
        ...(measure === 'payments' ? { incrs: wholeSteps } : {}),
        values: (_, ticks) =>
          ticks.map((tick) =>
            measure === 'payments' ? shortCount(tick) : shortUsd(tick.toFixed(6)),
          ),
      },
    ],
    series:
      measure === 'payments'
        ? [{}, bars({ fill: colour.bad }), bars({ fill: colour.accent })]
        : [{}, bars({ fill: colour.accent })],
    hooks: { setCursor: [(plot) => onHover(plot.cursor.idx ?? null)] },
  }
}

/** Failed payments stand on settled ones: what is drawn first reaches above what is drawn over it. */
export function plotData(points: readonly ActivityPoint[], measure: Measure): uPlot.AlignedData {
  const places = points.map((_, index) => index)
  if (measure === 'revenue') return [places, points.map(({ usd }) => Number(usd))]
  return [
    places,
    points.map(({ settled, failed }) => settled + failed),
    points.map(({ settled }) => settled),
  ]
}

const wholeSteps = [1, 2, 5]
  .flatMap((step) => [1, 10, 100, 1e3, 1e4, 1e5, 1e6].map((e) => step * e))
  .sort((a, b) => a - b)

function fromZero(_plot: uPlot, _min: number, max: number): uPlot.Range.MinMax {
  return [0, max === 0 ? 1 : max * 1.1]
}

function readColours() {
  const style = getComputedStyle(document.documentElement)
  const read = (name: string) => style.getPropertyValue(name).trim()
  return {
    accent: read('--accent'),
    bad: read('--bad'),
    faint: read('--faint'),
    line: read('--line'),
  }
}
