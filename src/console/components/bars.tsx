import { type PointerEvent, type ReactNode, useState } from 'react'
import { Segmented } from './field.js'
import type { SelectOptions } from './select.js'

export interface Bar {
  key: number
  /** The period of the bar, as the axis names it. */
  name: string
  /** Zero or more each, stacked from the bottom up in the order of `tones`. */
  values: readonly number[]
  /** Every figure of the bar in one sentence. */
  text: string
  /** The figures one by one, in the order of `columns`. */
  cells: readonly string[]
}

interface BarsProps {
  label: string
  bars: readonly Bar[]
  /** The names of the figures in `cells`. */
  columns: readonly string[]
  tones: readonly (keyof typeof fills)[]
  /** True if the last bar is still growing. */
  hasToday?: boolean
  /** Writes a value next to its line. */
  formatValue: (value: number) => string
}

interface ChartProps<Measure extends string> extends BarsProps {
  measure: Measure
  measures: SelectOptions<Measure>
  onMeasure: (measure: Measure) => void
  /** Says what the bars count. The figures of the bar under the pointer take its place. */
  legend: ReactNode
}

const fills = {
  accent: 'fill-accent',
  soft: 'fill-accent/35',
  ok: 'fill-ok',
  warn: 'fill-warn',
  bad: 'fill-bad',
  none: 'fill-line-strong',
}
const BAR_WIDTH = 0.66
const MAX_NAMES = 7
const LINES = 4

/** Draws stacked bars of the measure that is chosen: a picture, with its table at the press of a button. */
export function Chart<Measure extends string>({
  measure,
  measures,
  onMeasure,
  legend,
  ...props
}: ChartProps<Measure>) {
  const [isTable, setIsTable] = useState(false)
  const [shown, setShown] = useState<number | null>(null)
  const bar = shown === null ? undefined : props.bars[shown]
  return (
    <figure>
      <figcaption className="flex min-h-8 flex-wrap items-center justify-between gap-x-4 gap-y-2">
        <Segmented
          legend="The figures in the chart"
          value={measure}
          options={measures}
          onChange={onMeasure}
        />
        <p className="text-xs text-muted tabular">{bar?.text ?? legend}</p>
      </figcaption>
      <div className="relative flex h-56 flex-col pt-4 text-2xs tabular">
        {isTable ? <Table {...props} /> : <Picture {...props} shown={shown} onShow={setShown} />}
        <button
          type="button"
          onClick={() => setIsTable(!isTable)}
          className="h-6 self-end rounded px-1.5 text-muted hover:text-ink"
        >
          {isTable ? 'Show the chart' : 'Show the table'}
        </button>
      </div>
    </figure>
  )
}

interface PictureProps extends BarsProps {
  /** The bar under the pointer; `null` when there is none. */
  shown: number | null
  onShow: (index: number | null) => void
}

function Picture(props: PictureProps) {
  const { label, bars, tones, hasToday = false, formatValue, shown, onShow } = props
  const lines = linesUpTo(Math.max(0, ...bars.map(({ values }) => sum(values))))
  const top = (lines.at(-1) as number) * 1.02
  const fromTop = (value: number) => `${(1 - value / top) * 100}%`
  const point = ({ currentTarget, clientX }: PointerEvent) => {
    const { left, width } = currentTarget.getBoundingClientRect()
    const index = Math.floor(((clientX - left) / width) * bars.length)
    if (index !== shown && bars[index] !== undefined) onShow(index)
  }
  return (
    <div className="@container flex min-h-0 flex-1 flex-col pl-14">
      <div
        role="img"
        aria-label={label}
        onPointerMove={point}
        onPointerLeave={() => onShow(null)}
        className="relative min-h-0 flex-1"
      >
        <Lines values={lines} fromTop={fromTop} formatValue={formatValue} />
        <svg
          viewBox={`0 0 ${bars.length} ${top}`}
          preserveAspectRatio="none"
          className="absolute inset-0 size-full"
          aria-hidden="true"
        >
          {shown !== null && <rect x={shown} width="1" height={top} className="fill-ink/6" />}
          {bars.flatMap(({ key, values }, index) =>
            values.map((value, layer) => (
              <rect
                key={`${key} ${tones[layer]}`}
                x={index + (1 - BAR_WIDTH) / 2}
                y={top - sum(values.slice(0, layer + 1))}
                width={BAR_WIDTH}
                height={value}
                className={`${fills[tones[layer] ?? 'accent']} ${hasToday && index === bars.length - 1 ? 'opacity-60' : ''}`}
              />
            )),
          )}
        </svg>
        {shown !== null && bars[shown] !== undefined && (
          <Value index={shown} of={bars.length} top={fromTop(sum(bars[shown].values))}>
            {formatValue(sum(bars[shown].values))}
          </Value>
        )}
      </div>
      <Names bars={bars} hasToday={hasToday} />
    </div>
  )
}

/** The value of a bar, above it. */
function Value(place: { index: number; of: number; top: string; children: ReactNode }) {
  return (
    <svg
      className="pointer-events-none absolute inset-0 size-full overflow-visible"
      aria-hidden="true"
    >
      <text
        x={`${((place.index + 0.5) / place.of) * 100}%`}
        y={place.top}
        dy="-4"
        textAnchor="middle"
        className="fill-ink font-medium"
      >
        {place.children}
      </text>
    </svg>
  )
}

/** The same figures in a table, the newest first. */
function Table({ label, bars, columns }: Pick<BarsProps, 'label' | 'bars' | 'columns'>) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls takes the focus
    <section tabIndex={0} aria-label={label} className="min-h-0 flex-1 overflow-y-auto text-xs">
      <table className="w-full text-left">
        <caption className="sr-only">{label}</caption>
        <thead className="text-muted">
          <tr>
            <th scope="col" className="py-1 font-medium">
              Time
            </th>
            {columns.map((name) => (
              <th key={name} scope="col" className="py-1 pl-3 text-right font-medium">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody className="divide-y divide-line">
          {bars.toReversed().map(({ key, name, cells }) => (
            <tr key={key}>
              <th scope="row" className="py-1 pr-4 font-medium whitespace-nowrap">
                {name}
              </th>
              {cells.map((cell, index) => (
                <td key={columns[index]} className="py-1 pl-3 text-right text-muted">
                  {cell}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

/** Lines behind the bars, each with its value. */
function Lines({
  values,
  fromTop,
  formatValue,
}: {
  values: readonly number[]
  fromTop: (value: number) => string
  formatValue: (value: number) => string
}) {
  return (
    <svg className="absolute inset-0 size-full overflow-visible" aria-hidden="true">
      {values.map((value) => (
        <g key={value} className="fill-faint stroke-line">
          <line x2="100%" y1={fromTop(value)} y2={fromTop(value)} />
          <text x="-8" y={fromTop(value)} dy="4" textAnchor="end" stroke="none">
            {formatValue(value)}
          </text>
        </g>
      ))}
    </svg>
  )
}

/** Names of some bars, fewer on a narrow screen. */
function Names({ bars, hasToday = false }: Pick<BarsProps, 'bars' | 'hasToday'>) {
  const every = Math.ceil(bars.length / MAX_NAMES)
  return (
    <svg className="h-5 w-full overflow-visible fill-faint" aria-hidden="true">
      {bars.map(({ key, name }, index) =>
        index % every === 0 && !(hasToday && index > bars.length - 1 - every / 2) ? (
          <text
            key={key}
            x={`${(index / bars.length) * 100}%`}
            y="16"
            className={index % (2 * every) === 0 ? undefined : '@max-sm:hidden'}
          >
            {name}
          </text>
        ) : null,
      )}
      {hasToday && (
        <text x="100%" y="16" textAnchor="end" className="fill-muted font-medium">
          today
        </text>
      )}
    </svg>
  )
}

/** Returns round values from zero up to at least the highest, for the lines behind the bars. */
function linesUpTo(highest: number): number[] {
  const least = (highest || 1) / LINES
  const power = 10 ** Math.floor(Math.log10(least))
  const step = ([1, 2, 5, 10].find((factor) => factor * power >= least) ?? 10) * power
  return Array.from({ length: Math.ceil((highest || 1) / step) + 1 }, (_, index) => index * step)
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
