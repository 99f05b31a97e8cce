import { getAddress } from 'viem'
import { readNetwork, readPayer } from '../x402/parse-request.js'
import type { RouteFamily } from './route-config.js'

/** What went wrong, before it has the shape of a route family. */
export interface Problem {
  code: string
  /** One sentence that may be shown to anybody. */
  message: string
}

export type ErrorEnvelope =
  | { error: string; message: string }
  | { jsonrpc: '2.0'; id: null; error: { code: number; message: string; data: { error: string } } }
  | { isValid: false; invalidReason: string; invalidMessage: string; payer?: string }
  | {
      success: false
      errorReason: string
      errorMessage: string
      transaction: ''
      network: string
      payer?: string
    }

/**
 * Puts a problem into the shape its route family answers with. `body` is the parsed body if there is one:
 * payer and network are echoed from it where they can be read (x402 v2 clients demand `network` of a settle).
 */
export function errorEnvelope(family: RouteFamily, problem: Problem, body: unknown): ErrorEnvelope {
  const { code, message } = problem
  if (family === 'plain') return { error: code, message }
  if (family === 'mcp') {
    // JSON-RPC has numbers; those from -32000 on are for servers to choose.
    const number = code === 'invalid_request' ? -32600 : -32000
    return { jsonrpc: '2.0', id: null, error: { code: number, message, data: { error: code } } }
  }
  if (family === 'verify') {
    return { isValid: false, invalidReason: code, invalidMessage: message, ...payerOf(body) }
  }
  return {
    success: false,
    errorReason: code,
    errorMessage: message,
    transaction: '',
    network: readNetwork(body),
    ...payerOf(body),
  }
}

function payerOf(body: unknown): { payer?: string } {
  const payer = readPayer(body)
  return payer === undefined ? {} : { payer: getAddress(payer) }
}
