import { createColumnHelper, tableFeatures } from '@tanstack/react-table'
import type { ActivityRow } from '../api/activity-types.js'
import { Dot, type Tone } from '../components/badge.js'
import { Usd } from '../components/figures.js'
import { Hex } from '../components/hex.js'
import { Moment } from '../components/moment.js'
import { StrangerText } from '../components/stranger-text.js'
import { reasonName } from '../format/verdicts.js'

/** The service pages and filters; the table only lays out. */
export const features = tableFeatures({})

export interface EndpointName {
  id: number
  title: string
  method: string
}

const tones: Record<ActivityRow['state'], Tone> = {
  valid: 'ok',
  settled: 'ok',
  refunded: 'plain',
  invalid: 'bad',
  failed: 'bad',
  refused: 'plain',
  pending: 'warn',
}

const column = createColumnHelper<typeof features, ActivityRow>()

export function activityColumns(endpoints: readonly EndpointName[]) {
  const names = new Map(endpoints.map(({ id, title }) => [id, title]))
  return column.columns([
    column.accessor('at', { header: 'Time', cell: ({ getValue }) => <Moment at={getValue()} /> }),
    // Before the rest, so that a phone shows them without scrolling.
    column.accessor('usd', { header: 'Amount', cell: ({ getValue }) => <Usd usd={getValue()} /> }),
    column.display({
      id: 'state',
      header: 'State',
      cell: ({ row: { original } }) => (
        <span className="inline-flex items-center gap-1.5">
          <Dot tone={tones[original.state]}>{original.state}</Dot>
          <span className="text-2xs text-faint">{original.kind}</span>
        </span>
      ),
    }),
    column.display({
      id: 'endpoint',
      header: 'Endpoint',
      cell: ({ row }) => <EndpointCell row={row.original} names={names} />,
    }),
    column.accessor('payer', {
      header: 'Payer',
      cell: ({ row, getValue }) => (
        <span className="inline-flex items-center gap-1.5">
          <Hex hex={getValue()} kind="address" />
          {row.original.isSelf && <span className="text-2xs text-faint">yourself</span>}
        </span>
      ),
    }),
    column.accessor('reason', {
      header: 'Reason',
      cell: ({ getValue }) => <ReasonCell reason={getValue()} />,
    }),
    column.accessor('transaction', {
      header: 'Transaction',
      cell: ({ getValue }) => {
        const hash = getValue()
        return hash === null ? <Nothing /> : <Hex hex={hash} kind="tx" />
      },
    }),
  ])
}

function EndpointCell({ row, names }: { row: ActivityRow; names: ReadonlyMap<number, string> }) {
  const name = row.endpointId === null ? undefined : names.get(row.endpointId)
  const text = name ?? row.resource
  if (text === null) return <Nothing />
  return (
    <span className="block max-w-48 truncate" title={row.resource ?? undefined}>
      <StrangerText text={text} max={60} />
    </span>
  )
}

function ReasonCell({ reason }: { reason: string | null }) {
  if (reason === null) return <Nothing />
  return (
    <span className="block max-w-56 text-xs text-muted" title={reason}>
      {reasonName(reason)}
    </span>
  )
}

function Nothing() {
  return <span className="text-faint">–</span>
}
