const WIDTH = 72
const HEIGHT = 20

/** Draws counts of days in a row as a small line. The last one is today, which is not over, so it is drawn lighter. */
export function Sparkline({ values }: { values: readonly number[] }) {
  const highest = Math.max(1, ...values)
  const step = WIDTH / Math.max(1, values.length - 1)
  const points = values.map((value, day) => {
    const y = HEIGHT - 1 - (value / highest) * (HEIGHT - 2)
    return `${(day * step).toFixed(1)},${y.toFixed(1)}`
  })
  return (
    <svg
      width={WIDTH}
      height={HEIGHT}
      fill="none"
      strokeWidth="1.5"
      strokeLinejoin="round"
      className="shrink-0 overflow-visible stroke-accent"
      aria-hidden="true"
    >
      <polyline points={points.slice(0, -1).join(' ')} />
      <polyline points={points.slice(-2).join(' ')} opacity="0.35" />
    </svg>
  )
}
