import type { Keccak256 } from '@arcus/protocol/x402/keccak'
import { type Address, concat, type Hex, hexToBytes, pad, parseTransaction } from 'viem'
import { toQuantity } from '../../chain/abi.js'
import { createRpc, type Rpc } from '../../chain/rpc.js'
import {
  createLocalSigner,
  createRemoteSigner,
  type RelayerTransaction,
  SIGN_TIMEOUT_MS,
  type Signer,
  SignerError,
} from './signer.js'

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
