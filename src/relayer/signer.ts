import secp256k1 from 'secp256k1'
import { type Address, type Hex, hexToBytes } from 'viem'
import type { Keccak256 } from '../x402/keccak.js'

/** The key of a relayer, wherever it lives. */
export interface Signer {
  address: Address
  /** True where another service holds the key and may fail. */
  isRemote: boolean
  /**
   * Returns the raw signed transaction: exactly what was asked, with a signature of this wallet. Rejects with
   * `SignerError` when there is none within 1.5 s.
   */
  sign(transaction: RelayerTransaction): Promise<Hex>
}

/** The signer gave no usable signature, so there is no transaction. Its message says why, without an address or a key. */
export class SignerError extends Error {
  override readonly name = 'SignerError'
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

/** Resolves to `r` and `s`, 64 bytes, of a signature over the digest of the transaction. */
export type SignDigest = (
  digest: Uint8Array,
  transaction: RelayerTransaction,
) => Promise<Uint8Array> | Uint8Array

/** A key service answers within a tenth of a second; a payment that waits for its answer may still go to another wallet. */
export const SIGN_TIMEOUT_MS = 1_500

/**
 * Makes a signer over a private key held in this process. It uses native secp256k1, because a batch is some 20 kB to
 * hash and sign.
 */
export function createLocalSigner(privateKey: Hex, keccak256: Keccak256): Signer {
  const key = hexToBytes(privateKey)
  const address = addressOf(secp256k1.publicKeyCreate(key, false), keccak256)
  const sign: SignDigest = (digest) => secp256k1.ecdsaSign(digest, key).signature
  return { ...createCheckedSigner(address, keccak256, sign), isRemote: false }
}

/**
 * Makes a signer over a key held elsewhere. It waits for a bounded time, and checks each signature before anybody gets
 * the transaction: it must recover to the address. A high `s`, which no chain takes, is brought to its low twin.
 */
export function createRemoteSigner(
  address: Address,
  keccak256: Keccak256,
  sign: SignDigest,
): Signer {
  return { ...createCheckedSigner(address, keccak256, withinTime(sign)), isRemote: true }
}

function createCheckedSigner(address: Address, keccak256: Keccak256, sign: SignDigest) {
  return {
    address,
    async sign(transaction: RelayerTransaction): Promise<Hex> {
      const digest = keccak256(encodeTransaction(transaction))
      const signature = await sign(digest, transaction)
      const compact = lowS(signature)
      const isOwn = (yParity: number) => recover(compact, yParity, digest, keccak256) === address
      const yParity = [0, 1].find(isOwn)
      if (yParity === undefined)
        throw new SignerError('it signs something else, or with another key')
      const [r, s] = [compact.subarray(0, 32), compact.subarray(32)]
      return `0x${encodeTransaction(transaction, { r, s, yParity }).toString('hex')}`
    },
  }
}

function withinTime(sign: SignDigest): SignDigest {
  return async (digest, transaction) => {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      const fail = () => reject(new SignerError(`no answer within ${SIGN_TIMEOUT_MS} ms`))
      timer = setTimeout(fail, SIGN_TIMEOUT_MS)
    })
    try {
      return await Promise.race([sign(digest, transaction), late])
    } catch (error) {
      if (error instanceof SignerError) throw error
      throw new SignerError('it cannot be reached, or refuses', { cause: error })
    } finally {
      clearTimeout(timer)
    }
  }
}

function lowS(signature: Uint8Array): Uint8Array {
  try {
    return secp256k1.signatureNormalize(Uint8Array.from(signature))
  } catch {
    throw new SignerError('it answers something else than a signature')
  }
}

/** Returns the address that made the signature; `undefined` when no key can have made it with this parity. */
function recover(
  compact: Uint8Array,
  yParity: number,
  digest: Uint8Array,
  keccak256: Keccak256,
): Address | undefined {
  try {
    return addressOf(secp256k1.ecdsaRecover(compact, yParity, digest, false), keccak256)
  } catch {
    return undefined
  }
}

/** Returns a transaction that no chain takes, because its gas limit is zero: a signer may be tried with it. */
export function trialTransaction(chainId: number, address: Address): RelayerTransaction {
  const fees = { maxFeePerGas: 0n, maxPriorityFeePerGas: 0n }
  return { chainId, nonce: 0, to: address, data: '0x', gasLimit: 0n, ...fees }
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
