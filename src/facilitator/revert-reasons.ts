import type { Rejection } from '../x402/reasons.js'

/** What Circle's FiatToken v2.2 says when it reverts; first match wins. */
const causes: readonly [RegExp, Rejection['reason']][] = [
  [
    /authorization is (used|canceled)|AuthorizationAlreadyUsed|AuthorizationUsedOrCanceled/i,
    'nonceAlreadyUsed',
  ],
  [/authorization is expired|AuthorizationExpired/i, 'validBefore'],
  [/authorization is not yet valid|AuthorizationNotYetValid/i, 'validAfter'],
  [/exceeds balance|insufficient balance|ERC20InsufficientBalance/i, 'insufficientBalance'],
  [/invalid signature|SignerMismatch|InvalidSignature/i, 'signature'],
  [/paused/i, 'assetPaused'],
]

/** Names the cause in a revert text of the transfer; the chain's own words stay in the message. */
export function rejectionOfRevert(revert: string): Rejection {
  const reason = causes.find(([wording]) => wording.test(revert))?.[1] ?? 'simulationFailed'
  const words = JSON.stringify(revert.replace(/https?:\/\/\S+/g, '…'))
  return { reason, message: `The simulated transfer reverted: ${words}.` }
}
