import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import type { Address } from 'viem'
import { buildApp } from '../app.js'
import type { Config } from '../config/config.js'
import type { Secrets } from '../config/secrets.js'
import { createOwnCalls } from '../directory/probe/own-calls.js'
import { createBatchSettler } from '../facilitator/batch/settler.js'
import { createBatchVerifier, createVerifiedDepositCheck } from '../facilitator/batch/verifier.js'
import { createDeliveries } from '../facilitator/deliveries.js'
import { createJudge, type ServedNetwork } from '../facilitator/judge.js'
import { watchOperatorBlocks } from '../facilitator/operator-blocks.js'
import { createPaymentFinder } from '../facilitator/payment-status.js'
import {
  settleByRequirement,
  supportedKinds,
  verifiedByRequirement,
  verifyByRequirement,
} from '../facilitator/schemes.js'
import { createSettler } from '../facilitator/settler.js'
import { createVerifiedCheck, createVerifiedPayments } from '../facilitator/verified.js'
import { createVerifier } from '../facilitator/verifier.js'
import { HOSTED_PREFIX } from '../hosted/endpoints.js'
import { openConsole, toConsoleSettings } from '../http/console.js'
import { createReadiness } from '../http/health.js'
import { createMetrics } from '../metrics/metrics.js'
import { createStatus } from '../metrics/status.js'
import { laneLease } from '../store/leases.js'
import { createChecksum } from '../x402/address.js'
import { createAuthorizationDigest } from '../x402/authorization-digest.js'
import { createKeccak256 } from '../x402/keccak.js'
import type { Network } from '../x402/networks.js'
import { loadSignerRecovery } from '../x402/signer-recovery.js'
import { composeDirectory, composeMcp } from './directory.js'
import { composeHosted, hostedRefundWallets } from './hosted.js'
import { createTeardown, type Teardown } from './lifecycle.js'
import { type ComposedNetwork, composeNetwork } from './network.js'
import { createReadinessChecks } from './readiness.js'
import { composeStores, UPKEEP } from './stores.js'

/** The service, built and not yet listening. */
export interface Arcus {
  app: FastifyInstance
  /** Closes chain, relayers and database, after the last answer is out. */
  close(): Promise<void>
}

/** Interval at which old Idempotency-Keys are deleted. */
const SWEEP_MS = 600_000
/** After this time nobody repeats a request with its key. The key of a delivered success stays with the payment. */
const KEYS_KEPT_MS = 7 * 86_400_000
/** Keys that one commit deletes. */
const SWEEP_KEYS = 500
/** Interval at which one replica checks whether another has delivered a success. */
const DELIVERY_POLL_MS = 100

/**
 * Builds every value of the service from its settings. Rejects with `TokenMismatchError`, `RpcUnavailableError` or
 * `MigrationError` if chain or database are not as the settings say.
 */
export async function compose(config: Config, secrets: Secrets, log: Logger): Promise<Arcus> {
  const teardown = createTeardown(log)
  try {
    return { app: await open(config, secrets, log, teardown), close: teardown.run }
  } catch (error) {
    // The next attempt must not find a relayer of this one still running.
    await teardown.run()
    throw error
  }
}

async function open(
  config: Config,
  secrets: Secrets,
  log: Logger,
  teardown: Teardown,
): Promise<FastifyInstance> {
  const keccak256 = await createKeccak256()
  const recovery = await loadSignerRecovery(keccak256)
  log.info({ recovery: recovery.implementation }, 'signature recovery loaded')
  const { stores, leases, isKeeper, disk, forDirectory } = await composeStores(
    config,
    log,
    teardown,
  )
  const { journal, sharing, budgets, activity, deliveries: deliveryStore } = stores
  const checksum = createChecksum(keccak256)
  const now = () => Date.now()

  const blocks = await watchOperatorBlocks(stores.blocks, (err) =>
    log.warn({ err }, 'blocks could not be read'),
  )
  teardown.add('operator blocks', () => blocks.stop())
  const metrics = config.metrics ? createMetrics(now) : undefined
  const holding = { journal, sharing, leases, budgets, blocks }
  const shared = { ...holding, keccak256, metrics, teardown, log, now }
  const networks: ComposedNetwork[] = []
  for (const network of config.networks) {
    networks.push(await composeNetwork(network, config, secrets, shared))
  }
  const served = new Map(networks.map((network) => [network.relayer.network, network.served]))
  const relayers = new Map(networks.map(({ relayer }) => [relayer.network, relayer]))
  const terms = new Map([...served].map(([name, network]) => [name, network.terms]))
  const computeDigest = createAuthorizationDigest(keccak256)
  const judge = createJudge({ served, journal, computeDigest, recovery, now })
  const paymentUrl = (network: string, payer: Address, nonce: string) =>
    `${config.baseUrl}/payments/${network}/${payer}/${nonce}`
  const deliveries = createDeliveries({
    store: deliveryStore,
    now,
    pollMs: leases.isShared ? DELIVERY_POLL_MS : undefined,
    log,
  })
  const { settleWaitSeconds } = config
  const settling = { judge, journal, deliveryStore, deliveries, relayers, settleWaitSeconds }
  const batchNetworks = new Map(networks.map(({ relayer, batch }) => [relayer.network, batch]))
  const batching = { networks: batchNetworks, journal, checksum }
  const verified = createVerifiedPayments()
  const canSettle = (network: string) => relayers.get(network)?.canSend() ?? false
  const { isOut } = deliveries
  const verify = verifyByRequirement(
    createVerifier({ judge, verified, checksum, paymentUrl, canSettle, now, isOut }),
    createBatchVerifier({ ...batching, verified, canSettle }),
  )
  const settle = settleByRequirement(
    createSettler({ ...settling, checksum, paymentUrl, now, log }),
    createBatchSettler({ ...batching, deliveries, relayers, settleWaitSeconds, now, log }),
  )

  const own = new Set(networks.flatMap(({ relayer }) => relayer.addresses))
  // The settings name the mainnet first, and at least one network.
  const [{ rpc, terms: listed }] = [...served.values()] as [ServedNetwork]
  const hostedPrefix = config.hosted === undefined ? undefined : HOSTED_PREFIX
  const ownCalls = createOwnCalls(config.baseUrl, hostedPrefix)
  const directory = composeDirectory({
    config,
    ownCalls,
    rpc,
    token: listed.token,
    stores: forDirectory,
    isShared: leases.isShared,
    keccak256,
    recovery,
    checksum,
    isRelayer: (address) => own.has(address),
    refundWallets: hostedRefundWallets(config, secrets.hostedPrivateKey),
    isPayToBlocked: (payTo) => blocks.isBlocked('payTo', payTo),
    isDiskLow: disk.isLow,
    now,
    log,
  })

  teardown.add('directory', () => directory.close())
  metrics?.watchDirectory(directory.figures)
  metrics?.watchDisk(disk)
  const explorerUrls = new Map(config.networks.map((it) => [it.network as string, it.explorerUrl]))
  const payments = createPaymentFinder({ journal, terms, explorerUrls, checksum })
  const measured = {
    verify: metrics?.measureVerify(verify) ?? verify,
    settle: metrics?.measureSettle(settle) ?? settle,
    onAnswer: directory.onAnswer,
  }
  const [first] = networks as [ComposedNetwork]
  const hosted = await composeHosted({
    ...measured,
    config,
    hostedPrivateKey: secrets.hostedPrivateKey,
    records: stores.hostedRecords,
    listings: directory.reads.listings,
    probe: directory.reads.probe,
    findPayment: payments.byNonce,
    network: listed.token.network as Network,
    asset: listed.token.address,
    batchContracts: first.batchWatch,
    readFees: first.readFees,
    isShared: leases.isShared,
    isKeeper,
    log,
  })
  teardown.add('hosted endpoints', () => hosted.close())
  const pages = openConsole(config)
  if (!pages.isBuilt) log.warn('the console is not built: run "npm run build"')
  const readReadiness = createReadiness({
    checks: createReadinessChecks(
      journal,
      disk,
      networks.map(({ ready }) => ready),
    ),
  })
  const readStatus = createStatus({
    networks: networks.map(({ status }) => status),
    readReadiness: () =>
      readReadiness((check, err) => log.warn({ err, check }, 'readiness check failed')),
    activity,
    checksum,
    now,
  })
  const tokens = [...terms.values()].map(({ token }) => token)

  const app = await buildApp({
    server: {
      logger: log,
      bodyLimitBytes: config.bodyLimitBytes,
      settleWaitSeconds,
      trustProxy: config.trustProxy,
    },
    servers: [config.baseUrl, config.directoryUrl],
    rateLimit: config.rateLimit,
    countExchange: stores.requestCounts,
    facilitator: {
      kinds: () => supportedKinds(batchNetworks),
      relayerAddresses: [...own].map(checksum),
      ...measured,
      takeVerified: verifiedByRequirement(
        createVerifiedCheck(verified, terms, computeDigest),
        createVerifiedDepositCheck(verified, batchNetworks),
      ),
      payments,
      catalogue: directory.catalogue,
    },
    directory: directory.routes,
    mcp: composeMcp(config, directory.reads),
    hosted: hosted.routes,
    readiness: readReadiness,
    console: {
      pages,
      settings: toConsoleSettings(config, tokens, listed.token.network),
      readStatus,
    },
    metrics,
  })
  const lanes = networks.map(({ relayer: { network, addresses } }) =>
    addresses.map((address) => laneLease(network, address)),
  )
  await leases.start([[UPKEEP], ...lanes])
  for (const { relayer } of networks) await relayer.start()
  directory.start()
  ownCalls.attach((call) => app.inject(call))
  // The endpoints must answer before their probes come.
  app.addHook('onListen', async () => {
    await hosted.start().catch((err) => log.error({ err }, 'hosted endpoints could not be listed'))
  })
  const forgetKeys = async () => {
    const before = now() - KEYS_KEPT_MS
    while ((await deliveryStore.forgetIdempotencyKeys(before, SWEEP_KEYS)) === SWEEP_KEYS) {
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  const sweep = setInterval(() => {
    if (!isKeeper()) return
    forgetKeys().catch((err) => log.warn({ err }, 'old Idempotency-Keys could not be dropped'))
  }, SWEEP_MS)

  teardown.add('sweep', () => clearInterval(sweep))
  return app
}
