import { hostname } from 'node:os'
import { dirname } from 'node:path'
import { createChecksum } from '@arcus/protocol/x402/address'
import { createKeccak256, type Keccak256 } from '@arcus/protocol/x402/keccak'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import type { Address } from 'viem'
import { createTeardown, type Teardown } from '../async/teardown.js'
import { RpcResponseError, RpcUnavailableError } from '../chain/rpc-errors.js'
import { createDirectory } from '../directory/directory.js'
import { createOwnCalls } from '../directory/probe/guarded-fetch.js'
import { createFacilitator, type Facilitator } from '../facilitator/facilitator.js'
import type { FacilitatorObserver } from '../facilitator/observer.js'
import { createLeaseKeeper } from '../facilitator/relayer/leases.js'
import { noRelayerEvents } from '../facilitator/relayer/outcomes.js'
import { openSigners } from '../facilitator/relayer/signer.js'
import { readExactDetails } from '../facilitator/schemes/exact-job.js'
import { createAttestor } from '../facilitator/settle/attestor.js'
import { describeAssets } from '../facilitator/supported.js'
import { HOSTED_PREFIX } from '../hosted/endpoints.js'
import { createHosted, hostedRefundWallets } from '../hosted/hosted.js'
import { installOpenApi } from '../http/docs.js'
import { installErrorHandling } from '../http/errors.js'
import { installCors, installSecurityHeaders } from '../http/headers.js'
import { createReadiness, healthRoutes, readinessRoutes } from '../http/health.js'
import { installNotFound } from '../http/not-found.js'
import { type CountExchange, installRateLimit, type RateLimiter } from '../http/rate-limit.js'
import { createServer } from '../http/server.js'
import { version } from '../http/version.js'
import { StoreUnavailableError } from '../sql/errors.js'
import { UPKEEP } from '../sql/leases.js'
import { lockForService } from '../sql/sqlite/service-lock.js'
import { createCheckBuyer, createCheckSigner } from './check-buyer.js'
import type { Config } from './config/config.js'
import { ConfigError } from './config/env.js'
import type { Secrets } from './config/secrets.js'
import { type Console, consoleSettingsRoute, openConsole, toConsoleSettings } from './console.js'
import { createReadinessChecks } from './doctor/readiness.js'
import { createBalances, createRunway } from './metrics/gas-money.js'
import { startGasWatch } from './metrics/gas-watch.js'
import { createMetrics, type Metrics } from './metrics/metrics.js'
import { installFaultCount, metricsRoutes } from './metrics/routes.js'
import { createStatus, statusRoutes } from './metrics/status.js'
import { createTracing, type Tracing } from './metrics/traces.js'
import { openSdk } from './metrics/traces-sdk.js'
import type { AuditStore } from './stores/audit.js'
import { watchDisk } from './stores/disk-watch.js'
import { openStores } from './stores/open-stores.js'

/** The service, built and not yet listening. */
export interface Arcus {
  app: FastifyInstance
  /** Shows balancers by `/ready` that the process stops soon; serving goes on. */
  leave(): void
  /** Closes chain, relayers and database, after the last answer is out. */
  close(): Promise<void>
}

/** The largest body is a listing with all its endpoints; a payment takes some 2 kB. */
const BODY_LIMIT_BYTES = 262_144
/** A tenth of a small disk counts instead. Enough for a day of payments at one a second. */
const MIN_FREE_DISK_BYTES = 256 * 2 ** 20

/**
 * Builds the service of its settings and starts what works apart from requests. Rejects with `ConfigError`,
 * `FacilitatorSettingsError`, `TokenMismatchError`, `RpcUnavailableError`, `DatabaseInUseError`, `MigrationError` or
 * `StoreUnavailableError` if chain or database are not as the settings say.
 */
export async function compose(config: Config, secrets: Secrets, log: Logger): Promise<Arcus> {
  const teardown = createTeardown(log)
  try {
    return await build(config, secrets, log, teardown)
  } catch (error) {
    // The next attempt must not find anything of this one still running.
    await teardown.run()
    throw error
  }
}

async function build(
  config: Config,
  secrets: Secrets,
  log: Logger,
  teardown: Teardown,
): Promise<Arcus> {
  // Stores
  const { stores, leases, disk } = await openDatabase(config, log, teardown)
  // One time for all replicas: what one of them writes, another judges.
  const { now, isShared } = leases
  const isKeeper = () => leases.held(UPKEEP) !== undefined

  // Facilitator
  const metrics = config.metrics ? createMetrics(now) : undefined
  const tracing = await openTracing(config, metrics, teardown, log)
  const keccak256 = await createKeccak256()
  const keys = openKeys(config, secrets, keccak256, now)
  teardown.add('signers', keys.close)
  const facilitator = await createFacilitator(config, {
    ...{ stores, leases, keccak256, log },
    ...{ signers: keys.signers, attestor: keys.attestor, observer: observe(metrics, tracing) },
    own: ownRecipients(config, keys.refundWallets.keys()),
    isListed: stores.isListed,
  })
  teardown.add('facilitator', facilitator.stop)
  const { networks, payments, blocks, checksum, addresses, recovery } = facilitator.ports
  await noteRelayers(stores.audit, [...addresses].sort(), now())

  // Directory. Listings are about the first network: the settings name the mainnet first.
  const [{ tokens, served, batchWatch, uptoWatch, figures: first }] = networks
  const hostedPrefix = config.hosted === undefined ? undefined : HOSTED_PREFIX
  const ownCalls = createOwnCalls(config.baseUrl, hostedPrefix)
  const directory = createDirectory(config, {
    ...{ stores, tokens, keccak256, recovery, checksum, ownCalls, isShared, isKeeper, now, log },
    ...{ rpc: served.rpc, threadSource: stores.threadSource, isDiskLow: disk.isLow },
    ...{ webhookKey: secrets.webhookKey, operatorWebhook: secrets.operatorWebhook },
    ...{ refundWallets: keys.refundWallets, buyer: keys.buyer, checkSigner: keys.checkSigner },
    isRelayer: (address) => addresses.has(address),
    isPayToBlocked: (payTo) => blocks.isBlocked('payTo', payTo),
    isPayerBlocked: (payer) => blocks.isBlocked('payer', payer),
    findPayment: payments.recordOf,
    readPayment: readExactDetails,
  })
  teardown.add('directory', directory.stop)
  const { onAnswer, offerResource, merchantOf, listings, probe } = directory.ports

  // The operator's own endpoints
  const hosted = await createHosted({
    ...{ baseUrl: config.baseUrl, settings: config.hosted, privateKey: secrets.hostedPrivateKey },
    ...{ listings, probe, isShared, isKeeper, log },
    ...{ batchContracts: batchWatch, uptoContracts: uptoWatch },
    client: (started) => facilitator.ports.client(started, onAnswer),
    records: stores.hostedRecords,
    findPayment: payments.byNonce,
    network: first.network,
    token: tokens[0],
    readFees() {
      const block = first.latestBlock()
      return block && { baseFeePerGas: block.baseFeePerGas, blockTime: block.timestamp }
    },
  })
  teardown.add('hosted endpoints', hosted.stop)

  // How things stand
  const watched = facilitator.figures.map((figures) => ({
    ...figures,
    readBalances: createBalances(figures.rpc, figures.relayer.addresses, now),
    readRunway: createRunway({ network: figures.network, budgets: stores.budgets, now }),
    feePerGas: () => figures.latestBlock()?.baseFeePerGas,
  }))
  for (const network of watched) metrics?.watch(network)
  metrics?.watchDirectory(directory.figures)
  metrics?.watchDisk(disk)
  metrics?.watchLeases(leases)
  const { isWritable } = stores.journal
  metrics?.watchDatabase({ store: config.database.kind, isWritable, sizeBytes: stores.sizeBytes })
  const checks = createReadinessChecks(stores.journal, leases, disk, watched)
  const readReadiness = createReadiness({ checks, log })
  const { activity } = stores
  const readStatus = createStatus({ networks: watched, readReadiness, activity, checksum, now })

  // Listen
  const pages = openConsole(config)
  if (!pages.isBuilt) log.warn('the console is not built: run "npm run build"')
  const counting = { now, countExchange: stores.requestCounts }
  const { app, limiter } = await openServer(config, { log, pages, tracing, counting })
  let isLeaving = false
  healthRoutes(app)
  readinessRoutes(app, readReadiness, () => isLeaving)
  statusRoutes(app, readStatus)
  const isBuying = directory.figures.checks !== undefined
  consoleSettingsRoute(app, toConsoleSettings(config, describeNetworks(facilitator), isBuying))
  await pages.install(app)
  if (metrics !== undefined) {
    installFaultCount(app, metrics.countFault)
    metricsRoutes(app, metrics.render)
  }
  await app.register(facilitator.plugin, {
    ...{ onAnswer, offerResource, merchantOf, limiter, resources: resourcesOf(config) },
    answerPage: pages.isBuilt ? pages.answerPage : undefined,
  })
  await app.register(directory.plugin, pages)
  const { plugin } = hosted
  if (plugin !== undefined) await app.register(async (scope) => plugin(scope))
  await facilitator.start()
  directory.start()
  ownCalls.attach((call) => app.inject(call))
  // The endpoints must answer before their probes come.
  app.server.once('listening', () => {
    hosted.start().catch((err) => log.error({ err }, 'hosted endpoints could not be listed'))
  })
  if (secrets.operatorWebhook !== undefined) {
    const { events } = stores
    teardown.add('gas watch', startGasWatch({ networks: watched, events, isKeeper, now, log }))
  }
  return {
    app,
    leave() {
      isLeaving = true
    },
    close: teardown.run,
  }
}

/** Opens the database of the settings, and the rights of this process over it. */
async function openDatabase({ database }: Config, log: Logger, teardown: Teardown) {
  // The lock comes before anything is read or migrated. Replicas on PostgreSQL share the work by leases.
  if (database.kind === 'sqlite') teardown.add('lock', lockForService(database.path))
  const stores = await openStores(database, (err) =>
    log.warn({ err }, 'a connection to the database broke; another one is opened'),
  )
  teardown.add('database', stores.close)
  const upkeep = stores.startUpkeep((err) =>
    log.warn({ err }, 'the upkeep of the database failed; trying again'),
  )
  teardown.add('upkeep', upkeep.stop)
  const leases = createLeaseKeeper(stores.leases, log)
  teardown.add('leases', leases.stop)
  if (stores.sharing.isSole) await stores.deliveries.dropLeases()
  const isFile = database.kind === 'sqlite' && database.path !== ':memory:'
  const folder = isFile ? dirname(database.path) : undefined
  const disk = await watchDisk({ folder, minFreeBytes: MIN_FREE_DISK_BYTES, log })
  teardown.add('disk watch', disk.stop)
  return { stores, leases, disk }
}

/** Opens the keys of the relayers, of the attestor and of the wallets that buy. Throws `ConfigError` when one account has two jobs. */
function openKeys(config: Config, secrets: Secrets, keccak256: Keccak256, now: () => number) {
  const { signers, close } = openSigners(secrets, keccak256)
  const refundWallets = hostedRefundWallets(config.hosted, secrets.hostedPrivateKey)
  const { attestationPrivateKey: privateKey } = secrets
  const attestor =
    privateKey &&
    createAttestor({ privateKey, keccak256, checksum: createChecksum(keccak256), now })
  const attesting = attestor === undefined ? [] : [attestor.address.toLowerCase() as Address]
  const buyer = createCheckBuyer(secrets.checkPrivateKeys)
  const buying = buyer?.wallets ?? []
  const relaying = signers.map(({ address }) => address)
  const wallets = [...relaying, ...refundWallets.keys(), ...buying, ...attesting]
  const twin = wallets.find((address, i) => wallets.indexOf(address) < i)
  if (twin !== undefined) {
    throw new ConfigError([
      `Two keys of the settings are the wallet ${twin}: one wallet is one lane, no relayer may pay, and the key of attestations is no wallet. Remove one of them.`,
    ])
  }
  const checkSigner = privateKey && createCheckSigner(privateKey)
  return { signers, attestor, refundWallets, buyer, checkSigner, close }
}

/** Returns the accounts of the operator for which gas is paid: what hosted endpoints are paid at, and what refunds come from. */
function ownRecipients({ hosted, buybackAddress }: Config, refundWallets: Iterable<Address>) {
  const isSelling = hosted !== undefined && buybackAddress !== undefined
  return [...refundWallets, ...(isSelling ? [buybackAddress] : [])]
}

/** Lets metrics and traces see what the facilitator does. */
function observe(metrics: Metrics | undefined, tracing: Tracing | undefined): FacilitatorObserver {
  return {
    rpc: (network) => metrics?.observeRpc(network),
    relayer(network) {
      const counted = metrics?.relayerEvents(network) ?? noRelayerEvents
      return tracing?.relayerEvents(network, counted) ?? counted
    },
    claimed: (request, settlementId) => tracing?.claimed(request, settlementId),
    verified: (...seen) => metrics?.verified(...seen),
    settled: (...seen) => metrics?.settled(...seen),
    shrinkFailed: () => metrics?.countShrinkFailure(),
  }
}

/** Builds the traces; `undefined` without a collector. */
async function openTracing(
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

/** Notes in the audit trail that this start has other relayer keys than the one before. */
async function noteRelayers(
  audit: AuditStore,
  addresses: readonly Address[],
  at: number,
): Promise<void> {
  const actor = `service@${hostname()}`
  const details = 'the relayer wallets of this start'
  const subject = addresses.join(', ')
  await audit.appendChange({ at, actor, action: 'rotate', subject, details })
}

/** Makes the server with its edges, and without routes. */
async function openServer(
  config: Config,
  {
    log,
    pages,
    tracing,
    counting: { now, countExchange },
  }: {
    log: Logger
    pages: Console
    tracing: Tracing | undefined
    counting: { now: () => number; countExchange: CountExchange | undefined }
  },
): Promise<{ app: FastifyInstance; limiter: RateLimiter | undefined }> {
  const { settleWaitSeconds, trustProxy } = config
  const bodyLimitBytes = BODY_LIMIT_BYTES
  const app = createServer({ logger: log, bodyLimitBytes, settleWaitSeconds, trustProxy })
  const servers = [config.baseUrl, config.directoryUrl]
  tracing?.install(app)
  installSecurityHeaders(
    app,
    servers.every((url) => url.startsWith('https:')),
  )
  installErrorHandling(app, {
    isStoreGone: (error) => error instanceof StoreUnavailableError,
    isChainUnread: (error) =>
      error instanceof RpcUnavailableError || error instanceof RpcResponseError,
  })
  installNotFound(app, pages.answerPage)
  await installCors(app)
  const limiter = installRateLimit(app, { ...config.rateLimit, now }, countExchange)
  installOpenApi(app, { servers })
  return { app, limiter }
}

/** Returns the addresses that `/.well-known/x402` names besides those of the facilitator. */
function resourcesOf({ baseUrl, directoryUrl }: Config) {
  return {
    discovery: `${directoryUrl}/discovery/resources`,
    search: `${directoryUrl}/discovery/search`,
    mcp: `${directoryUrl}/mcp`,
    openapi: `${baseUrl}/openapi.json`,
  }
}

/** Returns the tokens of each network, for the console. */
function describeNetworks({ ports: { networks, checksum } }: Facilitator) {
  return networks.map(({ served }) => describeAssets(served.terms, checksum))
}
