import { decodeErrorResult, type Hex } from 'viem'

/** The node could not be asked, or did not answer in time: nothing is known about the chain. */
export class RpcUnavailableError extends Error {
  override readonly name = 'RpcUnavailableError'
}

/** The node answered with a JSON-RPC error. */
export class RpcResponseError extends Error {
  override readonly name = 'RpcResponseError'
  readonly code: number
  readonly data: unknown

  constructor(code: number, message: string, data: unknown) {
    super(message)
    this.code = code
    this.data = data
  }
}

const errorStringAbi = [
  { type: 'error', name: 'Error', inputs: [{ name: 'message', type: 'string' }] },
  { type: 'error', name: 'Panic', inputs: [{ name: 'code', type: 'uint256' }] },
] as const

/** EIP-1474 names 3 for a revert; Nethermind and the nodes before it answer -32015. */
const revertCodes = new Set([3, -32015])

/**
 * Wordings for a call that the EVM ran without effect, or could not begin with the gas it had. Each comes before any text that a
 * contract may have chosen, and every node would answer the same.
 */
const withoutEffect =
  /revert|vm exception|vm execution error|evm error|out of ?gas|gas required exceeds allowance\W+[1-9]|intrinsic gas|floor data gas|call gas cost|invalid (?:opcode|jump|instruction)|bad ?(?:opcode|jump|instruction)|opcode not found|undefined opcode|stack (?:limit|under|over)|stack(?:under|over)flow|return data out of bounds|write protection|gas uint64 overflow|max (?:init)?code size|max call depth/i

/**
 * Wordings for rate limits, quotas, a block the node does not hold yet (anvil: BlockOutOfRange, geth: header not found)
 * and failures of the node itself.
 */
const ofTheNode =
  /block ?out ?of ?range|header not found|unknown block|rate.?limit|request limit|too many requests|quota|exceeded your|timed? ?out|execution aborted/i

/** Wordings for a log query that a node bounds by blocks, by results, by bytes or by time. */
const ofTheQuery =
  /\b(?:block ?)?range|(?:blocks|logs|results)\b.*(?:limit|exceed|max)|(?:limit|exceed|max|too many|more than)\w*\b.*\b(?:blocks|logs|results)|(?:response|result)\w*\b.*(?:size|large|big)|too (?:large|big|wide)|quer(?:y|ies)\b.*(?:timed? ?out|limit|exceed)|timed? ?out|deadline exceeded/i

/**
 * Returns whether the call itself was refused, as by any node: the EVM ran it and it failed. Code and data decide first,
 * then the beginning of the node's message: the text after the word for a revert was chosen by a stranger's contract.
 */
export function isRevert(error: unknown): error is RpcResponseError {
  if (!(error instanceof RpcResponseError)) return false
  if (revertCodes.has(error.code) || (readData(error.data)?.length ?? 0) >= SELECTOR_CHARS)
    return true
  const at = error.message.search(withoutEffect)
  const trouble = error.message.search(ofTheNode)
  return at >= 0 && (trouble < 0 || at < trouble)
}

/**
 * Turns the error of a call that no node could run into `RpcUnavailableError`: it says nothing about the chain, and no
 * contract is blamed for it.
 */
export function asUnasked(error: unknown): unknown {
  if (!(error instanceof RpcResponseError)) return error
  return new RpcUnavailableError('the chain node could not run the call', { cause: error })
}

/** Returns whether a log query asks for more than the node gives at once: half of it may be answered. */
export function isQueryTooLarge(method: string, error: RpcResponseError): boolean {
  if (method !== 'eth_getLogs' || /out ?of ?range/i.test(error.message)) return false
  return ofTheQuery.test(error.message)
}

/** Returns whether an error is about the node, not about the call: another node, or a later try, may answer. */
export function isNodeTrouble(method: string, error: RpcResponseError): boolean {
  if (runsCode.has(method) && isRevert(error)) return false
  if (isQueryTooLarge(method, error)) return false
  return error.code === -32005 || error.code === 429 || ofTheNode.test(error.message)
}

/** The methods whose error texts a contract may choose. */
const runsCode = new Set(['eth_call', 'eth_estimateGas'])
const SELECTOR_CHARS = 10

/** Returns the text of a revert: from its data where there is any, else from the node's message. */
export function revertText(error: RpcResponseError): string {
  const data = readData(error.data)
  if (data !== undefined) {
    const text = decodeRevert(data)
    if (text !== undefined) return text
  }
  return error.message.replace(/^.*?execution reverted:?\s*/i, '').slice(0, MAX_REVERT_CHARS)
}

/** Decodes `Error(string)`; for other data it returns the selector, as custom errors have no text. */
export function decodeRevert(data: Hex): string | undefined {
  if (data.length < 10) return undefined
  try {
    const decoded = decodeErrorResult({ abi: errorStringAbi, data })
    return decoded.errorName === 'Error'
      ? decoded.args[0].slice(0, MAX_REVERT_CHARS)
      : `panic ${decoded.args[0]}`
  } catch {
    return `custom error ${data.slice(0, 10)}`
  }
}

/** Long enough for any honest reason; a contract chooses this text. */
const MAX_REVERT_CHARS = 200

/** Reads the data of a revert: bare, as most nodes send it; within an object; or after the word `Reverted`. */
function readData(data: unknown): Hex | undefined {
  const inner = typeof data === 'object' && data !== null && 'data' in data ? data.data : data
  if (typeof inner !== 'string') return undefined
  const bytes = inner.replace(/^reverted /i, '')
  return /^0x([0-9a-f]{2})*$/i.test(bytes) ? (bytes as Hex) : undefined
}

/** The refusals of a signed transaction that call for different repairs. */
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

/** The wordings of geth, reth (which Arc's node is built on) and anvil; the first match wins. */
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
