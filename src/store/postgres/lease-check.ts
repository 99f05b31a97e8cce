import type { Address } from 'viem'
import { LeaseLostError, laneLease } from '../leases.js'
import type { Queries } from './database.js'

/**
 * Holds on to the lease of a lane until the transaction ends: a take-over waits, and then sees what was written.
 * Rejects with `LeaseLostError` when it is another's, of an earlier epoch, or over.
 */
export async function requireLease(
  sql: Queries,
  owner: string,
  { network, relayer, epoch }: { network: string; relayer: Address; epoch: number },
): Promise<void> {
  const held = await sql.rows(
    `SELECT 1 FROM leases WHERE name = $1 AND owner = $2 AND epoch = $3 AND lease_until > clock_timestamp()
     FOR UPDATE`,
    [laneLease(network, relayer), owner, epoch],
  )
  if (held.length === 0) throw new LeaseLostError(`the lease on ${relayer} is not held any more`)
}
