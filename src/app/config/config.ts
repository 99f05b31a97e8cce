import type { NativeAmount } from '@arcus/protocol/x402/amounts'
import { type NetworkId, networks } from '@arcus/protocol/x402/networks'
import type { Address } from 'viem'
import type {
  NetworkSettings,
  PayToAllowed,
  ScreeningSettings,
} from '../../facilitator/settings.js'
import { concealing } from './concealed.js'
import { ConfigError, type Env, findMisspellings, readEnv } from './env.js'
import { readSecrets, type Secrets } from './secrets.js'
import type { MinAmount, TrustProxy } from './setting-types.js'
import { DEFAULT_ASSET, IDENTITY_REGISTRY, type Settings, settings } from './settings.js'

export type LogLevel = Settings['LOG_LEVEL']

/** A network that is served because its list of nodes is set. Its assets have their checksums. */
export interface NetworkConfig extends NetworkSettings {
  readonly nodesSetting: string
  /** The nodes that wallets are given, so none with a key. */
  readonly publicRpcUrls: readonly string[]
  /** `undefined` on the devnet, which has no explorer. */
  readonly explorerUrl: string | undefined
}

/** All settings but the keys, checked once at start and frozen. */
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
  readonly minAmount: MinAmount
  readonly maxFeePerGasWei: bigint
  /** The ceiling on gas for settlements, in dollars with 18 decimals as gas is counted on Arc; `undefined` is none. */
  readonly dailyGasLimit: NativeAmount | undefined
  /** Gas an account may burn a day in transactions that settle nothing. */
  readonly failedGasBudget: NativeAmount
  /** Gas all accounts together may burn a day in transactions that settle nothing. */
  readonly wastedGasLimit: NativeAmount
  /** The wallets that may call the multicall of `upto`; `undefined` for the relayers. */
  readonly multicallWallets: readonly Address[] | undefined
  /** The recipients for which gas is paid; `undefined` for all. */
  readonly payToAllowed: PayToAllowed | undefined
  /** The list and the service that refuse some payers and recipients; `undefined` where nobody is screened. */
  readonly screening: ScreeningSettings | undefined
  /** The bounds on paid checks, in dollars with 6 decimals: of a UTC day, and of one check. */
  readonly checks: { readonly dailyLimit: bigint; readonly maxAmount: bigint }
  readonly settleWaitSeconds: number
  /** Seconds of serving between SIGTERM, when `/ready` turns to 503, and the end of listening. */
  readonly drainDelaySeconds: number
  /** Requests of an address within a window; a `max` of 0 turns the limit off. */
  readonly rateLimit: { readonly max: number; readonly windowSeconds: number }
  readonly trustProxy: TrustProxy
  readonly probeAllowPrivateHosts: boolean
  /** Whether pages call and pay endpoints, by themselves or through this service. */
  readonly tryIt: boolean
  readonly identityRegistry: Address
  /** Origins whose pages may call `/mcp`, apart from our own. */
  readonly mcpAllowedOrigins: readonly string[]
  readonly activityRetentionDays: number
  /** Days after which a decided payment keeps no calldata and no signed transaction; `undefined` where it keeps them. */
  readonly journalRetentionDays: number | undefined
  /** New owners accepted from one block of addresses; 0 is no limit. */
  readonly newOwnersPerHour: number
  readonly logLevel: LogLevel
  readonly metrics: boolean
  /** The collector of traces; `undefined` when none are sent. It may hold a key: never logged, never answered. */
  readonly tracing: { readonly endpoint: string } | undefined
  /** The half of the service that this process runs; both unless set. */
  readonly only: 'facilitator' | 'directory' | undefined
  /** Whether the chain is a local one that only poses as the network. */
  readonly devnet: boolean
  /** Remarks for the operator that do not keep the service from starting. */
  readonly warnings: readonly string[]
}

/** Checks all settings together. Throws one `ConfigError` that lists every problem. `readSecrets` reads the keys. */
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
  return toConfig(parsed.data, env, warnings)
}

function toConfig(set: Settings, env: Env, warnings: string[]): Config {
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
    hosted: hostedConfig(set, env),
    minAmount: set.MIN_AMOUNT,
    maxFeePerGasWei: set.MAX_FEE_PER_GAS_GWEI,
    dailyGasLimit: set.DAILY_GAS_LIMIT_USD,
    failedGasBudget: set.FAILED_GAS_BUDGET_USD,
    wastedGasLimit: set.WASTED_GAS_LIMIT_USD,
    multicallWallets: set.RELAYER_MULTICALL_WALLETS,
    payToAllowed: set.PAY_TO_ALLOWED,
    screening: screeningConfig(set),
    checks: Object.freeze({ dailyLimit: set.CHECK_DAILY_USD, maxAmount: set.CHECK_MAX_USD }),
    settleWaitSeconds: set.SETTLE_WAIT_SECONDS,
    drainDelaySeconds: set.DRAIN_DELAY_SECONDS,
    rateLimit: Object.freeze({
      max: set.RATE_LIMIT_MAX,
      windowSeconds: RATE_LIMIT_WINDOW_SECONDS,
    }),
    trustProxy: set.TRUST_PROXY,
    probeAllowPrivateHosts: set.PROBE_ALLOW_PRIVATE_HOSTS,
    tryIt: set.TRY_IT,
    identityRegistry: IDENTITY_REGISTRY,
    mcpAllowedOrigins: set.MCP_ALLOWED_ORIGINS,
    activityRetentionDays: set.ACTIVITY_RETENTION_DAYS,
    journalRetentionDays: set.JOURNAL_RETENTION_DAYS,
    newOwnersPerHour: set.NEW_OWNERS_PER_HOUR,
    logLevel: set.LOG_LEVEL,
    metrics: set.METRICS,
    tracing: tracingConfig(set),
    only: set.SERVE_ONLY,
    devnet: set.DEVNET,
    warnings: Object.freeze(warnings),
  })
}

function tracingConfig({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint }: Settings): Config['tracing'] {
  return endpoint === undefined ? undefined : concealing({}, { endpoint })
}

function screeningConfig(set: Settings): Config['screening'] {
  const { SCREENING_LIST_FILE: listFile, SCREENING_ON_ERROR: onError, SCREENING_URL: url } = set
  if (listFile === undefined && url === undefined) return undefined
  return concealing({ listFile, onError }, { serviceUrl: url })
}

function databaseConfig({ DATABASE_URL: set, DATABASE_POOL_SIZE: poolSize }: Settings) {
  if (set.kind === 'sqlite') return Object.freeze(set)
  return concealing({ kind: set.kind, poolSize }, { url: set.url })
}

function networkConfig(
  network: NetworkId,
  set: Settings,
  group: 'MAINNET' | 'TESTNET',
): NetworkConfig[] {
  const nodes = set[`${group}_RPC_URLS`]
  if (nodes === undefined) return []
  const { rpcUrls, pushUrls } = nodes
  const { chainId, explorerUrl, publicRpcUrl } = networks[network]
  const assets = Object.freeze([
    ...(set[`${group}_ASSETS`] ?? [DEFAULT_ASSET]),
  ]) as NetworkConfig['assets']
  // Wallets are given this list, so it holds no node of the settings but that of the local chain.
  const publicRpcUrls = Object.freeze(set.DEVNET ? [...rpcUrls] : [publicRpcUrl])
  const explorer = set.DEVNET ? undefined : explorerUrl
  return [
    Object.freeze({
      network,
      chainId,
      rpcUrls,
      pushUrls,
      assets,
      publicRpcUrls,
      explorerUrl: explorer,
      nodesSetting: `${group}_RPC_URLS`,
    }),
  ]
}

/** Finds the problems that no single variable shows: no network, half a group, settings that exclude each other. */
function groupProblems(env: Env): string[] {
  const problems: string[] = []
  if (env.MAINNET_RPC_URLS === undefined && env.TESTNET_RPC_URLS === undefined) {
    problems.push(
      'MAINNET_RPC_URLS and TESTNET_RPC_URLS are both unset, so there is no network to serve: set at least one, ' +
        'for example MAINNET_RPC_URLS=https://rpc.mainnet.arc.io or TESTNET_RPC_URLS=https://rpc.testnet.arc.io.',
    )
  }
  for (const group of ['MAINNET', 'TESTNET'] as const) {
    if (env[`${group}_ASSETS`] === undefined || env[`${group}_RPC_URLS`] !== undefined) continue
    problems.push(`${group}_ASSETS is set but ${group}_RPC_URLS is not: set both, or neither.`)
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
  if (env.SCREENING_URL !== undefined && env.SCREENING_ON_ERROR === undefined) {
    problems.push(
      'SCREENING_URL needs SCREENING_ON_ERROR: refuse or allow says what becomes of a payment about which the service gives no verdict in time.',
    )
  }
  if (env.SCREENING_URL === undefined && env.SCREENING_ON_ERROR !== undefined) {
    problems.push('SCREENING_ON_ERROR is about SCREENING_URL, which is unset: set both or none.')
  }
  if (/^https?:\/\/[^/]*@/.test(env.SCREENING_URL ?? '')) {
    problems.push('SCREENING_URL must not name a user; put the key of the service into its path.')
  }
  if (env.SERVE_ONLY !== undefined && !/^postgres(ql)?:/.test(env.DATABASE_URL ?? '')) {
    problems.push(
      'SERVE_ONLY needs a PostgreSQL in DATABASE_URL: the halves share a database, and a SQLite file belongs to one process.',
    )
  }
  if (env.SERVE_ONLY === 'directory' && env.BASE_URL === undefined) {
    problems.push(
      'SERVE_ONLY=directory needs BASE_URL: the directory asks the facilitator at this address.',
    )
  }
  if (env.SERVE_ONLY === 'facilitator' && env.DIRECTORY_URL === undefined) {
    problems.push(
      'SERVE_ONLY=facilitator needs DIRECTORY_URL: the facilitator asks the directory there who sells at an address.',
    )
  }
  if (env.NODE_ENV === 'production' && ['true', '1'].includes(env.DEVNET ?? '')) {
    problems.push('DEVNET must not be true with NODE_ENV=production: it is for a local chain.')
  }
  return problems
}

/** The endpoints that the operator sells in the same process. */
interface HostedConfig {
  /** The recipient: the buyback wallet. */
  readonly payTo: Address
  /** Seconds between two claims of the channels' earnings. */
  readonly claimSeconds: number
}

function hostedConfig(set: Settings, { HOSTED_PRIVATE_KEY }: Env): HostedConfig | undefined {
  const payTo = set.BUYBACK_ADDRESS
  if (HOSTED_PRIVATE_KEY === undefined || payTo === undefined) return undefined
  return Object.freeze({ payTo, claimSeconds: set.HOSTED_CLAIM_SECONDS })
}

/** Finds hosted endpoints that nobody is paid for. `readSecrets` reads the key itself. */
function hostedProblems(env: Env): string[] {
  if (env.HOSTED_PRIVATE_KEY === undefined || env.BUYBACK_ADDRESS !== undefined) return []
  return [
    'HOSTED_PRIVATE_KEY is set but BUYBACK_ADDRESS is not: hosted endpoints are paid at the buyback wallet.',
  ]
}

/** A minute: long enough that a burst of a page is no fault, short enough that nobody waits long. */
const RATE_LIMIT_WINDOW_SECONDS = 60
const ARC_BASE_FEE_FLOOR_WEI = 20n * 10n ** 9n

/** Warns of settings that are valid and will not do what the operator wants. */
function settingWarnings(maxFeePerGasWei: bigint, trustProxy: Config['trustProxy']): string[] {
  const warnings: string[] = []
  if (maxFeePerGasWei < ARC_BASE_FEE_FLOOR_WEI) {
    warnings.push(
      "MAX_FEE_PER_GAS_GWEI is below Arc's base fee of 20 gwei: nothing will be settled.",
    )
  }
  if (trustProxy === true) {
    warnings.push(
      'TRUST_PROXY=true lets any caller choose its address, which voids the rate limit unless a proxy ' +
        'overwrites X-Forwarded-For: name the proxies or their number instead.',
    )
  }
  return warnings
}

/** Reads settings and keys. Throws one `ConfigError` with the problems of both. */
export function readSettings(source: NodeJS.ProcessEnv): { config: Config; secrets: Secrets } {
  const config = attempt(() => readConfig(source))
  const secrets = attempt(() => readSecrets(source))
  if (config.ok && secrets.ok) return { config: config.value, secrets: secrets.value }
  // A setting that is missing may be there under a name that is nearly right.
  const misspelt = findMisspellings(source)
  throw new ConfigError([...problemsOf(config), ...problemsOf(secrets), ...misspelt])
}

type ReadResult<T> = { ok: true; value: T } | { ok: false; problems: readonly string[] }

function attempt<T>(read: () => T): ReadResult<T> {
  try {
    return { ok: true, value: read() }
  } catch (error) {
    if (error instanceof ConfigError) return { ok: false, problems: error.problems }
    throw error
  }
}

function problemsOf(attempted: ReadResult<unknown>): readonly string[] {
  return attempted.ok ? [] : attempted.problems
}
