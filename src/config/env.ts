/** Every variable the service reads, in the order of `.env.example`. */
export const variableNames = [
  'MAINNET_RPC_URLS',
  'TESTNET_RPC_URLS',
  'RELAYER_PRIVATE_KEYS',
  'RELAYER_PRIVATE_KEYS_FILE',
  'MAINNET_ASSET',
  'TESTNET_ASSET',
  'MAINNET_PUBLIC_RPC_URLS',
  'TESTNET_PUBLIC_RPC_URLS',
  'HOST',
  'PORT',
  'BASE_URL',
  'DIRECTORY_URL',
  'DATABASE_URL',
  'DATABASE_POOL_SIZE',
  'MIN_FREE_DISK_MB',
  'MIN_AMOUNT',
  'MAX_FEE_PER_GAS_GWEI',
  'DAILY_GAS_LIMIT_USD',
  'FAILED_GAS_BUDGET_USD',
  'WASTED_GAS_LIMIT_USD',
  'MAX_BATCH',
  'SETTLE_WAIT_SECONDS',
  'RATE_LIMIT_MAX',
  'RATE_LIMIT_WINDOW_SECONDS',
  'TRUST_PROXY',
  'BODY_LIMIT_BYTES',
  'BUYBACK_ADDRESS',
  'IDENTITY_REGISTRY',
  'MCP_ALLOWED_ORIGINS',
  'PROBE_ALLOW_PRIVATE_HOSTS',
  'ACTIVITY_RETENTION_DAYS',
  'NEW_OWNERS_PER_HOUR',
  'HOSTED_ENDPOINTS',
  'HOSTED_PRIVATE_KEY',
  'HOSTED_CLAIM_SECONDS',
  'LOG_LEVEL',
  'METRICS',
  'DEVNET',
] as const

export type VariableName = (typeof variableNames)[number]

/** Raw text of the variables that are set; judged in `config.ts` and `secrets.ts` only. */
export type Env = Partial<Record<VariableName | 'NODE_ENV', string>>

/** Picks the variables the service knows; an empty or blank one counts as unset. */
export function readEnv(source: NodeJS.ProcessEnv): Env {
  const env: Env = {}
  for (const name of [...variableNames, 'NODE_ENV'] as const) {
    const text = source[name]?.trim()
    if (text !== undefined && text !== '') env[name] = text
  }
  return env
}
