import { pathParamsOf } from '@arcus/protocol/x402/calls'
import type { SqlReader, Value } from '../../../sql/sql.js'
import type {
  EndpointStatus,
  JsonText,
  ListingReader,
  Merchant,
  MerchantRoster,
  PublishedEndpoint,
  PublishedMerchant,
  SignedWrite,
  UsageChange,
} from '../listings.js'
import { withUsage } from '../published.js'
import {
  type EndpointRow,
  type IndexedRow,
  indexedColumns,
  type MerchantRow,
  publishedEndpointColumns,
  toEndpoint,
  toIndexedEndpoint,
  toMerchant,
} from './listing-rows.js'

/** Merchants of one payout address in an answer. All of them have the same owner, or the key of the address. */
const MAX_PAID_TO = 100
/** Merchants that the public sees: neither hidden nor deleted. */
const isPublic = 'm.hidden_reason IS NULL AND m.deleted_at IS NULL'
/** The condition of the function of this name. */
const speaksForPayTo = `(m.owner IS NULL OR m.owner = m.pay_to OR m.is_official = 1
  OR (m.confirmed_owner = m.owner AND m.confirmed_pay_to = m.pay_to))`
const endpointsWithMerchants = 'FROM endpoints e JOIN merchants m ON m.id = e.merchant_id'

/** Reads what listings say, what the public sees of them, and what changed. */
export function createListingReader(sql: SqlReader): ListingReader {
  return {
    ...createMerchantReader(sql),
    ...createEntryReader(sql),
    ...createUsageReader(sql),
    ...createPublishedReader(sql),
    ...createChangeReader(sql),
  }
}

/** Reads merchants, and what they signed. */
function createMerchantReader(sql: SqlReader) {
  const merchants = (rest: string, values: readonly Value[] = []) =>
    readMerchants(sql, rest, values)
  return {
    findMerchant: async (id) => (await merchants('WHERE id = $1', [id]))[0],
    findMerchants: (ids) => findMerchants(sql, ids),
    merchantsPaidTo: (payTo) =>
      merchants(
        `WHERE pay_to = $1 AND deleted_at IS NULL AND ${speaksForPayTo} ORDER BY created_at, id LIMIT ${MAX_PAID_TO}`,
        [payTo],
      ),
    merchantsOwnedBy: (owner, limit) =>
      merchants('WHERE owner = $1 AND deleted_at IS NULL ORDER BY id LIMIT $2', [owner, limit]),
    merchantsOfferedTo: (address, now) =>
      merchants('WHERE offered_to = $1 AND offered_until > $2 AND deleted_at IS NULL ORDER BY id', [
        address,
        now,
      ]),
    merchantsWithAgent: () =>
      merchants('WHERE agent_id IS NOT NULL AND deleted_at IS NULL ORDER BY id'),
    historyOf: (merchantId, after, limit) =>
      sql.all<SignedWrite>(
        `SELECT merchant_id AS "merchantId", revision, owner, nonce, action, message, body, signature,
           accepted_at AS "acceptedAt"
         FROM listing_writes WHERE merchant_id = $1 AND revision > $2 ORDER BY revision LIMIT $3`,
        [merchantId, after, limit],
      ),
  } satisfies Partial<ListingReader>
}

async function readMerchants(
  sql: SqlReader,
  rest: string,
  values: readonly Value[],
): Promise<Merchant[]> {
  return (await sql.all<MerchantRow>(`SELECT * FROM merchants m ${rest}`, values)).map(toMerchant)
}

function findMerchants(sql: SqlReader, ids: readonly string[]): Promise<Merchant[]> {
  return readMerchants(sql, `WHERE ${sql.among('id', 1)}`, [ids])
}

/** Reads endpoints, most of them with their merchants and figures. */
function createEntryReader(sql: SqlReader) {
  const toEntries = (rows: readonly EndpointRow[]) => withMerchants(sql, rows.map(toEndpoint))
  const entries = async (rest: string, values: readonly Value[]) =>
    toEntries(await sql.all<EndpointRow>(`SELECT e.* ${endpointsWithMerchants} ${rest}`, values))
  return {
    async endpointsOf(merchantId) {
      const text = 'SELECT * FROM endpoints WHERE merchant_id = $1 ORDER BY position'
      return (await sql.all<EndpointRow>(text, [merchantId])).map(toEndpoint)
    },
    async endpointStates(merchantId) {
      const rows = await sql.all<{ status: EndpointStatus; count: number }>(
        'SELECT status, count(*) AS count FROM endpoints WHERE merchant_id = $1 GROUP BY status',
        [merchantId],
      )
      const counts = Object.fromEntries(rows.map(({ status, count }) => [status, count]))
      return { live: 0, unverified: 0, failing: 0, ...counts }
    },
    async entriesById(ids) {
      const text = `SELECT * FROM endpoints WHERE ${sql.among('id', 1)}`
      return toEntries(inOrder(ids, await sql.all<EndpointRow>(text, [ids])))
    },
    async publishedById(ids) {
      const text = `SELECT ${publishedEndpointColumns} FROM endpoints WHERE ${sql.among('id', 1)}`
      const endpoints = await sql.all<PublishedEndpoint>(text, [ids])
      return withMerchants(sql, inOrder(ids, endpoints))
    },
    scanEntries: (after, limit) =>
      entries(`WHERE e.id > $1 AND ${isPublic} ORDER BY e.id LIMIT $2`, [after, limit]),
    findByUrl: ({ url, method, toolName = '' }) =>
      entries(
        `WHERE e.url = $1 AND e.method = $2 AND e.tool_name = $3 AND m.deleted_at IS NULL
         ORDER BY e.id`,
        [url, method, toolName],
      ),
    findAtUrl: ({ url, method = '', toolName = '' }, limit) =>
      entries(
        `WHERE e.url = $1 AND ($2 = '' OR e.method = $2) AND ($3 = '' OR e.tool_name = $3)
           AND m.deleted_at IS NULL
         ORDER BY CASE WHEN ${speaksForPayTo} THEN 0 ELSE 1 END,
           CASE e.status WHEN 'live' THEN 0 ELSE 1 END, e.id LIMIT $4`,
        [url, method, toolName, limit],
      ),
    findTemplates: async ({ url, method = '' }, limit) => {
      const found = await entries(...templatesQuery(url, method))
      const { origin, pathname } = new URL(url)
      const isOfForm = (listed: URL) =>
        listed.origin === origin && pathParamsOf(listed.pathname, pathname) !== undefined
      return found.filter(({ endpoint }) => isOfForm(new URL(endpoint.url))).slice(0, limit)
    },
    dueEndpoints: (now, limit) =>
      entries(
        'WHERE e.next_probe_at <= $1 AND m.deleted_at IS NULL ORDER BY e.next_probe_at LIMIT $2',
        [now, limit],
      ),
  } satisfies Partial<ListingReader>
}

/** Returns endpoints with their merchants and figures, all of which are read at once. */
async function withMerchants<Read extends { id: number; merchantId: string }>(
  sql: SqlReader,
  endpoints: readonly Read[],
): Promise<{ endpoint: Read; merchant: Merchant; usage: JsonText | null }[]> {
  if (endpoints.length === 0) return []
  const ids = endpoints.map(({ id }) => id)
  const [merchants, usage] = await Promise.all([
    findMerchants(sql, [...new Set(endpoints.map(({ merchantId }) => merchantId))]),
    usageOf(sql, ids),
  ])
  const byId = new Map(merchants.map((merchant) => [merchant.id, merchant]))
  return endpoints.map((endpoint) => ({
    endpoint,
    merchant: byId.get(endpoint.merchantId) as Merchant,
    usage: usage.get(endpoint.id) ?? null,
  }))
}

/** Reads the figures of endpoints and of merchants. */
function createUsageReader(sql: SqlReader) {
  return {
    usageOf: (ids) => usageOf(sql, ids),
    async merchantUsageOf(ids) {
      const text = `SELECT merchant_id AS id, figures FROM merchant_usage WHERE ${sql.among('merchant_id', 1)}`
      const rows = await sql.all<{ id: string; figures: string }>(text, [ids])
      return new Map(rows.map(({ id, figures }) => [id, figures]))
    },
    usageAfter: (version, limit) =>
      sql.all<UsageChange>(
        `SELECT * FROM (SELECT endpoint_id AS "endpointId", CAST(NULL AS TEXT) AS "merchantId", version, figures
             FROM endpoint_usage WHERE version > $1 ORDER BY version LIMIT $2) AS endpoints
         UNION ALL
         SELECT * FROM (SELECT CAST(NULL AS BIGINT) AS "endpointId", merchant_id AS "merchantId", version, figures
             FROM merchant_usage WHERE version > $1 ORDER BY version LIMIT $2) AS merchants
         ORDER BY version LIMIT $2`,
        [version, limit],
      ),
    async merchantUsageVersion() {
      const row = await sql.get<{ version: number | null }>(
        'SELECT max(version) AS version FROM merchant_usage',
      )
      return row?.version ?? 0
    },
  } satisfies Partial<ListingReader>
}

async function usageOf(sql: SqlReader, ids: readonly number[]): Promise<Map<number, JsonText>> {
  const text = `SELECT endpoint_id AS id, figures FROM endpoint_usage WHERE ${sql.among('endpoint_id', 1)}`
  const rows = await sql.all<{ id: number; figures: string }>(text, [ids])
  return new Map(rows.map(({ id, figures }) => [id, figures]))
}

/** Reads merchants as they are published. */
function createPublishedReader(sql: SqlReader) {
  return {
    async publishedAfter(last, limit) {
      const text = `${published} WHERE (p.is_last, p.merchant_id) > ($1, $2) AND p.json IS NOT NULL
        ORDER BY p.is_last, p.merchant_id LIMIT $3`
      const values = [last?.isLast ?? 0, last?.id ?? '', limit]
      return (await sql.all<PublishedRow>(text, values)).map(toPublishedMerchant)
    },
    async publishedIds(offset, limit) {
      const text = `SELECT merchant_id AS id FROM published_merchants WHERE json IS NOT NULL
        ORDER BY is_last, merchant_id LIMIT $2 OFFSET $1`
      return (await sql.all<{ id: string }>(text, [offset, limit])).map(({ id }) => id)
    },
    async publishedCount() {
      const text = 'SELECT count(*) AS count FROM published_merchants WHERE json IS NOT NULL'
      return (await sql.get<{ count: number }>(text))?.count ?? 0
    },
    async publishedMerchants(ids) {
      const text = `${published} WHERE ${sql.among('p.merchant_id', 1)} AND p.json IS NOT NULL`
      const rows = await sql.all<PublishedRow>(text, [ids])
      return inOrder(ids, rows).map(toPublishedMerchant)
    },
  } satisfies Partial<ListingReader>
}

/** Reads the numbers of changes, and the endpoints as the catalog in memory keeps them. */
function createChangeReader(sql: SqlReader) {
  const forIndex = async (rest: string, values: readonly Value[]) =>
    (await sql.all<IndexedRow>(`SELECT ${indexedColumns} FROM endpoints ${rest}`, values)).map(
      toIndexedEndpoint,
    )
  return {
    scanForIndex: (after, limit) => forIndex('WHERE id > $1 ORDER BY id LIMIT $2', [after, limit]),
    indexedOf: (merchantId) => forIndex('WHERE merchant_id = $1 ORDER BY id', [merchantId]),
    async lastChange() {
      const row = await sql.get<{ sequence: number | null }>(
        'SELECT max(sequence) AS sequence FROM catalog_changes',
      )
      return row?.sequence ?? 0
    },
    async changeOf(merchantId) {
      const text = 'SELECT sequence FROM published_merchants WHERE merchant_id = $1'
      return (await sql.get<{ sequence: number }>(text, [merchantId]))?.sequence ?? 0
    },
    async viewVersion(merchantId) {
      const text = `SELECT (SELECT sequence FROM published_merchants WHERE merchant_id = $1) AS change,
          (SELECT version FROM merchant_usage WHERE merchant_id = $1) AS whole,
          sum(u.version) AS usage, sum(e.next_probe_at) AS probes, sum(e.failures) AS failures
        FROM endpoints e LEFT JOIN endpoint_usage u ON u.endpoint_id = e.id WHERE e.merchant_id = $1`
      const row = await sql.get<Record<string, number | string | null>>(text, [merchantId])
      return Object.values(row ?? {}).join('-')
    },
    changesAfter: (sequence, limit) =>
      sql.all<{ sequence: number; merchantId: string }>(
        `SELECT sequence, merchant_id AS "merchantId" FROM catalog_changes
         WHERE sequence > $1 ORDER BY sequence LIMIT $2`,
        [sequence, limit],
      ),
  } satisfies Partial<ListingReader>
}

/** Merchants as they are stored for the list, with their figures. */
const published = `SELECT p.merchant_id AS id, p.is_last AS "isLast", p.json, u.figures
  FROM published_merchants p LEFT JOIN merchant_usage u ON u.merchant_id = p.merchant_id`

type PublishedRow = PublishedMerchant & { figures: JsonText | null }

/** Payments to an address count for no merchant that does not speak for it. */
function toPublishedMerchant({ id, isLast, json, figures }: PublishedRow): PublishedMerchant {
  return { id, isLast, json: withUsage(json, isLast === 1 ? null : figures) }
}

/** Lists every merchant for the operator, hidden and deleted ones too. */
export function createMerchantRoster(sql: SqlReader): MerchantRoster {
  return {
    async scan(afterId, limit) {
      const rows = await sql.all<MerchantRow & { endpoint_count: number }>(
        `SELECT m.*, (SELECT count(*) FROM endpoints e WHERE e.merchant_id = m.id) AS endpoint_count
         FROM merchants m WHERE m.id > $1 ORDER BY m.id LIMIT $2`,
        [afterId, limit],
      )
      return rows.map((row) => ({ merchant: toMerchant(row), endpointCount: row.endpoint_count }))
    },
  }
}

/** Returns the rows in the order of the ids; ids without a row are left out. */
function inOrder<Id, Row extends { id: Id }>(ids: readonly Id[], rows: readonly Row[]): Row[] {
  const byId = new Map(rows.map((row) => [row.id, row]))
  return ids.flatMap((id) => byId.get(id) ?? [])
}

/** Steps of a path of which one may be the first parameter of a template. */
const MAX_STEPS = 16
/** Templates of the same length that are compared with a path. */
const MAX_TEMPLATES = 200

/** Writes the search for templates that begin as this URL does until their first parameter, and have as many steps. */
function templatesQuery(url: string, method: string): [string, Value[]] {
  const { origin, pathname } = new URL(url)
  const steps = pathname.split('/').slice(0, MAX_STEPS + 1)
  const starts = steps.slice(1).map((_, i) => `${origin}${steps.slice(0, i + 1).join('/')}/:`)
  // The character after the colon ends the range.
  const ranges = starts.map((_, i) => `(e.url >= $${2 * i + 4} AND e.url < $${2 * i + 5})`)
  const slashes = `${origin}${pathname}`.split('/').length - 1
  return [
    `WHERE (${ranges.join(' OR ')}) AND ($1 = '' OR e.method = $1) AND e.method <> 'MCP'
       AND LENGTH(e.url) - LENGTH(REPLACE(e.url, '/', '')) = $2 AND m.deleted_at IS NULL
     ORDER BY CASE e.status WHEN 'live' THEN 0 ELSE 1 END, e.id LIMIT $3`,
    [
      method,
      slashes,
      MAX_TEMPLATES,
      ...starts.flatMap((start) => [start, `${start.slice(0, -1)};`]),
    ],
  ]
}
