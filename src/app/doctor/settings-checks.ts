import { statSync } from 'node:fs'
import { formatNative } from '@arcus/protocol/x402/amounts'
import type { Config } from '../config/config.js'
import type { Secrets } from '../config/secrets.js'
import { halvesOf } from '../halves.js'
import { type Finding, fail, ok, warn } from './finding.js'
import type { DatabaseInspection, ServerFacts } from './inspection.js'

/** Warns about settings that are valid but unwise where strangers pay. */
export function checkSettings(
  config: Config,
  secrets: RelayerKeys & CheckKeys & Pick<Secrets, 'webhookKey'>,
  env: NodeJS.ProcessEnv,
): Finding[] {
  const isMainnet = config.networks.some(({ network }) => network === 'eip155:5042')
  const { hasFacilitator, hasDirectory } = halvesOf(config)
  return [
    ...config.warnings.map((text) => warn('settings', text, 'Correct the setting.')),
    ...checkAddresses(config, isMainnet),
    ...(hasFacilitator ? checkKeys(secrets, env) : []),
    ...(hasDirectory ? [...checkBuying(secrets), checkWebhookKey(secrets)] : []),
    ...(isMainnet && hasFacilitator ? checkGuards(config) : []),
    ...(isMainnet ? checkPlace(config, env) : []),
  ]
}

/**
 * Returns what every start warns of, on a chain that is no local one: gas and webhooks that nothing guards, keys that
 * others can read, and in production an address that callers cannot reach.
 */
export function startWarnings(
  config: Config,
  secrets: Pick<Secrets, 'webhookKey'>,
  env: NodeJS.ProcessEnv = {},
): Finding[] {
  if (config.devnet) return []
  const { hasFacilitator, hasDirectory } = halvesOf(config)
  const isMainnet = config.networks.some(({ network }) => network === 'eip155:5042')
  const guards = isMainnet && hasFacilitator ? [checkGasLimit(config), checkMinAmount(config)] : []
  const keys = hasDirectory ? [checkWebhookKey(secrets)] : []
  const addresses = env.NODE_ENV === 'production' ? checkAddresses(config, isMainnet) : []
  return [...guards, ...keys, ...checkKeyFile(env), ...addresses].filter(
    ({ state }) => state === 'warn',
  )
}

function checkWebhookKey({ webhookKey }: Pick<Secrets, 'webhookKey'>): Finding {
  const name = 'WEBHOOK_KEY'
  if (webhookKey !== undefined) return ok(name, 'set')
  return warn(
    name,
    'unset: anybody who reads the database can make the secrets of webhooks',
    'Set it before the first webhook, such as to what openssl rand -hex 32 gives.',
  )
}

function checkAddresses(config: Config, isMainnet: boolean): Finding[] {
  const findings: Finding[] = []
  for (const [name, address] of [
    ['BASE_URL', config.baseUrl],
    ['DIRECTORY_URL', config.directoryUrl],
  ] as const) {
    const { protocol, hostname } = new URL(address)
    const isLocal = ['localhost', '127.0.0.1', '[::1]'].includes(hostname)
    const where = 'Set it to the address callers use, such as https://pay.example.com.'
    if (isMainnet && isLocal) findings.push(warn(name, `${address}, which is this machine`, where))
    else if (!isLocal && protocol === 'http:') {
      findings.push(
        warn(name, `${address}, which is not encrypted`, 'Put a TLS proxy in front and use https.'),
      )
    } else findings.push(ok(name, address))
  }
  const isBehindProxy = config.baseUrl.startsWith('https:')
  if (isBehindProxy && config.trustProxy === false) {
    findings.push(
      warn(
        'TRUST_PROXY',
        'unset, though BASE_URL is https and so a proxy is in front: all callers share one rate limit',
        'Set it to the number of proxies, such as 1.',
      ),
    )
  }
  return findings
}

type CheckKeys = Pick<Secrets, 'checkPrivateKeys'>

/** Says whether listed endpoints are bought from, and by how many wallets. */
function checkBuying({ checkPrivateKeys: { length } }: CheckKeys): Finding[] {
  const name = 'paid checks'
  if (length === 0) return []
  if (length > 1) return [ok(name, `${length} wallets buy from listed endpoints`)]
  const detail = 'only one wallet buys; a seller who recognises it could serve it and nobody else'
  return [warn(name, detail, 'Add a second key to CHECK_PRIVATE_KEYS.')]
}

type RelayerKeys = Pick<Secrets, 'relayerPrivateKeys' | 'relayerSigner'>

function checkKeys(
  { relayerPrivateKeys, relayerSigner }: RelayerKeys,
  env: NodeJS.ProcessEnv,
): Finding[] {
  const name = 'relayer keys'
  const count = relayerPrivateKeys.length + (relayerSigner?.addresses.length ?? 0)
  const findings =
    count === 1
      ? [
          warn(
            name,
            'there is one; when its wallet runs dry or is blocked nothing settles',
            'Add a second key: to RELAYER_PRIVATE_KEYS or its file, or where the first one is.',
          ),
        ]
      : [ok(name, `${count} keys, ${count} lanes`)]
  return [...findings, ...checkKeyFile(env)]
}

function checkKeyFile(env: NodeJS.ProcessEnv): Finding[] {
  const name = 'RELAYER_PRIVATE_KEYS_FILE'
  const file = env[name]?.trim()
  const mode = file ? (statSync(file, { throwIfNoEntry: false })?.mode ?? 0) : 0
  if ((mode & 0o077) === 0) return []
  const detail = 'a file that others on this machine can read'
  return [warn(name, detail, 'chmod 600, owned by the service.')]
}

/** The gas of a settlement alone in its transaction, at Arc's floor of 20 gwei, 6-decimal units. */
const SETTLE_COST = 2_300n

/** Gas for strangers needs a bound: of the day, or of the recipients. */
function checkGasLimit({ dailyGasLimit, payToAllowed }: Config): Finding {
  const name = 'DAILY_GAS_LIMIT_USD'
  if (dailyGasLimit !== undefined) return ok(name, 'set')
  if (payToAllowed !== undefined)
    return ok(name, 'unset; PAY_TO_ALLOWED limits the recipients whose gas is paid')
  const detail = 'unset, and PAY_TO_ALLOWED too: nothing bounds what gas costs in a day'
  return warn(name, detail, 'Set it to what a day may cost, such as 25, or set PAY_TO_ALLOWED.')
}

function checkRecipients({ payToAllowed }: Config): Finding {
  const name = 'PAY_TO_ALLOWED'
  if (payToAllowed === undefined) return ok(name, 'unset: gas is paid for every recipient')
  const { addresses, listed } = payToAllowed
  const named = addresses.length === 1 ? '1 address' : `${addresses.length} addresses`
  const parts = [...(addresses.length > 0 ? [named] : []), ...(listed ? ['listed recipients'] : [])]
  return ok(name, `gas is paid for ${parts.join(' and ')} only`)
}

function checkMinAmount({ minAmount: { least } }: Config): Finding {
  const name = 'MIN_AMOUNT'
  if (least >= SETTLE_COST) return ok(name, `${least}`)
  return warn(
    name,
    `${least}: payments below ${SETTLE_COST} cost more gas than they move`,
    `Set it to ${SETTLE_COST} or more, unless you mean to subsidise them.`,
  )
}

function checkGuards(config: Config): Finding[] {
  const { failedGasBudget, wastedGasLimit } = config
  return [
    checkRecipients(config),
    checkGasLimit(config),
    wastedGasLimit < failedGasBudget
      ? warn(
          'WASTED_GAS_LIMIT_USD',
          'below FAILED_GAS_BUDGET_USD: one account may spend it for all',
          'Set it to several times FAILED_GAS_BUDGET_USD.',
        )
      : ok('WASTED_GAS_LIMIT_USD', `${formatNative(wastedGasLimit)}`),
    checkMinAmount(config),
  ]
}

function checkPlace({ buybackAddress }: Config, env: NodeJS.ProcessEnv): Finding[] {
  return [
    buybackAddress === undefined
      ? ok('BUYBACK_ADDRESS', 'unset: no merchant can be marked official')
      : ok('BUYBACK_ADDRESS', buybackAddress),
    env.NODE_ENV === 'production'
      ? ok('NODE_ENV', 'production')
      : warn(
          'NODE_ENV',
          'not production: a setting that opens private addresses would be accepted',
          'Set NODE_ENV=production.',
        ),
  ]
}

const GIB = 1024 ** 3
const MIB = 1024 ** 2
/** Below the first it is time to make room; below the second a busy hour could fill the disk. */
const LOW_BYTES = 2 * GIB
const EMPTY_BYTES = 200 * MIB

/** Checks whether the journal can be kept: the file or server, its schema, and free space. */
export function checkDatabase(
  inspection: DatabaseInspection,
  { database, only }: Pick<Config, 'database' | 'only'>,
): Finding[] {
  const { server } = inspection
  const onServer =
    server === undefined || database.kind !== 'postgres'
      ? []
      : checkServer(server, database.poolSize, only)
  return [checkFile(inspection), ...checkRoom(inspection), ...checkMode(database), ...onServer]
}

/**
 * Connections of a half outside its pool: one for leases, and in the directory two for search and two for the edges of a
 * process that has no facilitator.
 */
const OWN_CONNECTIONS = { facilitator: 1, directory: 5 }
/** The oldest version that the community still maintains. */
const LEAST_POSTGRES = 14
/** Clocks kept by NTP differ by milliseconds. */
const MAX_CLOCKS_APART_MS = 1_000

/** Checks the server of a database: whether its commits survive a crash, and whether it has connections for the replicas. */
function checkServer(server: ServerFacts, poolSize: number, only: Config['only']): Finding[] {
  const { version, majorVersion, isDurable, isEncrypted } = server
  const link = isEncrypted ? 'with TLS' : 'without TLS'
  const detail = `PostgreSQL ${version}, ${link}`
  return [
    majorVersion < LEAST_POSTGRES
      ? fail('server', detail, `Move to PostgreSQL ${LEAST_POSTGRES} or newer.`)
      : ok('server', detail),
    isDurable
      ? ok('durability', 'commits are on disk when they are answered')
      : warn(
          'durability',
          'synchronous_commit or fsync is off: a crash of the server can lose transactions that were sent',
          'Set both to on for the database of Arcus.',
        ),
    checkConnections(server, poolSize, only),
    checkClocks(server),
    ...(server.isPooled ? [checkPooler(server)] : []),
  ]
}

/** Checks whether all that live have room together, and one more process, which starts next to them at a restart in turn. */
function checkConnections(
  { maxConnections, live }: ServerFacts,
  poolSize: number,
  only: Config['only'],
): Finding {
  const name = 'connections'
  const ofFacilitator = poolSize + OWN_CONNECTIONS.facilitator
  const ofDirectory = poolSize + OWN_CONNECTIONS.directory
  const { hasFacilitator, hasDirectory } = halvesOf({ only })
  const taken = live.facilitator * ofFacilitator + live.directory * ofDirectory
  const more = (hasFacilitator ? ofFacilitator : 0) + (hasDirectory ? ofDirectory : 0)
  const halves = `${live.facilitator} facilitators of ${ofFacilitator}, ${live.directory} directories of ${ofDirectory}`
  const detail = `those that live take up to ${taken} of ${maxConnections} (${halves}); this process takes up to ${more}`
  const fix = 'Raise max_connections, or lower DATABASE_POOL_SIZE.'
  if (maxConnections < Math.max(taken, more)) return fail(name, detail, fix)
  return maxConnections < taken + more ? warn(name, detail, fix) : ok(name, detail)
}

function checkClocks({ clockAhead: { least, most } }: ServerFacts): Finding {
  const name = 'clock of the database'
  const ms = least > 0 ? least : Math.min(0, most)
  if (Math.abs(ms) < MAX_CLOCKS_APART_MS) return ok(name, 'the same as here')
  const side = ms > 0 ? 'ahead of' : 'behind'
  const detail = `this machine is ${(Math.abs(ms) / 1000).toFixed(1)} s ${side} the database`
  return warn(name, detail, 'Run NTP on both. Every replica goes by the clock of the database.')
}

function checkPooler({ timeouts }: ServerFacts): Finding {
  const name = 'pooler'
  const detail = 'a pooler is in between: statements are not prepared'
  if (timeouts.statementMs > 0 && timeouts.idleInTransactionMs > 0) return ok(name, detail)
  return warn(
    name,
    `${detail}, and no limit of time can be set for single statements`,
    "ALTER ROLE of DATABASE_URL: SET statement_timeout = '10s', SET lock_timeout = '4s', SET idle_in_transaction_session_timeout = '3s'.",
  )
}

/** Checks that nobody else on this machine reads the file: it holds signatures and sessions. */
function checkMode(database: Config['database']): Finding[] {
  if (database.kind !== 'sqlite') return []
  const mode = statSync(database.path, { throwIfNoEntry: false })?.mode ?? 0
  if ((mode & 0o077) === 0) return []
  const fix = `chmod 600 ${database.path}*`
  return [warn('database file', 'others on this machine can read it', fix)]
}

function checkFile({ state, version, wantedVersion, problem }: DatabaseInspection): Finding {
  const name = 'database'
  if (state === 'unusable') {
    const fix =
      'Let the service write the database of DATABASE_URL: the file and its folder, or the server with its user. If a file is damaged, restore a backup: docs/operations.md.'
    return fail(name, `it cannot be used: ${problem}`, fix)
  }
  if (state === 'absent') return ok(name, 'there is none yet; the first start makes it')
  if (version > wantedVersion) {
    return fail(
      name,
      `its schema has version ${version}, this version of Arcus knows ${wantedVersion}`,
      'Start the newer version of Arcus, or restore the backup made before it was started.',
    )
  }
  if (version < wantedVersion) {
    return warn(
      name,
      `its schema has version ${version}; the next start brings it to ${wantedVersion}`,
      'Back it up first: npm run arcus -- backup FILE, or pg_dump.',
    )
  }
  return ok(name, `writable, schema version ${version}`)
}

function checkRoom({ freeBytes, sizeBytes = 0, server }: DatabaseInspection): Finding[] {
  const name = 'disk'
  if (server !== undefined) {
    const unseen = 'the disk of the server cannot be seen from here: watch it there'
    return [ok(name, `the database has ${describeBytes(sizeBytes)}; ${unseen}`)]
  }
  if (freeBytes === undefined) return []
  const detail = `${describeBytes(freeBytes)} free; the database has ${describeBytes(sizeBytes)}`
  const fix = 'Make room on the disk of DATABASE_URL: without it nothing can be settled.'
  if (freeBytes < EMPTY_BYTES) return [fail(name, detail, fix)]
  if (freeBytes < LOW_BYTES) return [warn(name, detail, fix)]
  return [ok(name, detail)]
}

export function describeBytes(bytes: number): string {
  return bytes >= GIB ? `${(bytes / GIB).toFixed(1)} GiB` : `${Math.round(bytes / MIB)} MiB`
}
