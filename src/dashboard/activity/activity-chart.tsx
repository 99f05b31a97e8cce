import 'uplot/dist/uPlot.min.css'
import { useEffect, useMemo, useRef, useState } from 'react'
import uPlot from 'uplot'
import type { ActivityAnswer, ActivityPoint } from '../api/activity-types.js'
import { Usd } from '../components/figures.js'
import { exactCount } from '../format/amounts.js'
import { bucketName, fillBuckets } from './buckets.js'
import { type Measure, plotData, plotOptions } from './plot.js'

const measures: [Measure, string][] = [
  ['payments', 'Payments'],
  ['revenue', 'Revenue'],
]

/** Bars of the range by hour or day; the same as a table for who cannot see them. */
export function ActivityChart({ answer }: { answer: ActivityAnswer }) {
  const [measure, setMeasure] = useState<Measure>('payments')
  const [hovered, setHovered] = useState<number | null>(null)
  const points = useMemo(() => fillBuckets(answer, Date.now()), [answer])
  const { stepSeconds } = answer
  const canvas = usePlot({ points, stepSeconds, measure, onHover: setHovered })
  const shown = hovered === null ? undefined : points[hovered]

  return (
    <figure className="rounded-2xl border border-line bg-raised p-4 shadow-card sm:p-5">
      <figcaption className="mb-3 flex min-h-8 flex-wrap items-center justify-between gap-x-4 gap-y-2">
        <fieldset className="inline-flex rounded-lg bg-sunken p-0.5">
          <legend className="sr-only">What the chart shows</legend>
          {measures.map(([key, name]) => (
            <button
              key={key}
              type="button"
              aria-pressed={key === measure}
              onClick={() => setMeasure(key)}
              className="h-7 rounded-md px-2.5 text-xs font-medium text-muted hover:text-ink aria-pressed:bg-raised aria-pressed:text-ink aria-pressed:shadow-card"
            >
              {name}
            </button>
          ))}
        </fieldset>
        <p className="text-xs text-muted tabular" aria-hidden="true">
          {shown === undefined ? (
            <Legend measure={measure} />
          ) : (
            <PointText point={shown} stepSeconds={stepSeconds} />
          )}
        </p>
      </figcaption>
      <div ref={canvas} aria-hidden="true" className="-ml-2 h-[220px] overflow-hidden" />
      <PointsTable points={points} stepSeconds={stepSeconds} />
    </figure>
  )
}

/** Draws into the element, anew when the data, its width or the theme change. */
function usePlot(wish: Omit<Parameters<typeof plotOptions>[0], 'width'>) {
  const element = useRef<HTMLDivElement>(null)
  const { points, stepSeconds, measure, onHover } = wish

  useEffect(() => {
    const place = element.current
    if (place === null) return
    let plot: uPlot | undefined
    const draw = () => {
      plot?.destroy()
      const width = Math.max(200, place.clientWidth)
      const options = plotOptions({ points, stepSeconds, measure, onHover, width })
      plot = new uPlot(options, plotData(points, measure), place)
    }
    const sizes = new ResizeObserver(draw)
    sizes.observe(place)
    const themes = new MutationObserver(draw)
    themes.observe(document.documentElement, { attributeFilter: ['data-theme'] })
    return () => {
      sizes.disconnect()
      themes.disconnect()
      plot?.destroy()
    }
  }, [points, stepSeconds, measure, onHover])

  return element
}

function Legend({ measure }: { measure: Measure }) {
  if (measure === 'revenue') return 'USDC, without payments to yourself'
  return (
    <span className="inline-flex items-center gap-3">
      <span className="inline-flex items-center gap-1.5">
        <span className="size-2 rounded-full bg-accent" /> settled
      </span>
      <span className="inline-flex items-center gap-1.5">
        <span className="size-2 rounded-full bg-bad" /> failed
      </span>
    </span>
  )
}

function PointText({ point, stepSeconds }: { point: ActivityPoint; stepSeconds: number }) {
  return (
    <>
      <span className="text-ink">{bucketName(point.at, stepSeconds)}</span>
      {` · ${exactCount(point.settled)} settled · ${exactCount(point.failed)} failed · `}
      <Usd usd={point.usd} />
    </>
  )
}

function PointsTable({ points, stepSeconds }: { points: ActivityPoint[]; stepSeconds: number }) {
  const busy = points.filter(({ verifies, settled, failed }) => verifies + settled + failed > 0)
  return (
    // Around the table, because a table is never narrower than its words.
    <div className="sr-only">
      <table>
        <caption>
          Payments by {stepSeconds < 86_400 ? 'hour' : 'day'}; those without any are left out
        </caption>
        <thead>
          <tr>
            {['When', 'Verified', 'Settled', 'Failed', 'Revenue in USDC'].map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {busy.map(({ at, verifies, settled, failed, usd }) => (
            <tr key={at}>
              <th scope="row">{bucketName(at, stepSeconds)}</th>
              <td>{verifies}</td>
              <td>{settled}</td>
              <td>{failed}</td>
              <td>{usd}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
