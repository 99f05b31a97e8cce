import type { FindAuthorizationUse } from '../chain/authorization-uses.js'
import type { PaymentFacts } from '../chain/payment-facts.js'
import type { Rejection } from '../x402/reasons.js'
import { blockBefore, type IsOurs, isSinceClaim } from './exact-job.js'
import type { Intent, Judgement } from './judge.js'

/** Blocks in which the use of an authorization that was never claimed here is searched for, to name its hash. */
const HINT_BLOCKS = 5_000

/**
 * Judges an authorization that is used on chain and has no active row. It is paid if the use landed after a settle of it
 * was claimed here. Before that it may have bought something elsewhere: verify is open to anybody, so that what verify has
 * seen proves nothing. Rejects with `RpcUnavailableError`.
 */
export async function judgeUsed(
  intent: Intent,
  findUse: FindAuthorizationUse,
  facts: PaymentFacts,
  rejection: Rejection,
  isOurs: IsOurs,
): Promise<Judgement> {
  const { payment, digest, failedJob } = intent
  const { asset, payTo, authorization } = payment
  const { from: payer, value, nonce } = authorization
  const claimed = failedJob?.digest === digest ? failedJob : undefined
  const afterBlock =
    claimed === undefined
      ? Math.max(0, facts.blockNumber - HINT_BLOCKS)
      : blockBefore(claimed.seenBlock)
  const use = await findUse({ asset, payer, payTo, value, nonce }, afterBlock, facts.blockNumber)
  if (claimed !== undefined) {
    if (use.state === 'unread' || (use.state === 'notFound' && !use.isFinal)) {
      return { state: 'unclear', transaction: use.transaction }
    }
    if (use.state === 'paid' && (await isSinceClaim(use, claimed, isOurs))) {
      const { receipt, transferLog } = use
      return { state: 'paidElsewhere', intent, failedJob: claimed, receipt, transferLog }
    }
  }
  const transaction = use.state === 'paid' ? use.receipt.transactionHash : use.transaction
  return { state: 'rejected', rejection, ...(transaction === undefined ? {} : { transaction }) }
}
