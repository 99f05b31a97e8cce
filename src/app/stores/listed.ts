import type { Address } from 'viem'
import type { SqlReader } from '../../sql/sql.js'

/** Returns whether a listing is public and proven to be about an address: by its owner, by its own key or by the operator. */
type IsListed = (payTo: Address) => Promise<boolean>

/** Reads it from the listings as they are now. The proofs are those of `payToProofOf` in the directory. */
export function createIsListed(sql: SqlReader): IsListed {
  return async (payTo) => {
    const row = await sql.get<{ found: number }>(
      `SELECT 1 AS found FROM merchants
       WHERE pay_to = $1 AND hidden_reason IS NULL AND deleted_at IS NULL
         AND (owner = pay_to OR is_official = 1 OR (confirmed_owner = owner AND confirmed_pay_to = pay_to)
           OR (owner IS NULL AND id NOT LIKE 'payto-%'))
       LIMIT 1`,
      [payTo],
    )
    return row !== undefined
  }
}
