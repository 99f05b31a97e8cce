import { mkdtempSync, rmSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createChecksum } from '@arcus/protocol/x402/address'
import { createKeccak256, type Keccak256 } from '@arcus/protocol/x402/keccak'
import type { FacilitatorClient } from '@x402/core/server'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import type { Address, Hex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { inTime } from '../async/in-time.js'
import { createTeardown, type Teardown } from '../async/teardown.js'
import { RpcResponseError, RpcUnavailableError } from '../chain/rpc-errors.js'
import { createFacilitator, type Facilitator } from '../facilitator/facilitator.js'
import { createAttestor } from '../facilitator/methods/attestor.js'
import type { Network } from '../facilitator/methods/network.js'
import { type FacilitatorObserver, silentObserver } from '../facilitator/observer.js'
import { facilitatorOperations } from '../facilitator/operations.js'
import { noRelayerEvents } from '../facilitator/relayer/outcomes.js'
import { openSigners } from '../facilitator/relayer/signer.js'
import { hostedRefundWallets } from '../hosted/refund-wallets.js'
import { isConsoleBuilt } from '../http/console-folder.js'
import { installErrorHandling } from '../http/errors.js'
import {
  createForwarder,
  createForwardRest,
  type Forwarder,
  forwardRoutes,
} from '../http/forward.js'
import { installCors, installSecurityHeaders } from '../http/headers.js'
import {
  createReadiness,
  healthOperation,
  healthRoutes,
  type ReadReadiness,
  readinessRoutes,
  readyOperation,
} from '../http/health.js'
import { installNotFound, type OpenPage } from '../http/not-found.js'
import { type DescribedRoute, described } from '../http/operation.js'
import { type CountExchange, installRateLimit, type RateLimiter } from '../http/rate-limit.js'
import { createServer } from '../http/server.js'
import { version } from '../http/version.js'
import { StoreUnavailableError } from '../sql/errors.js'
import { LeaseKeeper } from '../sql/lease-keeper.js'
import { lockForService } from '../sql/sqlite/service-lock.js'
import { createTurnFlags } from '../sql/sqlite/write-turns.js'
import type { Config } from './config/config.js'
import { ConfigError } from './config/env.js'
import type { Secrets } from './config/secrets.js'
import { createHandOver, type HandOver } from './directory/hand-over.js'
import { createMerchantFinder, type DirectoryLink, startDirectoryThread } from './directory/link.js'
import type { DirectorySecrets } from './directory/messages.js'
import { createReadinessChecks } from './doctor/readiness.js'
import { halvesOf, leasesOf, ofEdges, otherHalfOf, timeOf } from './halves.js'
import { BODY_LIMIT_BYTES, LARGEST_BODY_BYTES } from './limits.js'
import { createBalances, createRunway } from './metrics/gas-money.js'
import { createGasWatch } from './metrics/gas-watch.js'
import { createMetrics, type Metrics } from './metrics/metrics.js'
import { createNodeWatch, type NodeWatch } from './metrics/nodes.js'
import { installFaultCount, metricsOperation, metricsRoutes } from './metrics/routes.js'
import {
  createFacilitatorStatus,
  detailsOperation,
  detailsRoute,
  type ReadFacilitatorStatus,
} from './metrics/status.js'
import { createTracing, type Tracing } from './metrics/traces.js'
import { openSdk } from './metrics/traces-sdk.js'
import { type AuditStore, RELAYERS_NOTED } from './stores/audit.js'
import { type DiskWatch, folderOf, MIN_FREE_DISK_BYTES, watchDisk } from './stores/disk-watch.js'
import { type DatabasePlace, openStores } from './stores/open-stores.js'
import type { Stores } from './stores/stores.js'

/** The service, built and not yet listening. */
interface Arcus {
  app: FastifyInstance
  /** Shows balancers by `/ready` that the process stops soon; serving goes on. */
  leave(): void
  /** Closes chain, relayers and database, after the last answer is out. */
  close(): Promise<void>
}

/** The time that an answer of the directory may take beyond the longest settle: a hosted endpoint settles within it. */
const FORWARD_MARGIN_MS = 30_000
/** A start goes on after this long without the directory, whose routes are 503 until it is there. */
const DIRECTORY_PATIENCE_MS = 20_000

/**
 * Builds the service of its settings and starts what works apart from requests: the facilitator on this thread, and the
 * directory on another one. Rejects with `ConfigError`, `FacilitatorSettingsError`, `TokenMismatchError`,
 * `RpcUnavailableError`, `DatabaseInUseError`, `MigrationError`, `DirectoryStartError` or `StoreUnavailableError` if chain
 * or database are not as the settings say.
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
  const { hasFacilitator, hasDirectory } = halvesOf(config)
  // Stores
  const database = ownFile(config.database, teardown)
  const turnFlags = database.kind === 'sqlite' && hasDirectory ? createTurnFlags() : undefined
  const own = hasFacilitator ? database : ofEdges(database)
  const { stores, leases, disk } = await openDatabase(own, turnFlags, log, teardown)
  let link: DirectoryLink | undefined
  // One time for all replicas: what one of them writes, another judges.
  const now = hasFacilitator ? leases.now : () => timeOf(link)

  // Facilitator
  const metrics = config.metrics ? createMetrics(now) : undefined
  const tracing = await openTracing(config, metrics, teardown, log)
  const nodes = createNodeWatch(now)
  const observer = observe(metrics, tracing, nodes)
  const facilitator = hasFacilitator
    ? await openFacilitator({ config, secrets, stores, leases, observer, log, teardown })
    : undefined

  const screeningList = facilitator?.ports.screeningList
  if (screeningList !== undefined) metrics?.watchScreeningList(() => screeningList.figures())

  // How things stand
  const urls = new Map(config.networks.map((it) => [it.network, it.rpcUrls]))
  const watched = watchNetworks(facilitator?.ports.networks ?? [], stores, metrics, now).map(
    (it) => ({
      ...it,
      readNodes: () => nodes.nodesOf(it.network, urls.get(it.network) ?? []),
    }),
  )
  metrics?.watchDisk(disk)
  metrics?.watchLeases(hasFacilitator ? leases : leasesOf(() => link))
  const { isWritable } = stores.journal
  metrics?.watchDatabase({ store: database.kind, isWritable, sizeBytes: stores.sizeBytes })
  const { checksum } = facilitator?.ports ?? { checksum: createChecksum(await createKeccak256()) }
  const checks = createReadinessChecks({
    journal: stores.journal,
    leases: hasFacilitator ? leases : undefined,
    isServer: leases.isShared,
    disk,
    networks: watched,
    directory: hasDirectory
      ? {
          isAlone: !hasFacilitator,
          isUp: () => link?.isUp() ?? false,
          // The thread has leases of its own.
          leases: () => link?.figures()?.leases,
        }
      : undefined,
  })
  const readReadiness = createReadiness({ checks, log })
  const readStatus = createFacilitatorStatus({ networks: watched, readReadiness, checksum, now })

  // Directory
  const handOver = facilitator && openHandOver(config, facilitator, { stores, disk, now, log })
  if (handOver !== undefined) teardown.add('hand-over', handOver.stop)
  const started = createGate()
  if (hasDirectory) {
    link = startDirectory({ ...config, database }, secrets, {
      turnFlags,
      readStatus,
      client: facilitator?.ports.client(started.opened, (answer) => handOver?.onAnswer(answer)),
      log,
    })
    teardown.add('directory', link.stop)
  }
  if (link !== undefined) {
    const directory = link
    metrics?.watchDirectory(directory)
    metrics?.watchBackground(() => directory.figures()?.tasks ?? [])
  }
  metrics?.watchActivity(() => (handOver?.dropped() ?? 0) + (link?.figures()?.dropped ?? 0))

  // Listen
  const counting = { now, countExchange: stores.requestCounts }
  const forwarder = link && openForwarder(config, link, teardown)
  const { app, limiter, addRest } = await openServer(config, { log, tracing, counting, forwarder })
  let isLeaving = false
  serviceRoutes(app, { readReadiness, metrics, isLeaving: () => isLeaving })
  if (facilitator !== undefined) {
    detailsRoute(app, readStatus)
    const merchants = createMerchantFinder(link ?? { url: config.directoryUrl })
    teardown.add('search for merchants', merchants.close)
    await app.register(facilitator.plugin, {
      onAnswer: handOver?.onAnswer,
      offerResource: handOver?.offerResource,
      merchantOf: merchants.find,
      limiter,
      resources: resourcesOf(config),
      answerPage: await openPaymentPage(config, forwarder),
    })
  }
  await addRest()
  app.addHook('preClose', async () => link?.leave())
  if (facilitator !== undefined) {
    const { background } = facilitator
    if (secrets.operatorWebhook !== undefined) {
      const lookAtGas = createGasWatch({ networks: watched, events: stores.events, now })
      background.every('report low gas money', 60_000, lookAtGas, { keeper: true })
    }
    metrics?.watchBackground(background.figures)
    await facilitator.start()
  }
  started.open()
  await inTime(link?.ready ?? Promise.resolve(), DIRECTORY_PATIENCE_MS, () => {
    log.warn('the directory is not there yet; payments are served without it')
  })
  return {
    app,
    leave() {
      isLeaving = true
    },
    close: teardown.run,
  }
}

/** Puts a database that ends with the process into a file, because no other thread could read it in memory. */
function ownFile(database: DatabasePlace, teardown: Teardown): DatabasePlace {
  if (database.kind !== 'sqlite' || database.path !== ':memory:') return database
  const folder = mkdtempSync(join(tmpdir(), 'arcus-database-'))
  teardown.add('file of the database', () => rmSync(folder, { recursive: true, force: true }))
  return { kind: 'sqlite', path: join(folder, 'arcus.db') }
}

/** Opens the database of the settings, and the rights of this process over it. */
async function openDatabase(
  database: DatabasePlace,
  turnFlags: SharedArrayBuffer | undefined,
  log: Logger,
  teardown: Teardown,
) {
  // The lock comes before anything is read or migrated. Replicas on PostgreSQL share the work by leases.
  if (database.kind === 'sqlite') teardown.add('lock', lockForService(database.path))
  const stores = await openStores(database, {
    half: 'facilitator',
    turnFlags,
    onFault: (err) =>
      log.warn({ err }, 'a connection to the database broke; another one is opened'),
  })
  teardown.add('database', stores.close)
  const upkeep = stores.startUpkeep((err) =>
    log.warn({ err }, 'the upkeep of the database failed; trying again'),
  )
  teardown.add('upkeep', upkeep.stop)
  const leases = new LeaseKeeper(stores.leases, log)
  teardown.add('leases', () => leases.stop())
  if (stores.sharing.isSole) await stores.deliveries.dropLeases()
  const folder = folderOf(database)
  const disk = await watchDisk({ folder, minFreeBytes: MIN_FREE_DISK_BYTES, log })
  teardown.add('disk watch', disk.stop)
  return { stores, leases, disk }
}

/** Builds the facilitator with its keys, and notes its wallets for the directory. */
async function openFacilitator({
  config,
  secrets,
  stores,
  leases,
  observer,
  log,
  teardown,
}: {
  config: Config
  secrets: Secrets
  stores: Stores
  leases: LeaseKeeper
  observer: FacilitatorObserver
  log: Logger
  teardown: Teardown
}): Promise<Facilitator> {
  const keccak256 = await createKeccak256()
  const keys = openKeys(config, secrets, keccak256, leases.now)
  teardown.add('signers', keys.close)
  const facilitator = await createFacilitator(config, {
    stores,
    leases,
    keccak256,
    log,
    signers: keys.signers,
    attestor: keys.attestor,
    observer,
    own: ownRecipients(config, [...keys.refundWallets.keys()]),
    refundWallets: keys.refundWallets,
    isListed: stores.isListed,
  })
  teardown.add('facilitator', facilitator.stop)
  await noteRelayers(stores.audit, [...facilitator.ports.addresses].sort(), leases.now())
  return facilitator
}

/** Adds to the figures of each network what metrics, readiness and the status page read. */
function watchNetworks(
  networks: readonly Network[],
  { budgets }: Stores,
  metrics: Metrics | undefined,
  now: () => number,
) {
  const watched = networks.map((it) => ({
    network: it.terms.network,
    chainId: it.terms.chainId,
    name: it.name,
    rpc: it.rpc,
    relayer: it.relayer,
    readTokens: it.readTokens,
    latestBlock: it.latestBlock,
    chainSeconds: it.chainSeconds,
    feePerGas: () => it.latestBlock()?.baseFeePerGas,
    readBalances: createBalances(it.rpc, it.relayer.addresses, now),
    readRunway: createRunway({ network: it.terms.network, budgets, now }),
  }))
  for (const network of watched) metrics?.watch(network)
  return watched
}

/** Builds what hands payments over to the directory. Listings are about the first network: the settings name the mainnet first. */
function openHandOver(
  { baseUrl, directoryUrl, probeAllowPrivateHosts }: Config,
  { ports: { networks, isPayToBlocked } }: Facilitator,
  { stores, disk, now, log }: { stores: Stores; disk: DiskWatch; now: () => number; log: Logger },
): HandOver {
  const [{ terms }] = networks
  return createHandOver({
    outbox: stores.outbox,
    rules: {
      networks: new Map([[terms.network, [...terms.tokens.values()]]]),
      targetRules: {
        allowPrivateHosts: probeAllowPrivateHosts,
        ownOrigins: [baseUrl, directoryUrl],
      },
      isPayToBlocked,
    },
    isDiskLow: disk.isLow,
    now,
    log,
  })
}

/** Makes a promise, and the function that resolves it. */
function createGate(): { opened: Promise<void>; open(): void } {
  let open = () => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open: () => open() }
}

/** Starts the directory on its thread, and answers what it asks. */
function startDirectory(
  config: Config,
  secrets: Secrets,
  {
    turnFlags,
    readStatus,
    client,
    log,
  }: {
    turnFlags: SharedArrayBuffer | undefined
    readStatus: ReadFacilitatorStatus
    client: FacilitatorClient | undefined
    log: Logger
  },
): DirectoryLink {
  return startDirectoryThread({
    data: {
      config: toPortable(config),
      secrets: toDirectorySecrets(secrets),
      turnFlags,
      mainRoutes: mainRoutes(config),
    },
    calls: client && {
      verify: (...args) => client.verify(...(args as Parameters<typeof client.verify>)),
      settle: (...args) => client.settle(...(args as Parameters<typeof client.settle>)),
      supported: () => client.getSupported(),
      status: readStatus,
    },
    log,
  })
}

/** Returns the settings as a message can hold them: concealed members would be left out of a copy. */
function toPortable(config: Config): Config {
  const { database } = config
  const { kind } = database
  return {
    ...config,
    database:
      kind === 'sqlite' ? database : { kind, url: database.url, poolSize: database.poolSize },
    // Traces are those of the main thread.
    tracing: undefined,
  }
}

function toDirectorySecrets(secrets: Secrets): DirectorySecrets {
  const { hostedPrivateKey, attestationPrivateKey, webhookKey, operatorWebhook } = secrets
  return {
    hostedPrivateKey,
    attestationPrivateKey,
    checkPrivateKeys: [...secrets.checkPrivateKeys],
    webhookKey,
    operatorWebhook,
  }
}

/**
 * Makes what opens the page about a payment for a browser. Where the directory is not in this process, its page is read from
 * the build of the console, so that a balancer needs to look at paths alone.
 */
async function openPaymentPage(
  config: Config,
  forwarder: Forwarder | undefined,
): Promise<OpenPage | undefined> {
  if (!isConsoleBuilt()) return undefined
  if (forwarder !== undefined) return forwarder.forward
  const { openConsole } = await import('./console.js')
  return openConsole(config).answerPage
}

/** Returns the routes of the facilitator and of the process, which the directory describes with its own. */
function mainRoutes({ metrics }: Config): DescribedRoute[] {
  const exempt = { limit: 'exempt' } as const
  return [
    ...facilitatorOperations,
    described('GET /health', healthOperation, exempt),
    described('GET /ready', readyOperation, exempt),
    described('GET /ready/details', detailsOperation),
    ...(metrics ? [described('GET /metrics', metricsOperation, exempt)] : []),
  ]
}

/** Adds the routes about the process itself. */
function serviceRoutes(
  app: FastifyInstance,
  {
    readReadiness,
    metrics,
    isLeaving,
  }: {
    readReadiness: ReadReadiness
    metrics: Metrics | undefined
    isLeaving: () => boolean
  },
): void {
  healthRoutes(app)
  readinessRoutes(app, readReadiness, isLeaving)
  if (metrics === undefined) return
  installFaultCount(app, metrics.countFault)
  metricsRoutes(app, metrics.render)
}

/** Opens the way to the directory's server. */
function openForwarder(config: Config, { socketPath }: DirectoryLink, teardown: Teardown) {
  const forwarder = createForwarder({
    socketPath,
    bodyLimitBytes: LARGEST_BODY_BYTES,
    timeoutMs: config.settleWaitSeconds * 1_000 + FORWARD_MARGIN_MS,
    away: 'The directory is starting again; payments are served meanwhile. Try again.',
  })
  teardown.add('way to the directory', forwarder.close)
  return forwarder
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
  const buying = secrets.checkPrivateKeys.map(walletOf)
  const relaying = signers.map(({ address }) => address)
  const wallets = [...relaying, ...refundWallets.keys(), ...buying, ...attesting]
  const twin = wallets.find((address, i) => wallets.indexOf(address) < i)
  if (twin !== undefined) {
    throw new ConfigError([
      `Two settings use the wallet ${twin}. Relayers, check wallets, the wallet of hosted endpoints and the attestation key must be different. Remove one of them.`,
    ])
  }
  return { signers, attestor, refundWallets, close }
}

/** Returns the address of a key, in lower case. */
function walletOf(key: Hex): Address {
  return privateKeyToAccount(key).address.toLowerCase() as Address
}

/** Returns the accounts of the operator for which gas is paid: what hosted endpoints are paid at, and what refunds come from. */
function ownRecipients({ hosted, buybackAddress }: Config, refundWallets: readonly Address[]) {
  const isSelling = hosted !== undefined && buybackAddress !== undefined
  return [...refundWallets, ...(isSelling ? [buybackAddress] : [])]
}

/** Lets metrics and traces see what the facilitator does. */
function observe(
  metrics: Metrics | undefined,
  tracing: Tracing | undefined,
  nodes: NodeWatch,
): FacilitatorObserver {
  return {
    rpc: (network) => nodes.observe(network, metrics?.observeRpc(network)),
    relayer(network) {
      const counted = metrics?.relayerEvents(network) ?? noRelayerEvents
      return tracing?.relayerEvents(network, counted) ?? counted
    },
    claimed: (request, settlementId) => tracing?.claimed(request, settlementId),
    verified: (...seen) => metrics?.verified(...seen),
    settled: (...seen) => metrics?.settled(...seen),
    screening: metrics?.screening ?? silentObserver.screening,
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
  await audit.appendChange({ at, actor, action: RELAYERS_NOTED, subject, details })
}

/** Makes the server with its edges, and without routes. */
async function openServer(
  config: Config,
  {
    log,
    tracing,
    counting: { now, countExchange },
    forwarder,
  }: {
    log: Logger
    tracing: Tracing | undefined
    counting: { now: () => number; countExchange: CountExchange | undefined }
    forwarder: Forwarder | undefined
  },
): Promise<{
  app: FastifyInstance
  limiter: RateLimiter | undefined
  /** Adds the way to the other server, after all routes of this one. */
  addRest(): Promise<void>
}> {
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
  const rest = forwarder && createForwardRest(forwarder)
  const { isOwn } = installNotFound(app, undefined, rest, otherHalfOf(config))
  await installCors(app)
  const limiter = installRateLimit(app, { ...config.rateLimit, now }, countExchange)
  return {
    app,
    limiter,
    async addRest() {
      if (forwarder === undefined) return
      // The page of all payments is the console's; each payment is the facilitator's.
      await forwardRoutes(app, { forward: forwarder.forward, isOwn, pages: ['/payments'] })
    },
  }
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
