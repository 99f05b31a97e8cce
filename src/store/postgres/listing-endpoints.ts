import type { Address } from 'viem'
import type {
  DescribedEndpoint,
  EndpointHealth,
  EndpointMethod,
  ListedEndpoint,
} from '../listings.js'
import {
  type EndpointColumns,
  type EndpointDraft,
  type EndpointRow,
  isOther,
  PROBES_KEPT,
  stampAfter,
  toColumns,
  toHealthColumns,
  writableColumns,
} from '../rows/listing-rows.js'
import type { Queries } from './database.js'

const names = writableColumns.join(', ')
const numbered = (from: number) => writableColumns.map((_, i) => `$${from + i}`).join(', ')
const valuesOf = (columns: EndpointColumns) => writableColumns.map((name) => columns[name])

/** Writes rows of endpoints, inside a transaction that holds the lock on listings. */
export function createEndpointWriter(sql: Queries) {
  const first = async <Row>(text: string, values: readonly unknown[]) =>
    (await sql.rows<Row>(text, values))[0]
  const find = (merchantId: string, url: string, method: EndpointMethod) =>
    first<EndpointRow>(
      'SELECT * FROM endpoints WHERE merchant_id = $1 AND url = $2 AND method = $3',
      [merchantId, url, method],
    )
  const findById = (id: number) => first<EndpointRow>('SELECT * FROM endpoints WHERE id = $1', [id])

  async function keepProbe(id: number, { probe }: EndpointHealth): Promise<void> {
    if (probe === null) return
    await sql.run(
      `INSERT INTO probes (endpoint_id, checked_at, verdict) VALUES ($1, $2, $3)
       ON CONFLICT (endpoint_id, checked_at) DO UPDATE SET verdict = excluded.verdict`,
      [id, probe.checkedAt, probe.verdict],
    )
    await sql.run(
      `DELETE FROM probes WHERE endpoint_id = $1 AND checked_at <= (
         SELECT checked_at FROM probes WHERE endpoint_id = $1 ORDER BY checked_at DESC LIMIT 1 OFFSET $2)`,
      [id, PROBES_KEPT],
    )
  }

  /** Makes or refreshes one row and answers its number. */
  async function save(
    merchantId: string,
    draft: EndpointDraft,
    place: { position: number; now: number; isTouched: boolean },
  ): Promise<number> {
    const columns = toColumns(draft)
    const row = await find(merchantId, draft.url, draft.method)
    const { position, now, isTouched } = place
    if (row === undefined) {
      const inserted = await first<{ id: number }>(
        `INSERT INTO endpoints (merchant_id, position, last_updated, created_at, ${names})
         VALUES ($1, $2, $3, $3, ${numbered(4)}) RETURNING id`,
        [merchantId, position, now, ...valuesOf(columns)],
      )
      const { id } = inserted as { id: number }
      await keepProbe(id, draft)
      return id
    }
    // Only the operator says who hosts; an owner's save leaves it.
    if (draft.isHosted === undefined) columns.is_hosted = row.is_hosted
    const isChanged = isTouched || isOther(row, columns)
    await update(row, columns, {
      position,
      lastUpdated: isChanged ? stampAfter(row, now) : row.last_updated,
    })
    await keepProbe(row.id, draft)
    return row.id
  }

  async function update(
    { id }: EndpointRow,
    columns: EndpointColumns,
    { position, lastUpdated }: { position: number; lastUpdated: number },
  ): Promise<void> {
    await sql.run(
      `UPDATE endpoints SET position = $2, last_updated = $3, (${names}) = (${numbered(4)}) WHERE id = $1`,
      [id, position, lastUpdated, ...valuesOf(columns)],
    )
  }

  async function noteChange(merchantId: string, now: number): Promise<void> {
    await sql.run('INSERT INTO catalog_changes (merchant_id, changed_at) VALUES ($1, $2)', [
      merchantId,
      now,
    ])
  }

  return {
    save,
    find,
    findById,
    noteChange,
    async replaceAll(
      merchantId: string,
      drafts: EndpointDraft[],
      now: number,
      isTouched: boolean,
    ): Promise<void> {
      const kept: number[] = []
      for (const [position, draft] of drafts.entries()) {
        kept.push(await save(merchantId, draft, { position, now, isTouched }))
      }
      await sql.run('DELETE FROM endpoints WHERE merchant_id = $1 AND id <> ALL($2)', [
        merchantId,
        kept,
      ])
    },
    async remove(id: number): Promise<void> {
      await sql.run('DELETE FROM endpoints WHERE id = $1', [id])
    },
    async removeAll(merchantId: string): Promise<void> {
      await sql.run('DELETE FROM endpoints WHERE merchant_id = $1', [merchantId])
    },
    /** Something all items of the merchant publish has changed. */
    async touch(merchantId: string, now: number): Promise<void> {
      await sql.run(
        'UPDATE endpoints SET last_updated = greatest(last_updated + 1, $1) WHERE merchant_id = $2',
        [now, merchantId],
      )
    },
    /** What an owner lists takes the place of what was found in payments to the same address. */
    async dropUnclaimed(
      merchantId: string,
      listing: { merchant: { payTo: Address }; endpoints: ListedEndpoint[] },
      now: number,
    ): Promise<void> {
      const twins = await sql.rows<{ merchant_id: string }>(
        `DELETE FROM endpoints e USING merchants m, unnest($1::text[], $2::text[]) AS listed (url, method)
         WHERE m.id = e.merchant_id AND e.url = listed.url AND e.method = listed.method
           AND m.owner IS NULL AND m.pay_to = $3 AND m.id <> $4
         RETURNING e.merchant_id`,
        [
          listing.endpoints.map(({ url }) => url),
          listing.endpoints.map(({ method }) => method),
          listing.merchant.payTo,
          merchantId,
        ],
      )
      for (const twin of twins) await noteChange(twin.merchant_id, now)
    },
    /** Answers whose it is, and whether anything that is published has changed. */
    async saveLook(
      id: number,
      health: EndpointHealth,
      now: number,
      described: DescribedEndpoint | undefined,
    ): Promise<{ merchantId: string; isChanged: boolean } | undefined> {
      const row = await findById(id)
      if (row === undefined) return undefined
      const columns =
        described === undefined
          ? { ...row, ...toHealthColumns(health) }
          : toColumns({ ...health, ...described })
      const after = { ...columns, is_hosted: row.is_hosted }
      const isChanged = isOther(row, after)
      const lastUpdated = isChanged ? stampAfter(row, now) : row.last_updated
      await update(row, after, { position: row.position, lastUpdated })
      await keepProbe(id, health)
      return { merchantId: row.merchant_id, isChanged }
    },
    async count(merchantId: string): Promise<number> {
      const row = await first<{ count: number }>(
        'SELECT count(*) AS count FROM endpoints WHERE merchant_id = $1',
        [merchantId],
      )
      return row?.count ?? 0
    },
  }
}

export type EndpointWriter = ReturnType<typeof createEndpointWriter>
