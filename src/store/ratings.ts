import type { Address, Hex } from 'viem'
import { get, insertAll, run, type Sql, type Steps } from './sql/sql.js'

/** An endpoint and the address it is paid at: a listing may come and go, and its ratings stay. */
export interface RatedEndpoint {
  /** CAIP-2. */
  network: string
  /** Lower-case. */
  payTo: Address
  /** The URL of the endpoint, as it is listed. */
  url: string
  /** Empty for what is no tool. */
  toolName: string
}

export interface NewRating extends RatedEndpoint {
  /** The id of the settlement: a payment is rated once. */
  id: string
  /** Lower-case. */
  payer: Address
  /** 0 to 100. */
  score: number
  /** The amount that was paid, in atomic units. */
  amount: string
  transaction: Hex
  /** The typed message as it was signed, as JSON. */
  message: string
  signature: Hex
  /** Unix seconds. */
  ratedAt: number
}

export interface KeptRating extends NewRating {
  /** Rises with each rating. */
  number: number
  /** Why the operator hides it. */
  hiddenReason: string | null
  /** The answer of the owner, with its Unix seconds. */
  answer: { text: string; at: number } | null
}

/** Figures of the ratings of one endpoint that are not hidden. */
export interface RatingFigures {
  /** The mean score, with one decimal. */
  average: number
  count: number
  payers: number
  /** Share of the ratings that came from the payer with the most, 0 to 1. */
  topPayerShare: number
}

/** Ratings come one after another, so that the sums hold each of them once. */
const lock = 'ratings'
const ofEndpoint = 'network = $1 AND pay_to = $2 AND url = $3 AND tool_name = $4'
const columns = `number, id, network, pay_to AS "payTo", url, tool_name AS "toolName", payer, score, amount,
  tx AS "transaction", message, signature, rated_at AS "ratedAt", hidden_reason AS "hiddenReason", answer,
  answered_at AS "answeredAt"`

interface RatingRow extends Omit<KeptRating, 'answer'> {
  answer: string | null
  answeredAt: number | null
}

/** The sums of an endpoint, as the database keeps them. */
export interface RatingSums {
  count: number
  total: number
  payers: number
  most: number
}

export function createRatingStore(sql: Sql) {
  return {
    /** Keeps a rating, unless its payment is rated already; resolves with whether it was kept. */
    add: (rating: NewRating): Promise<boolean> =>
      sql.transaction(
        function* () {
          const { payer, score } = rating
          const key = keyOf(rating)
          if ((yield* insertAll(newRatings, [rowOf(rating)])) === 0) return false
          const own = yield* get<{ count: number }>(
            `SELECT count(*) AS count FROM ratings WHERE ${ofEndpoint} AND payer = $5 AND hidden_reason IS NULL`,
            [...key, payer],
          )
          yield* run(
            `INSERT INTO rating_sums (network, pay_to, url, tool_name, count, total, payers, most)
             VALUES ($1, $2, $3, $4, 1, $5, 1, 1)
             ON CONFLICT (network, pay_to, url, tool_name) DO UPDATE SET count = rating_sums.count + 1,
               total = rating_sums.total + excluded.total, payers = rating_sums.payers + $6,
               most = CASE WHEN rating_sums.most < $7 THEN $7 ELSE rating_sums.most END`,
            [...key, score, own?.count === 1 ? 1 : 0, own?.count ?? 1],
          )
          return true
        },
        { lock },
      ),
    async find(id: string): Promise<KeptRating | undefined> {
      const row = await sql.get<RatingRow>(`SELECT ${columns} FROM ratings WHERE id = $1`, [id])
      return row && toRating(row)
    },
    /** Those that are not hidden, newest first, before this number. */
    async list(
      endpoint: RatedEndpoint,
      before: number | undefined,
      limit: number,
    ): Promise<KeptRating[]> {
      const rows = await sql.all<RatingRow>(
        `SELECT ${columns} FROM ratings WHERE ${ofEndpoint} AND number < $5 AND hidden_reason IS NULL
         ORDER BY number DESC LIMIT $6`,
        [...keyOf(endpoint), before ?? Number.MAX_SAFE_INTEGER, limit],
      )
      return rows.map(toRating)
    },
    async figuresOf(endpoint: RatedEndpoint): Promise<RatingFigures | undefined> {
      const row = await sql.get<RatingSums>(
        `SELECT count, total, payers, most FROM rating_sums WHERE ${ofEndpoint} AND count > 0`,
        keyOf(endpoint),
      )
      return row && toFigures(row)
    },
    /** Keeps the one answer of the owner; false when there is one. */
    async answer(id: string, { text, at }: { text: string; at: number }): Promise<boolean> {
      const set =
        'UPDATE ratings SET answer = $2, answered_at = $3 WHERE id = $1 AND answer IS NULL'
      return (await sql.transaction(() => run(set, [id, text, at]))) === 1
    },
    /** Hides a rating for this reason, or shows it again; false when there is none. */
    setHidden: (id: string, reason: string | null): Promise<boolean> =>
      sql.transaction(
        function* () {
          const row = yield* get<RatingRow>(`SELECT ${columns} FROM ratings WHERE id = $1`, [id])
          if (row === undefined) return false
          yield* run('UPDATE ratings SET hidden_reason = $2 WHERE id = $1', [id, reason])
          yield* sumUp(row)
          return true
        },
        { lock },
      ),
  }
}

export type RatingStore = ReturnType<typeof createRatingStore>

const newRatings = { table: 'ratings', rest: 'ON CONFLICT (id) DO NOTHING' }

const rowOf = (rating: NewRating) => ({
  id: rating.id,
  network: rating.network,
  pay_to: rating.payTo,
  url: rating.url,
  tool_name: rating.toolName,
  payer: rating.payer,
  score: rating.score,
  amount: rating.amount,
  tx: rating.transaction,
  message: rating.message,
  signature: rating.signature,
  rated_at: rating.ratedAt,
})

/** Counts the ratings of an endpoint anew. */
function* sumUp(endpoint: RatedEndpoint): Steps<void> {
  yield* run(
    `UPDATE rating_sums SET (count, total, payers, most) = (
       SELECT coalesce(sum(own), 0), coalesce(sum(score), 0), count(*), coalesce(max(own), 0) FROM (
         SELECT count(*) AS own, sum(score) AS score FROM ratings WHERE ${ofEndpoint} AND hidden_reason IS NULL
         GROUP BY payer) AS payers)
     WHERE ${ofEndpoint}`,
    keyOf(endpoint),
  )
}

function keyOf({ network, payTo, url, toolName }: RatedEndpoint): [string, string, string, string] {
  return [network, payTo, url, toolName]
}

function toRating({ answer, answeredAt, ...row }: RatingRow): KeptRating {
  return { ...row, answer: answer === null ? null : { text: answer, at: answeredAt ?? 0 } }
}

export function toFigures({ count, total, payers, most }: RatingSums): RatingFigures {
  return {
    average: meanOf(total, count),
    count,
    payers,
    topPayerShare: Math.round((most * 10_000) / count) / 10_000,
  }
}

/** Returns a mean with one decimal. */
export function meanOf(total: number, count: number): number {
  return Math.round((total * 10) / count) / 10
}
