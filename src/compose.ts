import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import type { Address } from 'viem'
import { buildApp } from './app.js'
import { composeDirectory } from './compose-directory.js'
import { type ComposedNetwork, composeNetwork } from './compose-network.js'
import type { Config } from './config/config.js'
import type { Secrets } from './config/secrets.js'
import { createBatchSettler } from './facilitator/batch/settler.js'
import { createBatchVerifier, createVerifiedDepositCheck } from './facilitator/batch/verifier.js'
import { createDeliveries } from './facilitator/deliveries.js'
import { createJudge, type ServedNetwork } from './facilitator/judge.js'
import { watchOperatorBlocks } from './facilitator/operator-blocks.js'
import { createPaymentFinder } from './facilitator/payment-status.js'
import {
  settleByRequirement,
  supportedKinds,
  verifiedByRequirement,
  verifyByRequirement,
} from './facilitator/schemes.js'
import { createSettler } from './facilitator/settler.js'
import { createVerifiedCheck } from './facilitator/verified.js'
import { createVerifier } from './facilitator/verifier.js'
import { createMetrics } from './metrics/metrics.js'
import { createReadinessChecks } from './readiness.js'
import { createBlockStore } from './store/sqlite/blocks.js'
import { createBudgetStore } from './store/sqlite/budgets.js'
import { openDatabase } from './store/sqlite/database.js'
import { createDeliveryStore } from './store/sqlite/deliveries.js'
import { createGroupCommit } from './store/sqlite/group-commit.js'
import { createSettlementJournal } from './store/sqlite/settlement-journal.js'
import { createSightingStore } from './store/sqlite/sightings.js'
import { createChecksum } from './x402/address.js'
import { createAuthorizationDigest } from './x402/authorization-digest.js'
import { createKeccak256 } from './x402/keccak.js'
import { loadSignerRecovery } from './x402/signer-recovery.js'

/** The service, built and not yet listening. */
export interface Arcus {
  app: FastifyInstance
  /** Closes chain, relayers and database, after the last answer is out. */
  close(): Promise<void>
}

/** Expired sightings are forgotten this often. */
const SWEEP_MS = 600_000

/**
 * Builds every value of the service from its settings: the one place where rooms meet.
 * Rejects with `TokenMismatchError`, `RpcUnavailableError` or `MigrationError` when the world is not as set.
 */
export async function compose(config: Config, secrets: Secrets, log: Logger): Promise<Arcus> {
  const keccak256 = await createKeccak256()
  const recovery = await loadSignerRecovery(keccak256)
  log.info({ recovery: recovery.implementation }, 'signature recovery loaded')
  const database = openDatabase(config.database.path)
  const commit = createGroupCommit(database)
  const journal = createSettlementJournal(database, commit)
  const deliveryStore = createDeliveryStore(database, commit)
  await deliveryStore.dropLeases()
  const sightings = createSightingStore(database, commit)
  const checksum = createChecksum(keccak256)
  const now = () => Date.now()

  const budgets = createBudgetStore(database)
  const blocks = await watchOperatorBlocks(createBlockStore(database, commit), (err) =>
    log.warn({ err }, 'blocks could not be read'),
  )
  const metrics = config.metrics ? createMetrics(now) : undefined
  const shared = { journal, budgets, blocks, keccak256, metrics, log, now }
  const networks: ComposedNetwork[] = []
  for (const network of config.networks) {
    networks.push(await composeNetwork(network, config, secrets, shared))
  }
  const served = new Map(networks.map((network) => [network.relayer.network, network.served]))
  const relayers = new Map(networks.map(({ relayer }) => [relayer.network, relayer]))
  const terms = new Map([...served].map(([name, network]) => [name, network.terms]))
  const computeDigest = createAuthorizationDigest(keccak256)
  const judge = createJudge({ served, journal, sightings, computeDigest, recovery, now })
  const paymentUrl = (network: string, payer: Address, nonce: string) =>
    `${config.baseUrl}/payments/${network}/${payer}/${nonce}`
  const deliveries = createDeliveries(deliveryStore, now)
  const { settleWaitSeconds } = config
  const settling = { judge, journal, deliveryStore, deliveries, relayers, settleWaitSeconds }
  const batchNetworks = new Map(networks.map(({ relayer, batch }) => [relayer.network, batch]))
  const batching = { networks: batchNetworks, journal, checksum }
  const verify = verifyByRequirement(
    createVerifier({ judge, sightings, checksum, paymentUrl, now }),
    createBatchVerifier({ ...batching, sightings, now }),
  )
  const settle = settleByRequirement(
    createSettler({ ...settling, checksum, paymentUrl, now, log }),
    createBatchSettler({ ...batching, deliveries, relayers, settleWaitSeconds, now, log }),
  )

  const own = new Set(networks.flatMap(({ relayer }) => relayer.addresses))
  // The settings name the mainnet first, and at least one network.
  const [{ rpc, terms: listed }] = [...served.values()] as [ServedNetwork]
  const directory = composeDirectory({
    config,
    rpc,
    token: listed.token,
    database,
    commit,
    keccak256,
    recovery,
    checksum,
    isRelayer: (address) => own.has(address),
    isPayToBlocked: (payTo) => blocks.isBlocked('payTo', payTo),
    now,
    log,
  })

  const app = await buildApp({
    server: {
      logger: log,
      bodyLimitBytes: config.bodyLimitBytes,
      settleWaitSeconds,
      trustProxy: config.trustProxy,
    },
    rateLimit: config.rateLimit,
    facilitator: {
      kinds: () => supportedKinds(batchNetworks),
      relayerAddresses: [...own].map(checksum),
      verify: metrics?.measureVerify(verify) ?? verify,
      settle: metrics?.measureSettle(settle) ?? settle,
      isVerified: verifiedByRequirement(
        createVerifiedCheck(sightings, terms, computeDigest),
        createVerifiedDepositCheck(sightings, batchNetworks),
      ),
      findPayment: createPaymentFinder({ journal, terms, checksum }),
      onAnswer: directory.onAnswer,
      catalogue: directory.catalogue,
    },
    directory: directory.routes,
    readiness: createReadinessChecks(
      journal,
      keccak256,
      networks.map(({ ready }) => ready),
    ),
    metrics,
  })
  for (const { relayer } of networks) await relayer.start()
  directory.start()
  const sweep = setInterval(() => {
    sightings
      .forgetSightings(Math.floor(now() / 1000))
      .catch((err) => log.warn({ err }, 'sweep failed'))
  }, SWEEP_MS)

  return {
    app,
    async close() {
      clearInterval(sweep)
      blocks.stop()
      await directory.close().catch((err) => log.error({ err }, 'directory not closed in order'))
      for (const { relayer, close } of networks) {
        relayer.stop()
        await close()
      }
      await commit.close().catch((err) => log.error({ err }, 'last writes not kept'))
      database.close()
    },
  }
}
