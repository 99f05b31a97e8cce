import type { ListingStore, Merchant } from '../listings.js'
import { isHiddenStranger } from '../pay-to-proof.js'
import { isOfAgent, type MerchantRow, toMerchant } from '../rows/listing-rows.js'
import { saysTheSame } from '../rows/published-rows.js'
import type { Database, Queries } from './database.js'
import { applyChange, findRow } from './listing-changes.js'
import { createEndpointWriter, type EndpointWriter } from './listing-endpoints.js'
import { createListingReader } from './listing-reads.js'

/** Any number, the same in every process. */
const LISTINGS_LOCK = 5_042_003

/**
 * Writes of listings come one after another: else a change with a lower number could become visible after one with a
 * higher, and whoever follows the numbers would miss it.
 */
export function createListingStore(database: Database): ListingStore {
  const write = <Result>(work: (endpoints: EndpointWriter, sql: Queries) => Promise<Result>) =>
    database.once.inTransaction(async (sql) => {
      await sql.run('SELECT pg_advisory_xact_lock($1)', [LISTINGS_LOCK])
      return work(createEndpointWriter(sql), sql)
    })

  return {
    ...createListingReader(database),
    applyWrite: (signed, change) =>
      write(async (endpoints, sql) => {
        const result = await applyChange(sql, endpoints, signed, change)
        if (result.state === 'applied') {
          await endpoints.noteChange(signed.merchantId, signed.acceptedAt)
        }
        return result
      }),
    saveProbe: (endpointId, health, now, described) =>
      write(async (endpoints, sql) => {
        // Claimed since it was looked at: the words are the owner's from now on.
        const isOwned =
          described !== undefined && (await findOwner(sql, endpoints, endpointId)) !== null
        const words = isOwned ? undefined : described
        const saved = await endpoints.saveLook(endpointId, health, now, words)
        // A look that finds what the last one found changes nothing anybody reads from an index.
        if (saved?.isChanged === true) await endpoints.noteChange(saved.merchantId, now)
      }),
    saveIdentity: (merchantId, identity, now) =>
      write(async (endpoints, sql) => {
        const before = await findRow(sql, merchantId)
        if (before === undefined || !isOfAgent(identity, before)) return
        await sql.run('UPDATE merchants SET identity = $1, updated_at = $2 WHERE id = $3', [
          identity === null ? null : JSON.stringify(identity),
          now,
          merchantId,
        ])
        const after = await findRow(sql, merchantId)
        if (saysTheSame(before, after as MerchantRow)) return
        await endpoints.touch(merchantId, now)
        await endpoints.noteChange(merchantId, now)
      }),
    saveUnclaimed: (merchant, endpoint, now, evicted) =>
      write(async (endpoints, sql) => {
        // An owner who never got its endpoint to answer keeps nobody else from the URL.
        const owned = await sql.rows<MerchantRow>(
          `SELECT m.* FROM endpoints e JOIN merchants m ON m.id = e.merchant_id
           WHERE e.url = $1 AND e.method = $2 AND m.owner IS NOT NULL AND m.deleted_at IS NULL
             AND (m.pay_to = $3 OR e.status = 'live')`,
          [endpoint.url, endpoint.method, merchant.payTo],
        )
        if (!owned.map(toMerchant).every(isHiddenStranger)) return { state: 'owned' }
        const row = await findRow(sql, merchant.id)
        if (row !== undefined && row.owner !== null) return { state: 'owned' }
        const known = await endpoints.find(merchant.id, endpoint.url, endpoint.method)
        if (known !== undefined && known.status !== 'failing') return { state: 'known' }
        if (evicted !== undefined) await evict(sql, endpoints, evicted, now)
        if (row === undefined) await insertUnclaimed(sql, merchant, now)
        const position = known?.position ?? (await endpoints.count(merchant.id))
        const place = { position, now, isTouched: false }
        const endpointId = await endpoints.save(merchant.id, endpoint, place)
        await endpoints.noteChange(merchant.id, now)
        return { state: known === undefined ? 'added' : 'renewed', endpointId }
      }),
    setFlags: (merchantId, flags, now) =>
      write(async (endpoints, sql) => {
        const row = await findRow(sql, merchantId)
        if (row === undefined || row.deleted_at !== null) return false
        await sql.run(
          'UPDATE merchants SET is_official = $2, is_partner = $3, hidden_reason = $4, updated_at = $5 WHERE id = $1',
          [
            merchantId,
            Number(flags.isOfficial ?? row.is_official === 1),
            Number(flags.isPartner ?? row.is_partner === 1),
            flags.hiddenReason === undefined ? row.hidden_reason : flags.hiddenReason,
            now,
          ],
        )
        await endpoints.touch(merchantId, now)
        await endpoints.noteChange(merchantId, now)
        return true
      }),
    saveByOperator: (merchant, drafts, now) =>
      write(async (endpoints, sql) => {
        const before = await findRow(sql, merchant.id)
        await putByOperator(sql, merchant, now)
        const isTouched = !saysTheSame(before, (await findRow(sql, merchant.id)) as MerchantRow)
        await endpoints.replaceAll(merchant.id, drafts, now, isTouched)
        await endpoints.noteChange(merchant.id, now)
      }),
    setHosted: (endpointId, isHosted, now) =>
      write(async (endpoints, sql) => {
        const row = await endpoints.findById(endpointId)
        if (row === undefined) return false
        await sql.run(
          'UPDATE endpoints SET is_hosted = $1, last_updated = greatest(last_updated + 1, $2) WHERE id = $3',
          [Number(isHosted), now, endpointId],
        )
        await endpoints.noteChange(row.merchant_id, now)
        return true
      }),
  }
}

/** `undefined` when there is no such endpoint, `null` when nobody owns it. */
async function findOwner(
  sql: Queries,
  endpoints: EndpointWriter,
  endpointId: number,
): Promise<Merchant['owner'] | undefined> {
  const row = await endpoints.findById(endpointId)
  return row === undefined ? undefined : (await findRow(sql, row.merchant_id))?.owner
}

/** Unless it was claimed or mended meanwhile. */
async function evict(
  sql: Queries,
  endpoints: EndpointWriter,
  endpointId: number,
  now: number,
): Promise<void> {
  const row = await endpoints.findById(endpointId)
  if (row === undefined || row.status === 'live' || row.probe === null) return
  if ((await findOwner(sql, endpoints, endpointId)) !== null) return
  await endpoints.remove(endpointId)
  await endpoints.noteChange(row.merchant_id, now)
}

async function insertUnclaimed(
  sql: Queries,
  merchant: Parameters<ListingStore['saveUnclaimed']>[0],
  now: number,
): Promise<void> {
  const { id, name, network, asset, payTo } = merchant
  await sql.run(
    `INSERT INTO merchants (id, name, description, network, asset, pay_to, revision, created_at, updated_at)
     VALUES ($1, $2, '', $3, $4, $5, 0, $6, $6)`,
    [id, name, network, asset, payTo, now],
  )
}

async function putByOperator(
  sql: Queries,
  merchant: Parameters<ListingStore['saveByOperator']>[0],
  now: number,
): Promise<void> {
  await sql.run(
    `INSERT INTO merchants (id, owner, name, description, network, asset, pay_to, revision, is_official,
       is_partner, hidden_reason, created_at, updated_at, confirmed_owner, confirmed_pay_to, agent_id)
     VALUES ($1, $2, $3, $4, $5, $6, $7, 0, $8, $9, $10, $11, $11, $12, $13, $14)
     ON CONFLICT (id) DO UPDATE SET owner = excluded.owner, name = excluded.name,
       description = excluded.description, network = excluded.network, asset = excluded.asset,
       pay_to = excluded.pay_to, is_official = excluded.is_official, is_partner = excluded.is_partner,
       hidden_reason = excluded.hidden_reason, updated_at = excluded.updated_at, deleted_at = NULL,
       confirmed_owner = CASE WHEN $15::boolean THEN merchants.confirmed_owner ELSE excluded.confirmed_owner END,
       confirmed_pay_to = CASE WHEN $15::boolean THEN merchants.confirmed_pay_to ELSE excluded.confirmed_pay_to END,
       agent_id = CASE WHEN $16::boolean THEN merchants.agent_id ELSE excluded.agent_id END,
       identity = CASE WHEN $16::boolean OR merchants.agent_id IS NOT DISTINCT FROM excluded.agent_id
         THEN merchants.identity END`,
    [
      merchant.id,
      merchant.owner,
      merchant.name,
      merchant.description,
      merchant.network,
      merchant.asset,
      merchant.payTo,
      Number(merchant.isOfficial),
      Number(merchant.isPartner),
      merchant.hiddenReason,
      now,
      merchant.confirmation?.owner ?? null,
      merchant.confirmation?.payTo ?? null,
      merchant.agentId ?? null,
      merchant.confirmation === undefined,
      merchant.agentId === undefined,
    ],
  )
}
