import type { Address, Hex } from 'viem'
import { get, run, type Sql, type Steps, type Value } from '../../sql/sql.js'
import { EVENTS_LOCK, type EventType } from './events.js'

/** The webhook of the operator; all others have ids of their own, and a merchant. */
export const OPERATOR_HOOK = 'operator'

/** The part of a webhook that its owner writes. */
interface WrittenHook {
  id: string
  /** Empty for the operator. */
  merchantId: string
  url: string
  types: readonly EventType[]
}

/** One call of a receiver, as its owner sees it. */
export interface HookCall {
  /** When it ended, Unix milliseconds. */
  at: number
  /** Id of the event, of the challenge or of the test. */
  event: string
  type: EventType | 'challenge' | 'test'
  /** HTTP status; `null` without an answer. */
  status: number | null
  /** One sentence; `null` if the receiver took the event. */
  error: string | null
  /** 1 for the first try. */
  attempt: number
}

/** Calls that a webhook remembers, and characters of their errors. */
const MAX_CALLS = 20
const MAX_ERROR_CHARS = 200

export interface Hook extends WrittenHook {
  /** Of the merchant, lower-case; empty for the operator. */
  owner: string
  /** Of the URL, with its port unless that is the usual one. */
  host: string
  /** When the receiver answered the challenge, since the URL was set; `null` until then. */
  confirmedAt: number | null
  /** Hex of random bytes from which the secret is made. */
  seed: string
  /** Names the key with which it is made; empty if none was set. */
  keyId: string
  /** Unix milliseconds, as all times here. */
  createdAt: number
  /** The last event that was delivered or passed over. */
  cursor: number
  /** `null` while there is nothing to deliver. */
  nextAt: number | null
  /** Failed deliveries in a row. */
  failures: number
  failingSince: number | null
  /** Why nothing is delivered any more. */
  parked: string | null
  deliveredAt: number | null
  lastError: string | null
  /** Whether events were dropped from the feed before they were delivered. */
  isLossy: boolean
  /** The last ones, newest first. */
  calls: HookCall[]
}

/** A signed message about a webhook; each is accepted once. */
export interface HookWrite {
  merchantId: string
  owner: Address
  nonce: Hex
  /** Unix seconds. */
  deadline: number
}

export type HookResult =
  | { state: 'done'; isNew: boolean }
  | { state: 'replayed' | 'notOwner' | 'missing' | 'full' }
  /** The owner had events sent again a short time ago. */
  | { state: 'tooSoon'; waitMs: number }

type NewHook = WrittenHook & Pick<Hook, 'seed' | 'keyId'>

interface HookBounds {
  since: number | null
  /** Webhooks that a merchant may have. */
  most: number
  now: number
}

/** Chooses among the hooks that are due. */
interface DueFilter {
  now: number
  /** Whether the receiver has not answered the challenge yet, failed last, or neither. */
  part: 'unconfirmed' | 'failing' | 'sound'
  /** Keeps those with one of the ids, or those without. */
  among?: { ids: readonly string[]; isIn: boolean }
  /** Those with these ids, owners and hosts are left out. */
  except?: readonly string[]
  owners?: readonly string[]
  hosts?: readonly string[]
}

const parts = {
  unconfirmed: 'confirmed_at IS NULL',
  failing: 'confirmed_at IS NOT NULL AND failures > 0',
  sound: 'confirmed_at IS NOT NULL AND failures = 0',
} as const

interface HookRow extends Omit<Hook, 'types' | 'isLossy' | 'calls'> {
  types: string
  calls: string
  lost: number
}

const columns = `id, merchant_id AS "merchantId", owner, host, confirmed_at AS "confirmedAt", url, types, seed, key_id AS "keyId", created_at AS "createdAt", cursor,
  next_at AS "nextAt", failures, failing_since AS "failingSince", parked, delivered_at AS "deliveredAt",
  last_error AS "lastError", lost, calls`

function toHook({ types, lost, calls, ...row }: HookRow): Hook {
  return { ...row, types: JSON.parse(types), isLossy: lost === 1, calls: JSON.parse(calls) }
}

/** The newest event there is; a new webhook begins after it. */
const newest = '(SELECT coalesce(max(id), 0) FROM events)'
/** A message stays known for longer than clocks of processes differ. */
const NONCE_KEPT_SECONDS = 60
/** An owner has events sent again once in so long, whatever the webhook: it costs them nothing. */
const REPLAY_GAP_MS = 10 * 60_000

/**
 * Changes of hooks take the lock of events, so that none becomes readable between the look at the feed and the change.
 */
function locked<Result>(sql: Sql, begin: () => Steps<Result>): Promise<Result> {
  return sql.transaction(begin, { lock: EVENTS_LOCK })
}

/** The webhooks as owners and the operator set them, and the deliveries that a process makes for them. */
export function createHookStore(sql: Sql) {
  return { ...createHookSettings(sql), ...createHookWork(sql) }
}

export type HookStore = ReturnType<typeof createHookStore>

function createHookSettings(sql: Sql) {
  return {
    async ofMerchant(merchantId: string): Promise<Hook[]> {
      const text = `SELECT ${columns} FROM hooks WHERE merchant_id = $1 ORDER BY created_at, id`
      return (await sql.all<HookRow>(text, [merchantId])).map(toHook)
    },
    /**
     * Makes or changes a webhook and lets its deliveries begin anew. A new one receives what comes from now on. `since` sets
     * the event after which it goes on instead. One that is new, parked, or gets another URL is not confirmed.
     */
    set: (write: HookWrite, hook: NewHook, bounds: HookBounds) =>
      locked(sql, () =>
        accept(write, { ...sql, now: bounds.now }, () => set(write.owner, hook, bounds)),
      ),
    remove: (write: HookWrite, id: string, now: number) =>
      locked(sql, () =>
        accept(write, { ...sql, now }, function* () {
          const text = 'DELETE FROM hooks WHERE id = $1 AND merchant_id = $2'
          const count = yield* run(text, [id, write.merchantId])
          return count === 0 ? { state: 'missing' } : { state: 'done', isNew: false }
        }),
      ),
    /** Sets the operator's webhook to this URL, or removes it. */
    async setOperator(url: string | undefined, now: number): Promise<void> {
      if (url === undefined) {
        await sql.run('DELETE FROM hooks WHERE id = $1', [OPERATOR_HOOK])
        return
      }
      await sql.run(
        `INSERT INTO hooks (id, merchant_id, owner, host, url, types, seed, key_id, created_at, confirmed_at, cursor)
         VALUES ($1, '', '', '', $2, '["gas.low"]', '', '', $3, $3, ${newest})
         ON CONFLICT (id) DO UPDATE SET url = excluded.url, parked = NULL, failures = 0,
           failing_since = NULL, next_at = $3`,
        [OPERATOR_HOOK, url, now],
      )
    },
  }
}

/** The work of deliveries: those of a hook are made by one worker at a time. */
function createHookWork(sql: Sql) {
  return {
    /** Returns the hook that has been due for longest and that nobody works for. */
    async nextDue(filter: DueFilter): Promise<Hook | undefined> {
      const { now, part, among, except = [], owners = [], hosts = [] } = filter
      const { ids, isIn } = among ?? { ids: [], isIn: false }
      const chosen = `${isIn ? '' : 'NOT '}(${sql.among('id', 2)})`
      const text = `SELECT ${columns} FROM hooks
        WHERE next_at <= $1 AND lease_until <= $1 AND ${parts[part]} AND ${chosen}
          AND NOT (${sql.among('id', 3)}) AND NOT (${sql.among('owner', 4)})
          AND NOT (${sql.among('host', 5)})
        ORDER BY next_at LIMIT 1`
      const row = await sql.get<HookRow>(text, [now, ids, except, owners, hosts])
      return row && toHook(row)
    },
    /** Takes the hook for this worker until then; `undefined` when another one was first. */
    take: (id: string, worker: string, now: number, until: number): Promise<Hook | undefined> =>
      sql.transaction(
        function* () {
          const text = `UPDATE hooks SET worker = $1, lease_until = $2
            WHERE id = $3 AND lease_until <= $4 AND next_at <= $4`
          if ((yield* run(text, [worker, until, id, now])) === 0) return undefined
          const row = yield* get<HookRow>(`SELECT ${columns} FROM hooks WHERE id = $1`, [id])
          return row && toHook(row)
        },
        { isDurable: false },
      ),
    /** Notes that the receiver at this URL answered the challenge. */
    confirm: (
      { id, url }: Pick<Hook, 'id' | 'url'>,
      worker: string,
      call: HookCall,
    ): Promise<boolean> =>
      sql.transaction(() =>
        remember(
          { id, call, ...sql },
          `UPDATE hooks SET confirmed_at = $1, failures = 0, failing_since = NULL, last_error = NULL
           WHERE id = $2 AND url = $3 AND worker = $4`,
          [call.at, id, url, worker],
        ),
      ),
    /**
     * Notes a delivery. False when the worker does not hold the hook any more. A power cut only makes the delivery happen
     * again.
     */
    delivered: (id: string, worker: string, cursor: number, call: HookCall): Promise<boolean> =>
      sql.transaction(
        () =>
          remember(
            { id, call, ...sql },
            `UPDATE hooks SET cursor = $1, delivered_at = $2, failures = 0, failing_since = NULL,
               last_error = NULL WHERE id = $3 AND worker = $4`,
            [cursor, call.at, id, worker],
          ),
        { isDurable: false },
      ),
    /** Notes a failure and gives the hook up. Without `nextAt` it is parked for this reason. */
    failed: (
      id: string,
      worker: string,
      { error, nextAt, call }: { error: string; nextAt: number | null; call: HookCall },
    ): Promise<boolean> =>
      sql.transaction(() =>
        remember(
          { id, call, ...sql },
          `UPDATE hooks SET failures = failures + 1, failing_since = coalesce(failing_since, $1),
             last_error = $2, parked = $3, next_at = $4, worker = NULL, lease_until = 0
           WHERE id = $5 AND worker = $6`,
          [call.at, error, nextAt === null ? error : null, nextAt, id, worker],
        ),
      ),
    /** Notes the call of a test, which changes nothing else. */
    tested: ({ id, url }: Pick<Hook, 'id' | 'url'>, call: HookCall): Promise<boolean> =>
      sql.transaction(
        () =>
          remember({ id, call, ...sql }, 'UPDATE hooks SET url = url WHERE id = $1 AND url = $2', [
            id,
            url,
          ]),
        { isDurable: false },
      ),
    /** Gives the hook up. It is due again at once, unless the feed has nothing for it. */
    async giveUp({ id, merchantId, types }: Hook, worker: string, now: number): Promise<void> {
      await locked(sql, function* () {
        const text = `SELECT 1 FROM events e JOIN hooks h ON h.id = $1
          WHERE e.merchant_id = $2 AND e.id > h.cursor AND ${sql.among('e.type', 3)} LIMIT 1`
        const isMore = (yield* get(text, [id, merchantId, types])) !== undefined
        // Events of other types are passed over.
        const cursor = isMore ? 'cursor' : newest
        yield* run(
          `UPDATE hooks SET cursor = ${cursor}, next_at = $1, worker = NULL, lease_until = 0
           WHERE id = $2 AND worker = $3`,
          [isMore ? now : null, id, worker],
        )
      })
    },
    /** Frees the hooks of a process that died, where there is only one process. */
    async freeAll(): Promise<void> {
      await sql.run('UPDATE hooks SET worker = NULL, lease_until = 0 WHERE lease_until > 0')
    },
  }
}

/** Makes a change and adds its call to those that the hook remembers; `false` if nothing was changed. */
function* remember(
  { id, call, forUpdate }: { id: string; call: HookCall } & Pick<Sql, 'forUpdate'>,
  change: string,
  values: Value[],
): Steps<boolean> {
  const known = `SELECT calls FROM hooks WHERE id = $1 ${forUpdate}`
  const row = yield* get<{ calls: string }>(known, [id])
  if (row === undefined || (yield* run(change, values)) === 0) return false
  const error = call.error?.slice(0, MAX_ERROR_CHARS) ?? null
  const calls = [{ ...call, error }, ...JSON.parse(row.calls)].slice(0, MAX_CALLS)
  yield* run('UPDATE hooks SET calls = $1 WHERE id = $2', [JSON.stringify(calls), id])
  return true
}

/** Does what a signed message says, once, and only for the owner that the merchant has now. */
function* accept(
  { merchantId, owner, nonce, deadline }: HookWrite,
  { now, forUpdate }: { now: number } & Pick<Sql, 'forUpdate'>,
  change: () => Steps<HookResult>,
): Steps<HookResult> {
  const merchant = yield* get<{ owner: string | null }>(
    `SELECT owner FROM merchants WHERE id = $1 AND deleted_at IS NULL ${forUpdate}`,
    [merchantId],
  )
  if (merchant?.owner !== owner) return { state: 'notOwner' }
  yield* run('DELETE FROM hook_nonces WHERE deadline < $1', [
    Math.floor(now / 1_000) - NONCE_KEPT_SECONDS,
  ])
  const used = 'SELECT 1 FROM hook_nonces WHERE owner = $1 AND nonce = $2'
  if ((yield* get(used, [owner, nonce])) !== undefined) return { state: 'replayed' }
  const result = yield* change()
  if (result.state === 'done') {
    const text = 'INSERT INTO hook_nonces (owner, nonce, deadline) VALUES ($1, $2, $3)'
    yield* run(text, [owner, nonce, deadline])
  }
  return result
}

function* set(owner: Address, hook: NewHook, bounds: HookBounds): Steps<HookResult> {
  const { id, merchantId, url, types } = hook
  const { since, most, now } = bounds
  const host = new URL(url).host
  const last = yield* get<{ id: number }>(`SELECT ${newest} AS id`)
  const newestId = last?.id ?? 0
  // A cursor past the newest event would pass over events that are still to come.
  const start = since === null ? null : Math.min(since, newestId)
  const known = 'SELECT cursor FROM hooks WHERE id = $1 AND merchant_id = $2'
  const before = yield* get<{ cursor: number }>(known, [id, merchantId])
  if (before === undefined) {
    if (hook.seed === '') return { state: 'missing' }
    const text = 'SELECT count(*) AS count FROM hooks WHERE merchant_id = $1'
    const { count } = (yield* get<{ count: number }>(text, [merchantId])) ?? { count: 0 }
    if (count >= most) return { state: 'full' }
  }
  if (start !== null && start < (before?.cursor ?? newestId)) {
    const waitMs = yield* noteReplay(owner, now)
    if (waitMs > 0) return { state: 'tooSoon', waitMs }
  }
  const written = [url, host, JSON.stringify(types), start, now, id, merchantId]
  if (before === undefined) {
    yield* run(
      `INSERT INTO hooks (url, host, types, cursor, created_at, next_at, id, merchant_id, owner, seed, key_id)
       VALUES ($1, $2, $3, coalesce($4, ${newest}), $5, $5, $6, $7, $8, $9, $10)`,
      [...written, owner, hook.seed, hook.keyId],
    )
  } else {
    yield* run(
      `UPDATE hooks SET confirmed_at = CASE WHEN url = $1 AND parked IS NULL THEN confirmed_at END,
         url = $1, host = $2, types = $3, cursor = coalesce($4, cursor), next_at = $5, failures = 0,
         failing_since = NULL, parked = NULL, lost = 0, worker = NULL, lease_until = 0
       WHERE id = $6 AND merchant_id = $7`,
      written,
    )
  }
  return { state: 'done', isNew: before === undefined }
}

/** Notes a replay of an owner, unless one was a short time ago; returns how long to wait until it may be. */
function* noteReplay(owner: Address, now: number): Steps<number> {
  yield* run('DELETE FROM hook_replays WHERE at <= $1', [now - REPLAY_GAP_MS])
  const text = 'SELECT at FROM hook_replays WHERE owner = $1'
  const last = yield* get<{ at: number }>(text, [owner])
  if (last !== undefined) return last.at + REPLAY_GAP_MS - now
  yield* run('INSERT INTO hook_replays (owner, at) VALUES ($1, $2)', [owner, now])
  return 0
}
