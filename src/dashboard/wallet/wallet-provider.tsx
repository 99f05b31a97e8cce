import { type QueryClient, useQuery, useQueryClient } from '@tanstack/react-query'
import { createContext, type ReactNode, useContext } from 'react'
import { defineChain } from 'viem'
import { type Config, createConfig, injected, unstable_connector, WagmiProvider } from 'wagmi'
import { getConnection, switchChain } from 'wagmi/actions'
import type { ConsoleNetwork } from '../../api/service.js'
import { settingsQuery } from '../api/queries.js'
import { Notice } from '../components/card.js'
import { Loaded, Skeleton } from '../components/loaded.js'
import { watchAccount } from './session.js'
import { walletWords as words } from './words.js'

const ListedNetwork = createContext<ConsoleNetwork | undefined>(undefined)

/** Returns the network of the listings. Works inside `WalletProvider` only. */
export function useListedNetwork(): ConsoleNetwork {
  const network = useContext(ListedNetwork)
  if (network === undefined) throw new Error('useListedNetwork() needs a WalletProvider around it.')
  return network
}

/** Provides wallets to its children once the service has named the chain. */
export function WalletProvider({ children }: { children: ReactNode }) {
  const settings = useQuery(settingsQuery)
  return (
    <Loaded query={settings} skeleton={<Skeleton className="h-40 w-full !rounded-2xl" />}>
      {({ networks }) => {
        const network = networks.find(({ listed }) => listed)
        if (network === undefined) {
          return <Notice tone="bad" title={words.noNetwork} />
        }
        return <WithNetwork network={network}>{children}</WithNetwork>
      }}
    </Loaded>
  )
}

let made: { chainId: number; config: Config } | undefined

/**
 * Makes one configuration for the life of the page. React may discard a first render, and with it the answer of the
 * wallet.
 */
function configFor(network: ConsoleNetwork, client: QueryClient): Config {
  if (made?.chainId !== network.chainId) {
    made = { chainId: network.chainId, config: createWalletConfig(network) }
    watchAccount(made.config, client)
  }
  return made.config
}

function WithNetwork({ network, children }: { network: ConsoleNetwork; children: ReactNode }) {
  const config = configFor(network, useQueryClient())
  return (
    <ListedNetwork value={network}>
      <WagmiProvider config={config}>{children}</WagmiProvider>
    </ListedNetwork>
  )
}

/**
 * Configures the wallets of this browser only: those that announce themselves (EIP-6963), and `window.ethereum`. The page
 * never calls a node. It reads the chain through the wallet or through Arcus.
 */
function createWalletConfig(network: ConsoleNetwork): Config {
  const { chainId, name, nativeCurrency, walletRpcUrls, explorerUrl } = network
  const chain = defineChain({
    id: chainId,
    name,
    nativeCurrency,
    rpcUrls: { default: { http: walletRpcUrls } },
    ...(explorerUrl === null
      ? {}
      : { blockExplorers: { default: { name: words.explorer, url: explorerUrl } } }),
  })
  return createConfig({
    chains: [chain],
    connectors: [injected()],
    transports: { [chain.id]: unstable_connector(injected) },
  })
}

/** Switches the wallet to the chain, because wallets refuse typed data of another one. */
export async function toChain(config: Config, chainId: number): Promise<void> {
  if (getConnection(config).chainId !== chainId) await switchChain(config, { chainId })
}
