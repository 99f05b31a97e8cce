import type { Address } from 'viem'
import { z } from 'zod'
import {
  address,
  addressList,
  boolean,
  databaseUrl,
  decimal,
  httpUrl,
  integer,
  minAmount,
  nodeUrls,
  oneOf,
  origin,
  originList,
  payToAllowed,
  trustProxy,
} from './setting-types.js'

/** USDC at its genesis address on both Arc networks. */
export const DEFAULT_ASSET: Address = '0x3600000000000000000000000000000000000000'
/** The identity registry of ERC-8004, which is at the same address on all mainnets. */
export const IDENTITY_REGISTRY: Address = '0x8004A169FB4a3325136EB29fA0ceB6D2e539a432'
/** Fifty times Arc's floor of 20 gwei: room for a busy hour, not for a runaway fee. */
const DEFAULT_MAX_FEE_WEI = 1_000n * 10n ** 9n
/** A dollar: twenty accounts with code can burn this much by deceiving the simulation. */
const DEFAULT_WASTED_GAS_LIMIT = 10n ** 18n
/** Five cents: some twenty failed transactions at the floor. */
const DEFAULT_FAILED_GAS_BUDGET = 5n * 10n ** 16n

const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const

/** The variables of the service that are no keys, each with its form and its default. */
export const settings = z.object({
  HOST: z.string().default('0.0.0.0'),
  PORT: integer(0, 65_535).default(4021),
  BASE_URL: origin().optional(),
  DIRECTORY_URL: origin().optional(),
  DATABASE_URL: databaseUrl().default({ kind: 'sqlite', path: './data/arcus.db' }),
  DATABASE_POOL_SIZE: integer(2, 500).default(10),
  MAINNET_RPC_URLS: nodeUrls().optional(),
  MAINNET_ASSETS: addressList().optional(),
  TESTNET_RPC_URLS: nodeUrls().optional(),
  TESTNET_ASSETS: addressList().optional(),
  BUYBACK_ADDRESS: address().optional(),
  HOSTED_CLAIM_SECONDS: integer(5, 43_200).default(3_600),
  RELAYER_MULTICALL_WALLETS: addressList().optional(),
  PAY_TO_ALLOWED: payToAllowed().optional(),
  SCREENING_LIST_FILE: z.string().optional(),
  SCREENING_URL: httpUrl().optional(),
  SCREENING_ON_ERROR: oneOf(['refuse', 'allow']).optional(),
  MIN_AMOUNT: minAmount().default({ least: 1n, bySymbol: {} }),
  MAX_FEE_PER_GAS_GWEI: decimal(9, '1000').default(DEFAULT_MAX_FEE_WEI),
  DAILY_GAS_LIMIT_USD: decimal(18, '25').optional(),
  FAILED_GAS_BUDGET_USD: decimal(18, '0.05').default(DEFAULT_FAILED_GAS_BUDGET),
  WASTED_GAS_LIMIT_USD: decimal(18, '1').default(DEFAULT_WASTED_GAS_LIMIT),
  CHECK_DAILY_USD: decimal(6, '0.50').default(500_000n),
  CHECK_MAX_USD: decimal(6, '0.05').default(50_000n),
  SETTLE_WAIT_SECONDS: integer(1, 80).default(30),
  DRAIN_DELAY_SECONDS: integer(0, 300).default(0),
  RATE_LIMIT_MAX: integer(0, 10_000_000).default(6_000),
  TRUST_PROXY: trustProxy().default(false),
  PROBE_ALLOW_PRIVATE_HOSTS: boolean().default(false),
  TRY_IT: boolean().default(true),
  MCP_ALLOWED_ORIGINS: originList().default([]),
  ACTIVITY_RETENTION_DAYS: integer(1, 3_650).default(90),
  JOURNAL_RETENTION_DAYS: integer(1, 3_650).optional(),
  NEW_OWNERS_PER_HOUR: integer(0, 1_000_000).default(30),
  LOG_LEVEL: oneOf(logLevels).default('info'),
  METRICS: boolean().default(true),
  OTEL_EXPORTER_OTLP_ENDPOINT: httpUrl().optional(),
  DEVNET: boolean().default(false),
  SERVE_ONLY: oneOf(['facilitator', 'directory']).optional(),
})

export type Settings = z.infer<typeof settings>
