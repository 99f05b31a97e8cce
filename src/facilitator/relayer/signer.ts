import type { Keccak256 } from '@arcus/protocol/x402/keccak'
import secp256k1 from 'secp256k1'
import {
  type Address,
  bytesToHex,
  concat,
  type Hex,
  hexToBytes,
  pad,
  parseTransaction,
  serializeTransaction,
} from 'viem'
import { inTime } from '../../async/in-time.js'
import { toQuantity } from '../../chain/abi.js'
import { createRpc, type Rpc } from '../../chain/rpc.js'

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
interface RelayerTransaction {
  chainId: number
  nonce: number
  to: Address
  data: Hex
  gasLimit: bigint
  maxFeePerGas: bigint
  maxPriorityFeePerGas: bigint
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

/** Returns the hash of the bytes that the library wrote. A batch has 20 kB, which `Buffer` reads four times as fast. */
export function hashOfTransaction(keccak256: Keccak256, written: Hex): Uint8Array {
  return keccak256(Buffer.from(written.slice(2), 'hex'))
}

function createCheckedSigner(address: Address, keccak256: Keccak256, sign: SignDigest) {
  return {
    address,
    async sign(transaction: RelayerTransaction): Promise<Hex> {
      const unsigned = toEip1559(transaction)
      const digest = hashOfTransaction(keccak256, serializeTransaction(unsigned))
      const signature = await sign(digest, transaction)
      const compact = lowS(signature)
      const isOwn = (yParity: number) => recover(compact, yParity, digest, keccak256) === address
      const yParity = [0, 1].find(isOwn)
      if (yParity === undefined)
        throw new SignerError('it signed something else, or with another key')
      const [r, s] = [compact.subarray(0, 32), compact.subarray(32)].map((it) => bytesToHex(it))
      return serializeTransaction(unsigned, { r: r as Hex, s: s as Hex, yParity })
    },
  }
}

function withinTime(sign: SignDigest): SignDigest {
  return async (digest, transaction) => {
    try {
      return await inTime(Promise.resolve(sign(digest, transaction)), SIGN_TIMEOUT_MS, () => {
        throw new SignerError(`no answer within ${SIGN_TIMEOUT_MS} ms`)
      })
    } catch (error) {
      if (error instanceof SignerError) throw error
      throw new SignerError('it cannot be reached, or refuses', { cause: error })
    }
  }
}

function lowS(signature: Uint8Array): Uint8Array {
  try {
    return secp256k1.signatureNormalize(Uint8Array.from(signature))
  } catch {
    throw new SignerError('it returned something other than a signature')
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

/** Returns a transaction as viem takes it. */
function toEip1559({ gasLimit, ...fields }: RelayerTransaction) {
  return { ...fields, gas: gasLimit, type: 'eip1559' } as const
}

/** The places where the keys of the relayers are. */
interface KeyPlaces {
  relayerPrivateKeys: readonly Hex[]
  /** A service that signs for these wallets by JSON-RPC. */
  relayerSigner: { url: string; addresses: readonly Address[] } | undefined
}

/** The wallets of all places, in the order of the settings. */
export interface OpenSigners {
  signers: readonly Signer[]
  /** Closes the connections to services that hold keys. */
  close(): Promise<void>
}

/** Opens the keys. No service is asked before the first signature. */
export function openSigners(places: KeyPlaces, keccak256: Keccak256): OpenSigners {
  const { relayerPrivateKeys, relayerSigner } = places
  const local = relayerPrivateKeys.map((key) => createLocalSigner(key, keccak256))
  const rpc = relayerSigner && createRpc([relayerSigner.url])
  const remote = rpc
    ? relayerSigner.addresses.map((address) => createRpcSigner(address, rpc, keccak256))
    : []
  return {
    signers: [...local, ...remote],
    async close() {
      await rpc?.close()
    },
  }
}

/**
 * Signs by `eth_signTransaction`, as Web3Signer and nodes that hold keys do. Only the signature is taken from the
 * answer: if it is over another transaction, it does not recover to the address.
 */
function createRpcSigner(address: Address, rpc: Rpc, keccak256: Keccak256): Signer {
  return createRemoteSigner(address, keccak256, async (_, transaction) => {
    const params = [toParameters(address, transaction)]
    const timeoutMs = SIGN_TIMEOUT_MS
    const answer = await rpc.request('eth_signTransaction', params, { timeoutMs })
    // geth answers with the transaction next to its bytes.
    return readSignature((answer as { raw?: unknown } | null)?.raw ?? answer)
  })
}

function toParameters(from: Address, transaction: RelayerTransaction) {
  const { chainId, nonce, to, data, gasLimit, maxFeePerGas, maxPriorityFeePerGas } = transaction
  return {
    from,
    to,
    data,
    value: '0x0',
    nonce: toQuantity(nonce),
    gas: toQuantity(gasLimit),
    maxFeePerGas: toQuantity(maxFeePerGas),
    maxPriorityFeePerGas: toQuantity(maxPriorityFeePerGas),
    chainId: toQuantity(chainId),
  }
}

function readSignature(raw: unknown): Uint8Array {
  try {
    const { r, s } = parseTransaction(raw as `0x02${string}`)
    return hexToBytes(concat([pad(r as Hex), pad(s as Hex)]))
  } catch {
    throw new SignerError('it returned something other than a signed transaction')
  }
}

interface WatchedSignerOptions {
  chainId: number
  /** Unix milliseconds. */
  now: () => number
  /** Runs with the first failure. */
  onFailure: (reason: string, error: SignerError) => void
  /** Runs when the signer signs again after a failure. */
  onRecovery: () => void
}

/** A signer that failed is tried again after the first, and later each time after twice as long, up to the second. */
const TRY_MS = 500
const TRY_AT_MOST_MS = 2_000

/**
 * A signer that knows whether it signs now. Only a trial shows that it signs again, because no payment is given to one that
 * failed.
 */
export class WatchedSigner {
  readonly #signer: Signer
  readonly #options: WatchedSignerOptions
  #failure: string | undefined
  /** Failures since it signed a payment: trials that succeed in between do not make the waits short again. */
  #failures = 0
  #tryAt = 0

  constructor(signer: Signer, options: WatchedSignerOptions) {
    this.#signer = signer
    this.#options = options
  }

  /** Signs as the signer does, and notes whether it could. */
  async sign(transaction: RelayerTransaction): Promise<Hex> {
    const raw = await this.#ask(transaction)
    this.#failures = 0
    return raw
  }

  /** Returns why it gives no signature now; `undefined` while it does. */
  failure(): string | undefined {
    return this.#failure
  }

  /** Tries a key that is held elsewhere, before a payment needs it. */
  tryEarly(): void {
    if (this.#signer.isRemote) void this.#try()
  }

  /** Tries a signer that failed, once that is due. */
  tryAgain(): void {
    if (this.#failure !== undefined && this.#options.now() >= this.#tryAt) void this.#try()
  }

  /** Forgets that it failed. */
  reset(): void {
    this.#failure = undefined
  }

  async #ask(transaction: RelayerTransaction): Promise<Hex> {
    const { now, onFailure } = this.#options
    try {
      return await this.#signer.sign(transaction)
    } catch (error) {
      if (!(error instanceof SignerError)) throw error
      this.#tryAt = now() + Math.min(TRY_MS * 2 ** Math.min(this.#failures++, 10), TRY_AT_MOST_MS)
      const reason = `its signer fails: ${error.message}`
      if (this.#failure === undefined) onFailure(reason, error)
      this.#failure = reason
      throw error
    }
  }

  async #try(): Promise<void> {
    const { chainId, now, onRecovery } = this.#options
    this.#tryAt = now() + TRY_AT_MOST_MS
    const trial = trialTransaction(chainId, this.#signer.address)
    const raw = await this.#ask(trial).catch(() => undefined)
    if (raw === undefined || this.#failure === undefined) return
    this.#failure = undefined
    onRecovery()
  }
}
