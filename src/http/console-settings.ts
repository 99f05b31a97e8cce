import type { FastifyInstance } from 'fastify'
import type { Address } from 'viem'
import type { Config } from '../config/config.js'
import { networks } from '../x402/networks.js'
import { consoleOperation } from './operations.js'
import { describedAs } from './route-config.js'
import { version } from './version.js'

/** What the console must know of this deployment. Public: no key, no address of the operator's own nodes. */
export interface ConsoleSettings {
  version: string
  baseUrl: string
  directoryUrl: string
  devnet: boolean
  networks: ConsoleNetwork[]
  buybackAddress: Address | null
  identityRegistry: Address
  activityRetentionDays: number
  /** Atomic units. */
  minAmount: string
}

interface ConsoleNetwork {
  network: string
  chainId: number
  name: string
  /** Whether listings are about it: true for exactly one. */
  listed: boolean
  /** What gas is paid in, as `wallet_addEthereumChain` wants it (EIP-3085). */
  nativeCurrency: { name: string; symbol: string; decimals: number }
  walletRpcUrls: readonly string[]
  explorerUrl: string | null
  asset: { address: Address; symbol: string; decimals: number; name: string; version: string }
}

/** The EIP-712 domain of a network's token, as it was read at start. */
export interface TokenDomain {
  network: string
  name: string
  version: string
}

export function toConsoleSettings(
  config: Config,
  tokens: readonly TokenDomain[],
  listed: string,
): ConsoleSettings {
  return {
    version,
    baseUrl: config.baseUrl,
    directoryUrl: config.directoryUrl,
    devnet: config.devnet,
    networks: config.networks.map(({ network, chainId, publicRpcUrls, explorerUrl, asset }) => {
      const token = tokens.find((it) => it.network === network)
      return {
        network,
        chainId,
        name: networks[network].name,
        listed: network === listed,
        nativeCurrency: { name: 'USDC', symbol: 'USDC', decimals: 18 },
        walletRpcUrls: publicRpcUrls,
        explorerUrl: explorerUrl ?? null,
        asset: {
          address: asset,
          symbol: 'USDC',
          decimals: 6,
          name: token?.name ?? 'USDC',
          version: token?.version ?? '2',
        },
      }
    }),
    buybackAddress: config.buybackAddress ?? null,
    identityRegistry: config.identityRegistry,
    activityRetentionDays: config.activityRetentionDays,
    minAmount: config.minAmount.toString(),
  }
}

/** `GET /api/console`. */
export function consoleSettingsRoute(app: FastifyInstance, settings: ConsoleSettings): void {
  app.get('/api/console', describedAs(consoleOperation), (_request, reply) =>
    reply.header('cache-control', 'no-cache').send(settings),
  )
}
