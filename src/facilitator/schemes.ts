import { BATCH_SETTLEMENT, isBatchBody } from '../x402/batch-request.js'
import type { BatchNetwork } from './batch/ground.js'
import type { SupportedKind } from './routes.js'
import type { Settle } from './settler.js'
import type { TakeVerified } from './verified.js'
import type { Verify } from './verifier.js'

/** Every network settles `exact`; `batch-settlement` comes after it, where its contracts stand. */
export function supportedKinds(networks: ReadonlyMap<string, BatchNetwork>): SupportedKind[] {
  return [...networks].flatMap(([network, { isOffered }]): SupportedKind[] => [
    { scheme: 'exact', network },
    ...(isOffered() ? [{ scheme: BATCH_SETTLEMENT, network } as const] : []),
  ])
}

/** The scheme that the requirement names judges; a body that names none is `exact`'s to find fault with. */
export function verifyByRequirement(exact: Verify, batch: Verify): Verify {
  return (body) => (isBatchBody(body) ? batch(body) : exact(body))
}

export function settleByRequirement(exact: Settle, batch: Settle): Settle {
  return (request) => (isBatchBody(request.body) ? batch(request) : exact(request))
}

export function verifiedByRequirement(exact: TakeVerified, batch: TakeVerified): TakeVerified {
  return (body) => (isBatchBody(body) ? batch(body) : exact(body))
}
