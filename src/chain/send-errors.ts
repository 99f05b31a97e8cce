import { RpcResponseError } from './rpc-errors.js'

/** What a node can say against a signed transaction, as far as it calls for different repairs. */
export type SendProblem =
  | 'alreadyKnown'
  | 'nonceTooLow'
  | 'nonceTooHigh'
  | 'underpriced'
  | 'feeBelowBase'
  | 'insufficientFunds'
  | 'intrinsicGas'
  | 'gasAboveLimit'
  | 'senderBlocked'
  | 'unknown'

/** The wordings of geth, reth (which Arc's node is built on) and anvil; first match wins. */
const wordings: readonly [RegExp, SendProblem][] = [
  [/already known|already imported|known transaction|already exists/i, 'alreadyKnown'],
  [/nonce too low|nonce is too low|invalid nonce.*lower/i, 'nonceTooLow'],
  [/nonce too high|nonce gap|exceeds.*nonce/i, 'nonceTooHigh'],
  [
    /max fee per gas less than block base fee|feecap too low|fee cap.*less than.*base|below base fee/i,
    'feeBelowBase',
  ],
  [
    /underpriced|replacement.*(fee|price)|tip (too low|below)|gas price (is )?too low/i,
    'underpriced',
  ],
  [/insufficient funds|insufficient balance|out of gas money|overshot/i, 'insufficientFunds'],
  [/intrinsic gas too high/i, 'gasAboveLimit'],
  [/intrinsic gas|floor data gas|call gas cost/i, 'intrinsicGas'],
  [
    /exceeds block gas limit|gas limit (is )?too high|exceeds.*gas limit|gas limit cap/i,
    'gasAboveLimit',
  ],
  [/block(ed|list)|deny ?list|blacklist|sanction/i, 'senderBlocked'],
]

/** Names the problem in a node's refusal of `eth_sendRawTransaction`. */
export function classifySendError(error: unknown): SendProblem {
  if (!(error instanceof RpcResponseError)) return 'unknown'
  return wordings.find(([wording]) => wording.test(error.message))?.[1] ?? 'unknown'
}
