import { createChecksum } from '@arcus/protocol/x402/address'
import { createKeccak256, type Keccak256 } from '@arcus/protocol/x402/keccak'
import type { FacilitatorClient } from '@x402/core/server'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import type { Address } from 'viem'
import { persist } from '../../async/persist.js'
import { createTeardown, type Teardown } from '../../async/teardown.js'
import { toSeconds } from '../../async/time.js'
import { readBlock } from '../../chain/blocks.js'
import { watchContracts } from '../../chain/deployments.js'
import { createRpc, type Rpc } from '../../chain/rpc.js'
import { RpcResponseError, RpcUnavailableError } from '../../chain/rpc-errors.js'
import { loadSignerRecovery } from '../../chain/signer-recovery.js'
import { createDirectory, type Directory } from '../../directory/directory.js'
import type { SharedPorts } from '../../directory/ports.js'
import { createOwnCalls } from '../../directory/probe/guarded-fetch.js'
import { readOperatorBlocks } from '../../facilitator/journal/blocks.js'
import { createPaymentFinder, type PaymentFinder } from '../../facilitator/lookup/payments.js'
import { schemeContracts } from '../../facilitator/methods/contracts.js'
import { readPayment } from '../../facilitator/methods/exact-job.js'
import type { AcceptedToken } from '../../facilitator/methods/network.js'
import { ScreeningList } from '../../facilitator/screening/list.js'
import { describeAssets } from '../../facilitator/supported.js'
import { readTokens } from '../../facilitator/tokens.js'
import { HOSTED_PREFIX } from '../../hosted/endpoints.js'
import type { Hosted } from '../../hosted/hosted.js'
import { unlistHosted } from '../../hosted/listing.js'
import { hostedRefundWallets } from '../../hosted/refund-wallets.js'
import { shareReads } from '../../http/cached-reply.js'
import { installOpenApi } from '../../http/docs.js'
import { installErrorHandling } from '../../http/errors.js'
import { installCors } from '../../http/headers.js'
import { leave } from '../../http/leaving.js'
import { installNotFound } from '../../http/not-found.js'
import { reportMadeBytes } from '../../http/rate-limit.js'
import { createServer } from '../../http/server.js'
import { StoreUnavailableError } from '../../sql/errors.js'
import { createLeaseKeeper } from '../../sql/lease-keeper.js'
import { UPKEEP } from '../../sql/leases.js'
import { createCheckBuyer, createCheckSigner } from '../check-buyer.js'
import type { Config, NetworkConfig } from '../config/config.js'
import { consoleSettingsRoute, openConsole, toConsoleSettings } from '../console.js'
import { BODY_LIMIT_BYTES } from '../limits.js'
import { createStatus, statusRoutes } from '../metrics/status.js'
import { RELAYERS_NOTED } from '../stores/audit.js'
import { folderOf, MIN_FREE_DISK_BYTES, watchDisk } from '../stores/disk-watch.js'
import { openStores } from '../stores/open-stores.js'
import type { Stores } from '../stores/stores.js'
import { createIntake } from './intake.js'
import type { AskFacilitator, DirectoryFigures, DirectoryThreadData } from './messages.js'

/** The directory with everything around it, built and not yet listening. */
export interface DirectoryHalf {
  app: FastifyInstance
  /** Begins its work. Call it once the server listens. */
  start(): Promise<void>
  figures(): Promise<DirectoryFigures>
  /** Ends the answers that never end by themselves; serving goes on. */
  leave(): void
  close(): Promise<void>
}

interface DirectoryHalfPorts {
  ask: AskFacilitator
  log: Logger
}

type DirectoryPlace = Omit<DirectoryThreadData, 'socketPath' | 'hasFacilitator'>

/**
 * Builds the half that lists paid APIs: its own server, connection to the database, connections to the chain, and the
 * operator's own endpoints. It reads payments from the database and asks the facilitator by `ask` alone, so that it runs
 * on a thread as on a machine of its own. Rejects as `compose` does.
 */
export async function composeDirectory(
  place: DirectoryPlace,
  ports: DirectoryHalfPorts,
): Promise<DirectoryHalf> {
  const teardown = createTeardown(ports.log)
  try {
    return await build(place, ports, teardown)
  } catch (error) {
    await teardown.run()
    throw error
  }
}

async function build(
  place: DirectoryPlace,
  { ask, log }: DirectoryHalfPorts,
  teardown: Teardown,
): Promise<DirectoryHalf> {
  const world = await openWorld(place, log, teardown)
  const { leases } = world
  const { directory, ownCalls, lost } = await openDirectory(world)
  const hosted = await openHosted(world, directory, ask)
  const app = await openServer(world, directory, ask)
  const { plugin } = hosted
  if (plugin !== undefined) await app.register(async (scope) => plugin(scope))
  ownCalls.attach((call) => app.inject(call))
  const readChecks = readChecksSeldom(directory, world.now)
  const closing = new AbortController()
  return {
    app,
    async start() {
      await leases.start([[UPKEEP.directory]])
      directory.start()
      // The endpoints must answer before their probes come, and they ask the facilitator what they may offer.
      const isServed =
        place.config.hosted && untilFacilitator(ask.client(Promise.resolve()), closing.signal, log)
      Promise.resolve(isServed)
        .then(hosted.start)
        .catch((err) => {
          if (!closing.signal.aborted) log.error({ err }, 'hosted endpoints could not be listed')
        })
    },
    async figures() {
      return {
        index: directory.figures.index(),
        probes: directory.figures.probes(),
        dropped: directory.figures.dropped() + lost(),
        tasks: directory.background.figures(),
        leases: {
          isRenewed: leases.isRenewed(),
          ageMs: leases.ageMs(),
          clockAhead: leases.clockAhead(),
        },
        checks: await readChecks().catch(() => undefined),
      }
    },
    leave: () => leave(app),
    async close() {
      closing.abort()
      await app.close()
      await teardown.run()
    },
  }
}

type HalfWorld = Awaited<ReturnType<typeof openWorld>>

/** Opens what this half reads: its database, the nodes of each network, and the payments in the journal. */
async function openWorld(place: DirectoryPlace, log: Logger, teardown: Teardown) {
  const { stores, leases, disk } = await openDatabase(place, log, teardown)
  const { now, isShared } = leases
  const keccak256 = await createKeccak256()
  const checksum = createChecksum(keccak256)
  const networks = await openNetworks(place.config, keccak256, teardown)
  const { hosted } = place.config
  const refundWallets = hostedRefundWallets(hosted, place.secrets.hostedPrivateKey)
  return {
    place,
    stores,
    leases,
    disk,
    now,
    isShared,
    isKeeper: () => leases.held(UPKEEP.directory) !== undefined,
    keccak256,
    checksum,
    networks,
    refundWallets,
    payments: findPayments(stores, networks, { checksum, refundWallets, now }),
    log,
    teardown,
  }
}

/** Builds the directory with all that it does by itself, what this half adds included. */
async function openDirectory(world: HalfWorld) {
  const { place, stores, networks, keccak256, checksum, now, isShared, isKeeper, log } = world
  const { config, secrets } = place
  const { rpc, tokens } = networks[0]
  const blocks = await readOperatorBlocks(stores.blocks)
  const { listFile } = config.screening ?? {}
  const list = listFile === undefined ? undefined : await ScreeningList.open(listFile)
  const isListed = (address: Address) => list?.has(address) ?? false
  const relayers = await readRelayers(stores)
  const signingKey = secrets.attestationPrivateKey
  const hostedPrefix = config.hosted === undefined ? undefined : HOSTED_PREFIX
  const ownCalls = createOwnCalls(config.baseUrl, hostedPrefix)
  const directory = createDirectory(config, {
    stores,
    tokens,
    keccak256,
    recovery: await loadSignerRecovery(keccak256),
    checksum,
    ownCalls,
    isShared,
    isKeeper,
    now,
    log,
    rpc,
    buyer: createCheckBuyer(secrets.checkPrivateKeys),
    isRelayer: relayers.has,
    threadSource: stores.threadSource,
    isDiskLow: world.disk.isLow,
    webhookKey: secrets.webhookKey,
    operatorWebhook: secrets.operatorWebhook,
    refundWallets: world.refundWallets,
    checkSigner: signingKey && createCheckSigner(signingKey),
    isPayToBlocked: (payTo) => isListed(payTo) || blocks.isBlocked('payTo', payTo),
    isPayerBlocked: (payer) => isListed(payer) || blocks.isBlocked('payer', payer),
    findPayment: world.payments.recordOf,
    findRefunds: world.payments.findRefunds,
    readPayment,
  })
  world.teardown.add('directory', directory.stop)
  const { outbox } = stores
  const { takeWaiting, lost } = createIntake({ outbox, directory: directory.ports, now, log })
  const { background } = directory
  background.every('read operator blocks', 2_000, blocks.refresh)
  if (list !== undefined) background.every('read screening list', 2_000, () => list.refresh(log))
  background.every('read relayer wallets', 30_000, relayers.refresh)
  background.every('take in payments', 250, takeWaiting, { keeper: true })
  return { directory, ownCalls, lost }
}

const facilitatorRetries = { firstMs: 500, lastMs: 10_000, isHolding: false }

/** Resolves once a facilitator answers. Rejects after the signal. */
function untilFacilitator(
  { getSupported }: FacilitatorClient,
  signal: AbortSignal,
  log: Logger,
): Promise<unknown> {
  return persist(getSupported, {
    ...facilitatorRetries,
    onFailure(err) {
      signal.throwIfAborted()
      log.warn({ err }, 'no facilitator answers yet; hosted endpoints are listed when one does')
    },
  })
}

/** The wallets of the checks are read from the chain. */
const CHECKS_CACHE_MS = 5_000

function readChecksSeldom({ figures: { checks } }: Directory, now: () => number) {
  return shareReads(CHECKS_CACHE_MS, now, async () => checks?.())
}

/** Opens a connection of its own to the database. The main thread has locked, migrated and cleaned it. */
async function openDatabase(
  { config: { database }, turnFlags }: DirectoryPlace,
  log: Logger,
  teardown: Teardown,
) {
  const stores = await openStores(database, {
    half: 'directory',
    turnFlags,
    onFault: (err) =>
      log.warn({ err }, 'a connection to the database broke; another one is opened'),
  })
  teardown.add('database', stores.close)
  const leases = createLeaseKeeper(stores.leases, log)
  teardown.add('leases', leases.stop)
  const disk = await watchDisk({
    folder: folderOf(database),
    minFreeBytes: MIN_FREE_DISK_BYTES,
    log,
  })
  teardown.add('disk watch', disk.stop)
  return { stores, leases, disk }
}

/** A network as the directory needs it: its nodes and its tokens. */
interface ListedNetwork {
  place: NetworkConfig
  rpc: Rpc
  tokens: readonly [AcceptedToken, ...AcceptedToken[]]
  terms: { tokens: ReadonlyMap<Address, AcceptedToken> }
}

/** Opens connections to the nodes of each network. Listings are about the first: the settings name the mainnet first. */
async function openNetworks(
  config: Config,
  keccak256: Keccak256,
  teardown: Teardown,
): Promise<readonly [ListedNetwork, ...ListedNetwork[]]> {
  const networks = config.networks.map(async (place): Promise<ListedNetwork> => {
    const rpc = createRpc(place.rpcUrls)
    teardown.add('chain connections', () => rpc.close())
    const tokens = await readTokens(rpc, keccak256, place, config.minAmount)
    return { place, rpc, tokens, terms: { tokens: new Map(tokens.map((it) => [it.address, it])) } }
  })
  return (await Promise.all(networks)) as [ListedNetwork, ...ListedNetwork[]]
}

/** Makes the look-up of payments, which reads the journal. */
function findPayments(
  { journal }: Stores,
  networks: readonly ListedNetwork[],
  ports: Pick<SharedPorts, 'checksum' | 'refundWallets' | 'now'>,
): PaymentFinder {
  return createPaymentFinder({
    journal,
    terms: new Map(networks.map(({ place, terms }) => [place.network, terms])),
    explorerUrls: new Map(networks.map(({ place }) => [place.network, place.explorerUrl])),
    ...ports,
  })
}

/** Reads the wallets that send transactions here, now or in an earlier run. They are as old as the last refresh. */
async function readRelayers({ audit }: Pick<Stores, 'audit'>) {
  let known: ReadonlySet<string> = new Set()
  async function refresh(): Promise<void> {
    const subjects = await audit.subjectsOf(RELAYERS_NOTED)
    known = new Set(subjects.flatMap((subject) => subject.toLowerCase().split(', ')))
  }
  await refresh()
  return { has: (address: Address) => known.has(address), refresh }
}

/** Fees are those of a block that is at most this old. */
const FEES_MS = 500

/** Builds the operator's own endpoints, which ask the facilitator as every shop does. Without any it takes them off the list. */
async function openHosted(
  world: HalfWorld,
  directory: Directory,
  ask: AskFacilitator,
): Promise<Omit<Hosted, 'stop'>> {
  const { place, networks, stores, payments, isShared, isKeeper, log } = world
  const [listed] = networks
  const { config, secrets } = place
  const { listings, probe } = directory.ports
  const { hostedPrivateKey: privateKey } = secrets
  if (config.hosted === undefined || privateKey === undefined) {
    const nowSeconds = () => toSeconds(Date.now())
    return { plugin: undefined, start: () => unlistHosted(listings, nowSeconds) }
  }
  // The plugin with its schemes takes memory that a service without own endpoints does not need.
  const { createHosted } = await import('../../hosted/hosted.js')
  const { rpc, tokens } = listed
  const { 'batch-settlement': batch, upto } = schemeContracts
  const contracts = await watchContracts(rpc, { 'batch-settlement': batch, upto }, log)
  world.teardown.add('watch of the contracts', contracts.stop)
  const readHead = shareReads(FEES_MS, Date.now, () => readBlock(rpc, 'latest'))
  const hosted = await createHosted({
    isShared,
    isKeeper,
    listings,
    probe,
    privateKey,
    log,
    baseUrl: config.baseUrl,
    settings: config.hosted,
    batchContracts: contracts.of('batch-settlement'),
    uptoContracts: contracts.of('upto'),
    client: ask.client,
    records: stores.hostedRecords,
    findPayment: payments.byNonce,
    network: listed.place.network,
    token: tokens[0],
    async readFees() {
      const block = await readHead()
      return block && { baseFeePerGas: block.baseFeePerGas, blockTime: block.timestamp }
    },
  })
  world.teardown.add('hosted endpoints', hosted.stop)
  return hosted
}

/** Makes the server of this half, with its routes. Limits of requests, and headers of security, are set by the main thread. */
async function openServer(
  { place: { config, mainRoutes }, stores: { activity }, networks, checksum, now, log }: HalfWorld,
  directory: Directory,
  { readStatus: readFacilitator }: AskFacilitator,
): Promise<FastifyInstance> {
  const pages = openConsole(config)
  if (!pages.isBuilt) log.warn('the console is not built: run "npm run build"')
  const app = createServer({
    logger: log,
    bodyLimitBytes: BODY_LIMIT_BYTES,
    settleWaitSeconds: config.settleWaitSeconds,
    // Only the main thread reaches this server, and it names the caller.
    trustProxy: true,
  })
  installErrorHandling(app, {
    isStoreGone: (error) => error instanceof StoreUnavailableError,
    isChainUnread: (error) =>
      error instanceof RpcUnavailableError || error instanceof RpcResponseError,
  })
  installNotFound(app, pages.answerPage)
  await installCors(app)
  reportMadeBytes(app)
  installOpenApi(app, { servers: [config.baseUrl, config.directoryUrl], others: mainRoutes })
  statusRoutes(app, createStatus({ readFacilitator, activity, now }))
  const taken = networks.map((it) => describeAssets(it.terms, checksum))
  const areBought = directory.figures.checks !== undefined
  consoleSettingsRoute(app, toConsoleSettings(config, taken, areBought))
  await pages.install(app)
  await app.register(directory.plugin, pages)
  return app
}
