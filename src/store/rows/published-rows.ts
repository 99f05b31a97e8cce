import type { Identity } from '../identity.js'
import type { PublishedMerchant } from '../published.js'
import type { MerchantRow } from './listing-rows.js'

/** Named as the members of `PublishedEndpoint`, so that a row of them is one. */
export const endpointMembers = `id, merchant_id AS "merchantId", url, method, title, description, pricing, tags, example,
  input_schema AS "inputSchema", output, extras, accepts, status, last_updated AS "lastUpdated",
  CASE is_hosted WHEN 1 THEN 'true' ELSE 'false' END AS "isHosted"`

/** The columns that `toPublishedMerchant` reads. */
export const merchantColumns =
  'id, name, is_official, is_partner, identity, hidden_reason, deleted_at'

export type PublishedMerchantRow = Pick<
  MerchantRow,
  'id' | 'name' | 'is_official' | 'is_partner' | 'identity' | 'hidden_reason' | 'deleted_at'
>

/** Whether all items of a merchant say of it what they said before. */
export function saysTheSame(
  before: PublishedMerchantRow | undefined,
  after: PublishedMerchantRow,
): boolean {
  return before !== undefined && JSON.stringify(saidBy(before)) === JSON.stringify(saidBy(after))
}

function saidBy({ name, is_official, is_partner, identity }: PublishedMerchantRow): unknown[] {
  const agent: Identity | null = identity === null ? null : JSON.parse(identity)
  return [name, is_official, is_partner, agent?.checks.control.passed === true && agent.agentId]
}

export function toPublishedMerchant(row: PublishedMerchantRow): PublishedMerchant {
  return {
    id: row.id,
    name: row.name,
    isOfficial: row.is_official === 1,
    isPartner: row.is_partner === 1,
    identity: row.identity === null ? null : JSON.parse(row.identity),
    hiddenReason: row.hidden_reason,
    deletedAt: row.deleted_at,
  }
}
