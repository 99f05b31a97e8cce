import type { ListingStore, Merchant } from '../listings.js'
import type { Database } from './database.js'
import type { GroupCommit } from './group-commit.js'
import { createChangeWriter } from './listing-changes.js'
import { createEndpointWriter } from './listing-endpoints.js'
import { createListingReader } from './listing-reads.js'
import {
  type EndpointDraft,
  type EndpointRow,
  type MerchantRow,
  toEndpoint,
} from './listing-rows.js'

export function createListingStore(database: Database, commit: GroupCommit): ListingStore {
  const endpoints = createEndpointWriter(database)
  const applyChange = createChangeWriter(database, endpoints)
  const find = database.prepare('SELECT * FROM merchants WHERE id = ?')
  const insertUnclaimed = database.prepare(
    `INSERT INTO merchants (id, name, description, network, asset, pay_to, revision, created_at, updated_at)
     VALUES (@id, @name, '', @network, @asset, @payTo, 0, @now, @now)`,
  )
  const ownedTwin = database.prepare(
    `SELECT 1 FROM endpoints e JOIN merchants m ON m.id = e.merchant_id
     WHERE e.url = ? AND e.method = ? AND m.owner IS NOT NULL AND m.deleted_at IS NULL`,
  )
  const putMerchant = database.prepare(
    `INSERT INTO merchants (id, owner, name, description, network, asset, pay_to, revision, is_official,
       is_partner, hidden_reason, created_at, updated_at)
     VALUES (@id, @owner, @name, @description, @network, @asset, @payTo, 0, @is_official, @is_partner,
       @hiddenReason, @now, @now)
     ON CONFLICT (id) DO UPDATE SET owner = excluded.owner, name = excluded.name,
       description = excluded.description, network = excluded.network, asset = excluded.asset,
       pay_to = excluded.pay_to, is_official = excluded.is_official, is_partner = excluded.is_partner,
       hidden_reason = excluded.hidden_reason, updated_at = excluded.updated_at, deleted_at = NULL`,
  )
  const setFlags = database.prepare(
    `UPDATE merchants SET is_official = @is_official, is_partner = @is_partner,
       hidden_reason = @hidden_reason, updated_at = @now WHERE id = @id`,
  )
  const setIdentity = database.prepare(
    'UPDATE merchants SET identity = ?, updated_at = ? WHERE id = ?',
  )
  const setHosted = database.prepare(
    'UPDATE endpoints SET is_hosted = ?, last_updated = MAX(last_updated, ?) WHERE id = ?',
  )
  const rowOf = (id: string) => find.get(id) as MerchantRow | undefined

  return {
    ...createListingReader(database),
    applyWrite: (write, change) =>
      commit.write(() => {
        const result = applyChange(write, change)
        if (result.state === 'applied') endpoints.noteChange(write.merchantId, write.acceptedAt)
        return result
      }),
    saveProbe: (endpointId, health, now) =>
      commit.write(() => {
        const before = endpoints.saveHealth(endpointId, health, now)
        if (before === undefined) return
        // A look that finds what the last one found changes nothing anybody reads from an index.
        const isSame =
          before.status === health.status && before.accepts === JSON.stringify(health.accepts)
        if (!isSame) endpoints.noteChange(before.merchant_id, now)
      }),
    saveIdentity: (merchantId, identity, now) =>
      commit.write(() => {
        const row = rowOf(merchantId)
        if (row === undefined) return
        const isAgent = (it: Merchant['identity']) => it?.checks.control.passed === true
        const before = row.identity === null ? null : JSON.parse(row.identity)
        setIdentity.run(identity === null ? null : JSON.stringify(identity), now, merchantId)
        if (isAgent(before) !== isAgent(identity)) endpoints.touch(merchantId, now)
        endpoints.noteChange(merchantId, now)
      }),
    saveUnclaimed: (merchant, endpoint, now) =>
      commit.write(() => {
        if (ownedTwin.get(endpoint.url, endpoint.method) !== undefined) return 'owned'
        const row = rowOf(merchant.id)
        if (row === undefined) insertUnclaimed.run({ ...merchant, now })
        else if (row.owner !== null) return 'owned'
        const known = endpoints.find(merchant.id, endpoint.url, endpoint.method)
        const position = known?.position ?? endpoints.count(merchant.id)
        const draft = known === undefined ? endpoint : withNewerLook(endpoint, known)
        endpoints.save(merchant.id, draft, { position, now, isTouched: false })
        endpoints.noteChange(merchant.id, now)
        return known === undefined ? 'added' : 'refreshed'
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
        const { isOfficial, isPartner, ...columns } = merchant
        putMerchant.run({
          ...columns,
          is_official: Number(isOfficial),
          is_partner: Number(isPartner),
          now,
        })
        endpoints.replaceAll(merchant.id, drafts, now, true)
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

/** What a look found since the draft was made stays: a payment says less than the endpoint itself. */
function withNewerLook(draft: EndpointDraft, row: EndpointRow): EndpointDraft {
  const { accepts, status, probe, failures, nextProbeAt } = toEndpoint(row)
  if (probe === null || probe.checkedAt <= (draft.probe?.checkedAt ?? 0)) return draft
  return { ...draft, accepts, status, probe, failures, nextProbeAt }
}
