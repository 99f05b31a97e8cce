/** A table as it is copied: parents before children, rows in the order of their key. */
export interface CopiedTable {
  name: string
  key: readonly string[]
  /** Whether its numbers are given out by the database. */
  isNumbered?: true
}

/** Every table that both engines have. What only replicas need begins empty. */
export const copiedTables: readonly CopiedTable[] = [
  { name: 'jobs', key: ['id'] },
  { name: 'attempts', key: ['hash'] },
  { name: 'attempt_jobs', key: ['hash', 'position'] },
  { name: 'gas_risks', key: ['hash', 'bearer'] },
  { name: 'lanes', key: ['network', 'relayer'] },
  { name: 'idempotency_keys', key: ['key'] },
  { name: 'gas_spending', key: ['network', 'day', 'payer'] },
  { name: 'blocks', key: ['role', 'address'] },
  { name: 'merchants', key: ['id'] },
  { name: 'endpoints', key: ['id'], isNumbered: true },
  { name: 'probes', key: ['endpoint_id', 'checked_at'] },
  { name: 'listing_writes', key: ['merchant_id', 'revision'] },
  { name: 'catalog_changes', key: ['sequence'], isNumbered: true },
  { name: 'activity', key: ['id'], isNumbered: true },
  {
    name: 'activity_sums',
    key: ['span', 'merchant_id', 'bucket', 'endpoint_id', 'kind', 'state', 'reason', 'is_self'],
  },
  {
    name: 'activity_latencies',
    key: ['span', 'merchant_id', 'bucket', 'endpoint_id', 'kind', 'up_to_ms'],
  },
  { name: 'activity_payers', key: ['span', 'merchant_id', 'bucket', 'endpoint_id', 'payer'] },
  { name: 'activity_buyers', key: ['pay_to', 'payer'] },
  { name: 'hosted_records', key: ['kind', 'id'] },
]
