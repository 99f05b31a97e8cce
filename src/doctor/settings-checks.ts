import { statSync } from 'node:fs'
import { type Config, SETTLE_COST } from '../config/config.js'
import type { Secrets } from '../config/secrets.js'
import type { DatabaseInspection } from '../store/stores.js'
import { formatNative } from '../x402/amounts.js'
import { type Finding, fail, ok, warn } from './finding.js'

/** Warns about settings that are valid but unwise where strangers pay. */
export function checkSettings(
  config: Config,
  secrets: RelayerKeys,
  env: NodeJS.ProcessEnv,
): Finding[] {
  const isMainnet = config.networks.some(({ network }) => network === 'eip155:5042')
  return [
    ...config.warnings.map((text) => warn('settings', text, 'Correct the setting.')),
    ...checkAddresses(config, isMainnet),
    ...checkKeys(secrets, env),
    ...(isMainnet ? checkGuards(config, env) : []),
  ]
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
    if (isMainnet && isLocal) findings.push(warn(name, `${address} is this machine`, where))
    else if (!isLocal && protocol === 'http:') {
      findings.push(
        warn(name, `${address} is not encrypted`, 'Put a TLS proxy in front and use https.'),
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

type RelayerKeys = Pick<Secrets, 'relayerPrivateKeys' | 'relayerKmsKeyIds' | 'relayerSigner'>

function checkKeys(
  { relayerPrivateKeys, relayerKmsKeyIds, relayerSigner }: RelayerKeys,
  env: NodeJS.ProcessEnv,
): Finding[] {
  const name = 'relayer keys'
  const count =
    relayerPrivateKeys.length + relayerKmsKeyIds.length + (relayerSigner?.addresses.length ?? 0)
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
  const file = env.RELAYER_PRIVATE_KEYS_FILE?.trim()
  if (file && ((statSync(file, { throwIfNoEntry: false })?.mode ?? 0) & 0o077) !== 0) {
    findings.push(
      warn('key file', 'others on this machine can read it', 'chmod 600, owned by the service.'),
    )
  }
  return findings
}

function checkGuards(config: Config, env: NodeJS.ProcessEnv): Finding[] {
  const { dailyGasLimit, failedGasBudget, wastedGasLimit, minAmount, buybackAddress } = config
  return [
    dailyGasLimit === undefined
      ? warn(
          'DAILY_GAS_LIMIT_USD',
          'unset: nothing bounds what gas costs in a day',
          'Set it to what a day may cost, such as 25.',
        )
      : ok('DAILY_GAS_LIMIT_USD', 'set'),
    wastedGasLimit < failedGasBudget
      ? warn(
          'WASTED_GAS_LIMIT_USD',
          'below FAILED_GAS_BUDGET_USD: one account may spend it for all',
          'Set it to several times FAILED_GAS_BUDGET_USD.',
        )
      : ok('WASTED_GAS_LIMIT_USD', `${formatNative(wastedGasLimit)}`),
    minAmount < SETTLE_COST
      ? warn(
          'MIN_AMOUNT',
          `${minAmount}: payments below ${SETTLE_COST} cost more gas than they move`,
          `Set it to ${SETTLE_COST} or more, unless you mean to subsidise them.`,
        )
      : ok('MIN_AMOUNT', `${minAmount}`),
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

/** Checks whether the journal can be kept: the file, its schema, and free space. */
export function checkDatabase(inspection: DatabaseInspection): Finding[] {
  return [checkFile(inspection), ...checkRoom(inspection)]
}

function checkFile({ state, version, wantedVersion, problem }: DatabaseInspection): Finding {
  const name = 'database'
  if (state === 'unusable') {
    const mend =
      'Let the service write the database of DATABASE_URL: the file and its folder, or the server with its user. If a file is damaged, restore a backup: docs/operations.md.'
    return fail(name, `it cannot be used: ${problem}`, mend)
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
      'Back it up first: npm run backup -- FILE, or pg_dump.',
    )
  }
  return ok(name, `writable, schema version ${version}`)
}

function checkRoom({ freeBytes, sizeBytes = 0 }: DatabaseInspection): Finding[] {
  if (freeBytes === undefined) return []
  const name = 'disk'
  const detail = `${describeBytes(freeBytes)} free; the database has ${describeBytes(sizeBytes)}`
  const mend = 'Make room on the disk of DATABASE_URL: without it nothing can be settled.'
  if (freeBytes < EMPTY_BYTES) return [fail(name, detail, mend)]
  if (freeBytes < LOW_BYTES) return [warn(name, detail, mend)]
  return [ok(name, detail)]
}

function describeBytes(bytes: number): string {
  return bytes >= GIB ? `${(bytes / GIB).toFixed(1)} GiB` : `${Math.round(bytes / MIB)} MiB`
}
