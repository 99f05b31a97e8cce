import type { Address } from 'viem'
import type {
  DescribedEndpoint,
  EndpointHealth,
  EndpointMethod,
  ListedEndpoint,
} from '../listings.js'
import {
  type EndpointDraft,
  type EndpointRow,
  isOther,
  PROBES_KEPT,
  stampAfter,
  toColumns,
  toHealthColumns,
  writableColumns,
} from '../rows/listing-rows.js'
import type { Database } from './database.js'

/** Writes rows of endpoints, inside a transaction that is already open. */
export function createEndpointWriter(database: Database) {
  const find = database.prepare(
    'SELECT * FROM endpoints WHERE merchant_id = ? AND url = ? AND method = ?',
  )
  const findById = database.prepare('SELECT * FROM endpoints WHERE id = ?')
  const numbers = database.prepare('SELECT id FROM endpoints WHERE merchant_id = ?')
  const insert = database.prepare(
    `INSERT INTO endpoints (merchant_id, position, last_updated, created_at, ${writableColumns.join(', ')})
     VALUES (@merchant_id, @position, @now, @now, ${writableColumns.map((name) => `@${name}`).join(', ')})`,
  )
  const update = database.prepare(
    `UPDATE endpoints SET position = @position, last_updated = @last_updated,
       ${writableColumns.map((name) => `${name} = @${name}`).join(', ')} WHERE id = @id`,
  )
  const remove = database.prepare('DELETE FROM endpoints WHERE id = ?')
  const touch = database.prepare(
    'UPDATE endpoints SET last_updated = MAX(last_updated + 1, ?) WHERE merchant_id = ?',
  )
  const updateHealth = database.prepare(
    `UPDATE endpoints SET accepts = @accepts, extras = @extras, status = @status, probe = @probe, failures = @failures,
       next_probe_at = @next_probe_at, last_updated = @last_updated WHERE id = @id`,
  )
  const insertProbe = database.prepare(
    `INSERT INTO probes (endpoint_id, checked_at, verdict) VALUES (?, ?, ?)
     ON CONFLICT (endpoint_id, checked_at) DO UPDATE SET verdict = excluded.verdict`,
  )
  const trimProbes = database.prepare(
    `DELETE FROM probes WHERE endpoint_id = @id AND checked_at <= (
       SELECT checked_at FROM probes WHERE endpoint_id = @id
       ORDER BY checked_at DESC LIMIT 1 OFFSET @kept)`,
  )
  const unclaimedTwin = database.prepare(
    `SELECT e.id, e.merchant_id FROM endpoints e JOIN merchants m ON m.id = e.merchant_id
     WHERE e.url = ? AND e.method = ? AND m.owner IS NULL AND m.pay_to = ? AND m.id <> ?`,
  )
  const noteChange = database.prepare(
    'INSERT INTO catalog_changes (merchant_id, changed_at) VALUES (?, ?)',
  )

  function keepProbe(id: number | bigint, { probe }: EndpointHealth): void {
    if (probe === null) return
    insertProbe.run(id, probe.checkedAt, probe.verdict)
    trimProbes.run({ id, kept: PROBES_KEPT })
  }

  /** Makes or refreshes one row and answers its number. */
  function save(
    merchantId: string,
    draft: EndpointDraft,
    place: { position: number; now: number; isTouched: boolean },
  ): number {
    const columns = toColumns(draft)
    const row = find.get(merchantId, draft.url, draft.method) as EndpointRow | undefined
    const { position, now, isTouched } = place
    if (row === undefined) {
      const { lastInsertRowid } = insert.run({ ...columns, merchant_id: merchantId, position, now })
      keepProbe(lastInsertRowid, draft)
      return Number(lastInsertRowid)
    }
    // Only the operator says who hosts; an owner's save leaves it.
    if (draft.isHosted === undefined) columns.is_hosted = row.is_hosted
    const isChanged = isTouched || isOther(row, columns)
    const last_updated = isChanged ? stampAfter(row, now) : row.last_updated
    update.run({ ...columns, position, last_updated, id: row.id })
    keepProbe(row.id, draft)
    return row.id
  }

  return {
    save,
    replaceAll(merchantId: string, drafts: EndpointDraft[], now: number, isTouched: boolean) {
      const kept = new Set(
        drafts.map((draft, position) => save(merchantId, draft, { position, now, isTouched })),
      )
      for (const { id } of numbers.all(merchantId) as { id: number }[]) {
        if (!kept.has(id)) remove.run(id)
      }
    },
    remove(id: number) {
      remove.run(id)
    },
    removeAll(merchantId: string) {
      for (const { id } of numbers.all(merchantId) as { id: number }[]) remove.run(id)
    },
    /** Something all items of the merchant publish has changed. */
    touch(merchantId: string, now: number) {
      touch.run(now, merchantId)
    },
    /** What an owner lists takes the place of what was found in payments to the same address. */
    dropUnclaimed(
      merchantId: string,
      listing: { merchant: { payTo: Address }; endpoints: ListedEndpoint[] },
      now: number,
    ) {
      for (const { url, method } of listing.endpoints) {
        const twins = unclaimedTwin.all(url, method, listing.merchant.payTo, merchantId) as {
          id: number
          merchant_id: string
        }[]
        for (const twin of twins) {
          remove.run(twin.id)
          noteChange.run(twin.merchant_id, now)
        }
      }
    },
    /** Answers the row as it was, and whether anything that is published has changed. */
    saveLook(
      id: number,
      health: EndpointHealth,
      now: number,
      described: DescribedEndpoint | undefined,
    ): { merchantId: string; isChanged: boolean } | undefined {
      const row = findById.get(id) as EndpointRow | undefined
      if (row === undefined) return undefined
      const looked = toHealthColumns(health)
      const columns =
        described === undefined ? { ...row, ...looked } : toColumns({ ...health, ...described })
      const after = { ...columns, is_hosted: row.is_hosted }
      const isChanged = isOther(row, after)
      const last_updated = isChanged ? stampAfter(row, now) : row.last_updated
      if (described === undefined) updateHealth.run({ ...looked, last_updated, id })
      else update.run({ ...after, position: row.position, last_updated, id })
      keepProbe(id, health)
      return { merchantId: row.merchant_id, isChanged }
    },
    find: (merchantId: string, url: string, method: EndpointMethod) =>
      find.get(merchantId, url, method) as EndpointRow | undefined,
    findById: (id: number) => findById.get(id) as EndpointRow | undefined,
    count: (merchantId: string) => numbers.all(merchantId).length,
    noteChange(merchantId: string, now: number) {
      noteChange.run(merchantId, now)
    },
  }
}
