import type { Address, Hex } from 'viem'
import { all, get, insertAll, run, type Sql, type Steps } from '../../sql/sql.js'

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
  /** What the rating weighs, in atomic units: at most `MAX_WEIGHT`, and 0 where the money came back. */
  weight: number
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

/** The most that one rating weighs, 10,000 whole units, so that sums of scores times weights stay within 64 bits. */
export const MAX_WEIGHT = 10_000_000_000

/** Figures of the ratings of one endpoint that are not hidden and weigh something. */
export interface RatingFigures {
  /** The mean score, each weighed by what was paid, with one decimal. */
  average: number
  count: number
  payers: number
  /** Share of the ratings that came from the payer with the most, 0 to 1. */
  topPayerShare: number
}

/** Ratings come one after another, so that the sums hold each of them once. */
const lock = 'ratings'
const ofEndpoint = 'network = $1 AND pay_to = $2 AND url = $3 AND tool_name = $4'
const columns = `number, id, network, pay_to AS "payTo", url, tool_name AS "toolName", payer, score, amount, weight,
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
  weight: number
}

export function createRatingStore(sql: Sql) {
  return {
    /** Keeps a rating, unless its payment is rated already; resolves with whether it was kept. */
    add: (rating: NewRating): Promise<boolean> =>
      sql.transaction(
        function* () {
          if ((yield* insertAll(newRatings, [rowOf(rating)])) === 0) return false
          const { payer, score, weight } = rating
          if (weight === 0) return true
          const key = keyOf(rating)
          const own = yield* get<{ count: number }>(
            `SELECT count(*) AS count FROM ratings WHERE ${ofEndpoint} AND payer = $5 AND hidden_reason IS NULL
             AND weight > 0`,
            [...key, payer],
          )
          yield* run(
            `INSERT INTO rating_sums (network, pay_to, url, tool_name, count, total, payers, most, weight)
             VALUES ($1, $2, $3, $4, 1, $5, 1, 1, $8)
             ON CONFLICT (network, pay_to, url, tool_name) DO UPDATE SET count = rating_sums.count + 1,
               total = rating_sums.total + excluded.total, payers = rating_sums.payers + $6,
               most = CASE WHEN rating_sums.most < $7 THEN $7 ELSE rating_sums.most END,
               weight = rating_sums.weight + excluded.weight`,
            [...key, score * weight, own?.count === 1 ? 1 : 0, own?.count ?? 1, weight],
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
        `SELECT count, total, payers, most, weight FROM rating_sums WHERE ${ofEndpoint} AND count > 0`,
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
    /** What the ratings of a payer weigh and what they paid for them, over all endpoints of a recipient. */
    async weighed(network: string, payTo: Address, payer: Address) {
      const rows = await sql.all<Pick<KeptRating, 'amount' | 'weight'>>(
        'SELECT amount, weight FROM ratings WHERE network = $1 AND pay_to = $2 AND payer = $3',
        [network, payTo, payer],
      )
      return {
        paid: rows.reduce((sum, { amount }) => sum + BigInt(amount), 0n),
        weight: rows.reduce((sum, { weight }) => sum + BigInt(weight), 0n),
      }
    },
    /** Lowers what the ratings of a payer weigh together to `most`, the newest first. */
    lighten: (network: string, payTo: Address, payer: Address, most: bigint): Promise<void> =>
      sql.transaction(
        function* () {
          const rows = yield* all<RatingRow>(
            `SELECT ${columns} FROM ratings WHERE network = $1 AND pay_to = $2 AND payer = $3 AND weight > 0
             ORDER BY number DESC`,
            [network, payTo, payer],
          )
          let excess = rows.reduce((sum, { weight }) => sum + BigInt(weight), -most)
          for (const row of rows) {
            if (excess <= 0n) break
            const weight = excess < BigInt(row.weight) ? row.weight - Number(excess) : 0
            excess -= BigInt(row.weight - weight)
            yield* run('UPDATE ratings SET weight = $2 WHERE id = $1', [row.id, weight])
            yield* sumUp(row)
          }
        },
        { lock },
      ),
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
  weight: rating.weight,
  tx: rating.transaction,
  message: rating.message,
  signature: rating.signature,
  rated_at: rating.ratedAt,
})

/** Counts the ratings of an endpoint anew: those that are not hidden and weigh something. */
function* sumUp(endpoint: RatedEndpoint): Steps<void> {
  yield* run(
    `UPDATE rating_sums SET (count, total, payers, most, weight) = (
       SELECT coalesce(sum(own), 0), coalesce(sum(score), 0), count(*), coalesce(max(own), 0), coalesce(sum(weight), 0)
       FROM (
         SELECT count(*) AS own, sum(score * weight) AS score, sum(weight) AS weight FROM ratings
         WHERE ${ofEndpoint} AND hidden_reason IS NULL AND weight > 0 GROUP BY payer) AS payers)
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

export function toFigures({ count, total, payers, most, weight }: RatingSums): RatingFigures {
  return {
    average: meanOf(total, weight),
    count,
    payers,
    topPayerShare: Math.round((most * 10_000) / count) / 10_000,
  }
}

/** Returns the mean of scores that were each multiplied by their weight, with one decimal. */
export function meanOf(total: number, weight: number): number {
  return Math.round((total * 10) / weight) / 10
}
