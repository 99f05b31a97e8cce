import type { Keccak256 } from '@arcus/protocol/x402/keccak'
import cookie from '@fastify/cookie'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import type { Address } from 'viem'
import { type Background, createBackground, type MayGoOn } from '../async/background.js'
import { toSeconds } from '../async/time.js'
import { createAuthorizationUses } from '../chain/authorization-uses.js'
import { readBlock } from '../chain/blocks.js'
import { isContractSignature } from '../chain/contract-wallet.js'
import type { Rpc } from '../chain/rpc.js'
import { RpcUnavailableError } from '../chain/rpc-errors.js'
import type { SignerRecovery } from '../chain/signer-recovery.js'
import { readBalance, readIsBlocklisted, type Token } from '../chain/token.js'
import { installCompression } from '../http/compression.js'
import type { AnswerPage } from '../http/not-found.js'
import { createAttributor } from './activity/attribution.js'
import { createExploreFigures, exploreRoutes } from './activity/explore-routes.js'
import { createActivityRecorder, type HandedAnswer } from './activity/recorder.js'
import { activityRoutes } from './activity/routes.js'
import { createSettlementFeed } from './activity/settlement-feed.js'
import { createShownSettlements } from './activity/shown-settlements.js'
import { createPublicTotals } from './activity/summary.js'
import { createUsageRefresh, pauseAfterRefresh } from './activity/usage-refresh.js'
import { createDiscovery } from './discovery/discovery.js'
import { toItem } from './discovery/item.js'
import { discoveryRoutes } from './discovery/routes.js'
import { createEvents, type EventsWorld } from './events/events.js'
import { pageRoutes } from './exports/public-pages.js'
import { exportRoutes } from './exports/routes.js'
import { createIdentityReader } from './identity/identity-checks.js'
import { IdentityWatch } from './identity/identity-watch.js'
import { createIdentityRegistry, IDENTITY_NETWORK } from './identity/registry.js'
import { createKeptAnswers } from './listings/kept-answers.js'
import { merchantListRoutes } from './listings/merchant-list-routes.js'
import { createMerchantView } from './listings/merchant-view.js'
import { writeRoutes } from './listings/routes.js'
import { createSaveAllowances, createSaveProbes } from './listings/save-probes.js'
import {
  createSignatureCheck,
  createWriteCheck,
  createWriteQuota,
} from './listings/signed-write.js'
import { createSigningTerms } from './listings/signing-terms.js'
import { createWrites } from './listings/writes.js'
import { mcpRoutes } from './mcp/routes.js'
import { createCatalogTools } from './mcp/tools.js'
import type { CheckBuyer } from './paid-checks/buyer.js'
import { Checks } from './paid-checks/checks.js'
import type { CheckSigner } from './paid-checks/open-checks.js'
import { checkRoutes } from './paid-checks/routes.js'
import type { SharedPorts } from './ports.js'
import { createBuyerFetch } from './probe/buyer-fetch.js'
import { createCallBudget, createHostPace } from './probe/call-limits.js'
import { historyRoutes } from './probe/endpoint-history.js'
import { createGuardedFetch, type GuardedFetch, type OwnCalls } from './probe/guarded-fetch.js'
import { createLiveTerms, createProbe, type Probe } from './probe/probe.js'
import { probeRoutes } from './probe/probe-routes.js'
import { ProbeSchedule } from './probe/probe-schedule.js'
import { tryAllowance, tryRoutes } from './probe/try-routes.js'
import { createValidator, validateRoutes } from './probe/validate-routes.js'
import { AutoCatalog } from './seen-in-payments/auto-catalog.js'
import { BarePayments } from './seen-in-payments/bare-payments.js'
import { createInfoCheck } from './seen-in-payments/info-check.js'
import type { OfferedResource } from './seen-in-payments/offer.js'
import { createProbeEffects } from './seen-in-payments/probe-effects.js'
import { statusRoutes } from './seen-in-payments/status-routes.js'
import { sessionRoutes } from './session/session-routes.js'
import { createSessions, createSignIn } from './session/sign-in.js'
import type { CatalogEntry, ListingStore } from './store/listings.js'
import type { DirectoryStores } from './store/stores.js'

/** The settings of the directory. */
export interface DirectorySettings extends ProbingSettings {
  readonly activityRetentionDays: number
  readonly identityRegistry: Address
  /** Origins whose pages may call `/mcp`, apart from our own. */
  readonly mcpAllowedOrigins: readonly string[]
  /** New owners accepted from one block of addresses; 0 is no limit. */
  readonly newOwnersPerHour: number
  /** The bounds on paid checks, in dollars with 6 decimals: of a UTC day, and of one check. */
  readonly checks: { readonly dailyLimit: bigint; readonly maxAmount: bigint }
  /** Whether pages call and pay endpoints, by themselves or through this service. */
  readonly tryIt: boolean
}

/** The stores and services that the directory uses. The caller closes them after `stop`. */
export interface DirectoryPorts
  extends Pick<EventsWorld, 'readPayment' | 'webhookKey' | 'operatorWebhook'>,
    Omit<SharedPorts, 'network'> {
  stores: DirectoryStores
  /** The database that a thread can read over a connection of its own; `undefined` for one in memory. */
  threadSource: string | undefined
  /** The network that listings are about: the mainnet where it is served. */
  rpc: Rpc
  /** Every token of that network; the first is the default one. */
  tokens: readonly [Token, ...Token[]]
  keccak256: Keccak256
  recovery: SignerRecovery
  ownCalls: OwnCalls
  /** Buys from listed endpoints; `undefined` where nothing is bought. */
  buyer: CheckBuyer | undefined
  /** Signs what was found; `undefined` where nothing is signed. */
  checkSigner: CheckSigner | undefined
  log: FastifyBaseLogger
}

/** The console as the directory needs it. */
interface ConsolePages {
  answerPage: AnswerPage
  /** The paths of the pages that everybody may see. */
  publicPages: readonly string[]
}

/** Discovery and the merchant directory, built and not yet started. */
export interface Directory {
  /** Serves `/discovery`, `/api` and `/mcp`, the pages of merchants by `answerPage`, and a sitemap of all pages. */
  plugin(app: FastifyInstance, pages: ConsolePages): Promise<void>
  /** All that it does by itself. Others may add to it before it starts. */
  background: Background
  start(): void
  /** Call it before the database is closed. */
  stop(): Promise<void>
  ports: {
    /** Keeps answers of the facilitator, for figures. Rejects if the store fails: then some may be kept. */
    keepAnswers(answers: readonly HandedAnswer[]): Promise<void>
    /** Lists the resource that a settled payment names. */
    takeOffer: (offer: OfferedResource) => ReturnType<AutoCatalog['take']>
    /** Takes in a settled payment that its buyer did not describe, and reports what became of it, now or later. */
    takeBare: BarePayments['take']
    noteRefusal: AutoCatalog['noteRefusal']
    listings: ListingStore
    probe: Probe
  }
  figures: {
    index: ReturnType<typeof createDiscovery>['figures']
    probes: ProbeSchedule['figures']
    /** Answers since the start whose activity could not be kept. */
    dropped(): number
    /** `undefined` where nothing is bought. */
    checks: Checks['figures'] | undefined
  }
}

/** Builds every value of discovery and directory. */
export function createDirectory(settings: DirectorySettings, ports: DirectoryPorts): Directory {
  const { network } = ports.tokens[0]
  const log = ports.log.child({ module: 'directory' })
  const world = { ...ports, settings, log, network }
  const parts = createParts(world)
  const { probing, discovery, identities, checks, recorder, settlements, events, seen, bare } =
    parts
  const { schedule, probe } = probing
  const background = listBackgroundWork(world, parts)
  return {
    async plugin(app, pages) {
      // A scope of its own, so that hooks of the directory do not touch payments.
      await app.register(async (scope) => addRoutes(scope, world, parts, pages))
      // The MCP routes have a body parser of their own.
      await app.register(async (scope) => mcpRoutes(scope, mcpOptions(world, parts)))
    },
    background,
    start() {
      discovery.start()
      background.start()
    },
    async stop() {
      probing.stop()
      identities.stop()
      checks?.stop()
      const underWay = [schedule.stop(), bare.stop(), events.stop(), settlements.stop()]
      await Promise.all([background.stop(), discovery.stop(), ...underWay])
    },
    ports: {
      async keepAnswers(answers) {
        // Listings are about one network, so payments on another are nobody's revenue.
        const own = answers.filter(({ payment }) => payment.network === network)
        for (const answer of own) checks?.noteAnswer(answer)
        await recorder.keep(own)
      },
      takeOffer: (offer) => seen.take(offer),
      takeBare: (payment, report) => bare.take(payment, report),
      noteRefusal: (refused) => seen.noteRefusal(refused),
      listings: ports.stores.listings,
      probe,
    },
    figures: {
      index: discovery.figures,
      probes: () => schedule.figures(),
      dropped: recorder.dropped,
      checks: checks && (() => checks.figures()),
    },
  }
}

/**
 * Lists all background work of the directory. Work that runs only while somebody asks or listens has no task here: to bring
 * the catalog in memory up to date, and to follow settlements.
 */
function listBackgroundWork(world: DirectoryWorld, parts: DirectoryParts): Background {
  const { isKeeper, isDiskLow, lookMs, log } = world
  const { schedule } = parts.probing
  const { identities, recorder, refreshUsage, events, checks } = parts
  const background = createBackground({ isKeeper, isDiskLow, log })
  const once = { keeper: true }
  const onceWithSpace = { keeper: true, spareDisk: true }
  // Each process probes early what its payments name; the schedule leaves what is due to the keeper.
  background.every('probe endpoints', 1_000, () => schedule.look())
  background.every(
    'check identities',
    () => identities.pauseMs(),
    () => identities.look(),
  )
  background.every('forget old activity', 60_000, recorder.forgetOld, once)
  background.every(
    'count usage',
    (tookMs) => pauseAfterRefresh(tookMs, lookMs ?? 2_000),
    refreshUsage,
    once,
  )
  // A replica of another version may publish in its own way until it ends.
  background.every('publish again', 10_000, (mayGoOn) => publishAnew(world, mayGoOn), onceWithSpace)
  const { collector, sender } = events
  background.every('add events to feeds', lookMs ?? 1_000, collector.collect, onceWithSpace)
  background.every('forget old events', 60_000, collector.forgetOld, once)
  // Processes share the webhooks by leases.
  background.every('call webhooks', lookMs ?? 1_000, () => sender.look())
  if (checks !== undefined) {
    background.every('buy from endpoints', 2_000, (mayGoOn) => checks.run(mayGoOn), onceWithSpace)
  }
  return background
}

type DirectoryParts = ReturnType<typeof createParts>

/** Builds the parts of the directory, each with those that it needs. */
function createParts(world: DirectoryWorld) {
  const { settings, rpc, tokens, stores, now, log } = world
  const { listings, activity } = stores
  const { baseUrl, directoryUrl, activityRetentionDays: retentionDays } = settings
  const { origin: audience, host: domain } = new URL(directoryUrl)
  const probing = createProbing(world)
  const { rules, fetch, guarded, probe, infoCheck, schedule } = probing
  const identities = createIdentities({ ...world, fetch })
  const asksContract: AsksContract = (claim) => isContractSignature(rpc, claim)
  const { writes, check, quota } = createSignedWrites({
    ...world,
    audience,
    probe,
    asksContract,
    onApplied: (merchantId) => void identities.checkNow(merchantId),
  })
  const discovery = createDiscovery({
    source: world.threadSource,
    store: listings,
    onFault: (err) => log.warn({ err }, 'catalog could not be read; trying again'),
  })
  const probeSoon = (endpointId: number) => schedule.probeSoon(endpointId)
  const seen = new AutoCatalog({
    ...world,
    store: listings,
    infoCheck,
    probeSoon,
    keepProbe: (endpointId, result) => schedule.keepProbe(endpointId, result),
  })
  const attributor = createAttributor(listings)
  const bare = new BarePayments({
    ...world,
    store: listings,
    catalog: seen,
    async findOnly(payment) {
      await attributor.refresh()
      const { payTo, toolName } = payment
      const found = await attributor.find(payTo, undefined, { toolName, paid: payment })
      return found?.endpointId ?? null
    },
    probe,
    pace: probing.pace,
    probeSoon,
  })
  const dollars = dollarsAmong(tokens)
  const checks = createPaidChecks({ ...world, probing, dollars })
  const buying = new Set(world.buyer?.wallets)
  const recorder = createActivityRecorder({
    ...world,
    // Paid checks are no customers.
    isRelayer: (address) => world.isRelayer(address) || buying.has(address),
    store: activity,
    asset: dollars?.address,
    attributor,
    retentionDays,
  })
  const readTotals = createPublicTotals({ store: activity, now })
  const toShown = createShownSettlements({ ...world, listings, checkers: buying })
  const sessions = createSessions(stores.sessions, now, audience)
  const place = { sessions, domain, uri: audience }
  const { chainId } = tokens[0]
  return {
    audience,
    probing,
    identities,
    writes,
    check,
    quota,
    discovery,
    seen,
    bare,
    checks,
    recorder,
    refreshUsage: createUsageRefresh({ activity, store: stores.usage, now }),
    readTotals,
    readFigures: createExploreFigures({ activity, readTotals, now }),
    toShown,
    checkers: buying,
    settlements: createSettlementFeed({ ...world, store: stores.settlements, toShown }),
    sessions,
    place,
    events: createEvents({ ...world, baseUrl, sessions, rules, check, quota, fetch: guarded }),
    signIn: createSignIn({
      ...place,
      isContractSignature: asksContract,
      chainIds: [chainId],
      now,
    }),
  }
}

/** Adds all routes of discovery and of the directory but those of MCP. */
async function addRoutes(
  app: FastifyInstance,
  world: DirectoryWorld,
  parts: DirectoryParts,
  { answerPage, publicPages }: ConsolePages,
): Promise<void> {
  const { settings, stores, tokens, network, checksum, now } = world
  const { baseUrl, directoryUrl, activityRetentionDays: retentionDays } = settings
  const { listings } = stores
  const { chainId } = tokens[0]
  const { validator, budget, pace, schedule, tryIt } = parts.probing
  const { audience, discovery, readTotals, sessions, check, checks, quota } = parts
  await installCompression(app)
  await app.register(cookie)
  await app.register(discoveryRoutes, { answers: discovery.bodies })
  await app.register(validateRoutes, { validator, budget, pace })
  const findRefusals = (url: string) => parts.seen.findRefusals(url)
  await app.register(statusRoutes, { store: listings, findRefusals, checksum })
  const about = { facilitator: baseUrl, checksum }
  const list = { discovery: discovery.bodies, store: listings, now }
  await app.register(merchantListRoutes, { ...list, ...about })
  const kept = createKeptAnswers()
  await app.register(exportRoutes, { store: listings, kept, ...about })
  await app.register(pageRoutes, {
    store: listings,
    kept,
    readTotals,
    answerPage,
    publicPages,
    directoryUrl,
  })
  await app.register(writeRoutes, {
    writes: parts.writes,
    listings,
    kept,
    chainId,
    now,
    view: createMerchantView(listings, checksum, now),
    signingTerms: createSigningTerms({ audience, network, chainId, tokens, checksum, now }),
  })
  await app.register(historyRoutes, { store: listings, history: stores.history, now })
  await app.register(probeRoutes, { store: listings, schedule, budget })
  if (settings.tryIt) await app.register(tryRoutes, { store: listings, ...tryIt })
  await app.register(sessionRoutes, { ...parts.place, signIn: parts.signIn, chainId, checksum })
  await app.register(activityRoutes, {
    tokens,
    retentionDays,
    readTotals,
    listings,
    sessions,
    checksum,
    findRefunds: world.findRefunds,
    findUnlisted: (payTo) => parts.seen.findRefusalsOf(payTo),
    now,
    store: stores.activity,
    checkers: parts.checkers,
  })
  await app.register(exploreRoutes, {
    read: parts.readFigures,
    feed: parts.settlements,
    store: stores.settlements,
    listings,
    toShown: parts.toShown,
  })
  await parts.events.routes(app)
  const requests = { store: stores.checks, listings, check, quota, now }
  const obstacleOf = checks && ((entry: CatalogEntry) => checks.obstacleOf(entry))
  await app.register(checkRoutes, { ...requests, obstacleOf })
}

function mcpOptions(
  { settings, stores: { listings } }: DirectoryWorld,
  { discovery, probing: { liveTerms } }: DirectoryParts,
) {
  const { baseUrl, directoryUrl, mcpAllowedOrigins } = settings
  return {
    tools: createCatalogTools({ answers: discovery.bodies, listings, toItem, liveTerms }),
    allowedOrigins: [...new Set([baseUrl, directoryUrl, ...mcpAllowedOrigins])],
  }
}

/** The ports of the directory, and what its parts share. */
interface DirectoryWorld extends DirectoryPorts, SharedPorts {
  settings: DirectorySettings
}

/** Returns the token that sums of activity are in; `undefined` where no dollars are settled. */
function dollarsAmong(tokens: readonly Token[]): Token | undefined {
  return tokens.find(({ currency }) => currency === 'USD')
}

/** Builds the paid checks; `undefined` where there is nobody or nothing to pay with. */
function createPaidChecks({
  settings,
  stores,
  buyer,
  dollars,
  rpc,
  probing: { rules, pace, schedule },
  ...world
}: DirectoryWorld & { probing: ReturnType<typeof createProbing>; dollars: Token | undefined }) {
  if (buyer === undefined || dollars === undefined) return undefined
  return new Checks({
    ...world,
    ...settings.checks,
    buyer,
    pace,
    probeSoon: (endpointId) => schedule.probeSoon(endpointId),
    store: stores.checks,
    listings: stores.listings,
    signer: world.checkSigner,
    openFetch: createBuyerFetch(rules, world.ownCalls),
    isPrivateAllowed: rules.allowPrivateHosts,
    asset: dollars.address,
    findUse: createAuthorizationUses(rpc),
    async canPay(wallet, amount) {
      if (world.isPayerBlocked(wallet)) return false
      const [balance, isBlocklisted] = await Promise.all([
        readBalance(rpc, dollars, wallet),
        readIsBlocklisted(rpc, dollars.address, wallet),
      ])
      return balance >= amount && isBlocklisted !== true
    },
    async readHead() {
      const head = await readBlock(rpc, 'latest')
      if (head === undefined) throw new RpcUnavailableError('no node has a block')
      return head
    },
  })
}

/** Merchants that are published again in one transaction, which other writes wait for. */
const PUBLISHED_AT_ONCE = 20

/** Publishes again what another version of the service published. */
async function publishAnew({ stores, now }: DirectoryWorld, mayGoOn: MayGoOn): Promise<void> {
  const publish = () => stores.listings.publishAnew(PUBLISHED_AT_ONCE, toSeconds(now()))
  while (mayGoOn() && (await publish()) > 0);
}

/** Builds the watch of ERC-8004 identities. */
function createIdentities({
  settings,
  rpc,
  network,
  stores: { listings: store },
  fetch,
  now,
  log,
}: DirectoryWorld & { fetch: GuardedFetch }) {
  const registry = createIdentityRegistry({
    rpc: network === IDENTITY_NETWORK ? rpc : undefined,
    registry: settings.identityRegistry,
  })
  const allowHttp = settings.probeAllowPrivateHosts
  const readIdentity = createIdentityReader({ registry, fetch, now, allowHttp })
  return new IdentityWatch({ store, registry, readIdentity, now, log })
}

type AsksContract = (claim: Parameters<typeof isContractSignature>[1]) => Promise<boolean>

/** Builds the signed writes of listings with all their checks. */
function createSignedWrites(
  world: DirectoryWorld & {
    audience: string
    probe: Probe
    asksContract: AsksContract
    /** Called after each write of a merchant. */
    onApplied(merchantId: string): void
  },
) {
  const { settings, stores, tokens, network, audience, probe, now } = world
  const { keccak256, recovery, asksContract: isContractSignature } = world
  const { listings } = stores
  const { chainId } = tokens[0]
  const checkSignature = createSignatureCheck({ chainId, recovery, isContractSignature })
  const { isDiskLow, isPayToBlocked } = world
  const checking = { listings, audience, chainId, checkSignature, keccak256, isPayToBlocked, now }
  const check = createWriteCheck(checking)
  const maxNewOwners = settings.newOwnersPerHour
  const quota = createWriteQuota({ listings, maxNewOwners, isDiskLow, now })
  const writes = createWrites({
    listings: {
      ...listings,
      async applyWrite(write, change) {
        const result = await listings.applyWrite(write, change)
        // Any write can change the facts that an identity was checked against.
        if (result.state === 'applied') world.onApplied(write.merchantId)
        return result
      },
    },
    probe: createSaveProbes({ probe, network, tokens, now }),
    allowances: createSaveAllowances(now),
    check,
    quota,
    network,
    tokens,
    now,
  })
  return { writes, check, quota }
}

interface ProbingSettings {
  /** The public address of this service. */
  readonly baseUrl: string
  /** The public address of the directory. */
  readonly directoryUrl: string
  /** Whether endpoints may be on private networks, without TLS. */
  readonly probeAllowPrivateHosts: boolean
}

/** Builds everything that calls addresses of strangers, with one guard, one pace and one budget for all of it. */
function createProbing(world: DirectoryWorld & { settings: ProbingSettings }) {
  const { settings, ownCalls, network, tokens, isKeeper, now, log } = world
  const { baseUrl, directoryUrl, probeAllowPrivateHosts: allowPrivateHosts } = settings
  const { listings: store } = world.stores
  const stopping = new AbortController()
  const rules = { allowPrivateHosts, ownOrigins: [baseUrl, directoryUrl] }
  const guarded = createGuardedFetch({ ...rules, baseUrl, signal: stopping.signal })
  const fetch = ownCalls.around(guarded)
  const probe = createProbe({ fetch, network, tokens, now })
  const pace = createHostPace(now)
  const budget = createCallBudget({ now })
  const infoCheck = createInfoCheck(now)
  const effectOf = createProbeEffects({ infoCheck })
  return {
    rules,
    fetch,
    guarded,
    probe,
    pace,
    budget,
    infoCheck,
    schedule: new ProbeSchedule({ store, probe, isKeeper, effectOf, now, pace, log }),
    validator: createValidator({ fetch, rules, network, tokens, now }),
    liveTerms: createLiveTerms({ fetch, budget, pace, network, tokens }),
    /** A limit of its own, so that probes and people who wait do not hold each other up. */
    tryIt: { fetch, budget: createCallBudget({ now, ...tryAllowance }) },
    /** Aborts every call under way. */
    stop: () => stopping.abort(),
  }
}
