import type { publicEventTypes } from '@arcus/protocol/answers/events'
import type { ProbeRecord } from '@arcus/protocol/answers/listings'
import type { CallTarget } from '@arcus/protocol/x402/calls'
import type { Address } from 'viem'
import { all, get, type Insertion, insertAll, run, type Sql, type Steps } from '../../../sql/sql.js'
import { keepPrices, keepSample } from '../endpoint-history.js'
import type {
  DescribedEndpoint,
  EndpointDraft,
  EndpointHealth,
  ListingChange,
  ListingStore,
  SignedWrite,
  WriteResult,
} from '../listings.js'
import { payToProofOf, speaksForPayTo } from '../ownership.js'
import { type CheckVerdict, closeCheck, deliveryOf } from '../paid-checks.js'
import { merchantJson, PUBLISHED_SHAPE } from '../published.js'
import { createListingReader } from './listing-reader.js'
import {
  deliveryAfter,
  type EndpointRow,
  isOther,
  type MerchantRow,
  newMerchantRow,
  publishesTheSame,
  stampAfter,
  toColumns,
  toEndpoint,
  toHealthColumns,
  toMerchant,
  writtenColumns,
} from './listing-rows.js'
import { createNameMarks, type NameMarks } from './name-marks.js'

/** The lock on listings: any number, the same in every process and version. */
const LISTINGS_LOCK = 5_042_003

/**
 * Writes of listings come one after another. Otherwise a change with a lower number could become visible after one with
 * a higher, and a process that follows the numbers would miss it.
 */
export function createListingStore(sql: Sql): ListingStore {
  const write = <Result>(begin: () => Steps<Result>) =>
    sql.transaction(
      function* () {
        const last = (yield* get<{ last: number | null }>(lastChange))?.last ?? 0
        const result = yield* begin()
        yield* publishAfter(last)
        return result
      },
      { lock: LISTINGS_LOCK },
    )
  const marks = createNameMarks(sql)

  return {
    ...createListingReader(sql),
    applyWrite: (signed, change) => write(() => applyWrite(signed, change, marks)),
    saveProbe: (endpointId, health, now, described) =>
      write(() => saveProbe(endpointId, health, now, { described, marks })),
    saveCheck: (checkId, verdict) => write(() => saveCheck(checkId, verdict)),
    saveIdentity: (merchantId, identity, now) =>
      write(function* () {
        const before = yield* findMerchant(merchantId)
        if (before === undefined) return
        // Another agent may have been linked while this one was read.
        if (identity !== null && identity.agentId !== before.agent_id) return
        const text = identity === null ? null : JSON.stringify(identity)
        const after = { ...before, identity: text, updated_at: now }
        yield* putMerchant(after)
        if (!publishesTheSame(before, after)) yield* touchEndpoints(merchantId, now)
      }),
    saveUnclaimed: (merchant, endpoint, now, evicted) =>
      write(() => saveUnclaimed(merchant, endpoint, now, { evicted, marks })),
    setFlags: (merchantId, flags, now) =>
      write(function* () {
        const row = yield* findMerchant(merchantId)
        if (row === undefined || row.deleted_at !== null) return false
        const { isOfficial, isPartner, hiddenReason } = flags
        yield* putMerchant({
          ...row,
          ...(isOfficial !== undefined && { is_official: Number(isOfficial) }),
          ...(isPartner !== undefined && { is_partner: Number(isPartner) }),
          ...(hiddenReason !== undefined && { hidden_reason: hiddenReason }),
          updated_at: now,
        })
        yield* touchEndpoints(merchantId, now)
        yield* markNames(row, merchantId, { now, marks })
        return true
      }),
    saveByOperator: (merchant, drafts, now) =>
      write(function* () {
        const before = yield* findMerchant(merchant.id)
        const after = merchantOfOperator(before ?? newMerchantRow(merchant, now), merchant, now)
        yield* putMerchant(after)
        if (after.owner !== before?.owner) yield* dropHooks(merchant.id)
        yield* replaceEndpoints(merchant.id, drafts, now, !publishesTheSame(before, after))
        yield* markNames(before, merchant.id, { now, marks })
        yield* noteChange(merchant.id, now)
      }),
    setHosted: (endpointId, isHosted, now) =>
      write(function* () {
        const row = yield* findEndpoint(endpointId)
        if (row === undefined) return false
        yield* run('UPDATE endpoints SET is_hosted = $1, last_updated = $2 WHERE id = $3', [
          Number(isHosted),
          stampAfter(row, now),
          endpointId,
        ])
        yield* noteChange(row.merchant_id, now)
        return true
      }),
    publishAnew: (limit, now) =>
      write(function* () {
        const text = `SELECT merchant_id AS id FROM published_merchants WHERE shape < $1 OR shape > $1 LIMIT $2`
        const stale = yield* all<{ id: string }>(text, [PUBLISHED_SHAPE, limit])
        for (const { id } of stale) yield* noteChange(id, now)
        return stale.length
      }),
  }
}

/** Makes the change of one signed message, if nonce, owner and revision allow it. */
function* applyWrite(
  write: SignedWrite,
  change: ListingChange,
  marks: NameMarks,
): Steps<WriteResult> {
  const before = yield* findMerchant(write.merchantId)
  const refused = yield* findRefusal(before, write, change.kind)
  if (refused !== undefined) return refused
  const { merchantId: id, owner, acceptedAt: now } = write
  yield* insertAll(signedWrites, [
    {
      merchant_id: id,
      revision: write.revision,
      owner,
      nonce: write.nonce,
      action: write.action,
      message: write.message,
      body: write.body,
      signature: write.signature,
      accepted_at: now,
    },
  ])
  const after = merchantAfter(before, write, change)
  yield* putMerchant(after)
  // The webhooks of one owner tell nothing to the next.
  if (after.owner !== before?.owner || after.deleted_at !== null) yield* dropHooks(id)
  if (change.kind === 'save') {
    const isTouched = before !== undefined && !publishesTheSame(before, after)
    yield* replaceEndpoints(id, change.endpoints, now, isTouched)
  } else if (change.kind === 'delete') {
    yield* run('DELETE FROM endpoints WHERE merchant_id = $1', [id])
  } else if (!publishesTheSame(before, after)) {
    yield* moveLastUpdated(id, now)
  }
  // Only a listing by the key that is paid claims the entry; a listing by anybody else appears next to it.
  if (after.deleted_at === null && payToProofOf(toMerchant(after)) !== null) {
    yield* dropUnclaimed(after, now)
  }
  yield* markNames(before, id, { now, marks })
  yield* noteChange(id, now)
  return { state: 'applied', merchant: toMerchant((yield* findMerchant(id)) ?? after) }
}

type WriteRefusal = Exclude<WriteResult, { state: 'applied' }>

function* findRefusal(
  row: MerchantRow | undefined,
  write: SignedWrite,
  kind: ListingChange['kind'],
): Steps<WriteRefusal | undefined> {
  const used = yield* get('SELECT 1 FROM listing_writes WHERE owner = $1 AND nonce = $2', [
    write.owner,
    write.nonce,
  ])
  if (used !== undefined) return { state: 'replayed' }
  const isSave = kind === 'save'
  if (row === undefined || (row.deleted_at !== null && !isSave)) {
    if (!isSave) return { state: 'missing' }
  } else if (kind === 'accept') {
    const isOffered = row.offered_to === write.owner && (row.offered_until ?? 0) > write.acceptedAt
    if (!isOffered) return { state: 'notOffered' }
  } else if (kind === 'confirm') {
    if (row.owner === null || row.pay_to !== write.owner) return { state: 'notPayTo' }
  } else if (row.owner !== null) {
    if (row.owner !== write.owner) return { state: 'notOwner' }
  } else if (!isSave || row.pay_to !== write.owner) {
    // A resource found in payments belongs to the paid key once that key saves it.
    return { state: 'notOwner' }
  }
  const revision = row?.revision ?? 0
  return write.revision === revision + 1 ? undefined : { state: 'stale', revision }
}

const withoutOffer = { offered_to: null, offered_until: null }
/** Without agent and without the marks of the operator. */
const withoutMarks = { agent_id: null, identity: null, is_official: 0, is_partner: 0 }

/** Returns the merchant's row after an accepted write. Only a save may come without a row before it. */
function merchantAfter(
  before: MerchantRow | undefined,
  { merchantId: id, owner, revision, acceptedAt: now }: SignedWrite,
  change: ListingChange,
): MerchantRow {
  if (change.kind === 'save') {
    const { name, description, network, asset, payTo: pay_to } = change.merchant
    const row = before ?? newMerchantRow({ id, ...change.merchant }, now)
    const is_official = row.pay_to === pay_to ? row.is_official : 0
    const said = { owner, name, description, network, asset, pay_to, is_official }
    return { ...row, ...said, deleted_at: null, revision, updated_at: now }
  }
  const row = { ...(before as MerchantRow), revision, updated_at: now }
  switch (change.kind) {
    case 'delete':
      return { ...row, ...withoutOffer, ...withoutMarks, deleted_at: now }
    case 'offer':
      return { ...row, offered_to: change.to, offered_until: change.until }
    case 'accept':
      // A new owner starts without the agent of the old one and without what the operator granted to the old one.
      return { ...row, ...withoutOffer, ...withoutMarks, owner }
    case 'link':
      return { ...row, agent_id: change.agentId, identity: null }
    case 'confirm':
      return { ...row, confirmed_owner: change.owner, confirmed_pay_to: row.pay_to }
  }
}

function merchantOfOperator(
  row: MerchantRow,
  merchant: Parameters<ListingStore['saveByOperator']>[0],
  now: number,
): MerchantRow {
  const { owner, name, description, network, asset, payTo: pay_to } = merchant
  const { confirmation, agentId = row.agent_id } = merchant
  return {
    ...row,
    owner,
    name,
    description,
    network,
    asset,
    pay_to,
    is_official: Number(merchant.isOfficial),
    is_partner: Number(merchant.isPartner),
    hidden_reason: merchant.hiddenReason,
    ...(confirmation !== undefined && {
      confirmed_owner: confirmation?.owner ?? null,
      confirmed_pay_to: confirmation?.payTo ?? null,
    }),
    agent_id: agentId,
    identity: agentId === row.agent_id ? row.identity : null,
    updated_at: now,
    deleted_at: null,
  }
}

function* saveProbe(
  endpointId: number,
  health: EndpointHealth,
  now: number,
  { described, marks }: { described: DescribedEndpoint | undefined; marks: NameMarks },
): Steps<void> {
  const row = yield* findEndpoint(endpointId)
  if (row === undefined) return
  // Once somebody owns the listing, perhaps only since the probe began, the description is theirs.
  const isOwned = described !== undefined && (yield* ownerOf(row)) !== null
  const columns =
    described === undefined || isOwned
      ? { ...row, ...toHealthColumns(health) }
      : toColumns({ ...health, ...described })
  const after = { ...columns, is_hosted: row.is_hosted }
  const isChanged = isOther(row, after)
  yield* updateEndpoint(endpointId, after, {
    position: row.position,
    lastUpdated: isChanged ? stampAfter(row, now) : row.last_updated,
    delivery: deliveryAfter(row, after),
  })
  yield* keepProbe(endpointId, health, probeOf(row))
  yield* keepPrices(endpointId, after, health.probe, now)
  yield* queueNews(row, health)
  // A probe that finds what the last one found changes nothing that anybody reads from an index.
  if (!isChanged) return
  // A 402 may give another name to its service.
  yield* marks.renew(row.merchant_id)
  yield* noteChange(row.merchant_id, now)
}

function* saveCheck(checkId: number, verdict: CheckVerdict): Steps<void> {
  const check = yield* closeCheck(checkId, verdict)
  if (check === undefined || verdict.reason === 'interrupted') return
  const row = yield* findEndpoint(check.endpointId)
  if (row === undefined) return
  const delivery = yield* deliveryOf(row.id)
  yield* run('UPDATE endpoints SET delivery = $1, last_updated = $2 WHERE id = $3', [
    JSON.stringify(delivery),
    stampAfter(row, verdict.closedAt),
    row.id,
  ])
  if (verdict.reason !== 'delivered') {
    const { reason, ms, transaction } = verdict
    const at = verdict.closedAt * 1_000
    yield* queueNewsOf(row, 'endpoint.not_delivered', at, {
      check: { checkId, reason, ms, transaction },
    })
  }
  yield* noteChange(row.merchant_id, verdict.closedAt)
}

function* saveUnclaimed(
  merchant: Parameters<ListingStore['saveUnclaimed']>[0],
  endpoint: EndpointDraft,
  now: number,
  { evicted, marks }: { evicted: number | undefined; marks: NameMarks },
): Steps<Awaited<ReturnType<ListingStore['saveUnclaimed']>>> {
  const { url, method, toolName = '' } = endpoint
  // An owner whose endpoint never answered does not keep the URL from anybody else, nor does a stranger to the payee.
  const owned = yield* all<MerchantRow>(
    `SELECT m.* FROM endpoints e JOIN merchants m ON m.id = e.merchant_id
     WHERE e.url = $1 AND e.method = $2 AND e.tool_name = $4 AND m.owner IS NOT NULL
       AND m.deleted_at IS NULL AND (m.pay_to = $3 OR e.status = 'live')`,
    [url, method, merchant.payTo, toolName],
  )
  if (owned.map(toMerchant).some(speaksForPayTo)) return { state: 'owned' }
  const row = yield* findMerchant(merchant.id)
  if (row !== undefined && row.owner !== null) return { state: 'owned' }
  const known = yield* findByTarget(merchant.id, endpoint)
  if (known !== undefined && known.status !== 'failing') return { state: 'known' }
  if (evicted !== undefined) yield* evict(evicted, now)
  if (row === undefined) yield* putMerchant(newMerchantRow(merchant, now))
  const position = known?.position ?? (yield* endpointIds(merchant.id)).length
  const place = { position, now, isTouched: false }
  const endpointId = yield* saveEndpoint(merchant.id, endpoint, place)
  yield* marks.renew(merchant.id)
  yield* noteChange(merchant.id, now)
  return { state: known === undefined ? 'added' : 'renewed', endpointId }
}

/** Removes an unclaimed endpoint that was probed without result, unless it was claimed or answered meanwhile. */
function* evict(endpointId: number, now: number): Steps<void> {
  const row = yield* findEndpoint(endpointId)
  if (row === undefined || row.status === 'live' || row.probe === null) return
  if ((yield* ownerOf(row)) !== null) return
  yield* removeEndpoint(endpointId)
  yield* noteChange(row.merchant_id, now)
}

const signedWrites: Insertion = { table: 'listing_writes' }

const merchantColumns = Object.keys(
  newMerchantRow({ id: '', name: '', network: '', asset: '0x', payTo: '0x' }, 0),
) as (keyof MerchantRow)[]
const merchants: Insertion = {
  table: 'merchants',
  rest: `ON CONFLICT (id) DO UPDATE SET ${merchantColumns
    .filter((name) => name !== 'id' && name !== 'created_at')
    .map((name) => `${name} = excluded.${name}`)
    .join(', ')}`,
}

function* putMerchant(row: MerchantRow): Steps<void> {
  yield* insertAll(merchants, [
    Object.fromEntries(merchantColumns.map((name) => [name, row[name]])),
  ])
}

function findMerchant(id: string): Steps<MerchantRow | undefined> {
  return get<MerchantRow>('SELECT * FROM merchants WHERE id = $1', [id])
}

function* ownerOf({ merchant_id }: EndpointRow): Steps<Address | null> {
  return (yield* findMerchant(merchant_id))?.owner ?? null
}

function findEndpoint(id: number): Steps<EndpointRow | undefined> {
  return get<EndpointRow>('SELECT * FROM endpoints WHERE id = $1', [id])
}

function findByTarget(
  merchantId: string,
  { url, method, toolName = '' }: CallTarget,
): Steps<EndpointRow | undefined> {
  return get<EndpointRow>(
    'SELECT * FROM endpoints WHERE merchant_id = $1 AND url = $2 AND method = $3 AND tool_name = $4',
    [merchantId, url, method, toolName],
  )
}

function* endpointIds(merchantId: string): Steps<number[]> {
  const text = 'SELECT id FROM endpoints WHERE merchant_id = $1'
  return (yield* all<{ id: number }>(text, [merchantId])).map(({ id }) => id)
}

function* removeEndpoint(id: number): Steps<void> {
  yield* run('DELETE FROM endpoints WHERE id = $1', [id])
}

/** Makes these the endpoints of the merchant. With `isTouched`, what all its items publish has changed. */
function* replaceEndpoints(
  merchantId: string,
  drafts: EndpointDraft[],
  now: number,
  isTouched: boolean,
): Steps<void> {
  const kept = new Set<number>()
  for (const [position, draft] of drafts.entries()) {
    kept.add(yield* saveEndpoint(merchantId, draft, { position, now, isTouched }))
  }
  for (const id of yield* endpointIds(merchantId)) if (!kept.has(id)) yield* removeEndpoint(id)
}

const names = writtenColumns.join(', ')
const parametersFrom4 = writtenColumns.map((_, i) => `$${i + 4}`)
const assignments = writtenColumns.map((name, i) => `${name} = $${i + 5}`)

/** Makes or refreshes one endpoint and returns its number. */
function* saveEndpoint(
  merchantId: string,
  draft: EndpointDraft,
  place: { position: number; now: number; isTouched: boolean },
): Steps<number> {
  const columns = toColumns(draft)
  const row = yield* findByTarget(merchantId, draft)
  const { position, now, isTouched } = place
  if (row === undefined) {
    const inserted = yield* get<{ id: number }>(
      `INSERT INTO endpoints (merchant_id, position, last_updated, created_at, ${names})
       VALUES ($1, $2, $3, $3, ${parametersFrom4.join(', ')}) RETURNING id`,
      [merchantId, position, now, ...writtenColumns.map((name) => columns[name])],
    )
    const { id } = inserted as { id: number }
    yield* keepProbe(id, draft, null)
    yield* keepPrices(id, columns, draft.probe, now)
    return id
  }
  // Only the operator says what is hosted; the save of an owner leaves it as it is.
  if (draft.isHosted === undefined) columns.is_hosted = row.is_hosted
  const isChanged = isTouched || isOther(row, columns)
  const lastUpdated = isChanged ? stampAfter(row, now) : row.last_updated
  const delivery = deliveryAfter(row, columns)
  yield* updateEndpoint(row.id, columns, { position, lastUpdated, delivery })
  yield* keepProbe(row.id, draft, probeOf(row))
  yield* keepPrices(row.id, columns, draft.probe, now)
  yield* queueNews(row, draft)
  return row.id
}

function* updateEndpoint(
  id: number,
  columns: Pick<EndpointRow, (typeof writtenColumns)[number]>,
  {
    position,
    lastUpdated,
    delivery,
  }: { position: number; lastUpdated: number; delivery: string | null },
): Steps<void> {
  yield* run(
    `UPDATE endpoints SET position = $2, last_updated = $3, delivery = $4, ${assignments.join(', ')}
     WHERE id = $1`,
    [id, position, lastUpdated, delivery, ...writtenColumns.map((name) => columns[name])],
  )
}

/** Adds a probe to the history, unless the endpoint has that one or a later one already: then only other columns change. */
function* keepProbe(
  id: number,
  { probe }: EndpointHealth,
  before: ProbeRecord | null,
): Steps<void> {
  if (probe !== null && probe.checkedAt > (before?.checkedAt ?? 0)) yield* keepSample(id, probe)
}

function probeOf({ probe }: EndpointRow): ProbeRecord | null {
  return probe === null ? null : JSON.parse(probe)
}

/** Queues the event of the last probe for the owner of an endpoint, unless the probe before found the same. */
function* queueNews(row: EndpointRow, { status, probe }: EndpointHealth): Steps<void> {
  if (probe === null) return
  const before = probeOf(row)
  const driftOf = ({ warnings, seen }: ProbeRecord) =>
    warnings.includes('price_drift') ? seen.amount : undefined
  const drift = driftOf(probe)
  const news: Partial<Record<PublicEventType, boolean>> = {
    'endpoint.failing': status === 'failing' && row.status !== 'failing',
    'endpoint.recovered': status === 'live' && row.status === 'failing',
    'price.drift': drift !== undefined && drift !== (before && driftOf(before)),
  }
  for (const [type, isNews] of Object.entries(news)) {
    if (isNews) yield* queueNewsOf(row, type as PublicEventType, probe.checkedAt * 1_000, { probe })
  }
}

type PublicEventType = (typeof publicEventTypes)[number]

/** Queues one event about an endpoint; `at` is in Unix milliseconds. */
function* queueNewsOf(
  { merchant_id: merchantId, id: endpointId, url, method, title, price, symbol }: EndpointRow,
  type: PublicEventType,
  at: number,
  found: Record<string, unknown>,
): Steps<void> {
  const about = { merchantId, endpointId, url, method, title, price, symbol }
  yield* run('INSERT INTO event_queue (type, subject, facts, at) VALUES ($1, $2, $3, $4)', [
    type,
    String(endpointId),
    JSON.stringify({ ...about, ...found }),
    at,
  ])
}

/** Removes what was found in payments to the same address and is listed by its payee now. */
function* dropUnclaimed({ id, pay_to }: MerchantRow, now: number): Steps<void> {
  const found = yield* all<Pick<EndpointRow, 'id' | 'merchant_id'>>(
    `SELECT e.id, e.merchant_id FROM endpoints e JOIN merchants m ON m.id = e.merchant_id
     WHERE m.owner IS NULL AND m.pay_to = $1 AND m.id <> $2 AND EXISTS (
       SELECT 1 FROM endpoints o WHERE o.merchant_id = $2 AND o.url = e.url AND o.method = e.method
         AND o.tool_name = e.tool_name)`,
    [pay_to, id],
  )
  for (const twin of found) {
    yield* removeEndpoint(twin.id)
    yield* noteChange(twin.merchant_id, now)
  }
}

function* dropHooks(merchantId: string): Steps<void> {
  yield* run('DELETE FROM hooks WHERE merchant_id = $1', [merchantId])
}

/** Renews the marks of names after a change of a merchant: its own, and those of others that depend on it. */
function* markNames(
  before: MerchantRow | undefined,
  id: string,
  { now, marks }: { now: number; marks: NameMarks },
): Steps<void> {
  if (yield* marks.renew(id)) yield* moveLastUpdated(id, now)
  for (const other of yield* marks.spread(before, id)) yield* touchEndpoints(other, now)
}

/** Notes a change of what every item of the merchant publishes. */
function* touchEndpoints(merchantId: string, now: number): Steps<void> {
  yield* moveLastUpdated(merchantId, now)
  yield* noteChange(merchantId, now)
}

/** Moves the times of all endpoints as `stampAfter` does. */
function* moveLastUpdated(merchantId: string, now: number): Steps<void> {
  yield* run(
    `UPDATE endpoints SET last_updated = CASE WHEN last_updated < $1 THEN $1 ELSE last_updated + 1 END
     WHERE merchant_id = $2`,
    [now, merchantId],
  )
}

/** Gives the change a number, which is how the index of every process follows. */
function* noteChange(merchantId: string, now: number): Steps<void> {
  yield* run('INSERT INTO catalog_changes (merchant_id, changed_at) VALUES ($1, $2)', [
    merchantId,
    now,
  ])
}

const lastChange = 'SELECT max(sequence) AS last FROM catalog_changes'

/** Stores the JSON of each merchant that changed after this number, as it is at the end of the transaction. */
function* publishAfter(sequence: number): Steps<void> {
  const changed = yield* all<{ id: string; last: number }>(
    `SELECT merchant_id AS id, max(sequence) AS last FROM catalog_changes
     WHERE sequence > $1 GROUP BY merchant_id`,
    [sequence],
  )
  for (const { id, last } of changed) {
    const row = yield* findMerchant(id)
    if (row === undefined) continue
    const merchant = toMerchant(row)
    const text = 'SELECT * FROM endpoints WHERE merchant_id = $1 ORDER BY position'
    const endpoints = yield* all<EndpointRow>(text, [id])
    const json = merchantJson(merchant, endpoints.map(toEndpoint))
    const is_last = Number(!speaksForPayTo(merchant))
    const shape = PUBLISHED_SHAPE
    yield* insertAll(published, [{ merchant_id: id, sequence: last, is_last, shape, json }])
  }
}

const published: Insertion = {
  table: 'published_merchants',
  rest: `ON CONFLICT (merchant_id) DO UPDATE SET sequence = excluded.sequence, is_last = excluded.is_last,
    shape = excluded.shape, json = excluded.json`,
}
