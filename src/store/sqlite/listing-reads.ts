import type { EndpointStatus, ListingReader, OutlinedEndpoint } from '../listings.js'
import type { PublishedEndpoint } from '../published.js'
import {
  type EndpointRow,
  type IndexedRow,
  indexedColumns,
  type MerchantRow,
  outlineColumns,
  toEndpoint,
  toIndexedEndpoint,
  toMerchant,
  toWrite,
  type WriteRow,
} from '../rows/listing-rows.js'
import {
  endpointMembers,
  merchantColumns,
  type PublishedMerchantRow,
  toPublishedMerchant,
} from '../rows/published-rows.js'
import type { Database } from './database.js'

/** What the public sees: neither hidden nor deleted. */
const isPublic = 'm.hidden_reason IS NULL AND m.deleted_at IS NULL'

const indexed = `SELECT ${indexedColumns}, e.input_schema IS NOT NULL AS has_schema
  FROM endpoints e JOIN merchants m ON m.id = e.merchant_id`

export function createListingReader(database: Database): ListingReader {
  const findMerchant = database.prepare('SELECT * FROM merchants WHERE id = ?')
  const endpointsOf = database.prepare(
    'SELECT * FROM endpoints WHERE merchant_id = ? ORDER BY position',
  )
  const statesOf = database.prepare(
    'SELECT status, COUNT(*) AS count FROM endpoints WHERE merchant_id = ? GROUP BY status',
  )
  const endpointById = database.prepare('SELECT * FROM endpoints WHERE id = ?')
  const publishedById = database.prepare(`SELECT ${endpointMembers} FROM endpoints WHERE id = ?`)
  const publishedMerchant = database.prepare(
    `SELECT ${merchantColumns} FROM merchants WHERE id = ?`,
  )
  const scanEndpoints = database.prepare(
    `SELECT e.* FROM endpoints e JOIN merchants m ON m.id = e.merchant_id
     WHERE e.id > ? AND ${isPublic} ORDER BY e.id LIMIT ?`,
  )
  const scanIndexed = database.prepare(`${indexed} WHERE e.id > ? ORDER BY e.id LIMIT ?`)
  const scanOutline = database.prepare(
    `SELECT ${outlineColumns} FROM endpoints WHERE id > ? ORDER BY id LIMIT ?`,
  )
  const indexedOf = database.prepare(`${indexed} WHERE e.merchant_id = ? ORDER BY e.id`)
  const scanMerchants = database.prepare(
    `SELECT m.* FROM merchants m WHERE m.id > ? AND ${isPublic} ORDER BY m.id LIMIT ?`,
  )
  const byUrl = database.prepare(
    `SELECT e.* FROM endpoints e JOIN merchants m ON m.id = e.merchant_id
     WHERE e.url = ? AND e.method = ? AND m.deleted_at IS NULL ORDER BY e.id`,
  )
  const paidTo = database.prepare(
    'SELECT * FROM merchants WHERE pay_to = ? AND deleted_at IS NULL ORDER BY created_at, id',
  )
  const ownedBy = database.prepare(
    'SELECT * FROM merchants WHERE owner = ? AND deleted_at IS NULL ORDER BY id LIMIT ?',
  )
  const offeredTo = database.prepare(
    `SELECT * FROM merchants WHERE offered_to = ? AND offered_until > ? AND deleted_at IS NULL
     ORDER BY id`,
  )
  const withAgent = database.prepare(
    'SELECT * FROM merchants WHERE agent_id IS NOT NULL AND deleted_at IS NULL ORDER BY id',
  )
  const history = database.prepare(
    'SELECT * FROM listing_writes WHERE merchant_id = ? AND revision > ? ORDER BY revision LIMIT ?',
  )
  const probes = database.prepare(
    'SELECT checked_at, verdict FROM probes WHERE endpoint_id = ? ORDER BY checked_at',
  )
  const due = database.prepare(
    `SELECT e.* FROM endpoints e JOIN merchants m ON m.id = e.merchant_id
     WHERE e.next_probe_at <= ? AND m.deleted_at IS NULL ORDER BY e.next_probe_at LIMIT ?`,
  )
  const lastChange = database.prepare(
    'SELECT COALESCE(MAX(sequence), 0) AS sequence FROM catalog_changes',
  )
  const changes = database.prepare(
    'SELECT sequence, merchant_id FROM catalog_changes WHERE sequence > ? ORDER BY sequence LIMIT ?',
  )

  const merchantRow = (id: string) => findMerchant.get(id) as MerchantRow | undefined

  const merchantOf = (id: string) => toMerchant(merchantRow(id) as MerchantRow)
  const publishedMerchantOf = (id: string) =>
    toPublishedMerchant(publishedMerchant.get(id) as PublishedMerchantRow)

  const entries = (rows: unknown[]) =>
    withMerchants((rows as EndpointRow[]).map(toEndpoint), merchantOf)
  const eachOf = (statement: ReturnType<Database['prepare']>, ids: readonly number[]) =>
    ids.map((id) => statement.get(id)).filter((row) => row !== undefined)

  return {
    findMerchants: async (ids) =>
      ids.flatMap((id) => {
        const row = merchantRow(id)
        return row === undefined ? [] : toMerchant(row)
      }),
    async findMerchant(id) {
      const row = merchantRow(id)
      return row === undefined ? undefined : toMerchant(row)
    },
    endpointsOf: async (merchantId) =>
      (endpointsOf.all(merchantId) as EndpointRow[]).map(toEndpoint),
    async endpointStates(merchantId) {
      const rows = statesOf.all(merchantId) as { status: EndpointStatus; count: number }[]
      const counts = Object.fromEntries(rows.map(({ status, count }) => [status, count]))
      return { live: 0, unverified: 0, failing: 0, ...counts }
    },
    entriesById: async (ids) => entries(eachOf(endpointById, ids)),
    publishedById: async (ids) =>
      withMerchants(eachOf(publishedById, ids) as PublishedEndpoint[], publishedMerchantOf),
    scanEntries: async (after, limit) => entries(scanEndpoints.all(after, limit)),
    scanForIndex: async (after, limit) =>
      (scanIndexed.all(after, limit) as IndexedRow[]).map(toIndexedEndpoint),
    scanOutline: async (after, limit) => scanOutline.all(after, limit) as OutlinedEndpoint[],
    indexedOf: async (merchantId) =>
      (indexedOf.all(merchantId) as IndexedRow[]).map(toIndexedEndpoint),
    scanMerchants: async (after, limit) =>
      (scanMerchants.all(after, limit) as MerchantRow[]).map(toMerchant),
    findByUrl: async (url, method) => entries(byUrl.all(url, method)),
    merchantsPaidTo: async (payTo) => (paidTo.all(payTo) as MerchantRow[]).map(toMerchant),
    merchantsOwnedBy: async (owner, limit) =>
      (ownedBy.all(owner, limit) as MerchantRow[]).map(toMerchant),
    merchantsOfferedTo: async (address, now) =>
      (offeredTo.all(address, now) as MerchantRow[]).map(toMerchant),
    merchantsWithAgent: async () => (withAgent.all() as MerchantRow[]).map(toMerchant),
    historyOf: async (merchantId, after, limit) =>
      (history.all(merchantId, after, limit) as WriteRow[]).map(toWrite),
    async probesOf(endpointId) {
      const rows = probes.all(endpointId) as { checked_at: number; verdict: string }[]
      return rows.map(({ checked_at, verdict }) => ({ checkedAt: checked_at, verdict }))
    },
    dueEndpoints: async (now, limit) => entries(due.all(now, limit)),
    lastChange: async () => (lastChange.get() as { sequence: number }).sequence,
    async changesAfter(sequence, limit) {
      const rows = changes.all(sequence, limit) as { sequence: number; merchant_id: string }[]
      return rows.map((row) => ({ sequence: row.sequence, merchantId: row.merchant_id }))
    },
  }
}

/** Endpoints with their merchants, each merchant read once. */
function withMerchants<Read extends { merchantId: string }, Merchant>(
  endpoints: readonly Read[],
  merchantOf: (id: string) => Merchant,
): { endpoint: Read; merchant: Merchant }[] {
  const merchants = new Map<string, Merchant>()
  return endpoints.map((endpoint) => {
    const { merchantId } = endpoint
    const merchant = merchants.get(merchantId) ?? merchantOf(merchantId)
    merchants.set(merchantId, merchant)
    return { endpoint, merchant }
  })
}
