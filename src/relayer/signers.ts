import type { KMSClient } from '@aws-sdk/client-kms'
import secp256k1 from 'secp256k1'
import { type Address, concat, type Hex, hexToBytes, pad, parseTransaction } from 'viem'
import { toQuantity } from '../chain/abi.js'
import { createRpc, type Rpc } from '../chain/rpc.js'
import type { Keccak256 } from '../x402/keccak.js'
import {
  addressOf,
  createLocalSigner,
  createRemoteSigner,
  type RelayerTransaction,
  SIGN_TIMEOUT_MS,
  type Signer,
  SignerError,
} from './signer.js'

/** The places where the keys of the relayers are. */
export interface KeyPlaces {
  relayerPrivateKeys: readonly Hex[]
  /** Keys in AWS KMS, each by id, ARN or alias. */
  relayerKmsKeyIds: readonly string[]
  /** A service that signs for these wallets by JSON-RPC. */
  relayerSigner: { url: string; addresses: readonly Address[] } | undefined
}

/** The wallets of all places, in the order of the settings. */
export interface OpenSigners {
  signers: readonly Signer[]
  /** Closes the connections to services that hold keys. */
  close(): Promise<void>
}

/** Opens the keys. Rejects with `SignerError` when KMS does not name the public key of one. */
export async function openSigners(places: KeyPlaces, keccak256: Keccak256): Promise<OpenSigners> {
  const { relayerPrivateKeys, relayerKmsKeyIds, relayerSigner } = places
  const local = relayerPrivateKeys.map((key) => createLocalSigner(key, keccak256))
  const kms = relayerKmsKeyIds.length === 0 ? undefined : await openKms(relayerKmsKeyIds, keccak256)
  const rpc = relayerSigner && createRpc([relayerSigner.url])
  const remote = rpc
    ? relayerSigner.addresses.map((address) => createRpcSigner(address, rpc, keccak256))
    : []
  return {
    signers: [...local, ...(kms?.signers ?? []), ...remote],
    async close() {
      kms?.close()
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
    // geth answers with the transaction beside its bytes.
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
    throw new SignerError('it answers something else than a signed transaction')
  }
}

/** An uncompressed public key is the end of its DER form, behind the names of its curve. */
const PUBLIC_KEY_BYTES = 65
const UNCOMPRESSED = 4
const CURVE = 'ECC_SECG_P256K1'

/** Region and credentials are those of the SDK's own settings, such as `AWS_REGION`. */
async function openKms(keyIds: readonly string[], keccak256: Keccak256) {
  const sdk = await import('@aws-sdk/client-kms')
  const client = new sdk.KMSClient({})
  const open = async (KeyId: string) =>
    createRemoteSigner(
      addressOf(await readPublicKey(sdk, client, KeyId), keccak256),
      keccak256,
      async (digest) => {
        const { Signature } = await client.send(
          new sdk.SignCommand({
            KeyId,
            Message: digest,
            MessageType: 'DIGEST',
            SigningAlgorithm: 'ECDSA_SHA_256',
          }),
          { abortSignal: AbortSignal.timeout(SIGN_TIMEOUT_MS) },
        )
        return fromDer(Signature)
      },
    )
  try {
    return { signers: await Promise.all(keyIds.map(open)), close: () => client.destroy() }
  } catch (error) {
    client.destroy()
    throw error
  }
}

function fromDer(signature: Uint8Array = new Uint8Array()): Uint8Array {
  try {
    return secp256k1.signatureImport(signature)
  } catch {
    throw new SignerError('it answers something else than a signature')
  }
}

const START_TIMEOUT_MS = 5_000

async function readPublicKey(
  sdk: typeof import('@aws-sdk/client-kms'),
  client: KMSClient,
  KeyId: string,
): Promise<Uint8Array> {
  const abortSignal = AbortSignal.timeout(START_TIMEOUT_MS)
  const { KeySpec, PublicKey } = await client
    .send(new sdk.GetPublicKeyCommand({ KeyId }), { abortSignal })
    .catch((cause: Error) => {
      throw new SignerError(`AWS KMS does not name the public key of a relayer (${cause.name})`, {
        cause,
      })
    })
  const publicKey = PublicKey?.subarray(-PUBLIC_KEY_BYTES)
  if (KeySpec !== CURVE || publicKey?.[0] !== UNCOMPRESSED) {
    throw new SignerError(`a relayer key in AWS KMS is not of the curve ${CURVE}`)
  }
  return publicKey
}
