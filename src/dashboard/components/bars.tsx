import { type KeyboardEvent, type PointerEvent, useState } from 'react'

export interface Bar {
  key: number
  /** The period that the bar stands for, as the axis names it. */
  name: string
  /** Zero or more each, stacked from the bottom up in the order of `tones`. */
  values: readonly number[]
  /** Every figure of the bar in one sentence, for screen readers. */
  text: string
}

interface BarsProps {
  label: string
  bars: readonly Bar[]
  tones: readonly (keyof typeof fills)[]
  /** Writes a value beside its line. Without it there are no axes, which makes a sparkline. */
  formatValue?: (value: number) => string
  /** Called with the bar under the pointer or the keyboard; `null` when there is none. */
  onShow?: (index: number | null) => void
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

/**
 * Draws stacked bars that stretch to the size of their place. The chart is one stop for the keyboard: the arrows, Home and
 * End move from bar to bar, and a screen reader reads the sentence of each.
 */
export function Bars({ label, bars, tones, formatValue, onShow }: BarsProps) {
  const [shown, setShown] = useState<number | null>(null)
  const last = bars.length - 1
  const lines = linesUpTo(Math.max(0, ...bars.map(({ values }) => sum(values))))
  const top = (lines.at(-1) as number) * 1.02
  const fromTop = (value: number) => `${(1 - value / top) * 100}%`

  const show = (index: number | null) => {
    setShown(index)
    onShow?.(index)
  }
  const move = (event: KeyboardEvent) => {
    const at = shown ?? last
    const next = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: last }[event.key]
    if (next === undefined) return
    event.preventDefault()
    show(Math.min(last, Math.max(0, next)))
  }
  const point = ({ currentTarget, clientX }: PointerEvent) => {
    const { left, width } = currentTarget.getBoundingClientRect()
    const index = Math.floor(((clientX - left) / width) * bars.length)
    if (index !== shown && bars[index] !== undefined) show(index)
  }

  return (
    <div
      className={`@container flex h-full flex-col text-2xs tabular ${formatValue && 'pt-2 pl-14'}`}
    >
      <div
        role="slider"
        tabIndex={0}
        aria-label={label}
        aria-orientation="horizontal"
        aria-valuemin={0}
        aria-valuemax={last}
        aria-valuenow={shown ?? last}
        aria-valuetext={bars[shown ?? last]?.text}
        onKeyDown={move}
        onFocus={() => show(shown ?? last)}
        onBlur={() => show(null)}
        onPointerMove={point}
        onPointerLeave={() => show(null)}
        className="relative min-h-0 flex-1"
      >
        {formatValue !== undefined && <Lines values={lines} {...{ fromTop, formatValue }} />}
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
                className={fills[tones[layer] ?? 'accent']}
              />
            )),
          )}
        </svg>
      </div>
      {formatValue !== undefined && <Names bars={bars} />}
    </div>
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
function Names({ bars }: Pick<BarsProps, 'bars'>) {
  const every = Math.ceil(bars.length / MAX_NAMES)
  return (
    <svg className="h-5 w-full overflow-visible fill-faint" aria-hidden="true">
      {bars.map(({ key, name }, index) =>
        index % every === 0 ? (
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
