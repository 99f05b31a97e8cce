import type { Address } from 'viem'
import type { Activity, ActivityFilter, ActivityStore } from '../../store/activity.js'
import { formatAtomic, formatNative } from '../../x402/amounts.js'

const columns = [
  'time',
  'kind',
  'state',
  'endpoint',
  'resource',
  'payer',
  'pay_to',
  'amount_atomic',
  'amount_usdc',
  'reason',
  'transaction',
  'latency_ms',
  'gas_usdc',
  'self_payment',
] as const

/** Rows of one slice: what a loop turn can spare. */
const SLICE = 200

/** Every row of the filter as CSV (RFC 4180), newest first, a slice at a time. */
export async function* renderCsv(
  store: Pick<ActivityStore, 'list'>,
  filter: Omit<ActivityFilter, 'limit' | 'before'>,
  checksum: (address: Address) => Address,
): AsyncGenerator<string> {
  yield `${columns.join(',')}\r\n`
  let before: number | undefined
  for (;;) {
    const rows = await store.list({ ...filter, before, limit: SLICE })
    if (rows.length > 0) yield rows.map((row) => renderRow(row, checksum)).join('')
    if (rows.length < SLICE) return
    before = rows.at(-1)?.id
    await new Promise((resolve) => setImmediate(resolve))
  }
}

function renderRow(row: Activity, checksum: (address: Address) => Address): string {
  const cells = [
    new Date(row.at).toISOString(),
    row.kind,
    row.state,
    row.endpointId?.toString() ?? '',
    row.resource ?? '',
    checksum(row.payer),
    checksum(row.payTo),
    row.amount.toString(),
    formatAtomic(row.amount),
    row.reason ?? '',
    row.transaction ?? '',
    row.latencyMs.toString(),
    row.gasCost === null ? '' : formatNative(row.gasCost),
    row.isSelf ? 'yes' : 'no',
  ]
  return `${cells.map(renderCell).join(',')}\r\n`
}

/** A cell that begins like a formula would be run as one by a spreadsheet. */
function renderCell(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
