import { type Address, type Hex, hashTypedData, hexToBytes } from 'viem'
import { RpcUnavailableError } from '../chain/rpc-errors.js'
import {
  type ListingWriteJson,
  listingTypedData,
  toListingWrite,
} from '../listing-client/listing-write.js'
import { networks } from '../x402/networks.js'
import type { SignerRecovery } from '../x402/signer-recovery.js'
import { WriteFault } from './write-codes.js'

/** Asks the chain whether a contract wallet, deployed or not, stands behind a signature. */
export type IsContractSignature = (claim: {
  address: Address
  hash: Hex
  signature: Hex
}) => Promise<boolean>

/** Throws a `WriteFault` unless `message.owner` signed the message. */
export type SignatureCheck = (message: ListingWriteJson, signature: Hex) => Promise<void>

export interface SignatureCheckOptions {
  chainId: number
  recovery: Pick<SignerRecovery, 'recoverSigner'>
  isContractSignature: IsContractSignature
}

/** Characters of 65 bytes: r, s and v. */
const ECDSA_CHARS = 2 + 2 * 65

/**
 * The key first, whatever code its address has (EIP-7702); then the code, asked anew each time, as a contract may take
 * a yes back.
 */
export function createSignatureCheck(options: SignatureCheckOptions): SignatureCheck {
  const { chainId, recovery, isContractSignature } = options

  function isSignedByKey(message: ListingWriteJson, signature: Hex, onChain: number): boolean {
    const hash = hexToBytes(hashOf(message, onChain))
    return recovery.recoverSigner(hash, withUsualV(signature)) === message.owner
  }

  return async (message, signature) => {
    const isPlain = signature.length === ECDSA_CHARS
    if (isPlain && isSignedByKey(message, signature, chainId)) return
    const claim = { address: message.owner, hash: hashOf(message, chainId), signature }
    const isAccepted = await isContractSignature(claim).catch((error: unknown) => {
      if (!(error instanceof RpcUnavailableError)) throw error
      const text =
        'The signature is not of the key of message.owner, and the chain could not be asked whether it is of a contract; try again.'
      throw new WriteFault('chainUnavailable', text, undefined, { 'retry-after': '5' })
    })
    if (isAccepted) return
    const others = Object.values(networks).filter((network) => network.chainId !== chainId)
    if (isPlain && others.some((other) => isSignedByKey(message, signature, other.chainId))) {
      throw chainFault(chainId)
    }
    const text =
      'The signature is not one of message.owner over this message in the published domain.'
    throw new WriteFault('invalidSignature', text)
  }
}

export function chainFault(chainId: number): WriteFault {
  return new WriteFault('wrongChain', `Sign with the chain id ${chainId} in the domain.`)
}

function hashOf(message: ListingWriteJson, chainId: number): Hex {
  return hashTypedData(listingTypedData(chainId, toListingWrite(message)))
}

/** Some wallets write the parity as 0 or 1, without the 27 of old. */
function withUsualV(signature: Hex): Hex {
  const v = signature.slice(-2)
  if (v !== '00' && v !== '01') return signature
  return `${signature.slice(0, -2) as Hex}${v === '00' ? '1b' : '1c'}`
}
