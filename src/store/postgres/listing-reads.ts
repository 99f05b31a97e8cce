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
import type { Queries } from './database.js'

/** What the public sees: neither hidden nor deleted. */
const isPublic = 'm.hidden_reason IS NULL AND m.deleted_at IS NULL'

/** Only these columns are read for an index. */
const indexed = `SELECT ${indexedColumns}, (e.input_schema IS NOT NULL)::int AS has_schema
  FROM endpoints e JOIN merchants m ON m.id = e.merchant_id`

export function createListingReader(sql: Queries): ListingReader {
  const merchants = async (text: string, values: readonly unknown[] = []) =>
    (await sql.rows<MerchantRow>(text, values)).map(toMerchant)
  const forIndex = async (text: string, values: readonly unknown[]) =>
    (await sql.rows<IndexedRow>(text, values)).map(toIndexedEndpoint)

  const findMerchants = (ids: readonly string[]) =>
    merchants('SELECT * FROM merchants WHERE id = ANY($1)', [ids])
  const publishedMerchants = async (ids: readonly string[]) => {
    const text = `SELECT ${merchantColumns} FROM merchants WHERE id = ANY($1)`
    return (await sql.rows<PublishedMerchantRow>(text, [ids])).map(toPublishedMerchant)
  }
  const entries = async (text: string, values: readonly unknown[]) =>
    withMerchants((await sql.rows<EndpointRow>(text, values)).map(toEndpoint), findMerchants)

  return {
    findMerchant: async (id) => (await merchants('SELECT * FROM merchants WHERE id = $1', [id]))[0],
    findMerchants,
    endpointsOf: async (merchantId) =>
      (
        await sql.rows<EndpointRow>(
          'SELECT * FROM endpoints WHERE merchant_id = $1 ORDER BY position',
          [merchantId],
        )
      ).map(toEndpoint),
    async endpointStates(merchantId) {
      const rows = await sql.rows<{ status: EndpointStatus; count: number }>(
        'SELECT status, count(*) AS count FROM endpoints WHERE merchant_id = $1 GROUP BY status',
        [merchantId],
      )
      const counts = Object.fromEntries(rows.map(({ status, count }) => [status, count]))
      return { live: 0, unverified: 0, failing: 0, ...counts }
    },
    entriesById: (ids) =>
      entries(
        `SELECT e.* FROM unnest($1::bigint[]) WITH ORDINALITY AS wanted (id, place)
         JOIN endpoints e ON e.id = wanted.id ORDER BY place`,
        [ids],
      ),
    async publishedById(wanted) {
      const endpoints = await sql.rows<PublishedEndpoint>(
        `SELECT ${endpointMembers} FROM unnest($1::bigint[]) WITH ORDINALITY AS wanted (number, place)
         JOIN endpoints e ON e.id = wanted.number ORDER BY place`,
        [wanted],
      )
      return withMerchants(endpoints, publishedMerchants)
    },
    scanEntries: (after, limit) =>
      entries(
        `SELECT e.* FROM endpoints e JOIN merchants m ON m.id = e.merchant_id
         WHERE e.id > $1 AND ${isPublic} ORDER BY e.id LIMIT $2`,
        [after, limit],
      ),
    scanForIndex: (after, limit) =>
      forIndex(`${indexed} WHERE e.id > $1 ORDER BY e.id LIMIT $2`, [after, limit]),
    scanOutline: (after, limit) =>
      sql.rows<OutlinedEndpoint>(
        `SELECT ${outlineColumns} FROM endpoints WHERE id > $1 ORDER BY id LIMIT $2`,
        [after, limit],
      ),
    indexedOf: (merchantId) =>
      forIndex(`${indexed} WHERE e.merchant_id = $1 ORDER BY e.id`, [merchantId]),
    scanMerchants: (after, limit) =>
      merchants(
        `SELECT m.* FROM merchants m WHERE m.id > $1 AND ${isPublic} ORDER BY m.id LIMIT $2`,
        [after, limit],
      ),
    findByUrl: (url, method) =>
      entries(
        `SELECT e.* FROM endpoints e JOIN merchants m ON m.id = e.merchant_id
         WHERE e.url = $1 AND e.method = $2 AND m.deleted_at IS NULL ORDER BY e.id`,
        [url, method],
      ),
    merchantsPaidTo: (payTo) =>
      merchants(
        'SELECT * FROM merchants WHERE pay_to = $1 AND deleted_at IS NULL ORDER BY created_at, id',
        [payTo],
      ),
    merchantsOwnedBy: (owner, limit) =>
      merchants(
        'SELECT * FROM merchants WHERE owner = $1 AND deleted_at IS NULL ORDER BY id LIMIT $2',
        [owner, limit],
      ),
    merchantsOfferedTo: (address, now) =>
      merchants(
        `SELECT * FROM merchants WHERE offered_to = $1 AND offered_until > $2 AND deleted_at IS NULL
         ORDER BY id`,
        [address, now],
      ),
    merchantsWithAgent: () =>
      merchants(
        'SELECT * FROM merchants WHERE agent_id IS NOT NULL AND deleted_at IS NULL ORDER BY id',
      ),
    historyOf: async (merchantId, after, limit) =>
      (
        await sql.rows<WriteRow>(
          'SELECT * FROM listing_writes WHERE merchant_id = $1 AND revision > $2 ORDER BY revision LIMIT $3',
          [merchantId, after, limit],
        )
      ).map(toWrite),
    async probesOf(endpointId) {
      const rows = await sql.rows<{ checked_at: number; verdict: string }>(
        'SELECT checked_at, verdict FROM probes WHERE endpoint_id = $1 ORDER BY checked_at',
        [endpointId],
      )
      return rows.map(({ checked_at, verdict }) => ({ checkedAt: checked_at, verdict }))
    },
    dueEndpoints: (now, limit) =>
      entries(
        `SELECT e.* FROM endpoints e JOIN merchants m ON m.id = e.merchant_id
         WHERE e.next_probe_at <= $1 AND m.deleted_at IS NULL ORDER BY e.next_probe_at LIMIT $2`,
        [now, limit],
      ),
    async lastChange() {
      const [row] = await sql.rows<{ sequence: number }>(
        'SELECT coalesce(max(sequence), 0) AS sequence FROM catalog_changes',
      )
      return row?.sequence ?? 0
    },
    async changesAfter(sequence, limit) {
      const rows = await sql.rows<{ sequence: number; merchant_id: string }>(
        'SELECT sequence, merchant_id FROM catalog_changes WHERE sequence > $1 ORDER BY sequence LIMIT $2',
        [sequence, limit],
      )
      return rows.map((row) => ({ sequence: row.sequence, merchantId: row.merchant_id }))
    },
  }
}

/** Endpoints with their merchants, all of which are read at once. */
async function withMerchants<Read extends { merchantId: string }, Merchant extends { id: string }>(
  endpoints: readonly Read[],
  readMerchants: (ids: readonly string[]) => Promise<Merchant[]>,
): Promise<{ endpoint: Read; merchant: Merchant }[]> {
  if (endpoints.length === 0) return []
  const merchants = await readMerchants([...new Set(endpoints.map((it) => it.merchantId))])
  const byId = new Map(merchants.map((merchant) => [merchant.id, merchant]))
  return endpoints.map((endpoint) => ({
    endpoint,
    merchant: byId.get(endpoint.merchantId) as Merchant,
  }))
}
