import { parseUint256 } from '../../x402/amounts.js'

/**
 * Narrows to the id of an ERC-8004 agent: a string of decimal digits of a uint256 without leading zeros. "0" is an
 * agent; a number, hex, a sign or anything past 2^256 - 1 gives `undefined`.
 */
export function parseAgentId(value: unknown): string | undefined {
  return typeof value === 'string' && parseUint256(value) !== undefined ? value : undefined
}
