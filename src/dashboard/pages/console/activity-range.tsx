import { useId, useMemo } from 'react'
import type { ActivityFilter } from '../../api/queries.js'
import { ranges, Segmented } from '../../components/field.js'
import { useSearchState } from '../../components/search-state.js'
import type { EndpointName } from './activity-table.js'
import { words } from './words.js'

const choices = [...ranges, ['custom', words.range.custom]] as const

type Wanted = Partial<Record<keyof ActivityFilter, string>>

const DAY_MS = 86_400_000
/** While somebody types a year, the field holds years long gone. */
const OLDEST = '2020-01-01'

const dayOf = (at: number) => new Date(at).toISOString().slice(0, 10)

/** Chooses how far back the figures go, or from which day to which. */
export function RangePicker({
  filter,
  onChange,
}: {
  filter: ActivityFilter
  onChange: (wanted: Wanted) => void
}) {
  const today = dayOf(Date.now())
  return (
    <div className="flex flex-wrap items-center gap-2">
      <Segmented
        legend={words.range.legend}
        value={filter.range}
        options={choices}
        onChange={(range) =>
          onChange(
            range === 'custom'
              ? { range, from: dayOf(Date.now() - 6 * DAY_MS), to: today }
              : { range, from: '', to: '' },
          )
        }
      />
      {filter.range === 'custom' && (
        <>
          <Day
            name={words.range.from}
            label={words.range.fromDay}
            value={filter.from}
            max={filter.to}
            onChange={(from) => onChange({ from })}
          />
          <Day
            name={words.range.to}
            label={words.range.toDay}
            value={filter.to}
            min={filter.from}
            max={today}
            onChange={(to) => onChange({ to })}
          />
        </>
      )}
    </div>
  )
}

function Day({
  name,
  label,
  value,
  onChange,
  ...bounds
}: {
  name: string
  /** The name in full, for screen readers. */
  label: string
  value: string | undefined
  min?: string | undefined
  max?: string | undefined
  onChange: (day: string) => void
}) {
  const id = useId()
  return (
    <span className="inline-flex items-center gap-1.5 text-xs text-muted">
      <label htmlFor={id}>{name}</label>
      <input
        {...bounds}
        id={id}
        aria-label={label}
        type="date"
        // A text that is no day yet stays as it was typed.
        key={value}
        defaultValue={value}
        onChange={({ target }) => target.value >= OLDEST && onChange(target.value)}
        className="h-8 rounded-lg border border-line-strong bg-raised px-2 text-xs text-ink"
      />
    </span>
  )
}

const rangeKeys = choices.map(([key]) => key)
const isDay = (text: string) => /^\d{4}-\d{2}-\d{2}$/.test(text)

/** Keeps the filter in the address of the page, so that a link leads to the same figures. */
export function useFilter(endpoints: readonly EndpointName[]) {
  const schema = useMemo(
    () => ({
      ...{ range: rangeKeys, from: isDay, to: isDay },
      endpoint: endpoints.map(({ id }) => String(id)),
    }),
    [endpoints],
  )
  const { values, odd, set } = useSearchState(schema)
  const range = choices.find(([key]) => key === values.range)?.[0] ?? '24h'
  const filter: ActivityFilter = {
    range,
    ...(range === 'custom' ? { from: values.from, to: values.to } : {}),
    endpoint: values.endpoint === undefined ? undefined : Number(values.endpoint),
  }
  return { filter, odd, setFilter: (wanted: Wanted) => set({ ...values, ...wanted }) }
}
