import { findAuthorizationUse } from '../chain/authorization-uses.js'
import type { PaymentFacts } from '../chain/payment-facts.js'
import type { Rpc } from '../chain/rpc.js'
import type { SightingStore } from '../store/sightings.js'
import type { Rejection } from '../x402/reasons.js'
import type { Intent, Judgement } from './judge.js'

/** Where the use of an authorization never seen before is looked for, to name its hash. */
const HINT_BLOCKS = 5_000

/**
 * Judges an authorization that is used on chain and has no row here: paid if it was seen unused before, else possibly
 * sold elsewhere already. Rejects with `RpcUnavailableError`.
 */
export function createUsedJudge(sightings: SightingStore) {
  return async (
    intent: Intent,
    rpc: Rpc,
    facts: PaymentFacts,
    rejection: Rejection,
  ): Promise<Judgement> => {
    const { payment, digest, failedJob } = intent
    const { asset, payTo, authorization } = payment
    const { from: payer, value, nonce } = authorization
    const sighting = await sightings.findSighting(payment.network, digest)
    const own = failedJob?.digest === digest ? failedJob.seenBlock : undefined
    const seenBlock = own ?? sighting?.blockNumber
    const from = seenBlock ?? Math.max(0, facts.blockNumber - HINT_BLOCKS)
    const expected = { asset, payer, payTo, value, nonce }
    const use = await findAuthorizationUse(rpc, expected, from, facts.blockNumber)
    const transaction = use.state === 'paid' ? use.receipt.transactionHash : use.transaction
    if (seenBlock !== undefined) {
      if (use.state === 'unread' || use.state === 'notFound') {
        return { state: 'unclear', transaction }
      }
      if (use.state === 'paid' && use.receipt.blockNumber >= seenBlock) {
        return { state: 'paidElsewhere', intent: { ...intent, seenBlock }, receipt: use.receipt }
      }
    }
    return { state: 'rejected', rejection, ...(transaction === undefined ? {} : { transaction }) }
  }
}
