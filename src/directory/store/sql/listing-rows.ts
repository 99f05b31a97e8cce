import type { Delivery } from '@arcus/protocol/answers/paid-checks'
import type { CallMethod } from '@arcus/protocol/x402/calls'
import { isObject } from '@arcus/protocol/x402/json'
import type { Address } from 'viem'
import type {
  EndpointDraft,
  EndpointHealth,
  EndpointStatus,
  IndexedEndpoint,
  Merchant,
  Pricing,
  StoredEndpoint,
} from '../listings.js'
import { payToProofOf } from '../ownership.js'
import { siteOf } from '../site.js'

/** A row of `merchants`. */
export interface MerchantRow {
  id: string
  owner: Address | null
  name: string
  description: string
  network: string
  asset: Address
  pay_to: Address
  revision: number
  is_official: number
  is_partner: number
  hidden_reason: string | null
  agent_id: string | null
  identity: string | null
  offered_to: Address | null
  offered_until: number | null
  confirmed_owner: Address | null
  confirmed_pay_to: Address | null
  created_at: number
  updated_at: number
  deleted_at: number | null
  name_look: string
  name_word: string | null
  named_with: number
  name_like: string | null
  name_like_at: string | null
}

/** Returns a row that says no more than this. */
export function newMerchantRow(
  {
    id,
    name,
    network,
    asset,
    payTo,
  }: Pick<Merchant, 'id' | 'name' | 'network' | 'asset' | 'payTo'>,
  now: number,
): MerchantRow {
  return {
    id,
    owner: null,
    name,
    description: '',
    network,
    asset,
    pay_to: payTo,
    revision: 0,
    is_official: 0,
    is_partner: 0,
    hidden_reason: null,
    agent_id: null,
    identity: null,
    offered_to: null,
    offered_until: null,
    confirmed_owner: null,
    confirmed_pay_to: null,
    created_at: now,
    updated_at: now,
    deleted_at: null,
    name_look: '',
    name_word: null,
    named_with: 0,
    name_like: null,
    name_like_at: null,
  }
}

export function toMerchant(row: MerchantRow): Merchant {
  const { offered_to: to, offered_until: until } = row
  const { confirmed_owner: owner, confirmed_pay_to: payTo } = row
  const { name_like: merchantId, name_like_at: path } = row
  return {
    id: row.id,
    owner: row.owner,
    name: row.name,
    description: row.description,
    network: row.network,
    asset: row.asset,
    payTo: row.pay_to,
    revision: row.revision,
    isOfficial: row.is_official === 1,
    isPartner: row.is_partner === 1,
    hiddenReason: row.hidden_reason,
    agentId: row.agent_id,
    identity: row.identity === null ? null : JSON.parse(row.identity),
    offer: to === null || until === null ? null : { to, until },
    confirmation: owner === null || payTo === null ? null : { owner, payTo },
    nameLike: merchantId === null || path === null ? null : { merchantId, path },
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    deletedAt: row.deleted_at,
  }
}

/** Returns whether every item of the merchant publishes the same about it as before. */
export function publishesTheSame(before: MerchantRow | undefined, after: MerchantRow): boolean {
  return before !== undefined && publishedOf(before) === publishedOf(after)
}

function publishedOf(row: MerchantRow): string {
  const merchant = toMerchant(row)
  const { name, isOfficial, isPartner, identity } = merchant
  const agentId = identity?.checks.control.passed === true && identity.agentId
  return JSON.stringify([name, isOfficial, isPartner, agentId, payToProofOf(merchant)])
}

/** A row of `endpoints`. */
export interface EndpointRow {
  id: number
  merchant_id: string
  position: number
  url: string
  site: string
  method: CallMethod
  /** Empty for an endpoint of HTTP. */
  tool_name: string
  transport: NonNullable<StoredEndpoint['transport']> | null
  title: string
  description: string
  pricing: Pricing
  price: string
  asset: Address
  symbol: string
  tags: string
  example: string
  input_schema: string | null
  output: string | null
  extras: string
  is_hosted: number
  accepts: string
  status: EndpointStatus
  probe: string | null
  failures: number
  next_probe_at: number | null
  delivery: string | null
  last_updated: number
  created_at: number
}

export function toEndpoint(row: EndpointRow): StoredEndpoint {
  return {
    ...toFound(row),
    ...(row.transport === null ? {} : { transport: row.transport }),
    example: JSON.parse(row.example),
    inputSchema: row.input_schema === null ? null : JSON.parse(row.input_schema),
    output: row.output === null ? null : JSON.parse(row.output),
    isHosted: row.is_hosted === 1,
    delivery: row.delivery === null ? null : JSON.parse(row.delivery),
    probe: row.probe === null ? null : JSON.parse(row.probe),
    failures: row.failures,
    nextProbeAt: row.next_probe_at,
    lastUpdated: row.last_updated,
    createdAt: row.created_at,
  }
}

/** Columns that discovery publishes of an endpoint, named as the members of `PublishedEndpoint`. */
export const publishedEndpointColumns = `id, merchant_id AS "merchantId", url, method,
  NULLIF(tool_name, '') AS "toolName", transport, title, description, pricing, price, asset, symbol, tags,
  example, input_schema AS "inputSchema", output, extras, accepts, status, last_updated AS "lastUpdated",
  CASE is_hosted WHEN 1 THEN 'true' ELSE 'false' END AS "isHosted", delivery`

const indexed = [
  'id',
  'merchant_id',
  'url',
  'method',
  'tool_name',
  'title',
  'description',
  'pricing',
  'price',
  'asset',
  'symbol',
  'tags',
  'extras',
  'accepts',
  'status',
  'delivery',
] as const

/** Columns that a search reads of an endpoint. */
export const indexedColumns = `${indexed.join(', ')}, CASE WHEN input_schema IS NULL THEN 0 ELSE 1 END AS has_schema`

export type IndexedRow = Pick<EndpointRow, (typeof indexed)[number]> & { has_schema: number }

export function toIndexedEndpoint(row: IndexedRow): IndexedEndpoint {
  const delivery: Delivery | null = row.delivery === null ? null : JSON.parse(row.delivery)
  return Object.assign(toFound(row), {
    hasSchema: row.has_schema === 1,
    isDelivered: delivery !== null && isDelivered(delivery),
    deliveredShare: delivery?.share ?? -1,
  })
}

type IndexedFacts = Omit<IndexedEndpoint, 'hasSchema' | 'isDelivered' | 'deliveredShare'>

/** A start reads every endpoint, so the members are written out: putting objects together would take longer than reading. */
function toFound(row: Omit<IndexedRow, 'has_schema' | 'delivery'>): IndexedFacts {
  const found: IndexedFacts = {
    id: row.id,
    merchantId: row.merchant_id,
    url: row.url,
    method: row.method,
    title: row.title,
    description: row.description,
    pricing: row.pricing,
    status: row.status,
    price: BigInt(row.price),
    asset: row.asset,
    symbol: row.symbol,
    tags: JSON.parse(row.tags),
    extras: row.extras === '{}' ? {} : JSON.parse(row.extras),
    accepts: JSON.parse(row.accepts),
  }
  if (row.tool_name !== '') found.toolName = row.tool_name
  return found
}

/** Columns that an item publishes: only a change of these moves `lastUpdated`. */
const publishedColumns = [
  'transport',
  'title',
  'description',
  'pricing',
  'price',
  'asset',
  'symbol',
  'tags',
  'example',
  'input_schema',
  'output',
  'extras',
  'is_hosted',
  'accepts',
  'status',
] as const

/** Returns whether a buyer may expect an answer as the listing describes it. */
function isDelivered({ last, outdated }: Delivery): boolean {
  return last.delivered && !outdated
}

/**
 * Returns the figures of the paid checks after a write: a delivery says nothing about answers that the endpoint has declared
 * since in another form.
 */
export function deliveryAfter(
  row: Pick<EndpointRow, 'delivery' | 'extras'>,
  { extras }: Pick<EndpointColumns, 'extras'>,
): string | null {
  if (row.delivery === null || row.extras === extras) return row.delivery
  const [before, after] = [row.extras, extras].map((text) => JSON.stringify(promiseOf(text)))
  const delivery: Delivery = JSON.parse(row.delivery)
  return before === after ? row.delivery : JSON.stringify({ ...delivery, outdated: true })
}

function promiseOf(extras: string) {
  const { mimeType, ...rest } = JSON.parse(extras)
  return [mimeType, outputSchemaOf(rest)]
}

/** Columns that a save or a probe writes. */
export const writtenColumns = [
  'url',
  'site',
  'method',
  'tool_name',
  ...publishedColumns,
  'probe',
  'failures',
  'next_probe_at',
] as const

type EndpointColumns = Pick<EndpointRow, (typeof writtenColumns)[number]>

export function toColumns(draft: EndpointDraft): EndpointColumns {
  return {
    url: draft.url,
    site: siteOf(draft.url),
    method: draft.method,
    tool_name: draft.toolName ?? '',
    transport: draft.transport ?? null,
    title: draft.title,
    description: draft.description,
    pricing: draft.pricing,
    price: draft.price.toString(),
    asset: draft.asset,
    symbol: draft.symbol,
    tags: JSON.stringify(draft.tags),
    example: JSON.stringify(draft.example),
    input_schema: draft.inputSchema === null ? null : JSON.stringify(draft.inputSchema),
    output: draft.output === null ? null : JSON.stringify(draft.output),
    is_hosted: draft.isHosted === true ? 1 : 0,
    ...toHealthColumns(draft),
  }
}

export function toHealthColumns(health: EndpointHealth) {
  return {
    accepts: JSON.stringify(health.accepts),
    extras: JSON.stringify(health.extras),
    status: health.status,
    probe: health.probe === null ? null : JSON.stringify(health.probe),
    failures: health.failures,
    next_probe_at: health.nextProbeAt,
  }
}

/** Returns whether an item made of the row differs from one made of the columns. */
export function isOther(row: EndpointRow, columns: EndpointColumns): boolean {
  return publishedColumns.some((name) => row[name] !== columns[name])
}

/** Returns the time of a change. Of two changes within a second, the later one is a second ahead: readers must see both. */
export function stampAfter({ last_updated }: EndpointRow, now: number): number {
  return Math.max(now, last_updated + 1)
}

/**
 * Returns the JSON Schema of the answers that an endpoint declares in the `bazaar` extension of its 402: there it is the
 * schema of the example. `undefined` where it declares none.
 */
export function outputSchemaOf(
  extras: Readonly<Record<string, unknown>>,
): Record<string, unknown> | undefined {
  const steps = ['extensions', 'bazaar', 'schema', 'properties', 'output', 'properties', 'example']
  let found: unknown = extras
  for (const step of steps) found = isObject(found) ? found[step] : undefined
  return isObject(found) ? found : undefined
}
