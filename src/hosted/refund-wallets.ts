import type { Address, Hex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'

/** The endpoints to sell. */
export interface HostedSettings {
  readonly payTo: Address
  /** The pause between two claims of channels, seconds. */
  readonly claimSeconds: number
}

/** Returns the wallet that refunds calls of hosted endpoints, with the address whose payments it refunds. */
export function hostedRefundWallets(
  hosted: HostedSettings | undefined,
  key: Hex | undefined,
): Map<Address, Address> {
  if (hosted === undefined || key === undefined) return new Map()
  const lower = (address: Address) => address.toLowerCase() as Address
  return new Map([[lower(privateKeyToAccount(key).address), lower(hosted.payTo)]])
}
