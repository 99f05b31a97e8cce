import { hostname } from 'node:os'
import { createChecksum } from '@arcus/protocol/x402/address'
import { createKeccak256, type Keccak256 } from '@arcus/protocol/x402/keccak'
import type { Network } from '@arcus/protocol/x402/networks'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import type { Address } from 'viem'
import { RpcUnavailableError } from '../chain/rpc-errors.js'
import { loadSignerRecovery } from '../chain/signer-recovery.js'
import { createOwnCalls, type OwnCalls } from '../directory/probe/own-calls.js'
import { markedName } from '../directory/store/listing-warnings.js'
import { isPublicPayee } from '../directory/store/ownership.js'
import { startShrinking } from '../facilitator/journal/shrinking.js'
import type { LeaseKeeper } from '../facilitator/relayer/leases.js'
import { openSigners } from '../facilitator/relayer/signers.js'
import { describeAssets } from '../facilitator/routes.js'
import { createAttestor } from '../facilitator/settle/attestor.js'
import { watchOperatorBlocks } from '../facilitator/verify/operator-blocks.js'
import { HOSTED_PREFIX } from '../hosted/endpoints.js'
import { createReadiness } from '../http/health.js'
import { version } from '../http/version.js'
import { laneLease } from '../sql/leases.js'
import { type AppOptions, buildApp } from './app.js'
import type { Config, NetworkConfig } from './config/config.js'
import { ConfigError } from './config/env.js'
import type { Secrets } from './config/secrets.js'
import { openConsole, toConsoleSettings } from './console.js'
import { type ComposedDirectory, composeDirectory, composeMcp } from './directory.js'
import { variables } from './doctor/chain-checks.js'
import { composeFacilitator, describeFacilitator } from './facilitator.js'
import { startGasWatch } from './gas-watch.js'
import { type ComposedHosted, composeHosted, hostedRefundWallets } from './hosted.js'
import { createTeardown, type Teardown } from './lifecycle.js'
import { createMetrics, type Metrics } from './metrics/metrics.js'
import { createStatus } from './metrics/status.js'
import { type ComposedNetwork, composeNetwork } from './network.js'
import { createReadinessChecks } from './readiness.js'
import type { DiskWatch } from './stores/disk-watch.js'
import type { Stores } from './stores/stores.js'
import { composeStores, UPKEEP } from './stores.js'
import { openSdk } from './tracing/sdk.js'
import { createTracing, type Tracing } from './tracing/tracing.js'

/** The service, built and not yet listening. */
export interface Arcus {
  app: FastifyInstance
  /** Shows balancers by `/ready` that the process stops soon; serving goes on. */
  leave(): void
  /** Closes chain, relayers and database, after the last answer is out. */
  close(): Promise<void>
}

/** Interval at which old Idempotency-Keys are deleted. */
const SWEEP_MS = 600_000
/** The largest body is a listing with all its endpoints; a payment takes some 2 kB. */
const BODY_LIMIT_BYTES = 262_144
/** After this time nobody repeats a request with its key. The key of a delivered success stays with the payment. */
const KEYS_KEPT_MS = 7 * 86_400_000
/** Keys that one commit deletes. */
const SWEEP_KEYS = 500
/**
 * Builds every value of the service from its settings. Rejects with `TokenMismatchError`, `RpcUnavailableError` or
 * `MigrationError` if chain or database are not as the settings say.
 */
export async function compose(config: Config, secrets: Secrets, log: Logger): Promise<Arcus> {
  const teardown = createTeardown(log)
  let isLeaving = false
  try {
    const app = await open(config, secrets, { isLeaving: () => isLeaving, log, teardown })
    const leave = () => {
      isLeaving = true
    }
    return { app, leave, close: teardown.run }
  } catch (error) {
    // The next attempt must not find a relayer of this one still running.
    await teardown.run()
    throw error
  }
}

interface Process {
  isLeaving: () => boolean
  log: Logger
  teardown: Teardown
}

async function open(config: Config, secrets: Secrets, process: Process): Promise<FastifyInstance> {
  const parts = await composeParts(config, secrets, process)
  const { networks, leases, directory, hosted, ownCalls } = parts
  const { log } = process
  const app = await buildApp({
    ...describeApp(parts, config, process),
    ...composeState({ ...parts, config, log }),
  })
  await start({ app, networks, leases, directory, hosted, ownCalls, log })
  startUpkeep(parts, config, secrets, process)
  return app
}

type Parts = Awaited<ReturnType<typeof composeParts>>

/** Builds the stores, the networks and everything that answers requests. */
async function composeParts(config: Config, secrets: Secrets, { log, teardown }: Process) {
  const keccak256 = await createKeccak256()
  const recovery = await loadSignerRecovery(keccak256)
  log.info({ recovery: recovery.implementation }, 'signature recovery loaded')
  const { stores, leases, isKeeper, disk, forDirectory } = await composeStores(
    config,
    log,
    teardown,
  )
  const { journal, sharing, budgets } = stores
  const checksum = createChecksum(keccak256)
  // One time for all replicas: what one of them writes, another judges.
  const { now, isShared } = leases

  const blocks = await watchOperatorBlocks(stores.blocks, (err) =>
    log.warn({ err }, 'blocks could not be read'),
  )
  teardown.add('operator blocks', () => blocks.stop())
  const common = { config, isShared, keccak256, recovery, checksum, now, log }
  const { signers, attestor, refundWallets } = await openKeys(secrets, { ...common, teardown })
  const metrics = config.metrics ? createMetrics(now) : undefined
  const tracing = await composeTracing(config, metrics, teardown, log)
  const holding = { journal, sharing, leases, budgets, blocks }
  const shared = { ...holding, keccak256, signers, attestor, metrics, tracing, teardown, log, now }
  const networks: ComposedNetwork[] = []
  for (const network of config.networks) {
    networks.push(await composeNetwork(network, config, shared).catch(namingNodes(network)))
  }
  requireKnownSymbols(config.minAmount, networks)
  const facilitator = composeFacilitator({ ...common, networks, stores, attestor })

  const own = new Set(networks.flatMap(({ relayer }) => relayer.addresses))
  await noteRelayers(stores.audit, [...own].sort(), now)
  // Listings are about the first network. The settings name the mainnet first, and at least one network.
  const [first] = networks as [ComposedNetwork]
  const [listed] = first.tokens
  const hostedPrefix = config.hosted === undefined ? undefined : HOSTED_PREFIX
  const ownCalls = createOwnCalls(config.baseUrl, hostedPrefix)
  const directory = composeDirectory({
    secrets,
    ...common,
    ownCalls,
    rpc: first.served.rpc,
    tokens: first.tokens,
    stores: forDirectory,
    isRelayer: (address) => own.has(address),
    refundWallets,
    isPayToBlocked: (payTo) => blocks.isBlocked('payTo', payTo),
    isPayerBlocked: (payer) => blocks.isBlocked('payer', payer),
    findPayment: facilitator.payments.recordOf,
    isDiskLow: disk.isLow,
  })
  teardown.add('directory', () => directory.close())
  const { verify, settle } = facilitator
  const measured = {
    verify: metrics?.measureVerify(verify) ?? verify,
    settle: metrics?.measureSettle(settle) ?? settle,
    onAnswer: directory.onAnswer,
  }
  const hosted = await composeHosted({
    ...measured,
    supported: facilitator.supported,
    config,
    hostedPrivateKey: secrets.hostedPrivateKey,
    records: stores.hostedRecords,
    listings: directory.reads.listings,
    probe: directory.reads.probe,
    findPayment: facilitator.payments.byNonce,
    network: listed.network as Network,
    token: listed,
    batchContracts: first.batchWatch,
    uptoContracts: first.uptoWatch,
    readFees: first.readFees,
    isShared,
    isKeeper,
    log,
  })
  teardown.add('hosted endpoints', () => hosted.close())
  const kept = { stores, leases, isKeeper, disk, checksum, now, attestor, metrics, tracing }
  return {
    ...kept,
    networks,
    facilitator: { ...facilitator, ...measured },
    directory,
    hosted,
    ownCalls,
  }
}

/** Opens the keys of the relayers and of the attestor. Throws `ConfigError` when one account has two jobs. */
async function openKeys(
  secrets: Secrets,
  {
    config,
    keccak256,
    checksum,
    now,
    teardown,
  }: {
    config: Config
    keccak256: Keccak256
    checksum: (address: Address) => Address
    now: () => number
    teardown: Teardown
  },
) {
  const { signers, close } = openSigners(secrets, keccak256)
  teardown.add('signers', close)
  const refundWallets = hostedRefundWallets(config, secrets.hostedPrivateKey)
  const { attestationPrivateKey: privateKey } = secrets
  const attestor = privateKey && createAttestor({ privateKey, keccak256, checksum, now })
  const attesting = attestor === undefined ? [] : [attestor.address.toLowerCase() as Address]
  requireDistinct([...signers.map(({ address }) => address), ...refundWallets.keys(), ...attesting])
  return { signers, attestor, refundWallets }
}

/** Returns what the HTTP server is built of, apart from the state of the service. */
function describeApp(
  { networks, stores, now, attestor, checksum, metrics, tracing, ...parts }: Parts,
  config: Config,
  { isLeaving, log }: Process,
): Omit<AppOptions, 'readiness' | 'console'> {
  const { facilitator, directory, hosted } = parts
  return {
    server: {
      logger: log,
      bodyLimitBytes: BODY_LIMIT_BYTES,
      settleWaitSeconds: config.settleWaitSeconds,
      trustProxy: config.trustProxy,
    },
    servers: [config.baseUrl, config.directoryUrl],
    rateLimit: { ...config.rateLimit, now },
    countExchange: stores.requestCounts,
    facilitator: {
      ...facilitator,
      onClaimed: tracing?.claimed,
      findMerchant: async (payTo) => {
        const found = (await directory.reads.listings.merchantsPaidTo(payTo)).find(isPublicPayee)
        return found && { id: found.id, name: markedName(found) }
      },
      about: describeFacilitator(config, networks, attestor?.address, checksum),
      bazaar: directory.bazaar,
    },
    isLeaving,
    directory: directory.routes,
    mcp: composeMcp(config, directory.reads),
    hosted: hosted.routes,
    metrics,
    tracing,
  }
}

/** Starts what runs apart from requests: figures, old keys and payments, gas money. */
function startUpkeep(
  { networks, stores, leases, isKeeper, disk, directory, metrics, now }: Parts,
  config: Config,
  secrets: Secrets,
  { log, teardown }: Process,
): void {
  metrics?.watchDirectory(directory.figures)
  metrics?.watchDisk(disk)
  metrics?.watchDatabase({
    store: config.database.kind,
    isWritable: stores.journal.isWritable,
    sizeBytes: stores.sizeBytes,
  })
  metrics?.watchLeases(leases)
  teardown.add('sweep', sweepKeys(stores.deliveries, isKeeper, now, log))
  if (secrets.operatorWebhook !== undefined) {
    const watched = { networks, events: stores.events, isKeeper, now, log }
    teardown.add('gas watch', startGasWatch(watched))
  }
  const { journalRetentionDays: retentionDays } = config
  if (retentionDays === undefined) return
  const { shrinker } = stores
  const onFailure = () => metrics?.countShrinkFailure()
  const options = { shrinker, retentionDays, mayRun: isKeeper, onFailure, now, log }
  teardown.add('shrinking', startShrinking(options).stop)
}

/** Names the network and the setting of nodes that do not answer, because their own error has no address in it. */
function namingNodes(place: NetworkConfig): (error: unknown) => never {
  const { network, rpcUrls } = place
  return (error) => {
    if (!(error instanceof RpcUnavailableError)) throw error
    const count = rpcUrls.length === 1 ? 'the one node' : `all ${rpcUrls.length} nodes`
    const message = `${error.message} (tried ${count} of ${network} in ${variables(place)}_RPC_URLS)`
    throw new RpcUnavailableError(message, { cause: error })
  }
}

/** Starts everything that works apart from requests: leases, relayers, directory, and hosted endpoints once it listens. */
async function start(world: {
  app: FastifyInstance
  networks: readonly ComposedNetwork[]
  leases: LeaseKeeper
  directory: ComposedDirectory
  hosted: ComposedHosted
  ownCalls: OwnCalls
  log: Logger
}): Promise<void> {
  const { app, networks, leases, directory, hosted, ownCalls, log } = world
  const lanes = networks.map(({ relayer: { network, addresses } }) =>
    addresses.map((address) => laneLease(network, address)),
  )
  await leases.start([[UPKEEP], ...lanes])
  for (const { relayer } of networks) await relayer.start()
  directory.start()
  ownCalls.attach((call) => app.inject(call))
  // The endpoints must answer before their probes come.
  app.server.once('listening', () => {
    hosted.start().catch((err) => log.error({ err }, 'hosted endpoints could not be listed'))
  })
}

/** Notes in the audit trail that this start has other relayer keys than the one before. */
async function noteRelayers(
  audit: Stores['audit'],
  addresses: readonly Address[],
  now: () => number,
): Promise<void> {
  const actor = `service@${hostname()}`
  const details = 'the relayer wallets of this start'
  const subject = addresses.join(', ')
  await audit.appendChange({ at: now(), actor, action: 'rotate', subject, details })
}

/** Throws when two wallets are the same, which the settings cannot show where other services hold the keys. */
function requireDistinct(wallets: readonly Address[]): void {
  const twin = wallets.find((address, i) => wallets.indexOf(address) < i)
  if (twin === undefined) return
  throw new ConfigError([
    `Two keys of the settings are the wallet ${twin}: one wallet is one lane, no relayer may pay, and the key of attestations is no wallet. Remove one of them.`,
  ])
}

/** Throws where `MIN_AMOUNT` names a symbol that no token of any network has: it would protect nothing. */
function requireKnownSymbols(
  { bySymbol }: Config['minAmount'],
  networks: readonly ComposedNetwork[],
): void {
  const known = new Set(networks.flatMap(({ tokens }) => tokens.map(({ symbol }) => symbol)))
  const unknown = Object.keys(bySymbol).filter((symbol) => !known.has(symbol))
  if (unknown.length === 0) return
  throw new ConfigError([
    `MIN_AMOUNT names ${unknown.join(' and ')}, but the assets of the settings are ${[...known].join(' and ')}: correct the symbol.`,
  ])
}

/** Builds the traces; `undefined` without a collector. */
async function composeTracing(
  { tracing }: Config,
  metrics: Metrics | undefined,
  teardown: Teardown,
  log: Logger,
): Promise<Tracing | undefined> {
  if (tracing === undefined) return undefined
  const instance = `${hostname()}-${process.pid}`
  const { close, ...options } = await openSdk({
    endpoint: tracing.endpoint,
    resource: {
      'service.name': 'arcus',
      'service.version': version,
      'service.instance.id': instance,
    },
    ...(metrics && { onOutcome: metrics.countSpans }),
    log,
  })
  teardown.add('traces', close)
  return createTracing(options)
}

/** Builds the readiness, the status and the console of the service. */
function composeState(world: {
  config: Config
  networks: readonly ComposedNetwork[]
  stores: Pick<Stores, 'journal' | 'activity'>
  leases: LeaseKeeper
  disk: DiskWatch
  checksum: (address: Address) => Address
  now: () => number
  log: Logger
}): Pick<AppOptions, 'readiness' | 'console'> {
  const { config, networks, stores, leases, disk, checksum, now, log } = world
  const { journal, activity } = stores
  const pages = openConsole(config)
  if (!pages.isBuilt) log.warn('the console is not built: run "npm run build"')
  const ready = networks.map((network) => network.ready)
  const readReadiness = createReadiness({
    checks: createReadinessChecks(journal, leases, disk, ready),
    log,
  })
  const readStatus = createStatus({
    networks: networks.map(({ status }) => status),
    readReadiness,
    activity,
    checksum,
    now,
  })
  const settings = toConsoleSettings(
    config,
    networks.map(({ served }) => describeAssets(served.terms, checksum)),
  )
  return { readiness: readReadiness, console: { pages, settings, readStatus } }
}

/** Deletes old Idempotency-Keys at intervals. Returns the function that stops it. */
function sweepKeys(
  store: Stores['deliveries'],
  isKeeper: () => boolean,
  now: () => number,
  log: Logger,
): () => void {
  const forgetKeys = async () => {
    const before = now() - KEYS_KEPT_MS
    while ((await store.forgetIdempotencyKeys(before, SWEEP_KEYS)) === SWEEP_KEYS) {
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  const sweep = setInterval(() => {
    if (!isKeeper()) return
    forgetKeys().catch((err) => log.warn({ err }, 'old Idempotency-Keys could not be dropped'))
  }, SWEEP_MS)
  return () => clearInterval(sweep)
}
