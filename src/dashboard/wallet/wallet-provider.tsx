import { type QueryClient, useQuery, useQueryClient } from '@tanstack/react-query'
import { createContext, type ReactNode, useContext } from 'react'
import { type Config, WagmiProvider } from 'wagmi'
import { settingsQuery } from '../api/queries.js'
import type { Network } from '../api/types.js'
import { Loaded } from '../components/loaded.js'
import { Notice } from '../components/notice.js'
import { Skeleton } from '../components/skeleton.js'
import { watchAccount } from './session.js'
import { createWalletConfig } from './wallet-config.js'

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
