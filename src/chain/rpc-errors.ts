import { decodeErrorResult, type Hex } from 'viem'

/** The node could not be asked, or not in time: nothing is known about the chain. */
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

/** EIP-1474 names 3 for a revert; Nethermind and those that came before it say -32015. */
const revertCodes = new Set([3, -32015])

/**
 * What a node says of a call that the EVM ran in vain, or could not begin with the gas it had. Each stands before anything
 * a contract may have said, and every node would say the same.
 */
const inVain =
  /revert|vm exception|vm execution error|evm error|out of ?gas|gas required exceeds allowance\W+[1-9]|intrinsic gas|floor data gas|call gas cost|invalid (?:opcode|jump|instruction)|bad ?(?:opcode|jump|instruction)|opcode not found|undefined opcode|stack (?:limit|under|over)|stack(?:under|over)flow|return data out of bounds|write protection|gas uint64 overflow|max (?:init)?code size|max call depth/i

/** Rate limits, quotas, a block the node does not hold yet (anvil: BlockOutOfRange, geth: header not found), its own failures. */
const ofTheNode =
  /block ?out ?of ?range|header not found|unknown block|rate.?limit|request limit|too many requests|quota|exceeded your|timed? ?out|execution aborted/i

/** What nodes say of a log query that they bound by blocks, by results, by bytes or by time. */
const ofTheQuery =
  /\b(?:block ?)?range|(?:blocks|logs|results)\b.*(?:limit|exceed|max)|(?:limit|exceed|max|too many|more than)\w*\b.*\b(?:blocks|logs|results)|(?:response|result)\w*\b.*(?:size|large|big)|too (?:large|big|wide)|quer(?:y|ies)\b.*(?:timed? ?out|limit|exceed)|timed? ?out|deadline exceeded/i

/**
 * True when the call itself was refused, as by any node: the EVM ran it and it came to nothing. Code and data decide first,
 * then what the node's message says first: whatever follows the word of a revert was chosen by a stranger's contract.
 */
export function isRevert(error: unknown): error is RpcResponseError {
  if (!(error instanceof RpcResponseError)) return false
  if (revertCodes.has(error.code) || (readData(error.data)?.length ?? 0) >= SELECTOR_CHARS)
    return true
  const at = error.message.search(inVain)
  const trouble = error.message.search(ofTheNode)
  return at >= 0 && (trouble < 0 || at < trouble)
}

/** What no node could run says as little about the chain as what none was asked: a contract is never blamed for it. */
export function asUnasked(error: unknown): unknown {
  if (!(error instanceof RpcResponseError)) return error
  return new RpcUnavailableError('the chain node could not run the call', { cause: error })
}

/** True when a log query asks for more than the node gives at once: half of it may be answered. */
export function isQueryTooLarge(method: string, error: RpcResponseError): boolean {
  if (method !== 'eth_getLogs' || /out ?of ?range/i.test(error.message)) return false
  return ofTheQuery.test(error.message)
}

/** True when an error speaks of the node, not of the call: another node, or a moment, mends it. */
export function isNodeTrouble(method: string, error: RpcResponseError): boolean {
  if (runsCode.has(method) && isRevert(error)) return false
  if (isQueryTooLarge(method, error)) return false
  return error.code === -32005 || error.code === 429 || ofTheNode.test(error.message)
}

/** The methods in whose errors a contract has a word. */
const runsCode = new Set(['eth_call', 'eth_estimateGas'])
const SELECTOR_CHARS = 10

/** The text of a revert: from its data where there is any, else from the node's message. */
export function revertText(error: RpcResponseError): string {
  const data = readData(error.data)
  if (data !== undefined) {
    const text = decodeRevert(data)
    if (text !== undefined) return text
  }
  return error.message.replace(/^.*?execution reverted:?\s*/i, '').slice(0, MAX_REVERT_CHARS)
}

/** Decodes `Error(string)`; other data gives its selector, as custom errors have no text. */
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

/** Bare, as of most nodes; within an object; or after the word `Reverted`. */
function readData(data: unknown): Hex | undefined {
  const inner = typeof data === 'object' && data !== null && 'data' in data ? data.data : data
  if (typeof inner !== 'string') return undefined
  const bytes = inner.replace(/^reverted /i, '')
  return /^0x([0-9a-f]{2})*$/i.test(bytes) ? (bytes as Hex) : undefined
}
