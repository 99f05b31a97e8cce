import type { ConsoleNetwork } from '@arcus/protocol/answers/service'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { createContext, lazy, type ReactNode, Suspense, useContext } from 'react'
import { defineChain } from 'viem'
import { type Config, createConfig, injected, unstable_connector, WagmiProvider } from 'wagmi'
import { getConnection, switchChain } from 'wagmi/actions'
import { listedNetwork, settingsQuery } from '../api/queries.js'
import { Notice } from '../components/card.js'
import { Loaded, Skeleton } from '../components/loaded.js'
import { watchAccount } from './session.js'

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
    <Loaded query={settings} skeleton={<Skeleton className="h-40 w-full" />}>
      {(settings) => {
        const network = listedNetwork(settings)
        if (network === undefined) {
          return (
            <Notice
              tone="bad"
              title="This Arcus has no network for listings, so nothing can be signed"
            />
          )
        }
        return <WithNetwork network={network}>{children}</WithNetwork>
      }}
    </Loaded>
  )
}

function WithNetwork({ network, children }: { network: ConsoleNetwork; children: ReactNode }) {
  const client = useQueryClient()
  // The cache keeps one configuration for the life of the page. React may discard a first render, and with it the answer of the wallet.
  const { data: config } = useQuery({
    queryKey: ['wallets', network.chainId],
    enabled: false,
    initialData() {
      const made = createWalletConfig(network)
      watchAccount(made, client)
      return made
    },
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: Number.POSITIVE_INFINITY,
  })
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
      : { blockExplorers: { default: { name: 'Explorer', url: explorerUrl } } }),
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

const WalletDialog = lazy(async () => ({
  default: (await import('./wallet-dialog.js')).WalletDialog,
}))

/** Offers the wallets of this browser. Its code is loaded with the press that asks for it. */
export function WalletPicker({ onClose }: { onClose: () => void }) {
  return (
    <Suspense>
      <WalletDialog onClose={onClose} />
    </Suspense>
  )
}
