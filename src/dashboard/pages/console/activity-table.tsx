import { useQuery } from '@tanstack/react-query'
import { withQuery } from 'arcus-client/calls'
import { useState } from 'react'
import type { ActivityRow } from '../../../api/activity.js'
import { type ActivityFilter, activityTableQuery, type TableFilter } from '../../api/queries.js'
import { Dot, type Tone } from '../../components/badge.js'
import { Button } from '../../components/button.js'
import { Card, Empty } from '../../components/card.js'
import { type Options, Select } from '../../components/field.js'
import { Money } from '../../components/figures.js'
import { Icon } from '../../components/icons.js'
import { Loaded, SkeletonRows } from '../../components/loaded.js'
import { Moment } from '../../components/moment.js'
import { type Column, DataTable } from '../../components/table.js'
import { Hex, UntrustedText } from '../../components/untrusted-text.js'
import { failureText } from '../../format/failures.js'
import { words as all } from './words.js'

const words = all.table

export interface EndpointName {
  id: number
  title: string
  method: string
  /** Unix seconds; `null` if nobody paid yet. */
  lastPaid: number | null
}

interface TableProps {
  merchantId: string
  endpoints: readonly EndpointName[]
  filter: ActivityFilter
}

const kinds = [
  ['settle', words.kinds.settle],
  ['', words.kinds['']],
  ['verify', words.kinds.verify],
] as const satisfies Options<ActivityRow['kind'] | ''>

const tones: Record<ActivityRow['state'], Tone> = {
  settled: 'ok',
  free: 'plain',
  refunded: 'plain',
  failed: 'bad',
  refused: 'plain',
  pending: 'warn',
  valid: 'ok',
  invalid: 'bad',
}
const states = [
  ['', words.anyState],
  ...(Object.keys(tones) as ActivityRow['state'][]).map(
    (state) => [state, words.states[state]] as const,
  ),
] satisfies Options<ActivityRow['state'] | ''>

/** Lists the payments of the merchant, and on request each verification, newest first, and links to all of them as CSV. */
export function ActivityTable({ merchantId, endpoints, filter }: TableProps) {
  const [kind, setKind] = useState<ActivityRow['kind'] | ''>('settle')
  const [state, setState] = useState<ActivityRow['state'] | ''>('')
  const wanted: TableFilter = { ...filter, kind, state }
  const csv = `/api/merchants/${encodeURIComponent(merchantId)}/activity.csv`
  return (
    <Card>
      <div className="flex flex-wrap items-center gap-2 border-b border-line px-4 py-3">
        <Select
          variant="small"
          aria-label={words.kind}
          value={kind}
          options={kinds}
          onChange={setKind}
        />
        <Select
          variant="small"
          aria-label={words.state}
          value={state}
          options={states}
          onChange={setState}
        />
        <a
          href={withQuery(csv, { ...wanted })}
          download
          className="ml-auto inline-flex h-8 items-center gap-1.5 rounded-lg border border-line-strong bg-raised px-3 text-xs font-medium hover:bg-sunken"
        >
          <Icon name="down" size={12} />
          {words.csv}
        </a>
      </div>
      {/* Another filter begins at its first page. */}
      <Pages key={JSON.stringify(wanted)} {...{ merchantId, endpoints }} filter={wanted} />
    </Card>
  )
}

function Pages({ merchantId, endpoints, filter }: TableProps & { filter: TableFilter }) {
  /** The beginning of each page that was turned to. The first page has none. */
  const [turned, setTurned] = useState<number[]>([])
  const query = useQuery(activityTableQuery(merchantId, filter, turned.at(-1) ?? null))
  return (
    <Loaded query={query} skeleton={<SkeletonRows count={5} label={words.loading} />}>
      {({ items, next }) =>
        items.length === 0 ? (
          <Empty title={words.empty}>{words.emptyNote}</Empty>
        ) : (
          <>
            <DataTable
              label={words.label}
              columns={columnsFor(endpoints)}
              rows={items}
              keyOf={({ id }) => id}
            />
            <nav
              aria-label={words.pages}
              className="flex items-center justify-between gap-3 px-4 py-3"
            >
              <Button
                size="sm"
                why={turned.length === 0 ? words.isNewest : undefined}
                onClick={() => setTurned(turned.slice(0, -1))}
              >
                {words.newer}
              </Button>
              <span className="text-xs text-muted">{words.page(turned.length + 1)}</span>
              <Button
                size="sm"
                why={next === null ? words.isOldest : undefined}
                onClick={() => next !== null && setTurned([...turned, next])}
              >
                {words.older}
              </Button>
            </nav>
          </>
        )
      }
    </Loaded>
  )
}

/** The amount comes before the rest, so that a phone shows it without scrolling. */
function columnsFor(endpoints: readonly EndpointName[]): Column<ActivityRow>[] {
  const titles = new Map(endpoints.map(({ id, title }) => [id, title]))
  return [
    { name: words.time, cell: ({ at }) => <Moment at={at} /> },
    { name: words.amount, cell: (row) => <Money {...row} /> },
    {
      name: words.state,
      cell: ({ state, kind }) => (
        <span className="inline-flex items-center gap-1.5">
          <Dot tone={tones[state]}>{words.states[state]}</Dot>
          {kind === 'verify' && <span className="text-2xs text-faint">{words.verification}</span>}
        </span>
      ),
    },
    {
      name: words.endpoint,
      cell: ({ endpointId, resource, toolName }) => {
        const text =
          (endpointId === null ? undefined : titles.get(endpointId)) ?? toolName ?? resource
        const whole = [resource, toolName].filter((it) => it !== null).join(' ')
        return text === null ? (
          <Nothing />
        ) : (
          <span className="block max-w-48 truncate" title={whole}>
            <UntrustedText text={text} max={60} />
          </span>
        )
      },
    },
    {
      name: words.payer,
      cell: ({ payer, isSelf }) => (
        <span className="inline-flex items-center gap-1.5">
          <Hex hex={payer} kind="address" />
          {isSelf && <span className="text-2xs text-faint">{words.yourself}</span>}
        </span>
      ),
    },
    {
      name: words.reason,
      cell: ({ reason }) =>
        reason === null ? (
          <Nothing />
        ) : (
          <span className="block max-w-56 text-xs text-muted" title={reason}>
            {failureText(reason)}
          </span>
        ),
    },
    {
      name: words.transaction,
      cell: ({ transaction }) =>
        transaction === null ? <Nothing /> : <Hex hex={transaction} kind="tx" />,
    },
  ]
}

function Nothing() {
  return <span className="text-faint">–</span>
}
