import { createChecksum } from '@arcus/protocol/x402/address'
import { isBatchBody } from '@arcus/protocol/x402/batch-request'
import type { Keccak256 } from '@arcus/protocol/x402/keccak'
import type { PaymentAnswer } from '@arcus/protocol/x402/payment'
import type { FacilitatorClient } from '@x402/core/server'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import type { Address } from 'viem'
import { type Background, createBackground, type MayGoOn } from '../async/background.js'
import { createTeardown, type Teardown } from '../async/teardown.js'
import { RpcResponseError, RpcUnavailableError } from '../chain/rpc-errors.js'
import { loadSignerRecovery, type SignerRecovery } from '../chain/signer-recovery.js'
import { installErrorHandling } from '../http/errors.js'
import { StoreUnavailableError } from '../sql/errors.js'
import type { LeaseKeeper } from '../sql/lease-keeper.js'
import { laneLease, UPKEEP } from '../sql/leases.js'
import { createCheckTurns } from './batch/check-turns.js'
import { createBatchSettler } from './batch/settler.js'
import { createBatchVerifier, createVerifiedDepositCheck } from './batch/verifier.js'
import { type OperatorBlocks, readOperatorBlocks } from './journal/blocks.js'
import { forgetOldBooks } from './journal/old-books.js'
import { createShrinking } from './journal/shrinking.js'
import type { FacilitatorStores } from './journal/stores.js'
import { createLocalClient } from './local-client.js'
import { createPaymentFinder, type PaymentFinder } from './lookup/payments.js'
import type { Attestor } from './methods/attestor.js'
import type { Network } from './methods/network.js'
import { createPaymentDigest } from './methods/payment-method.js'
import { openNetwork } from './network.js'
import { type FacilitatorObserver, shielded, silentObserver } from './observer.js'
import type { Signer } from './relayer/signer.js'
import { type FacilitatorLinks, facilitatorRoutes } from './routes.js'
import type { ScreeningList } from './screening/list.js'
import { openScreening, type Screening } from './screening/screening.js'
import {
  type FacilitatorSettings,
  FacilitatorSettingsError,
  type NetworkSettings,
} from './settings.js'
import { createDeliveries, forgetOldKeys } from './settle/deliveries.js'
import { createFailedPayments } from './settle/failed-payments.js'
import { createSettler, type Settle } from './settle/settler.js'
import { createSupported, describeFacilitator } from './supported.js'
import { createPaymentCheck } from './verify/payment-check.js'
import { createVerifiedCheck, createVerifiedPayments } from './verify/verified-payments.js'
import { createVerifier, type Verify } from './verify/verifier.js'

/** What the facilitator needs. The caller closes these after `stop`. */
interface FacilitatorPorts {
  stores: FacilitatorStores
  leases: LeaseKeeper
  keccak256: Keccak256
  /** The wallets that pay the gas, at least one. */
  signers: readonly Signer[]
  /** `undefined` where nothing is attested. */
  attestor?: Attestor | undefined
  /** Accounts of the operator, for which gas is paid whatever the settings say. */
  own?: readonly Address[]
  /** Wallets of the operator that pay refunds on behalf of another address, with that address; lower-case. */
  refundWallets?: ReadonlyMap<Address, Address>
  /** Returns whether a listing is proven to be about a recipient; without it none is. */
  isListed?: (payTo: Address) => boolean | Promise<boolean>
  observer?: FacilitatorObserver
  log: FastifyBaseLogger
}

/** The facilitator, built and not yet started: a Fastify plugin, and what other parts of a process may ask it. */
export interface Facilitator {
  /** Serves `/supported`, `/verify`, `/settle`, `/payments` and `/.well-known/x402`. Register it in any Fastify 5 app. */
  plugin(app: FastifyInstance, links: FacilitatorLinks): Promise<void>
  /** Begins to send transactions. Call it before the first request. */
  start(): Promise<void>
  /** Stops everything, after the last answer is out. */
  stop(): Promise<void>
  /** All that it does by itself. Others may add to it before it starts. */
  background: Background
  ports: {
    networks: readonly [Network, ...Network[]]
    payments: PaymentFinder
    /** Returns whether the operator refuses payments to an address, which is in lower case. */
    isPayToBlocked(payTo: Address): boolean
    /** `undefined` where no list is set. */
    screeningList: ScreeningList | undefined
    recovery: SignerRecovery
    checksum(address: Address): Address
    /** The wallets of all networks, lower-case. */
    addresses: ReadonlySet<Address>
    /** Makes a client for a merchant in the same process. Calls wait until `started` resolves. */
    client(started: Promise<void>, onAnswer: (answer: PaymentAnswer) => void): FacilitatorClient
  }
}

/** Interval at which one replica checks whether another has delivered a success. */
const DELIVERY_POLL_MS = 100

/**
 * Builds verify, settle and the look-up of payments over all networks of the settings. Rejects with
 * `FacilitatorSettingsError`, `TokenMismatchError`, `RpcUnavailableError` or `StoreUnavailableError`.
 */
export async function createFacilitator(
  settings: FacilitatorSettings,
  ports: FacilitatorPorts,
): Promise<Facilitator> {
  const teardown = createTeardown(ports.log)
  try {
    return await build(settings, ports, teardown)
  } catch (error) {
    // The next attempt must not find a relayer of this one still running.
    await teardown.run()
    throw error
  }
}

async function build(
  settings: FacilitatorSettings,
  ports: FacilitatorPorts,
  teardown: Teardown,
): Promise<Facilitator> {
  const { stores, leases, keccak256, attestor, log } = ports
  const observer = shielded(ports.observer ?? silentObserver, log)
  const { now } = leases
  const checksum = createChecksum(keccak256)
  const recovery = await loadSignerRecovery(keccak256)
  log.info({ recovery: recovery.implementation }, 'signature recovery loaded')
  const blocks = await readOperatorBlocks(stores.blocks)
  const screening = await openScreening(settings.screening, observer.screening, log)

  const networks: Network[] = []
  for (const place of settings.networks) {
    const { own = [], isListed = () => false } = ports
    const shared = { ...ports, own, isListed, settings, attestor, observer, teardown, now }
    const policy = { blocks, screening }
    networks.push(await openNetwork(place, { ...shared, ...policy }).catch(namingNodes(place)))
  }
  requireKnownSymbols(settings, networks)
  const addresses = new Set(networks.flatMap(({ relayer }) => relayer.addresses))

  const schemes = createSchemes(settings, ports, { networks, checksum, recovery })
  const verify: Verify = async (body, caller) => {
    const startedAt = performance.now()
    let answer: Awaited<ReturnType<Verify>> | undefined
    try {
      answer = await schemes.verify(body, caller)
      return answer
    } finally {
      observer.verified(body, answer, secondsSince(startedAt))
    }
  }
  const settle: Settle = async (request) => {
    const startedAt = performance.now()
    let result: Awaited<ReturnType<Settle>> | undefined
    try {
      result = await schemes.settle(request)
      return result
    } finally {
      observer.settled(request.body, result, secondsSince(startedAt))
    }
  }
  const supported = createSupported({ networks, attestor, checksum })
  const payments = createPaymentFinder({
    journal: stores.journal,
    terms: new Map(networks.map(({ terms }) => [terms.network as string, terms])),
    explorerUrls: new Map(settings.networks.map((it) => [it.network as string, it.explorerUrl])),
    checksum,
    refundWallets: ports.refundWallets,
    now,
  })
  const about = describeFacilitator(settings, networks, attestor, checksum)
  const background = listBackgroundWork(settings, ports, networks, { blocks, screening })

  return {
    async plugin(app, links) {
      installErrorHandling(app, {
        isStoreGone: (error) => error instanceof StoreUnavailableError,
        isChainUnread: (error) =>
          error instanceof RpcUnavailableError || error instanceof RpcResponseError,
      })
      const resources = { supported: `${settings.baseUrl}/supported`, ...links.resources }
      await facilitatorRoutes(app, {
        ...links,
        supported,
        verify,
        settle,
        payments,
        about: { ...about, resources },
        takeVerified: schemes.takeVerified,
        takeSignature: schemes.takeSignature,
        onClaimed: observer.claimed,
      })
    },
    async start() {
      const lanes = networks.map(({ relayer: { network, addresses } }) =>
        addresses.map((address) => laneLease(network, address)),
      )
      await leases.start([[UPKEEP.facilitator], ...lanes])
      for (const { relayer } of networks) await relayer.start()
      background.start()
      teardown.add('background work', background.stop)
    },
    stop: teardown.run,
    background,
    ports: {
      networks: networks as [Network, ...Network[]],
      payments,
      isPayToBlocked: (payTo) =>
        blocks.isBlocked('payTo', payTo) || (screening?.list?.has(payTo) ?? false),
      screeningList: screening?.list,
      recovery,
      checksum,
      addresses,
      client: (started, onAnswer) =>
        createLocalClient({ verify, settle, supported, started, onAnswer }),
    },
  }
}

/** Lists what the facilitator does by itself, apart from the lanes and from what it reads of the chain. */
function listBackgroundWork(
  { journalRetentionDays }: FacilitatorSettings,
  { stores, leases, log }: FacilitatorPorts,
  networks: readonly Network[],
  { blocks, screening }: { blocks: OperatorBlocks; screening: Screening | undefined },
): Background {
  const { now } = leases
  const isKeeper = () => leases.held(UPKEEP.facilitator) !== undefined
  const background = createBackground({ isKeeper, log })
  const names = networks.map(({ terms }) => terms.network)
  background.every('read operator blocks', 2_000, blocks.refresh)
  const list = screening?.list
  if (list !== undefined) background.every('read screening list', 2_000, () => list.refresh(log))
  const lookAgain = createFailedPayments({
    store: stores.failedJobs,
    journal: stores.journal,
    networks,
    now,
  })
  background.every('look at failed payments again', 30_000, lookAgain, { keeper: true })
  const forgetKeys = (mayGoOn: MayGoOn) => forgetOldKeys(stores.deliveries, now(), mayGoOn)
  background.every('forget idempotency keys', 600_000, forgetKeys, { keeper: true })
  const forgetBooks = (mayGoOn: MayGoOn) => forgetOldBooks(stores.oldBooks, names, now(), mayGoOn)
  background.every('forget old books of gas', 3_600_000, forgetBooks, { keeper: true })
  if (journalRetentionDays !== undefined) {
    const { shrinker } = stores
    const shrink = createShrinking({ shrinker, retentionDays: journalRetentionDays, now, log })
    background.every('shrink old payments', 60_000, shrink, { keeper: true })
  }
  return background
}

/**
 * Builds verify and settle of both schemes. A request goes to the scheme that its requirement names; `exact` explains what
 * is wrong with a body that names none.
 */
function createSchemes(
  { baseUrl, settleWaitSeconds }: FacilitatorSettings,
  { stores, leases, keccak256, log }: FacilitatorPorts,
  world: {
    networks: readonly Network[]
    checksum: (address: Address) => Address
    recovery: SignerRecovery
  },
) {
  const { checksum, recovery } = world
  const { journal, deliveries: deliveryStore } = stores
  const { now, isShared } = leases
  const networks = new Map(world.networks.map((it) => [it.terms.network as string, it]))
  const relayers = new Map(world.networks.map(({ relayer }) => [relayer.network, relayer]))
  const terms = new Map([...networks].map(([name, network]) => [name, network.terms]))
  const computeDigest = createPaymentDigest(keccak256)
  const checkPayment = createPaymentCheck({
    served: networks,
    journal,
    computeDigest,
    recovery,
    now,
  })
  const pollMs = isShared ? DELIVERY_POLL_MS : undefined
  const deliveries = createDeliveries({ store: deliveryStore, now, pollMs, log })
  const { isDelivering } = deliveries
  const verified = createVerifiedPayments()
  const paymentUrl = (network: string, payer: Address, nonce: string) =>
    `${baseUrl}/payments/${network}/${payer}/${nonce}`
  const statusUrl = (settlementId: string) => `${baseUrl}/payments/status/${settlementId}`
  const canSettle = (network: string, facilitator?: Address) => {
    const multicall = networks.get(network)?.permit2.multicall()
    const isMulticall = facilitator === multicall?.address
    const senders = isMulticall ? multicall?.wallets : facilitator && [facilitator]
    return relayers.get(network)?.canSend(senders) ?? false
  }
  const verifying = { verified, checksum, canSettle }
  const settling = { journal, deliveries, relayers, settleWaitSeconds, checksum, now, log }
  const exact = {
    verify: createVerifier({
      ...verifying,
      checkPayment,
      deliveryStore,
      paymentUrl,
      now,
      isDelivering,
    }),
    settle: createSettler({ ...settling, checkPayment, paymentUrl, deliveryStore }),
    takeVerified: createVerifiedCheck(verified, terms, computeDigest),
  }
  const inTurn = createCheckTurns()
  const batch = {
    verify: createBatchVerifier({ ...verifying, networks, journal, recovery, inTurn }),
    settle: createBatchSettler({ ...settling, networks, recovery, inTurn, statusUrl }),
    takeVerified: createVerifiedDepositCheck(verified, networks),
  }
  const schemeOf = (body: unknown) => (isBatchBody(body) ? batch : exact)
  return {
    verify: ((body, caller) => schemeOf(body).verify(body, caller)) satisfies Verify as Verify,
    settle: ((request) => schemeOf(request.body).settle(request)) satisfies Settle as Settle,
    takeVerified: (body: unknown) => schemeOf(body).takeVerified(body),
    takeSignature: verified.takeSignature,
  }
}

function secondsSince(startedAt: number): number {
  return (performance.now() - startedAt) / 1000
}

/** Names the network and the setting of nodes that do not answer, because their own error has no address in it. */
function namingNodes({ network, rpcUrls, nodesSetting }: NetworkSettings) {
  return (error: unknown): never => {
    if (!(error instanceof RpcUnavailableError)) throw error
    const count = rpcUrls.length === 1 ? 'the one node' : `all ${rpcUrls.length} nodes`
    const place = nodesSetting === undefined ? network : `${network} in ${nodesSetting}`
    throw new RpcUnavailableError(`${error.message} (tried ${count} of ${place})`, { cause: error })
  }
}

/** Throws where the minimum of a symbol is set that no token of any network has: it would protect nothing. */
function requireKnownSymbols(
  { minAmount }: FacilitatorSettings,
  networks: readonly Network[],
): void {
  const known = new Set(
    networks.flatMap(({ terms }) => [...terms.tokens.values()].map(({ symbol }) => symbol)),
  )
  const unknown = Object.keys(minAmount.bySymbol).filter((symbol) => !known.has(symbol))
  if (unknown.length === 0) return
  throw new FacilitatorSettingsError(
    `MIN_AMOUNT names ${unknown.join(' and ')}, but the assets of the settings are ${[...known].join(' and ')}: correct the symbol.`,
  )
}
