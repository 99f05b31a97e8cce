import type { RelayerTransaction } from './signer.js'

/** `r` and `s` are 32 bytes each. */
export interface TransactionSignature {
  r: Uint8Array
  s: Uint8Array
  yParity: number
}

const TYPE = Buffer.of(2)
const NO_VALUE = Buffer.alloc(0)
const EMPTY_ACCESS_LIST = Buffer.of(0xc0)

/** The bytes of an EIP-1559 transaction: what is signed, or with its signature what is sent. */
export function encodeTransaction(
  transaction: RelayerTransaction,
  signature?: TransactionSignature,
): Buffer {
  const { chainId, nonce, to, data } = transaction
  const fields = [
    encodeQuantity(BigInt(chainId)),
    encodeQuantity(BigInt(nonce)),
    encodeQuantity(transaction.maxPriorityFeePerGas),
    encodeQuantity(transaction.maxFeePerGas),
    encodeQuantity(transaction.gasLimit),
    encodeBytes(bytesOf(to)),
    encodeBytes(NO_VALUE),
    encodeBytes(bytesOf(data)),
    EMPTY_ACCESS_LIST,
  ]
  if (signature !== undefined) {
    fields.push(
      encodeQuantity(BigInt(signature.yParity)),
      encodeBytes(withoutZeros(signature.r)),
      encodeBytes(withoutZeros(signature.s)),
    )
  }
  const body = Buffer.concat(fields)
  return Buffer.concat([TYPE, header(0xc0, body.length), body])
}

function bytesOf(hex: string): Buffer {
  return Buffer.from(hex.slice(2), 'hex')
}

/** RLP has no leading zeros in numbers; zero itself is the empty string. */
function encodeQuantity(value: bigint): Buffer {
  const digits = value === 0n ? '' : value.toString(16)
  return encodeBytes(Buffer.from(digits.length % 2 === 0 ? digits : `0${digits}`, 'hex'))
}

function withoutZeros(bytes: Uint8Array): Uint8Array {
  let start = 0
  while (bytes[start] === 0) start++
  return bytes.subarray(start)
}

function encodeBytes(bytes: Uint8Array): Buffer {
  if (bytes.length === 1 && (bytes[0] as number) < 0x80) return Buffer.from(bytes)
  return Buffer.concat([header(0x80, bytes.length), bytes])
}

/** RLP length prefix: one byte up to 55, else the length's own bytes behind its size. */
function header(base: number, length: number): Buffer {
  if (length <= 55) return Buffer.of(base + length)
  const digits = length.toString(16)
  const size = Buffer.from(digits.length % 2 === 0 ? digits : `0${digits}`, 'hex')
  return Buffer.concat([Buffer.of(base + 55 + size.length), size])
}
