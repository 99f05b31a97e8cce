/** The CAIP-2 identifiers this software knows. */
export type NetworkId = 'eip155:5042' | 'eip155:5042002'

interface NetworkFacts {
  network: NetworkId
  chainId: number
  name: string
  explorerUrl: string
  /** A public node, which wallets use when they add the chain. */
  publicRpcUrl: string
}

/** The two Arc networks; ids as in viem's `arc` and `arcTestnet`. */
export const networks = {
  'eip155:5042': {
    network: 'eip155:5042',
    chainId: 5042,
    name: 'Arc',
    explorerUrl: 'https://explorer.arc.io',
    publicRpcUrl: 'https://rpc.mainnet.arc.io',
  },
  'eip155:5042002': {
    network: 'eip155:5042002',
    chainId: 5042002,
    name: 'Arc Testnet',
    explorerUrl: 'https://explorer.testnet.arc.io',
    publicRpcUrl: 'https://rpc.testnet.arc.io',
  },
} as const satisfies Record<NetworkId, NetworkFacts>

/** Narrows a wire string to a network this software knows, served here or not. */
export function isNetwork(value: string): value is NetworkId {
  return Object.hasOwn(networks, value)
}
