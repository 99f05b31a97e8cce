import type { Address } from 'viem'
import type {
  DescribedEndpoint,
  Endpoint,
  EndpointHead,
  EndpointHealth,
  EndpointMethod,
  EndpointStatus,
  IndexedEndpoint,
  Merchant,
  Pricing,
  SignedWrite,
} from '../listings.js'

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
}

export function toMerchant(row: MerchantRow): Merchant {
  const { offered_to: to, offered_until: until } = row
  const { confirmed_owner: owner, confirmed_pay_to: payTo } = row
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
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    deletedAt: row.deleted_at,
  }
}

/** Another agent may have been linked while this one was read. */
export function isOfAgent(identity: Merchant['identity'], { agent_id }: MerchantRow): boolean {
  return identity === null || identity.agentId === agent_id
}

export interface EndpointRow {
  id: number
  merchant_id: string
  position: number
  url: string
  method: EndpointMethod
  title: string
  description: string
  pricing: Pricing
  price: string
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
  last_updated: number
  created_at: number
}

export function toEndpoint(row: EndpointRow): Endpoint {
  return {
    ...toFound(row),
    example: JSON.parse(row.example),
    inputSchema: row.input_schema === null ? null : JSON.parse(row.input_schema),
    output: row.output === null ? null : JSON.parse(row.output),
    isHosted: row.is_hosted === 1,
    probe: row.probe === null ? null : JSON.parse(row.probe),
    failures: row.failures,
    nextProbeAt: row.next_probe_at,
    lastUpdated: row.last_updated,
    createdAt: row.created_at,
  }
}

type HeadRow = Pick<
  EndpointRow,
  'id' | 'merchant_id' | 'url' | 'method' | 'title' | 'description' | 'pricing' | 'status'
>

export function toHead(row: HeadRow): EndpointHead {
  return {
    id: row.id,
    merchantId: row.merchant_id,
    url: row.url,
    method: row.method,
    title: row.title,
    description: row.description,
    pricing: row.pricing,
    status: row.status,
  }
}

/** Only these columns are read for an outline. */
export const outlineColumns = 'id, merchant_id AS "merchantId", status'

/** Only these of an endpoint (e) and its merchant (m) are read for an index, beside whether there is a schema. */
export const indexedColumns = `e.id, e.merchant_id, e.url, e.method, e.title, e.description, e.pricing, e.price, e.tags,
  e.extras, e.accepts, e.status, m.network, m.asset`

/** The columns that a search looks at or answers by. */
type FoundRow = HeadRow & Pick<EndpointRow, 'price' | 'tags' | 'extras' | 'accepts'>

export interface IndexedRow extends FoundRow, Pick<MerchantRow, 'network' | 'asset'> {
  has_schema: number
}

export function toIndexedEndpoint(row: IndexedRow): IndexedEndpoint {
  const { network, asset } = row
  return { ...toFound(row), network, asset, hasSchema: row.has_schema === 1 }
}

function toFound(row: FoundRow): Omit<IndexedEndpoint, 'hasSchema' | 'network' | 'asset'> {
  return {
    ...toHead(row),
    price: BigInt(row.price),
    tags: JSON.parse(row.tags),
    extras: JSON.parse(row.extras),
    accepts: JSON.parse(row.accepts),
  }
}

/** What is written about an endpoint, whoever writes it. */
export type EndpointDraft = DescribedEndpoint & EndpointHealth & { isHosted?: boolean }

/** Looks kept for the health strip. */
export const PROBES_KEPT = 90

/** The columns an item publishes: only a change in these moves `lastUpdated`. */
export const publishedColumns = [
  'title',
  'description',
  'pricing',
  'price',
  'tags',
  'example',
  'input_schema',
  'output',
  'extras',
  'is_hosted',
  'accepts',
  'status',
] as const

/** The columns that a save or a look writes. */
export const writableColumns: readonly (keyof EndpointColumns)[] = [
  'url',
  'method',
  ...publishedColumns,
  'probe',
  'failures',
  'next_probe_at',
]

export type EndpointColumns = Omit<
  EndpointRow,
  'id' | 'merchant_id' | 'position' | 'last_updated' | 'created_at'
>

export function toColumns(draft: EndpointDraft): EndpointColumns {
  return {
    url: draft.url,
    method: draft.method,
    title: draft.title,
    description: draft.description,
    pricing: draft.pricing,
    price: draft.price.toString(),
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

export interface WriteRow {
  merchant_id: string
  revision: number
  owner: Address
  nonce: `0x${string}`
  action: string
  message: string
  body: string
  signature: `0x${string}`
  accepted_at: number
}

export function toWrite(row: WriteRow): SignedWrite {
  const { merchant_id: merchantId, accepted_at: acceptedAt, ...same } = row
  return { ...same, merchantId, acceptedAt }
}

/** Whether an item made of the one is not the same as one made of the other. */
export function isOther(row: EndpointRow, columns: EndpointColumns): boolean {
  return publishedColumns.some((name) => row[name] !== columns[name])
}

/** Two changes within a second are two: the later one is a second ahead rather than unseen. */
export function stampAfter({ last_updated }: EndpointRow, now: number): number {
  return Math.max(now, last_updated + 1)
}
