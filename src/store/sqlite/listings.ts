import type { Address } from 'viem'
import type { ListingStore } from '../listings.js'
import { isHiddenStranger } from '../pay-to-proof.js'
import { isOfAgent, type MerchantRow, toMerchant } from '../rows/listing-rows.js'
import { saysTheSame } from '../rows/published-rows.js'
import type { Database } from './database.js'
import type { GroupCommit } from './group-commit.js'
import { createChangeWriter } from './listing-changes.js'
import { createEndpointWriter } from './listing-endpoints.js'
import { createListingReader } from './listing-reads.js'

export function createListingStore(database: Database, commit: GroupCommit): ListingStore {
  const endpoints = createEndpointWriter(database)
  const applyChange = createChangeWriter(database, endpoints)
  const find = database.prepare('SELECT * FROM merchants WHERE id = ?')
  const insertUnclaimed = database.prepare(
    `INSERT INTO merchants (id, name, description, network, asset, pay_to, revision, created_at, updated_at)
     VALUES (@id, @name, '', @network, @asset, @payTo, 0, @now, @now)`,
  )
  // An owner who never got its endpoint to answer keeps nobody else from the URL.
  const ownedTwins = database.prepare(
    `SELECT m.* FROM endpoints e JOIN merchants m ON m.id = e.merchant_id
     WHERE e.url = ? AND e.method = ? AND m.owner IS NOT NULL AND m.deleted_at IS NULL
       AND (m.pay_to = ? OR e.status = 'live')`,
  )
  const putMerchant = database.prepare(
    `INSERT INTO merchants (id, owner, name, description, network, asset, pay_to, revision, is_official,
       is_partner, hidden_reason, confirmed_owner, confirmed_pay_to, agent_id, created_at, updated_at)
     VALUES (@id, @owner, @name, @description, @network, @asset, @payTo, 0, @is_official, @is_partner,
       @hiddenReason, @confirmedOwner, @confirmedPayTo, @agentId, @now, @now)
     ON CONFLICT (id) DO UPDATE SET owner = excluded.owner, name = excluded.name,
       description = excluded.description, network = excluded.network, asset = excluded.asset,
       pay_to = excluded.pay_to, is_official = excluded.is_official, is_partner = excluded.is_partner,
       hidden_reason = excluded.hidden_reason, updated_at = excluded.updated_at, deleted_at = NULL,
       confirmed_owner = iif(@keepsConfirmation, confirmed_owner, excluded.confirmed_owner),
       confirmed_pay_to = iif(@keepsConfirmation, confirmed_pay_to, excluded.confirmed_pay_to),
       agent_id = iif(@keepsAgent, agent_id, excluded.agent_id),
       identity = iif(@keepsAgent OR agent_id IS excluded.agent_id, identity, NULL)`,
  )
  const setFlags = database.prepare(
    `UPDATE merchants SET is_official = @is_official, is_partner = @is_partner,
       hidden_reason = @hidden_reason, updated_at = @now WHERE id = @id`,
  )
  const setIdentity = database.prepare(
    'UPDATE merchants SET identity = ?, updated_at = ? WHERE id = ?',
  )
  const setHosted = database.prepare(
    'UPDATE endpoints SET is_hosted = ?, last_updated = MAX(last_updated + 1, ?) WHERE id = ?',
  )
  const rowOf = (id: string) => find.get(id) as MerchantRow | undefined

  function ownerOf(endpointId: number): Address | null | undefined {
    const row = endpoints.findById(endpointId)
    return row === undefined ? undefined : rowOf(row.merchant_id)?.owner
  }

  /** Unless it was claimed or mended meanwhile. */
  function evict(endpointId: number, now: number): void {
    const row = endpoints.findById(endpointId)
    if (row === undefined || row.status === 'live' || row.probe === null) return
    if (ownerOf(endpointId) !== null) return
    endpoints.remove(endpointId)
    endpoints.noteChange(row.merchant_id, now)
  }

  return {
    ...createListingReader(database),
    applyWrite: (write, change) =>
      commit.write(() => {
        const result = applyChange(write, change)
        if (result.state === 'applied') endpoints.noteChange(write.merchantId, write.acceptedAt)
        return result
      }),
    saveProbe: (endpointId, health, now, described) =>
      commit.write(() => {
        // Claimed since it was looked at: the words are the owner's from now on.
        const isOwned = described !== undefined && ownerOf(endpointId) !== null
        const saved = endpoints.saveLook(endpointId, health, now, isOwned ? undefined : described)
        // A look that finds what the last one found changes nothing anybody reads from an index.
        if (saved?.isChanged === true) endpoints.noteChange(saved.merchantId, now)
      }),
    saveIdentity: (merchantId, identity, now) =>
      commit.write(() => {
        const before = rowOf(merchantId)
        if (before === undefined || !isOfAgent(identity, before)) return
        setIdentity.run(identity === null ? null : JSON.stringify(identity), now, merchantId)
        if (saysTheSame(before, rowOf(merchantId) as MerchantRow)) return
        endpoints.touch(merchantId, now)
        endpoints.noteChange(merchantId, now)
      }),
    saveUnclaimed: (merchant, endpoint, now, evicted) =>
      commit.write(() => {
        const { url, method } = endpoint
        const owned = ownedTwins.all(url, method, merchant.payTo) as MerchantRow[]
        if (!owned.map(toMerchant).every(isHiddenStranger)) return { state: 'owned' }
        const row = rowOf(merchant.id)
        if (row !== undefined && row.owner !== null) return { state: 'owned' }
        const known = endpoints.find(merchant.id, url, method)
        if (known !== undefined && known.status !== 'failing') return { state: 'known' }
        if (evicted !== undefined) evict(evicted, now)
        if (row === undefined) insertUnclaimed.run({ ...merchant, now })
        const position = known?.position ?? endpoints.count(merchant.id)
        const endpointId = endpoints.save(merchant.id, endpoint, {
          position,
          now,
          isTouched: false,
        })
        endpoints.noteChange(merchant.id, now)
        return { state: known === undefined ? 'added' : 'renewed', endpointId }
      }),
    setFlags: (merchantId, flags, now) =>
      commit.write(() => {
        const row = rowOf(merchantId)
        if (row === undefined || row.deleted_at !== null) return false
        setFlags.run({
          id: merchantId,
          now,
          is_official: Number(flags.isOfficial ?? row.is_official === 1),
          is_partner: Number(flags.isPartner ?? row.is_partner === 1),
          hidden_reason: flags.hiddenReason === undefined ? row.hidden_reason : flags.hiddenReason,
        })
        endpoints.touch(merchantId, now)
        endpoints.noteChange(merchantId, now)
        return true
      }),
    saveByOperator: (merchant, drafts, now) =>
      commit.write(() => {
        const { isOfficial, isPartner, confirmation, agentId, ...columns } = merchant
        const before = rowOf(merchant.id)
        putMerchant.run({
          ...columns,
          is_official: Number(isOfficial),
          is_partner: Number(isPartner),
          confirmedOwner: confirmation?.owner ?? null,
          confirmedPayTo: confirmation?.payTo ?? null,
          keepsConfirmation: Number(confirmation === undefined),
          agentId: agentId ?? null,
          keepsAgent: Number(agentId === undefined),
          now,
        })
        const isTouched = !saysTheSame(before, rowOf(merchant.id) as MerchantRow)
        endpoints.replaceAll(merchant.id, drafts, now, isTouched)
        endpoints.noteChange(merchant.id, now)
      }),
    setHosted: (endpointId, isHosted, now) =>
      commit.write(() => {
        const row = endpoints.findById(endpointId)
        if (row === undefined) return false
        setHosted.run(Number(isHosted), now, endpointId)
        endpoints.noteChange(row.merchant_id, now)
        return true
      }),
  }
}
