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

/** True when the EVM ran and refused; false when the node could not run it. */
export function isRevert(error: unknown): error is RpcResponseError {
  if (!(error instanceof RpcResponseError)) return false
  // EIP-1474 names code 3 for a revert; nodes that use -32000 say it in words.
  return error.code === 3 || /revert|out of gas|outofgas|invalid opcode/i.test(error.message)
}

/** The text of a revert: from its data where there is any, else from the node's message. */
export function revertText(error: RpcResponseError): string {
  const data = readData(error.data)
  if (data !== undefined) {
    const text = decodeRevert(data)
    if (text !== undefined) return text
  }
  return error.message.replace(/^.*execution reverted:?\s*/i, '').slice(0, MAX_REVERT_CHARS)
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

function readData(data: unknown): Hex | undefined {
  const inner = typeof data === 'object' && data !== null && 'data' in data ? data.data : data
  return typeof inner === 'string' && /^0x([0-9a-f]{2})*$/i.test(inner) ? (inner as Hex) : undefined
}
