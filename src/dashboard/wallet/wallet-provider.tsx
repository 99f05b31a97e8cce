import { type QueryClient, useQuery, useQueryClient } from '@tanstack/react-query'
import { createContext, type ReactNode, useContext } from 'react'
import { defineChain } from 'viem'
import { type Config, createConfig, injected, unstable_connector, WagmiProvider } from 'wagmi'
import { settingsQuery } from '../api/queries.js'
import type { Network } from '../api/types.js'
import { Loaded, Skeleton } from '../components/loaded.js'
import { Notice } from '../components/notice.js'
import { watchAccount } from './session.js'

const ListedNetwork = createContext<Network | undefined>(undefined)

/** The network that listings are about; inside `WalletProvider` only. */
export function useListedNetwork(): Network {
  const network = useContext(ListedNetwork)
  if (network === undefined) throw new Error('there is no WalletProvider around this component')
  return network
}

/** Wallets for what is inside, once the service has said which chain they are for. */
export function WalletProvider({ children }: { children: ReactNode }) {
  const settings = useQuery(settingsQuery)
  return (
    <Loaded query={settings} skeleton={<Skeleton className="h-40 w-full !rounded-2xl" />}>
      {({ networks }) => {
        const network = networks.find(({ listed }) => listed)
        if (network === undefined) {
          return (
            <Notice
              tone="bad"
              title="This Arcus lists no network, so there is nothing to sign for."
            />
          )
        }
        return <WithNetwork network={network}>{children}</WithNetwork>
      }}
    </Loaded>
  )
}

let made: { chainId: number; config: Config } | undefined

/**
 * One for the life of the page, whatever React does with a first render: one that is thrown away would else have taken
 * the wallet's answer with it.
 */
function configFor(network: Network, client: QueryClient): Config {
  if (made?.chainId !== network.chainId) {
    made = { chainId: network.chainId, config: createWalletConfig(network) }
    watchAccount(made.config, client)
  }
  return made.config
}

function WithNetwork({ network, children }: { network: Network; children: ReactNode }) {
  const config = configFor(network, useQueryClient())
  return (
    <ListedNetwork value={network}>
      <WagmiProvider config={config}>{children}</WagmiProvider>
    </ListedNetwork>
  )
}

/**
 * Wallets of this browser and nothing else: those that announce themselves (EIP-6963), and the old `window.ethereum`.
 * The page never speaks to a node; what needs the chain is asked of the wallet or of Arcus.
 */
function createWalletConfig(network: Network): Config {
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
