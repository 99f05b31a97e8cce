import secp256k1 from 'secp256k1'
import { type Address, type Hex, hexToBytes } from 'viem'
import { privateKeyToAddress } from 'viem/accounts'
import type { Keccak256 } from '../x402/keccak.js'
import { encodeTransaction } from './eip1559.js'

/** An EIP-1559 transaction to be signed; value is always zero, gas aside a relayer moves no money. */
export interface RelayerTransaction {
  chainId: number
  nonce: number
  to: Address
  data: Hex
  gasLimit: bigint
  maxFeePerGas: bigint
  maxPriorityFeePerGas: bigint
}

/** A relayer's key, wherever it lives. */
export interface Signer {
  address: Address
  /** Gives the raw signed transaction. */
  sign(transaction: RelayerTransaction): Promise<Hex>
}

/** A signer over a private key held in this process; native secp256k1, for a batch is some 20 kB to hash and sign. */
export function createLocalSigner(privateKey: Hex, keccak256: Keccak256): Signer {
  const key = hexToBytes(privateKey)
  return {
    address: privateKeyToAddress(privateKey).toLowerCase() as Address,
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
