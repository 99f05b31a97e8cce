import type { Address } from 'viem'
import { z } from 'zod'
import type { AtomicAmount, NativeAmount } from '../x402/amounts.js'
import { type Network, networks } from '../x402/networks.js'
import { concealing } from './concealed.js'
import { ConfigError } from './config-error.js'
import { databaseUrl } from './database-url.js'
import { type Env, readEnv } from './env.js'
import { type HostedConfig, hostedConfig, hostedProblems } from './hosted.js'
import { findMisspellings } from './misspellings.js'
import {
  address,
  atomicAmount,
  boolean,
  decimal,
  integer,
  oneOf,
  origin,
  originList,
  type TrustProxy,
  trustProxy,
  urlList,
} from './setting-types.js'
import { settingWarnings } from './warnings.js'

/** USDC at its genesis address on both Arc networks. */
const DEFAULT_ASSET: Address = '0x3600000000000000000000000000000000000000'
/** ERC-8004 identity registry, the vanity address of all mainnets. */
const DEFAULT_IDENTITY_REGISTRY: Address = '0x8004A169FB4a3325136EB29fA0ceB6D2e539a432'
/** Fifty times Arc's floor of 20 gwei: room for a busy hour, not for a runaway fee. */
const DEFAULT_MAX_FEE_WEI = 1_000n * 10n ** 9n
/** A dollar: what twenty accounts with code may burn at most by lying to the simulation. */
const DEFAULT_WASTED_GAS_LIMIT = 10n ** 18n
/** Five cents: some twenty failed transactions at the floor. */
const DEFAULT_FAILED_GAS_BUDGET = 5n * 10n ** 16n

export const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const
export type LogLevel = (typeof logLevels)[number]

/** A chain that is served: its node list is set. */
export interface NetworkConfig {
  readonly network: Network
  readonly chainId: number
  /** The first is the primary. May carry access keys: never logged, never answered. */
  readonly rpcUrls: readonly string[]
  /** The stablecoin, with checksum. */
  readonly asset: Address
  /** Told to wallets, so never one with a key. */
  readonly publicRpcUrls: readonly string[]
  /** `undefined` on the devnet, which nobody can look into from outside. */
  readonly explorerUrl: string | undefined
}

/** All settings but the keys, judged once at start and frozen. */
export interface Config {
  readonly host: string
  /** 0 lets the system choose. */
  readonly port: number
  readonly baseUrl: string
  readonly directoryUrl: string
  /** `path` may be `:memory:`; `url` may hold a password: never logged, never answered. */
  readonly database:
    | { readonly kind: 'sqlite'; readonly path: string }
    | { readonly kind: 'postgres'; readonly url: string; readonly poolSize: number }
  readonly networks: readonly NetworkConfig[]
  readonly buybackAddress: Address | undefined
  /** `undefined` when no endpoints are hosted. */
  readonly hosted: HostedConfig | undefined
  readonly minAmount: AtomicAmount
  readonly maxFeePerGasWei: bigint
  /** For what settles, in dollars with 18 decimals, as gas is counted on Arc; `undefined` is no ceiling. */
  readonly dailyGasLimit: NativeAmount | undefined
  /** Per account and day, on transactions that settle nothing. */
  readonly failedGasBudget: NativeAmount
  /** Per day, on transactions of all accounts that settle nothing. */
  readonly wastedGasLimit: NativeAmount
  readonly maxBatch: number
  readonly settleWaitSeconds: number
  /** `max` 0 is off. */
  readonly rateLimit: { readonly max: number; readonly windowSeconds: number }
  readonly trustProxy: TrustProxy
  readonly probeAllowPrivateHosts: boolean
  readonly identityRegistry: Address
  /** Whose pages may call `/mcp`, beside our own. */
  readonly mcpAllowedOrigins: readonly string[]
  readonly activityRetentionDays: number
  /** From one block of addresses; 0 is no limit. */
  readonly newOwnersPerHour: number
  /** Below this only payments are kept; 0 is never. */
  readonly minFreeDiskBytes: number
  readonly bodyLimitBytes: number
  readonly logLevel: LogLevel
  readonly metrics: boolean
  /** The chain is a playground that only poses as the network. */
  readonly devnet: boolean
  /** What the operator should know but need not mend before the service starts. */
  readonly warnings: readonly string[]
}

const settings = z.object({
  HOST: z.string().default('0.0.0.0'),
  PORT: integer(0, 65_535).default(4021),
  BASE_URL: origin().optional(),
  DIRECTORY_URL: origin().optional(),
  DATABASE_URL: databaseUrl().default({ kind: 'sqlite', path: './data/arcus.db' }),
  DATABASE_POOL_SIZE: integer(2, 500).default(10),
  MAINNET_RPC_URLS: urlList().optional(),
  MAINNET_ASSET: address().optional(),
  MAINNET_PUBLIC_RPC_URLS: urlList().optional(),
  TESTNET_RPC_URLS: urlList().optional(),
  TESTNET_ASSET: address().optional(),
  TESTNET_PUBLIC_RPC_URLS: urlList().optional(),
  BUYBACK_ADDRESS: address().optional(),
  HOSTED_ENDPOINTS: boolean().default(false),
  HOSTED_CLAIM_SECONDS: integer(5, 43_200).default(3_600),
  MIN_AMOUNT: atomicAmount().default(1n),
  MAX_FEE_PER_GAS_GWEI: decimal(9, '1000').default(DEFAULT_MAX_FEE_WEI),
  DAILY_GAS_LIMIT_USD: decimal(18, '25').optional(),
  FAILED_GAS_BUDGET_USD: decimal(18, '0.05').default(DEFAULT_FAILED_GAS_BUDGET),
  WASTED_GAS_LIMIT_USD: decimal(18, '1').default(DEFAULT_WASTED_GAS_LIMIT),
  MAX_BATCH: integer(1, 100).default(50),
  SETTLE_WAIT_SECONDS: integer(1, 80).default(30),
  RATE_LIMIT_MAX: integer(0, 10_000_000).default(6_000),
  RATE_LIMIT_WINDOW_SECONDS: integer(1, 86_400).default(60),
  TRUST_PROXY: trustProxy().default(false),
  PROBE_ALLOW_PRIVATE_HOSTS: boolean().default(false),
  IDENTITY_REGISTRY: address().default(DEFAULT_IDENTITY_REGISTRY),
  MCP_ALLOWED_ORIGINS: originList().default([]),
  ACTIVITY_RETENTION_DAYS: integer(1, 3_650).default(90),
  NEW_OWNERS_PER_HOUR: integer(0, 1_000_000).default(30),
  MIN_FREE_DISK_MB: integer(0, 1_000_000).default(256),
  BODY_LIMIT_BYTES: integer(1_024, 4 * 1024 * 1024).default(262_144),
  LOG_LEVEL: oneOf(logLevels).default('info'),
  METRICS: boolean().default(true),
  DEVNET: boolean().default(false),
})

type Settings = z.infer<typeof settings>

/** Judges all settings together. Throws one `ConfigError` that lists every problem; keys are read by `readSecrets`. */
export function readConfig(source: NodeJS.ProcessEnv): Config {
  const env = readEnv(source)
  const parsed = settings.safeParse(env)
  const problems = [...groupProblems(env), ...hostedProblems(env)]
  if (!parsed.success) {
    const faults = parsed.error.issues.map(({ path, message }) => `${path.join('.')} ${message}.`)
    throw new ConfigError([...faults, ...problems])
  }
  if (problems.length > 0) throw new ConfigError(problems)
  const warnings = [
    ...findMisspellings(source),
    ...settingWarnings(parsed.data.MAX_FEE_PER_GAS_GWEI, parsed.data.TRUST_PROXY),
  ]
  return toConfig(parsed.data, warnings)
}

function toConfig(set: Settings, warnings: string[]): Config {
  const localUrl = `http://localhost:${set.PORT}`
  return Object.freeze({
    host: set.HOST,
    port: set.PORT,
    baseUrl: set.BASE_URL ?? localUrl,
    directoryUrl: set.DIRECTORY_URL ?? localUrl,
    database: databaseConfig(set),
    networks: Object.freeze([
      ...networkConfig('eip155:5042', set, 'MAINNET'),
      ...networkConfig('eip155:5042002', set, 'TESTNET'),
    ]),
    buybackAddress: set.BUYBACK_ADDRESS,
    hosted: hostedConfig(set),
    minAmount: set.MIN_AMOUNT,
    maxFeePerGasWei: set.MAX_FEE_PER_GAS_GWEI,
    dailyGasLimit: set.DAILY_GAS_LIMIT_USD,
    failedGasBudget: set.FAILED_GAS_BUDGET_USD,
    wastedGasLimit: set.WASTED_GAS_LIMIT_USD,
    maxBatch: set.MAX_BATCH,
    settleWaitSeconds: set.SETTLE_WAIT_SECONDS,
    rateLimit: Object.freeze({
      max: set.RATE_LIMIT_MAX,
      windowSeconds: set.RATE_LIMIT_WINDOW_SECONDS,
    }),
    trustProxy: set.TRUST_PROXY,
    probeAllowPrivateHosts: set.PROBE_ALLOW_PRIVATE_HOSTS,
    identityRegistry: set.IDENTITY_REGISTRY,
    mcpAllowedOrigins: set.MCP_ALLOWED_ORIGINS,
    activityRetentionDays: set.ACTIVITY_RETENTION_DAYS,
    newOwnersPerHour: set.NEW_OWNERS_PER_HOUR,
    minFreeDiskBytes: set.MIN_FREE_DISK_MB * 2 ** 20,
    bodyLimitBytes: set.BODY_LIMIT_BYTES,
    logLevel: set.LOG_LEVEL,
    metrics: set.METRICS,
    devnet: set.DEVNET,
    warnings: Object.freeze(warnings),
  })
}

function databaseConfig({ DATABASE_URL: set, DATABASE_POOL_SIZE: poolSize }: Settings) {
  if (set.kind === 'sqlite') return Object.freeze(set)
  return concealing({ kind: set.kind, poolSize }, { url: set.url })
}

function networkConfig(
  network: Network,
  set: Settings,
  group: 'MAINNET' | 'TESTNET',
): NetworkConfig[] {
  const rpcUrls = set[`${group}_RPC_URLS`]
  if (rpcUrls === undefined) return []
  const { chainId, explorerUrl, publicRpcUrl } = networks[network]
  const asset = set[`${group}_ASSET`] ?? DEFAULT_ASSET
  // A list of its own: what it is told to wallets must be printed.
  const publicRpcUrls = Object.freeze([...(set[`${group}_PUBLIC_RPC_URLS`] ?? [publicRpcUrl])])
  const explorer = set.DEVNET ? undefined : explorerUrl
  return [Object.freeze({ network, chainId, rpcUrls, asset, publicRpcUrls, explorerUrl: explorer })]
}

/** What no single variable shows: nothing to serve, half a group, a setting that does not go with another. */
function groupProblems(env: Env): string[] {
  const problems: string[] = []
  if (env.MAINNET_RPC_URLS === undefined && env.TESTNET_RPC_URLS === undefined) {
    problems.push(
      'MAINNET_RPC_URLS and TESTNET_RPC_URLS are both unset, so there is no network to serve: set at least one, ' +
        'for example MAINNET_RPC_URLS=https://rpc.mainnet.arc.io or TESTNET_RPC_URLS=https://rpc.testnet.arc.network.',
    )
  }
  for (const group of ['MAINNET', 'TESTNET'] as const) {
    for (const name of [`${group}_ASSET`, `${group}_PUBLIC_RPC_URLS`] as const) {
      if (env[name] === undefined || env[`${group}_RPC_URLS`] !== undefined) continue
      problems.push(`${name} is set but ${group}_RPC_URLS is not: set both, or neither.`)
    }
  }
  if (
    env.NODE_ENV === 'production' &&
    ['true', '1'].includes(env.PROBE_ALLOW_PRIVATE_HOSTS ?? '')
  ) {
    problems.push(
      'PROBE_ALLOW_PRIVATE_HOSTS must not be true with NODE_ENV=production, where anybody could have ' +
        'private addresses called: unset it.',
    )
  }
  if (env.NODE_ENV === 'production' && ['true', '1'].includes(env.DEVNET ?? '')) {
    problems.push('DEVNET must not be true with NODE_ENV=production: it is for a local chain.')
  }
  return problems
}
