import type { Range } from '../api/types.js'

const ranges: [Range, string][] = [
  ['24h', '24 hours'],
  ['7d', '7 days'],
  ['30d', '30 days'],
  ['all', 'All'],
]

export function isRange(text: string | null): text is Range {
  return ranges.some(([range]) => range === text)
}

export function RangePicker({
  range,
  onChange,
}: {
  range: Range
  onChange: (range: Range) => void
}) {
  return (
    <fieldset className="inline-flex rounded-lg bg-sunken p-0.5">
      <legend className="sr-only">Range</legend>
      {ranges.map(([key, name]) => (
        <button
          key={key}
          type="button"
          aria-pressed={key === range}
          onClick={() => onChange(key)}
          className="h-7 rounded-md px-2.5 text-xs font-medium text-muted hover:text-ink aria-pressed:bg-raised aria-pressed:text-ink aria-pressed:shadow-card"
        >
          {name}
        </button>
      ))}
    </fieldset>
  )
}
