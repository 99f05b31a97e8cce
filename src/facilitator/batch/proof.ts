import { recoverAddress } from 'viem'
import type { Job } from '../../store/settlement-journal.js'
import type { BatchJob } from './actions.js'

/** Shorter ones are found in anything. */
const MIN_SIGNATURE_CHARS = 2 + 2 * 64

/**
 * Whether a row answers for a request: the same thing, asked for with the very signature that was sent, or with
 * another one of the same account. What is known of a row is public once it is on chain; a signature is not.
 */
export async function isSameRequest(row: Job, { digest, proof }: BatchJob): Promise<boolean> {
  if (row.digest !== digest) return false
  if (proof === undefined) return true
  const { hash, signature, signer } = proof
  const isLong = signature.length >= MIN_SIGNATURE_CHARS
  if (isLong && row.calldata.includes(signature.slice(2))) return true
  try {
    return (await recoverAddress({ hash, signature })).toLowerCase() === signer
  } catch {
    return false
  }
}
