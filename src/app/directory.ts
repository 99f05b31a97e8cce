import type { Keccak256 } from '@arcus/protocol/x402/keccak'
import type { PaymentAnswer } from '@arcus/protocol/x402/payment'
import cookie from '@fastify/cookie'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import type { Address } from 'viem'
import { isContractSignature } from '../chain/contract-wallet.js'
import { readReceived } from '../chain/received.js'
import type { Rpc } from '../chain/rpc.js'
import type { SignerRecovery } from '../chain/signer-recovery.js'
import type { Token } from '../chain/token.js'
import { createAttributor } from '../directory/activity/attribution.js'
import { createExploreFigures } from '../directory/activity/explore-figures.js'
import { exploreRoutes } from '../directory/activity/explore-routes.js'
import { createActivityRecorder } from '../directory/activity/recorder.js'
import { activityRoutes } from '../directory/activity/routes.js'
import { createSettlementFeed } from '../directory/activity/settlement-feed.js'
import { createPublicTotals } from '../directory/activity/summary.js'
import { createUsageRefresh } from '../directory/activity/usage-refresh.js'
import { createDiscovery, type DiscoveryBodies } from '../directory/discovery/discovery.js'
import { toItem } from '../directory/discovery/item.js'
import { discoveryRoutes } from '../directory/discovery/routes.js'
import { exportRoutes } from '../directory/exports/routes.js'
import { createIdentityReader } from '../directory/identity/checks.js'
import { createIdentityWatch } from '../directory/identity/identity-watch.js'
import { createIdentityRegistry, IDENTITY_NETWORK } from '../directory/identity/registry.js'
import { merchantListRoutes } from '../directory/listings/merchant-list-routes.js'
import { createMerchantView } from '../directory/listings/merchant-view.js'
import { pageRoutes } from '../directory/listings/pages.js'
import { writeRoutes } from '../directory/listings/routes.js'
import { createSaveProbes } from '../directory/listings/save-probes.js'
import { createSignatureCheck, createWriteCheck } from '../directory/listings/signed-write.js'
import { createSigningTerms } from '../directory/listings/signing-terms.js'
import { createSaveAllowances, createWriteQuota } from '../directory/listings/write-limits.js'
import { createWrites } from '../directory/listings/writes.js'
import { mcpRoutes } from '../directory/mcp/routes.js'
import { createCatalogTools } from '../directory/mcp/tools.js'
import { createCallBudget, createHostPace } from '../directory/probe/call-limits.js'
import { historyRoutes } from '../directory/probe/endpoint-history.js'
import { createGuardedFetch, type GuardedFetch } from '../directory/probe/guarded-fetch.js'
import type { OwnCalls } from '../directory/probe/own-calls.js'
import {
  createLiveTerms,
  createProbe,
  type LiveTerms,
  type Probe,
} from '../directory/probe/probe.js'
import { probeRoutes } from '../directory/probe/probe-routes.js'
import { createProbeSchedule } from '../directory/probe/probe-schedule.js'
import { tryAllowance, tryRoutes } from '../directory/probe/try-routes.js'
import { createValidator, validateRoutes } from '../directory/probe/validate-routes.js'
import { createFeedbackMaker } from '../directory/ratings/feedback.js'
import { createRatings, type FindPayment } from '../directory/ratings/ratings.js'
import { ratingRoutes } from '../directory/ratings/routes.js'
import { createAutoCatalog } from '../directory/seen/auto-catalog.js'
import { createInfoCheck } from '../directory/seen/info-check.js'
import { createProbeEffects } from '../directory/seen/probe-effects.js'
import { statusRoutes } from '../directory/seen/status-routes.js'
import { sessionRoutes } from '../directory/session/session-routes.js'
import { createSessions, createSignIn } from '../directory/session/sign-in.js'
import type { ListingStore } from '../directory/store/listings.js'
import type { BazaarIntake } from '../facilitator/routes.js'
import { installCompression } from '../http/headers.js'
import type { Config } from './config/config.js'
import type { Console } from './console.js'
import { composeEvents, type EventsWorld } from './events.js'
import type { WatchedDirectory } from './metrics/metrics.js'
import type { ComposedStores } from './stores.js'

/** Discovery and the merchant directory, built and not yet started. */
export interface ComposedDirectory {
  routes(app: FastifyInstance, pages: Console): Promise<void>
  /** Lists the resources that settled payments name. */
  bazaar: BazaarIntake
  onAnswer(answer: PaymentAnswer): void
  figures: WatchedDirectory
  reads: { answers: DiscoveryBodies; listings: ListingStore; liveTerms: LiveTerms; probe: Probe }
  start(): void
  /** Call it before the database is closed. */
  close(): Promise<void>
}

interface DirectoryWorld {
  config: Config
  ownCalls: OwnCalls
  /** The network listings are about: the mainnet where it is served. */
  rpc: Rpc
  /** Every token of that network; the first is the default one. */
  tokens: readonly [Token, ...Token[]]
  stores: ComposedStores['forDirectory']
  /** Whether other processes may use the same database. */
  isShared: boolean
  keccak256: Keccak256
  recovery: SignerRecovery
  checksum: (address: Address) => Address
  isRelayer: (address: Address) => boolean
  /** Wallets that pay refunds on behalf of another address, with that address; lower-case. */
  refundWallets: ReadonlyMap<Address, Address>
  isPayToBlocked: (payTo: Address) => boolean
  isPayerBlocked: (payer: Address) => boolean
  findPayment: FindPayment
  secrets: EventsWorld['secrets']
  /** Whether the disk is nearly full, so that everything but payments is left out. */
  isDiskLow: () => boolean
  /** Unix milliseconds. */
  now: () => number
  log: Logger
}

/** Builds every value of discovery and directory. */
export function composeDirectory(world: DirectoryWorld): ComposedDirectory {
  const { config, rpc, tokens, checksum, now } = world
  const { network, chainId } = tokens[0]
  const log = world.log.child({ module: 'directory' })
  const { listings: store, activity } = world.stores
  const audience = new URL(config.directoryUrl).origin

  const probing = composeProbing({ ...world, store, network, log })
  const { rules, fetch, guarded, probe, pace, budget, infoCheck, schedule, validator } = probing

  const identities = composeIdentities({ ...world, store, fetch, log })

  const asksContract: AsksContract = (claim) => isContractSignature(rpc, claim)
  const { writes, check, checkSignature, quota } = composeWrites({
    ...world,
    store,
    audience,
    probe,
    asksContract,
    onApplied: (merchantId) => void identities.checkNow(merchantId),
  })

  const discovery = createDiscovery({
    source: world.stores.threadSource,
    store,
    onFault: (err) => log.warn({ err }, 'catalog could not be read; trying again'),
  })
  const bazaar = createAutoCatalog({
    store,
    networks: new Map([[network, tokens]]),
    infoCheck,
    probeSoon: schedule.probeSoon,
    targetRules: rules,
    isPayToBlocked: world.isPayToBlocked,
    isDiskLow: world.isDiskLow,
    now,
    log,
  })
  const recorder = createActivityRecorder({
    onPaid: (from, to) => ratings.reweigh(from, to),
    store: activity,
    asset: dollarsAmong(tokens),
    attributor: createAttributor(store),
    isRelayer: world.isRelayer,
    isDiskLow: world.isDiskLow,
    refundWallets: world.refundWallets,
    findPayment: world.findPayment,
    retentionDays: config.activityRetentionDays,
    now,
    log,
  })
  const usage = createUsageRefresh({ activity, store: world.stores.usage, now, log })
  const readTotals = createPublicTotals({ store: activity, now })
  const settlements = createSettlementFeed({
    store: world.stores.settlements,
    listings: store,
    tokens,
    checksum,
    log,
  })
  const readFigures = createExploreFigures({ activity, readTotals, now })
  const sessions = createSessions(world.stores.sessions, now, audience)
  const events = composeEvents({
    ...world,
    ...{ sessions, network, rules, log },
    check,
    quota,
    fetch: guarded,
  })
  const domain = new URL(config.directoryUrl).host
  const place = { sessions, domain, uri: audience }
  const ratings = createRatings({
    ...world,
    store: world.stores.ratings,
    history: world.stores.history,
    listings: store,
    readReceived: (query) =>
      readReceived(rpc, { ...query, assets: tokens.map(({ address }) => address) }),
    ...{ check, checkSignature, quota, audience, network },
  })
  const feedback = createFeedbackMaker({
    ...world,
    ratings,
    rpc: network === IDENTITY_NETWORK ? rpc : undefined,
    reputationRegistry: config.reputationRegistry,
    identityRegistry: config.identityRegistry,
    directoryUrl: config.directoryUrl,
  })
  const signIn = createSignIn({
    ...place,
    chainIds: [chainId],
    isContractSignature: asksContract,
    now,
  })

  return {
    bazaar,
    reads: { answers: discovery.bodies, listings: store, liveTerms: probing.liveTerms, probe },
    onAnswer(answer) {
      // Listings are about one network, so payments on another are nobody's revenue.
      if (answer.payment.network === network) recorder.record(answer)
    },
    figures: { index: discovery.figures, probes: schedule.figures, dropped: recorder.dropped },
    async routes(app, { answerPage }) {
      await installCompression(app)
      await app.register(cookie)
      await app.register(discoveryRoutes, { answers: discovery.bodies })
      await app.register(validateRoutes, { validator, budget, pace })
      await app.register(statusRoutes, { store, findRefusals: bazaar.findRefusals, checksum })
      const about = { facilitator: config.baseUrl, checksum }
      await app.register(merchantListRoutes, {
        ...{ discovery: discovery.bodies, store, now },
        ...about,
      })
      await app.register(exportRoutes, { store, ...about })
      await app.register(pageRoutes, {
        store,
        readTotals,
        answerPage,
        directoryUrl: config.directoryUrl,
      })
      await app.register(writeRoutes, {
        writes,
        listings: store,
        view: createMerchantView(store, checksum, now),
        chainId,
        signingTerms: createSigningTerms({
          audience,
          network,
          chainId,
          tokens,
          checksum,
          now,
        }),
      })
      await app.register(historyRoutes, { store, history: world.stores.history, now })
      await app.register(probeRoutes, { store, schedule, budget })
      if (config.tryIt) await app.register(tryRoutes, { store, ...probing.tryIt })
      await app.register(sessionRoutes, { ...place, signIn, chainId, checksum })
      await app.register(activityRoutes, {
        tokens,
        retentionDays: config.activityRetentionDays,
        store: activity,
        readTotals,
        listings: store,
        sessions,
        checksum,
        now,
      })
      await app.register(exploreRoutes, { read: readFigures, feed: settlements })
      await events.routes(app)
      await app.register(ratingRoutes, {
        ...{ ratings, feedback, checksum },
        store: world.stores.ratings,
        listings: store,
      })
    },
    start() {
      discovery.start()
      schedule.start()
      events.start()
      usage.start()
      recorder.start()
      // Payments do not wait for it; it never rejects.
      void identities.start()
    },
    async close() {
      probing.stop()
      identities.stop()
      await Promise.all([events.stop(), settlements.stop()])
      await Promise.all([schedule.stop(), bazaar.stop(), discovery.stop(), recorder.stop()])
      await usage.stop()
    },
  }
}

/** Returns the token that sums of activity are in; `undefined` where no dollars are settled. */
function dollarsAmong(tokens: readonly Token[]): Address | undefined {
  return tokens.find(({ currency }) => currency === 'USD')?.address
}

/** Builds the watch of ERC-8004 identities. */
function composeIdentities({
  config,
  rpc,
  tokens,
  store,
  fetch,
  now,
  log,
}: DirectoryWorld & { store: ListingStore; fetch: GuardedFetch }) {
  const registry = createIdentityRegistry({
    rpc: tokens[0].network === IDENTITY_NETWORK ? rpc : undefined,
    registry: config.identityRegistry,
  })
  const readIdentity = createIdentityReader({
    registry,
    fetch,
    now,
    allowHttp: config.probeAllowPrivateHosts,
  })
  return createIdentityWatch({ store, registry, readIdentity, now, log })
}

interface WritesWorld extends DirectoryWorld {
  store: ListingStore
  audience: string
  probe: Probe
  asksContract: AsksContract
  /** Called after each write of a merchant. */
  onApplied(merchantId: string): void
}

type AsksContract = (claim: Parameters<typeof isContractSignature>[1]) => Promise<boolean>

/** Builds the signed writes of listings with all their checks. */
function composeWrites(world: WritesWorld) {
  const { config, tokens, store, audience, probe, now } = world
  const { keccak256, recovery, asksContract } = world
  const { network, chainId } = tokens[0]
  const checkSignature = createSignatureCheck({
    chainId,
    recovery,
    isContractSignature: asksContract,
  })
  const check = createWriteCheck({
    listings: store,
    audience,
    chainId,
    checkSignature,
    keccak256,
    now,
  })
  const quota = createWriteQuota({
    listings: store,
    maxNewOwners: config.newOwnersPerHour,
    isDiskLow: world.isDiskLow,
    now,
  })
  const writes = createWrites({
    listings: {
      ...store,
      async applyWrite(write, change) {
        const result = await store.applyWrite(write, change)
        // Any write can change the facts that an identity was checked against.
        if (result.state === 'applied') world.onApplied(write.merchantId)
        return result
      },
    },
    check,
    probe: createSaveProbes({ probe, network, tokens, now }),
    allowances: createSaveAllowances(now),
    quota,
    network,
    tokens,
    now,
  })
  return { writes, check, checkSignature, quota }
}

interface ProbingWorld
  extends Pick<DirectoryWorld, 'config' | 'ownCalls' | 'tokens' | 'now' | 'log'> {
  store: ListingStore
  /** CAIP-2. */
  network: string
}

/** Builds everything that calls addresses of strangers, with one guard, one pace and one budget for all of it. */
function composeProbing(world: ProbingWorld) {
  const { config, ownCalls, store, network, tokens, now, log } = world
  const { baseUrl, directoryUrl, probeAllowPrivateHosts: allowPrivateHosts } = config
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
    schedule: createProbeSchedule({ store, probe, effectOf, now, pace, log }),
    validator: createValidator({ fetch, rules, network, tokens, now }),
    liveTerms: createLiveTerms({ fetch, budget, pace, network, tokens }),
    /** A budget of its own, so that probes and people who wait do not take turns. */
    tryIt: {
      fetch,
      budget: createCallBudget({ now, ...tryAllowance }),
    },
    /** Aborts every call under way. */
    stop: () => stopping.abort(),
  }
}

/** Builds the routes for agents: the catalog by the Model Context Protocol. */
export function composeMcp(
  { baseUrl, directoryUrl, mcpAllowedOrigins }: Config,
  reads: ComposedDirectory['reads'],
): (app: FastifyInstance) => Promise<void> {
  const tools = createCatalogTools({ ...reads, toItem })
  const allowedOrigins = [...new Set([baseUrl, directoryUrl, ...mcpAllowedOrigins])]
  return (app) => mcpRoutes(app, { tools, allowedOrigins })
}
