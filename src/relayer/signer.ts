import secp256k1 from 'secp256k1'
import { type Address, type Hex, hexToBytes } from 'viem'
import type { Keccak256 } from '../x402/keccak.js'

/** The key of a relayer, wherever it lives. */
export interface Signer {
  address: Address
  /** Returns the raw signed transaction. */
  sign(transaction: RelayerTransaction): Promise<Hex>
}

/** An EIP-1559 transaction to be signed. Its value is always zero: a relayer moves no money except for gas. */
export interface RelayerTransaction {
  chainId: number
  nonce: number
  to: Address
  data: Hex
  gasLimit: bigint
  maxFeePerGas: bigint
  maxPriorityFeePerGas: bigint
}

/** `r` and `s` are 32 bytes each. */
export interface TransactionSignature {
  r: Uint8Array
  s: Uint8Array
  yParity: number
}

/**
 * Makes a signer over a private key held in this process. It uses native secp256k1, because a batch is some 20 kB to
 * hash and sign.
 */
export function createLocalSigner(privateKey: Hex, keccak256: Keccak256): Signer {
  const key = hexToBytes(privateKey)
  return {
    address: addressOf(secp256k1.publicKeyCreate(key, false), keccak256),
    async sign(transaction) {
      const digest = keccak256(encodeTransaction(transaction))
      const { signature, recid } = secp256k1.ecdsaSign(digest, key)
      const raw = encodeTransaction(transaction, {
        r: signature.subarray(0, 32),
        s: signature.subarray(32),
        yParity: recid,
      })
      return `0x${raw.toString('hex')}`
    },
  }
}

/** Returns the address of an uncompressed public key of 65 bytes, in lower case. */
export function addressOf(publicKey: Uint8Array, keccak256: Keccak256): Address {
  return `0x${Buffer.from(keccak256(publicKey.subarray(1)).subarray(12)).toString('hex')}`
}

const TYPE = Buffer.of(2)
const NO_VALUE = Buffer.alloc(0)
const EMPTY_ACCESS_LIST = Buffer.of(0xc0)

/** Returns the bytes of an EIP-1559 transaction: without a signature those to sign, with it those to send. */
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

/** Returns an RLP length prefix: one byte up to 55, else the bytes of the length behind their number. */
function header(base: number, length: number): Buffer {
  if (length <= 55) return Buffer.of(base + length)
  const digits = length.toString(16)
  const size = Buffer.from(digits.length % 2 === 0 ? digits : `0${digits}`, 'hex')
  return Buffer.concat([Buffer.of(base + 55 + size.length), size])
}
