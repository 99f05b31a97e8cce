import type { Address, Hex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'

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

/** A signer over a private key held in this process. */
export function createLocalSigner(privateKey: Hex): Signer {
  const account = privateKeyToAccount(privateKey)
  return {
    address: account.address.toLowerCase() as Address,
    sign: ({ chainId, nonce, to, data, gasLimit, maxFeePerGas, maxPriorityFeePerGas }) =>
      account.signTransaction({
        type: 'eip1559',
        chainId,
        nonce,
        to,
        data,
        gas: gasLimit,
        maxFeePerGas,
        maxPriorityFeePerGas,
      }),
  }
}
