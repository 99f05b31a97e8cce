import type { Address } from 'viem'
import type { ListingChange, SignedWrite, WriteResult } from '../listings.js'
import { type MerchantRow, toMerchant } from '../rows/listing-rows.js'
import type { Queries } from './database.js'
import type { EndpointWriter } from './listing-endpoints.js'

/** Makes the change of one signed message, inside a transaction that holds the lock on listings. */
export async function applyChange(
  sql: Queries,
  endpoints: EndpointWriter,
  write: SignedWrite,
  change: ListingChange,
): Promise<WriteResult> {
  const row = await findRow(sql, write.merchantId)
  const refused = await findRefusal(sql, row, write, change.kind)
  if (refused !== undefined) return refused
  await keepWrite(sql, write)
  const { merchantId: id, revision, owner, acceptedAt: now } = write
  const set = (columns: string, values: readonly unknown[]) =>
    sql.run(`UPDATE merchants SET revision = $2, updated_at = $3, ${columns} WHERE id = $1`, [
      id,
      revision,
      now,
      ...values,
    ])
  if (change.kind === 'save') {
    await saveMerchant(sql, write, change.merchant)
    const isRenamed = row !== undefined && row.name !== change.merchant.name
    await endpoints.replaceAll(id, change.endpoints, now, isRenamed)
    // Only the key that is paid claims; whoever else lists the same URL stands beside it.
    if (owner === change.merchant.payTo) await endpoints.dropUnclaimed(id, change, now)
  } else if (change.kind === 'delete') {
    await endpoints.removeAll(id)
    await set(`deleted_at = $3, offered_to = NULL, offered_until = NULL, ${withoutMarks}`, [])
  } else if (change.kind === 'offer') {
    await set('offered_to = $4, offered_until = $5', [change.to, change.until])
  } else if (change.kind === 'confirm') {
    await set('confirmed_owner = $4, confirmed_pay_to = pay_to', [change.owner])
  } else if (change.kind === 'accept') {
    // A new owner starts without the old one's agent and without what the operator granted to him.
    await set(`owner = $4, offered_to = NULL, offered_until = NULL, ${withoutMarks}`, [owner])
    await endpoints.touch(id, now)
  } else {
    await set('agent_id = $4, identity = NULL', [change.agentId])
    if (row?.identity != null) await endpoints.touch(id, now)
  }
  return { state: 'applied', merchant: toMerchant((await findRow(sql, id)) as MerchantRow) }
}

const withoutMarks = 'agent_id = NULL, identity = NULL, is_official = 0, is_partner = 0'

export async function findRow(sql: Queries, id: string): Promise<MerchantRow | undefined> {
  const [row] = await sql.rows<MerchantRow>('SELECT * FROM merchants WHERE id = $1', [id])
  return row
}

async function findRefusal(
  sql: Queries,
  row: MerchantRow | undefined,
  write: SignedWrite,
  kind: ListingChange['kind'],
): Promise<Exclude<WriteResult, { state: 'applied' }> | undefined> {
  const used = await sql.rows('SELECT 1 FROM listing_writes WHERE owner = $1 AND nonce = $2', [
    write.owner,
    write.nonce,
  ])
  if (used.length > 0) return { state: 'replayed' }
  const isSave = kind === 'save'
  if (row === undefined || (row.deleted_at !== null && !isSave)) {
    if (!isSave) return { state: 'missing' }
  } else if (kind === 'accept') {
    const isOffered = row.offered_to === write.owner && (row.offered_until ?? 0) > write.acceptedAt
    if (!isOffered) return { state: 'notOffered' }
  } else if (kind === 'confirm') {
    if (row.owner === null || row.pay_to !== write.owner) return { state: 'notPayTo' }
  } else if (row.owner !== null ? row.owner !== write.owner : !isClaim(row, write, isSave)) {
    return { state: 'notOwner' }
  }
  const revision = row?.revision ?? 0
  return write.revision === revision + 1 ? undefined : { state: 'stale', revision }
}

/** What was found in payments belongs to the key that is paid, once it says so. */
function isClaim(row: MerchantRow, write: SignedWrite, isSave: boolean): boolean {
  return isSave && row.pay_to === (write.owner as Address)
}

async function keepWrite(sql: Queries, write: SignedWrite): Promise<void> {
  await sql.run(
    `INSERT INTO listing_writes (merchant_id, revision, owner, nonce, action, message, body, signature, accepted_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    [
      write.merchantId,
      write.revision,
      write.owner,
      write.nonce,
      write.action,
      write.message,
      write.body,
      write.signature,
      write.acceptedAt,
    ],
  )
}

async function saveMerchant(
  sql: Queries,
  { merchantId, owner, revision, acceptedAt }: SignedWrite,
  merchant: Extract<ListingChange, { kind: 'save' }>['merchant'],
): Promise<void> {
  const { name, description, network, asset, payTo } = merchant
  await sql.run(
    `INSERT INTO merchants AS m (id, owner, name, description, network, asset, pay_to, revision, created_at, updated_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9)
     ON CONFLICT (id) DO UPDATE SET owner = excluded.owner, name = excluded.name,
       description = excluded.description, network = excluded.network, asset = excluded.asset,
       pay_to = excluded.pay_to, revision = excluded.revision, updated_at = excluded.updated_at, deleted_at = NULL,
       is_official = CASE WHEN m.pay_to = excluded.pay_to THEN m.is_official ELSE 0 END`,
    [merchantId, owner, name, description, network, asset, payTo, revision, acceptedAt],
  )
}
