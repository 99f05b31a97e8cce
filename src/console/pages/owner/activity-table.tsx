import { withQuery } from '@arcus/client/calls'
import type { ActivityRow } from '@arcus/protocol/answers/activity'
import { useQuery } from '@tanstack/react-query'
import { activityTableQuery } from '../../api/activity-queries.js'
import { Loaded, SkeletonRows } from '../../components/loaded.js'
import { Select } from '../../components/select.js'
import { failureText } from '../../format/failures.js'
import { CsvLink } from '../payment/table/csv-link.js'
import { PaymentFilters } from '../payment/table/payment-filter.js'
import type { PaymentRow } from '../payment/table/payment-row.js'
import { PaymentsTable } from '../payment/table/payments-table.js'
import { type Chosen, type NamedEndpoint, shows } from './activity-filter.js'

const showOptions = shows.map(([key, name]) => [key, name] as const)

/** Chooses the rows of the table, and links to all of them as CSV. */
export function TableControls({
  merchantId,
  chosen: { show, table, values, choose },
}: {
  merchantId: string
  chosen: Chosen
}) {
  const csv = `/api/merchants/${encodeURIComponent(merchantId)}/activity.csv`
  return (
    <>
      <Select
        variant="small"
        aria-label="Show"
        value={show}
        options={showOptions}
        onChange={(next) => choose({ show: next })}
      />
      <PaymentFilters names={['buyer', 'min', 'max']} values={values} choose={choose} />
      <CsvLink href={withQuery(csv, { ...table })} />
    </>
  )
}

/** Lists payments or verifications of the owner, newest first. */
export function ActivityTable({
  merchantId,
  endpoints,
  chosen: { table, turned, open, choose, openRow },
}: {
  merchantId: string
  endpoints: readonly NamedEndpoint[]
  chosen: Chosen
}) {
  const last = turned.at(-1)
  const query = useQuery(
    activityTableQuery(merchantId, table, last === undefined ? null : Number(last)),
  )
  const titles = new Map(endpoints.map(({ id, title }) => [id, title]))
  return (
    <Loaded query={query} skeleton={<SkeletonRows count={5} label="Loading the table" />}>
      {({ items, next }) => (
        <PaymentsTable
          label={table.kind === 'verify' ? 'Verifications' : 'Payments'}
          rows={items.map((row) => rowOfActivity(row, titles))}
          next={next === null ? null : String(next)}
          turned={turned}
          onTurn={(page) => choose({ page })}
          open={open}
          onShow={openRow}
        />
      )}
    </Loaded>
  )
}

/** Returns a row of the list of the owner. `titles` are those of the listed endpoints by id. */
function rowOfActivity(row: ActivityRow, titles: ReadonlyMap<number, string>): PaymentRow {
  const { endpointId, resource, toolName } = row
  const name = (endpointId === null ? undefined : titles.get(endpointId)) ?? toolName ?? resource
  const whole = [resource, toolName].filter((it) => it !== null).join(' ')
  const why = row.reason === null ? null : failureText(row.reason)
  return { ...row, merchant: undefined, why, api: name === null ? null : { name, whole } }
}
