import { useId, useMemo } from 'react'
import type { ActivityPageFilter, TableFilter } from '../../api/activity-queries.js'
import { useSearchState } from '../../components/search-state.js'
import { Select } from '../../components/select.js'
import { oneLine } from '../../format/untrusted-text.js'
import { listSchema } from '../payment/table/payment-filter.js'
import { measures } from './activity-chart.js'

export interface NamedEndpoint {
  id: number
  title: string
  method: string
  /** Unix seconds, from payments of any age; `null` if nobody paid yet. */
  lastPaid: number | null
}

const ranges = [
  ['24h', 'Last 24 hours'],
  ['today', 'Today'],
  ['yesterday', 'Yesterday'],
  ['7d', '7 days'],
  ['30d', '30 days'],
  ['all', 'All time'],
  ['custom', 'Custom'],
] as const

/** The rows that the table can show. */
export const shows = [
  ['', 'All payments', { kind: 'settle', state: '' }],
  ['settled', 'Settled', { kind: 'settle', state: 'settled' }],
  ['failed', 'Failed', { kind: 'settle', state: 'failed' }],
  ['refused', 'Refused', { kind: 'settle', state: 'refused' }],
  ['verifications', 'Verifications', { kind: 'verify', state: '' }],
] as const

export const views = [
  ['', 'Payments'],
  ['apis', 'By API'],
  ['buyers', 'Top buyers'],
] as const

const DAY_MS = 86_400_000
/** While somebody types a year, the field holds years long gone. */
const OLDEST = '2020-01-01'

const dayBefore = (days: number) => new Date(Date.now() - days * DAY_MS).toISOString().slice(0, 10)
const keysOf = (options: readonly (readonly [string, ...unknown[]])[]) =>
  options.map(([key]) => key)
const isDay = (text: string) => /^\d{4}-\d{2}-\d{2}$/.test(text)

/** Keeps everything that was chosen in the address of the page, so that a link or a reload leads to the same. */
export function useFilter(endpoints: readonly NamedEndpoint[]) {
  const schema = useMemo(
    () => ({
      range: keysOf(ranges),
      from: isDay,
      to: isDay,
      ...listSchema,
      show: keysOf(shows),
      view: keysOf(views),
      chart: keysOf(measures),
      endpoint: endpoints.map(({ id }) => String(id)),
    }),
    [endpoints],
  )
  const { values, set } = useSearchState(schema)
  const range = ranges.find(([key]) => key === values.range)?.[0] ?? '24h'
  const show = shows.find(([key]) => key === values.show) ?? shows[0]
  const filter: ActivityPageFilter = {
    ...periodOf(range, values),
    endpoint: values.endpoint === undefined ? undefined : Number(values.endpoint),
  }
  const { buyer, min: minAmount, max: maxAmount } = values
  const table: TableFilter = { ...filter, ...show[2], buyer, minAmount, maxAmount }
  return {
    range,
    filter,
    table,
    show: show[0],
    view: views.find(([key]) => key === values.view)?.[0] ?? '',
    chart: measures.find(([key]) => key === values.chart)?.[0] ?? '',
    /** The beginnings of the pages that were turned to, after the first one. */
    turned: values.page?.split('_') ?? [],
    open: values.open,
    values,
    /** Other rows begin at their first page. */
    choose: (wanted: typeof values) =>
      set({ ...values, ...('chart' in wanted ? {} : { page: '', open: '' }), ...wanted }),
    openRow: (open: string) => set({ ...values, open }),
  }
}

export type Chosen = ReturnType<typeof useFilter>

function periodOf(
  range: (typeof ranges)[number][0],
  { from, to }: { from?: string; to?: string },
): ActivityPageFilter {
  if (range === 'custom') return { range, from, to }
  if (range !== 'today' && range !== 'yesterday') return { range }
  const day = dayBefore(range === 'today' ? 0 : 1)
  return { range: 'custom', from: day, to: day }
}

/** Chooses the API, and how far back the figures go. */
export function FilterBar({
  endpoints,
  chosen: { range, filter, choose },
}: {
  endpoints: readonly NamedEndpoint[]
  chosen: Chosen
}) {
  return (
    <div className="flex flex-wrap items-center gap-2">
      {endpoints.length > 1 && (
        <Select
          variant="small"
          aria-label="API"
          value={String(filter.endpoint ?? '')}
          options={[
            ['', 'All APIs'],
            ...endpoints.map(
              ({ id, title, method }) => [String(id), `${method} ${oneLine(title, 60)}`] as const,
            ),
          ]}
          onChange={(endpoint) => choose({ endpoint })}
        />
      )}
      <Select
        variant="small"
        aria-label="Period"
        value={range}
        options={ranges}
        onChange={(next) =>
          choose(
            next === 'custom'
              ? { range: next, from: dayBefore(6), to: dayBefore(0) }
              : { range: next, from: '', to: '' },
          )
        }
      />
      {range === 'custom' && (
        <>
          <Day
            name="From"
            value={filter.from}
            max={filter.to}
            onChange={(from) => choose({ from })}
          />
          <Day
            name="To"
            value={filter.to}
            min={filter.from}
            max={dayBefore(0)}
            onChange={(to) => choose({ to })}
          />
        </>
      )}
      {filter.range === 'custom' && <span className="text-xs text-muted">Days in UTC</span>}
    </div>
  )
}

function Day({
  name,
  value,
  onChange,
  ...bounds
}: {
  name: string
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
        aria-label={`${name} day, UTC`}
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
