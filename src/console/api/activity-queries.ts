import { withQuery } from '@arcus/client/calls'
import type {
  ActivityAnswer,
  ActivityBreakdown,
  ActivityRow,
  ActivityTable,
  Range,
} from '@arcus/protocol/answers/activity'
import { keepPreviousData, type QueryKey } from '@tanstack/react-query'
import { isBetween } from './payment-queries.js'
import { FOREVER, ofMerchant, read } from './queries.js'

const TABLE_ROWS = 50

/** The filter that all parts of the activity page share. */
export interface ActivityPageFilter {
  range: Range | 'custom'
  /** Days of `custom`, `YYYY-MM-DD`. */
  from?: string | undefined
  to?: string | undefined
  endpoint?: number | undefined
}

/** An empty string means any. */
export interface TableFilter extends ActivityPageFilter {
  kind: ActivityRow['kind'] | ''
  state: ActivityRow['state'] | ''
  buyer?: string | undefined
  /** Atomic units. */
  minAmount?: string | undefined
  maxAmount?: string | undefined
}

/** New payments show within this time. */
const NEWEST_MS = 5_000
const NEWEST_ROWS = 50
/** The figures are read again this often, because an hour may begin without a new payment. */
const ACTIVITY_MS = 60_000

/** Reads a part of the activity. What is shown stays while another filter is read. */
const ofActivity = <Answer>(key: QueryKey, path: string, filter: object) =>
  read<Answer>(['activity', ...key], withQuery(path, { ...filter }), {
    placeholderData: keepPreviousData,
    refetchInterval: ACTIVITY_MS,
  })

export const activityQuery = (id: string, filter: ActivityPageFilter) =>
  ofActivity<ActivityAnswer>([id, 'sums', filter], ofMerchant(id, '/activity'), filter)

const dayOf = (seconds: number) => new Date(seconds * 1_000).toISOString().slice(0, 10)

/** Reads the figures of as many days as an answer has, right before it. Hours and all time have no period before. */
export const activityBeforeQuery = (
  id: string,
  { endpoint }: ActivityPageFilter,
  answer: Pick<ActivityAnswer, 'range' | 'since' | 'until'> | undefined,
) => {
  const { range, since = 0, until = 0 } = answer ?? {}
  const filter = {
    range: 'custom',
    from: dayOf(2 * since - until),
    to: dayOf(since - 1),
    endpoint,
  }
  return read<ActivityAnswer>(
    ['activity-before', id, filter],
    withQuery(ofMerchant(id, '/activity'), filter),
    {
      enabled: range === '7d' || range === '30d' || range === 'custom',
      staleTime: FOREVER,
    },
  )
}

export const breakdownQuery = (id: string, filter: ActivityPageFilter) =>
  ofActivity<ActivityBreakdown>(
    [id, 'sums', 'breakdown', filter],
    ofMerchant(id, '/activity/breakdown'),
    filter,
  )

export const activityTableQuery = (id: string, filter: TableFilter, before: number | null) =>
  ofActivity<ActivityTable>([id, 'table', filter, before], ofMerchant(id, '/activity/table'), {
    ...filter,
    limit: TABLE_ROWS,
    before,
  })

/** The newest rows, which are read again and again, also while the tab is hidden: its title counts payments. */
export const newestActivityQuery = (id: string) =>
  read<ActivityTable>(
    ['activity', id, 'newest'],
    withQuery(ofMerchant(id, '/activity/table'), { range: '24h', limit: NEWEST_ROWS }),
    { refetchInterval: NEWEST_MS, refetchIntervalInBackground: true },
  )

/**
 * Adds rows to the first page of a table with this filter. Rows that it has, or that do not fit, are left out; `rows` are
 * the newest of all.
 */
export function withNewRows(
  table: ActivityTable,
  filter: TableFilter,
  rows: readonly ActivityRow[],
): ActivityTable {
  const last = table.items[0]?.id ?? 0
  const day = ({ at }: ActivityRow) => at.slice(0, 10)
  const isWanted = (row: ActivityRow) =>
    row.id > last &&
    (filter.kind === '' || row.kind === filter.kind) &&
    (filter.state === '' || row.state === filter.state) &&
    isBetween(row, filter) &&
    (filter.endpoint === undefined || row.endpointId === filter.endpoint) &&
    day(row) >= (filter.from ?? '') &&
    day(row) <= (filter.to ?? '9')
  const fresh = rows.filter(isWanted)
  if (fresh.length === 0) return table
  const items = [...fresh, ...table.items]
  const shown = items.slice(0, TABLE_ROWS)
  return { items: shown, next: items.length > TABLE_ROWS ? (shown.at(-1)?.id ?? null) : table.next }
}
