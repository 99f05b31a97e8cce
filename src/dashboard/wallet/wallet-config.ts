import { defineChain } from 'viem'
import { type Config, createConfig, injected, unstable_connector } from 'wagmi'
import type { Network } from '../api/types.js'

/**
 * Wallets of this browser and nothing else: those that announce themselves (EIP-6963), and the old `window.ethereum`.
 * The page never speaks to a node; what needs the chain is asked of the wallet or of Arcus.
 */
export function createWalletConfig(network: Network): Config {
  const { chainId, name, nativeCurrency, walletRpcUrls, explorerUrl } = network
  const chain = defineChain({
    id: chainId,
    name,
    nativeCurrency,
    rpcUrls: { default: { http: walletRpcUrls } },
    ...(explorerUrl === null
      ? {}
      : { blockExplorers: { default: { name: 'Explorer', url: explorerUrl } } }),
  })
  return createConfig({
    chains: [chain],
    connectors: [injected()],
    transports: { [chain.id]: unstable_connector(injected) },
  })
}
