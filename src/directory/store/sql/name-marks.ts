import { all, get, run, type Sql, type Steps } from '../../../sql/sql.js'
import { findReserved, findTick, lookOf, looksWithin } from '../name-rules.js'
import { isUnclaimed, payToProofOf } from '../ownership.js'
import { type MerchantRow, toMerchant } from './listing-rows.js'

/** Merchants whose marks one change renews at most; the others follow with their own next change. */
const MAX_RENEWED = 1_000
/** Merchants that the operator vouches for, whose names titles are compared with. */
const MAX_VOUCHED = 1_000

const isPublic = 'hidden_reason IS NULL AND deleted_at IS NULL'
const isVouched = '(is_official = 1 OR is_partner = 1)'
/** The condition of `payToProofOf`. */
const isProven = `(owner = pay_to OR (confirmed_owner = owner AND confirmed_pay_to = pay_to)
  OR (owner IS NULL AND id NOT LIKE 'payto-%'))`

type Like = NonNullable<ReturnType<typeof toMerchant>['nameLike']>

/** Keeps what each merchant's name looks like, and marks names that look like another's. */
export interface NameMarks {
  /** Takes over a new name, and marks it or takes the mark off; resolves with whether the mark changed. */
  renew: (id: string) => Steps<boolean>
  /** Renews the marks of others that depend on a merchant; resolves with those that changed. */
  spread(before: MerchantRow | undefined, id: string): Steps<string[]>
}

export function createNameMarks({ among }: Pick<Sql, 'among'>): NameMarks {
  /** Finds the best protected of the merchants of other owners whose name is within another name. */
  function* findNamesake(row: MerchantRow): Steps<string | undefined> {
    const isOlder = `${isProven} AND name_like IS NULL AND named_with < $4`
    const found = yield* get<{ id: string }>(
      `SELECT id FROM merchants WHERE id <> $2 AND coalesce(owner, '') <> $3 AND ${isPublic} AND (
           (${among('name_look', 1)} AND (${isVouched} OR (name_look = $5 AND ${isOlder})))
           OR (${among('name_word', 1)} AND ${isOlder}))
       ORDER BY is_official DESC, is_partner DESC, named_with LIMIT 1`,
      [[...looksWithin(row.name)], row.id, row.owner ?? '', row.named_with, row.name_look],
    )
    return found?.id
  }

  /** Returns whether a merchant of another owner has a name with this look within it already: then it is a common word. */
  function* isCommon({ id, owner }: MerchantRow, look: string): Steps<boolean> {
    const others = yield* all<{ name: string }>(
      `SELECT name FROM merchants WHERE name_look LIKE '%' || $1 || '%' AND id <> $2
         AND coalesce(owner, '') <> $3 AND ${isPublic} LIMIT ${MAX_RENEWED}`,
      [look, id, owner ?? ''],
    )
    return others.some(({ name }) => looksWithin(name).has(look))
  }

  function* findInName(row: MerchantRow): Steps<Like | undefined> {
    // The operator answers for these, and the name of what was found in payments is its address.
    if (isVouchedFor(row) || row.owner === null) return
    const path = 'name'
    const namesake = yield* findNamesake(row)
    if (namesake !== undefined) return { merchantId: namesake, path }
    return findReserved(row.name) === undefined ? undefined : { merchantId: row.id, path }
  }

  /** Looks for names that the operator vouches for in the titles, and in the names that 402s give their services. */
  function* findInTitles(row: MerchantRow): Steps<Like | undefined> {
    if (isVouchedFor(row) || (row.owner === null && !isUnclaimed(row))) return
    const vouched = yield* all<{ id: string; name_look: string }>(
      `SELECT id, name_look FROM merchants WHERE ${isVouched} AND ${isPublic} AND id <> $1
         AND coalesce(owner, '') <> $2 LIMIT ${MAX_VOUCHED}`,
      [row.id, row.owner ?? 'nobody'],
    )
    const endpoints = yield* all<{ title: string; extras: string }>(
      'SELECT title, extras FROM endpoints WHERE merchant_id = $1 ORDER BY position',
      [row.id],
    )
    for (const [i, { title, extras }] of endpoints.entries()) {
      const { serviceName } = JSON.parse(extras) as { serviceName?: unknown }
      const shown = { title, serviceName: typeof serviceName === 'string' ? serviceName : '' }
      for (const [member, text] of Object.entries(shown)) {
        const path = `endpoints[${i}].${member}`
        if (findTick(text) !== undefined) return { merchantId: row.id, path }
        const looks = vouched.length === 0 ? undefined : looksWithin(text)
        const namesake = vouched.find(({ name_look }) => looks?.has(name_look))
        if (namesake !== undefined) return { merchantId: namesake.id, path }
      }
    }
    return
  }

  function* renew(id: string): Steps<boolean> {
    const row = yield* findRow(id)
    if (row === undefined) return false
    const look = row.deleted_at !== null || isUnclaimed(row) ? '' : lookOf(row.name)
    if (look !== row.name_look) {
      row.name_look = look
      row.named_with = yield* nextChange()
      const word = look === '' || (yield* isCommon(row, look)) ? null : look
      yield* run(
        'UPDATE merchants SET name_look = $2, name_word = $3, named_with = $4 WHERE id = $1',
        [id, look, word, row.named_with],
      )
    }
    const like =
      row.deleted_at === null ? ((yield* findInName(row)) ?? (yield* findInTitles(row))) : undefined
    const { merchantId = null, path = null } = like ?? {}
    if (merchantId === row.name_like && path === row.name_like_at) return false
    const set = 'UPDATE merchants SET name_like = $2, name_like_at = $3 WHERE id = $1'
    yield* run(set, [id, merchantId, path])
    return true
  }

  return {
    renew,
    *spread(before, id) {
      const after = yield* findRow(id)
      if (after === undefined || protectionOf(before) === protectionOf(after)) return []
      // Only a merchant that gains its protection later than its name can have older imitations.
      const isLate = before !== undefined && before.name_look === after.name_look
      const look = isProtected(after) && (isLate || isVouchedFor(after)) ? after.name_look : ''
      const others = yield* all<{ id: string }>(
        `SELECT id FROM merchants WHERE id <> $1 AND deleted_at IS NULL
           AND (name_like = $1 OR ($2 <> '' AND name_look LIKE '%' || $2 || '%')) LIMIT ${MAX_RENEWED}`,
        [id, look],
      )
      const changed: string[] = []
      for (const other of others) if (yield* renew(other.id)) changed.push(other.id)
      return changed
    },
  }
}

function findRow(id: string): Steps<MerchantRow | undefined> {
  return get<MerchantRow>('SELECT * FROM merchants WHERE id = $1', [id])
}

function* nextChange(): Steps<number> {
  const row = yield* get<{ last: number | null }>(
    'SELECT max(sequence) AS last FROM catalog_changes',
  )
  return (row?.last ?? 0) + 1
}

function isVouchedFor({ is_official, is_partner }: MerchantRow): boolean {
  return is_official === 1 || is_partner === 1
}

function isProtected(row: MerchantRow): boolean {
  const isShown = row.deleted_at === null && row.hidden_reason === null && row.name_look !== ''
  // An imitation protects nothing.
  const isOwn = row.name_like === null && payToProofOf(toMerchant(row)) !== null
  return isShown && (isVouchedFor(row) || isOwn)
}

function protectionOf(row: MerchantRow | undefined): string {
  if (row === undefined || !isProtected(row)) return ''
  return JSON.stringify([row.name_look, row.owner, row.is_official, row.is_partner])
}
