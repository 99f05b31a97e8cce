import type { Address } from 'viem'
import type { ListingChange, Merchant, SignedWrite, WriteResult } from '../listings.js'
import type { Database } from './database.js'
import type { createEndpointWriter } from './listing-endpoints.js'
import { type MerchantRow, toMerchant } from './listing-rows.js'

/** Makes the change of one signed message, inside a transaction that is already open. */
export function createChangeWriter(
  database: Database,
  endpoints: ReturnType<typeof createEndpointWriter>,
): (write: SignedWrite, change: ListingChange) => WriteResult {
  const find = database.prepare('SELECT * FROM merchants WHERE id = ?')
  const findNonce = database.prepare('SELECT 1 FROM listing_writes WHERE owner = ? AND nonce = ?')
  const insertWrite = database.prepare(
    `INSERT INTO listing_writes
       (merchant_id, revision, owner, nonce, action, message, body, signature, accepted_at)
     VALUES (@merchantId, @revision, @owner, @nonce, @action, @message, @body, @signature, @acceptedAt)`,
  )
  const insertMerchant = database.prepare(
    `INSERT INTO merchants
       (id, owner, name, description, network, asset, pay_to, revision, created_at, updated_at)
     VALUES (@id, @owner, @name, @description, @network, @asset, @payTo, @revision, @now, @now)`,
  )
  const updateMerchant = database.prepare(
    `UPDATE merchants SET owner = @owner, name = @name, description = @description, network = @network,
       asset = @asset, pay_to = @payTo, revision = @revision, updated_at = @now, deleted_at = NULL,
       is_official = is_official AND pay_to = @payTo
     WHERE id = @id`,
  )
  const deleteMerchant = database.prepare(
    `UPDATE merchants SET deleted_at = @now, updated_at = @now, revision = @revision, offered_to = NULL,
       offered_until = NULL, agent_id = NULL, identity = NULL, is_official = 0, is_partner = 0
     WHERE id = @id`,
  )
  const offer = database.prepare(
    `UPDATE merchants SET offered_to = @to, offered_until = @until, revision = @revision, updated_at = @now
     WHERE id = @id`,
  )
  // A new owner starts without the old one's agent and without what the operator granted to him.
  const accept = database.prepare(
    `UPDATE merchants SET owner = @owner, offered_to = NULL, offered_until = NULL, agent_id = NULL,
       identity = NULL, is_official = 0, is_partner = 0, revision = @revision, updated_at = @now
     WHERE id = @id`,
  )
  const link = database.prepare(
    `UPDATE merchants SET agent_id = @agentId, identity = NULL, revision = @revision, updated_at = @now
     WHERE id = @id`,
  )
  const confirm = database.prepare(
    `UPDATE merchants SET confirmed_owner = @confirmed, confirmed_pay_to = pay_to, revision = @revision,
       updated_at = @now WHERE id = @id`,
  )

  function refusal(
    row: MerchantRow | undefined,
    write: SignedWrite,
    kind: ListingChange['kind'],
  ): Exclude<WriteResult, { state: 'applied' }> | undefined {
    if (findNonce.get(write.owner, write.nonce) !== undefined) return { state: 'replayed' }
    const isSave = kind === 'save'
    if (row === undefined || (row.deleted_at !== null && !isSave)) {
      if (!isSave) return { state: 'missing' }
    } else if (kind === 'accept') {
      const isOffered =
        row.offered_to === write.owner && (row.offered_until ?? 0) > write.acceptedAt
      if (!isOffered) return { state: 'notOffered' }
    } else if (kind === 'confirm') {
      if (row.owner === null || row.pay_to !== write.owner) return { state: 'notPayTo' }
    } else if (row.owner !== null ? row.owner !== write.owner : !isClaim(row, write, isSave)) {
      return { state: 'notOwner' }
    }
    const revision = row?.revision ?? 0
    return write.revision === revision + 1 ? undefined : { state: 'stale', revision }
  }

  return (write, change) => {
    const row = find.get(write.merchantId) as MerchantRow | undefined
    const refused = refusal(row, write, change.kind)
    if (refused !== undefined) return refused
    insertWrite.run(write)
    const { merchantId: id, revision, owner, acceptedAt: now } = write
    const common = { id, revision, owner, now }
    if (change.kind === 'save') {
      const published = { ...change.merchant, ...common }
      if (row === undefined) insertMerchant.run(published)
      else updateMerchant.run(published)
      const isRenamed = row !== undefined && row.name !== change.merchant.name
      endpoints.replaceAll(id, change.endpoints, now, isRenamed)
      // Only the key that is paid claims; whoever else lists the same URL stands beside it.
      if (owner === change.merchant.payTo) endpoints.dropUnclaimed(id, change, now)
    } else if (change.kind === 'delete') {
      endpoints.removeAll(id)
      deleteMerchant.run(common)
    } else if (change.kind === 'offer') offer.run({ ...common, to: change.to, until: change.until })
    else if (change.kind === 'confirm') confirm.run({ ...common, confirmed: change.owner })
    else if (change.kind === 'accept') {
      accept.run(common)
      endpoints.touch(id, now)
    } else {
      link.run({ ...common, agentId: change.agentId })
      if (row?.identity != null) endpoints.touch(id, now)
    }
    return { state: 'applied', merchant: readMerchant(id) }
  }

  function readMerchant(id: string): Merchant {
    return toMerchant(find.get(id) as MerchantRow)
  }
}

/** What was found in payments belongs to the key that is paid, once it says so. */
function isClaim(row: MerchantRow, write: SignedWrite, isSave: boolean): boolean {
  return isSave && row.pay_to === (write.owner as Address)
}
