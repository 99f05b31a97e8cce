import type { Authorization } from '@arcus/protocol/x402/authorization-digest'
import { type Address, decodeFunctionData, type Hex, parseAbi } from 'viem'
import { RpcUnavailableError } from './rpc-errors.js'

/** The first four bytes of the calls encoded by hand; `test/unit/chain/abi.test.ts` compares them with viem's. */
export const selectors = {
  isValidSignature: '0x1626ba7e',
  transferWithAuthorization: '0xcf092995',
  aggregate3: '0x82ad56cb',
  settleExact: '0x13cd3b53',
  settleUpto: '0xff11e7b4',
  settleExactWithPermit: '0xfa340378',
  settleUptoWithPermit: '0x016c1748',
  nonceBitmap: '0x4fe02b44',
} as const satisfies Record<string, Hex>

/** keccak256 of the event signatures that decide a settlement. */
export const topics = {
  authorizationUsed: '0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5',
  authorizationCanceled: '0x1cdd46ff242716cdaa72d159d339a485b3438398348d68f09d7c8c0a59353d81',
  transfer: '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef',
  nonceInvalidation: '0x3704902f963766a4e561bbaab6e6cdc1b1dd12f6e9e99648da8843b3f46b918d',
  settled: '0x97088ec3606cfe8cc112180570d03fcde05f9b8e1bfef8e27784eaf5dd5691b6',
  settledWithPermit: '0xde5b89d10fc800c459329c382fabfcad0be0ed7e5328e01fae04e507b09ef5d8',
  called: '0xc2368ee5963dcb4fc1cfc7433d5600952f1febe21b72311df060b8d4d403fba7',
} as const satisfies Record<string, Hex>

/** Multicall3 has this address on every chain that has it. */
export const multicall3Address: Address = '0xca11bde05977b3631167028862be2a173976ca11'

export function wordOf(value: bigint | number): string {
  return value.toString(16).padStart(64, '0')
}

export function addressWord(address: Address): string {
  return address.slice(2).toLowerCase().padStart(64, '0')
}

export function addressTopic(address: Address): Hex {
  return `0x${addressWord(address)}`
}

export function bytesWords(bytes: Hex): string {
  const digits = bytes.slice(2)
  return wordOf(digits.length / 2) + digits.padEnd(Math.ceil(digits.length / 64) * 64, '0')
}

/** Encodes the `bytes` overload, which serves externally owned accounts and contract wallets alike. */
export function encodeTransferWithAuthorization(authorization: Authorization, signature: Hex): Hex {
  const { from, to, value, validAfter, validBefore, nonce } = authorization
  return `${selectors.transferWithAuthorization}${addressWord(from)}${addressWord(to)}${wordOf(value)}${wordOf(validAfter)}${wordOf(validBefore)}${nonce.slice(2)}${wordOf(7 * 32)}${bytesWords(signature)}`
}

/** Encodes the question of ERC-1271 to a contract wallet. */
export function encodeIsValidSignature(digest: Hex, signature: Hex): Hex {
  return `${selectors.isValidSignature}${digest.slice(2)}${wordOf(64)}${bytesWords(signature)}`
}

/** Encodes a call of `aggregate3`; of several members each may fail alone. */
export function encodeAggregate3(calls: readonly { to: Address; data: Hex }[]): Hex {
  const mayFail = wordOf(calls.length > 1 ? 1 : 0)
  const members = calls.map(
    (call) => `${addressWord(call.to)}${mayFail}${wordOf(96)}${bytesWords(call.data)}`,
  )
  let offset = calls.length * 32
  const offsets = members.map((member) => {
    const at = wordOf(offset)
    offset += member.length / 2
    return at
  })
  return `${selectors.aggregate3}${wordOf(32)}${wordOf(calls.length)}${offsets.join('')}${members.join('')}`
}

/** A call in a transaction; everything is in lower case. */
export interface EvmCall {
  to: Address
  data: Hex
}

const multicall = parseAbi([
  'struct Call { address target; bool allowFailure; bytes callData; }',
  'function aggregate3(Call[] calls)',
])

/** Returns the calls of a transaction: those of a multicall in their order, or the transaction itself. */
export function callsOf({ to, data }: EvmCall): EvmCall[] {
  if (!data.startsWith(selectors.aggregate3)) return [{ to, data }]
  const [calls] = decodeFunctionData({ abi: multicall, data }).args
  return calls.map(({ target, callData }) => ({
    to: target.toLowerCase() as Address,
    data: callData.toLowerCase() as Hex,
  }))
}

/** Decodes the `(bool success, bytes returnData)[]` of `aggregate3`; throws on any other shape. */
export function decodeAggregate3(data: Hex): { ok: boolean; data: Hex }[] {
  const digits = data.slice(2)
  const wordAt = (at: number) => {
    const word = digits.slice(at * 2, at * 2 + 64)
    if (word.length !== 64) throw new RangeError('aggregate3 answer ends early')
    return Number(BigInt(`0x${word}`))
  }
  const start = wordAt(0)
  const count = wordAt(start)
  return Array.from({ length: count }, (_, i) => {
    const member = start + 32 + wordAt(start + 32 + i * 32)
    const bytesAt = member + wordAt(member + 32)
    const length = wordAt(bytesAt)
    const from = (bytesAt + 32) * 2
    if (from + length * 2 > digits.length) throw new RangeError('aggregate3 answer ends early')
    return { ok: wordAt(member) === 1, data: `0x${digits.slice(from, from + length * 2)}` }
  })
}

/** Returns the address in a 32-byte topic or word. */
export function addressOf(word: string): Address {
  return `0x${word.slice(-40).toLowerCase()}`
}

export function toQuantity(value: bigint | number): Hex {
  return `0x${value.toString(16)}`
}

/** Reads a number as nodes write it; `undefined` for anything else, which must never pass for zero. */
export function asQuantity(value: unknown): bigint | undefined {
  const isQuantity = typeof value === 'string' && /^0x[0-9a-f]+$/i.test(value)
  return isQuantity ? BigInt(value) : undefined
}

/** Reads a number as nodes write it. Throws `RpcUnavailableError` for anything else. */
export function parseQuantity(value: unknown): bigint {
  const quantity = asQuantity(value)
  if (quantity !== undefined) return quantity
  throw new RpcUnavailableError('the chain node answered no number where one was asked for')
}
