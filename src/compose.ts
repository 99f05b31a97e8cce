import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import type { Address } from 'viem'
import { buildApp } from './app.js'
import { createBlockFeed } from './chain/block-feed.js'
import { createPaymentFactsReader } from './chain/payment-facts.js'
import { createRpc } from './chain/rpc.js'
import { readHasMulticall3, readPlainTransferGas, readToken } from './chain/token.js'
import { watchToken } from './chain/token-watch.js'
import type { Config, NetworkConfig } from './config/config.js'
import type { Secrets } from './config/secrets.js'
import { createDeliveries } from './facilitator/deliveries.js'
import { createExactKind, EXACT } from './facilitator/exact-job.js'
import { createGasGuard } from './facilitator/gas-guard.js'
import { createJudge, type ServedNetwork } from './facilitator/judge.js'
import { type OperatorBlocks, watchOperatorBlocks } from './facilitator/operator-blocks.js'
import { createPaymentFinder } from './facilitator/payment-status.js'
import { createSettler } from './facilitator/settler.js'
import { createVerifiedCheck } from './facilitator/verified.js'
import { createVerifier } from './facilitator/verifier.js'
import { createBalances } from './metrics/balances.js'
import { createMetrics, type Metrics } from './metrics/metrics.js'
import { createRunway } from './metrics/runway.js'
import { createReadinessChecks, type ReadyNetwork } from './readiness.js'
import { createGasModel } from './relayer/gas-model.js'
import { createRelayer, type Relayer } from './relayer/relayer.js'
import { noRelayerEvents } from './relayer/relayer-events.js'
import { createLocalSigner, type Signer } from './relayer/signer.js'
import type { BudgetStore } from './store/budgets.js'
import type { SettlementJournal } from './store/settlement-journal.js'
import { createBlockStore } from './store/sqlite/blocks.js'
import { createBudgetStore } from './store/sqlite/budgets.js'
import { openDatabase } from './store/sqlite/database.js'
import { createDeliveryStore } from './store/sqlite/deliveries.js'
import { createGroupCommit } from './store/sqlite/group-commit.js'
import { createSettlementJournal } from './store/sqlite/settlement-journal.js'
import { createSightingStore } from './store/sqlite/sightings.js'
import { createChecksum } from './x402/address.js'
import { createAuthorizationDigest } from './x402/authorization-digest.js'
import { createKeccak256, type Keccak256 } from './x402/keccak.js'
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
  const verify = createVerifier({ judge, sightings, checksum, paymentUrl, now })
  const settle = createSettler({ ...settling, checksum, paymentUrl, now, log })

  const app = await buildApp({
    server: {
      logger: log,
      bodyLimitBytes: config.bodyLimitBytes,
      settleWaitSeconds,
      trustProxy: config.trustProxy,
    },
    rateLimit: config.rateLimit,
    facilitator: {
      networks: [...served.keys()],
      relayerAddresses: [...new Set(networks.flatMap(({ relayer }) => relayer.addresses))].map(
        checksum,
      ),
      verify: metrics?.measureVerify(verify) ?? verify,
      settle: metrics?.measureSettle(settle) ?? settle,
      isVerified: createVerifiedCheck(sightings, terms, computeDigest),
      findPayment: createPaymentFinder({ journal, terms, checksum }),
    },
    readiness: createReadinessChecks(
      journal,
      keccak256,
      networks.map(({ ready }) => ready),
    ),
    metrics,
  })
  for (const { relayer } of networks) await relayer.start()
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
      for (const { relayer, close } of networks) {
        relayer.stop()
        await close()
      }
      await commit.close().catch((err) => log.error({ err }, 'last writes not kept'))
      database.close()
    },
  }
}

interface ComposedNetwork {
  relayer: Relayer
  served: ServedNetwork
  ready: ReadyNetwork
  close(): Promise<void>
}

/** What all networks use. */
interface Shared {
  journal: SettlementJournal
  budgets: BudgetStore
  blocks: OperatorBlocks
  keccak256: Keccak256
  /** `undefined` when they are off. */
  metrics: Metrics | undefined
  log: Logger
  now: () => number
}

async function composeNetwork(
  place: NetworkConfig,
  config: Config,
  secrets: Secrets,
  shared: Shared,
): Promise<ComposedNetwork> {
  const { network, chainId } = place
  const log = shared.log.child({ network })
  const rpc = createRpc(place.rpcUrls, shared.metrics?.observeRpc(network))
  const token = await readToken(rpc, shared.keccak256, place)
  const hasMulticall3 = await readHasMulticall3(rpc)
  log.info(
    { asset: token.address, name: token.name, version: token.version, hasMulticall3 },
    hasMulticall3
      ? 'network served'
      : 'network served; no Multicall3, payments are sent one by one',
  )
  const signers = secrets.relayerPrivateKeys.map((key) => createLocalSigner(key, shared.keccak256))
  const [firstSigner] = signers as [Signer, ...Signer[]]
  const readFacts = createPaymentFactsReader(rpc, token)
  const feed = createBlockFeed(rpc)
  const relayer = createRelayer({
    network,
    chainId,
    rpc,
    feed,
    journal: shared.journal,
    kinds: { [EXACT]: createExactKind(rpc, readFacts) },
    signers,
    gas: createGasModel(await readPlainTransferGas(rpc, token, firstSigner.address)),
    hasMulticall3,
    maxBatch: config.maxBatch,
    maxFeePerGas: config.maxFeePerGasWei,
    keccak256: shared.keccak256,
    now: shared.now,
    events: shared.metrics?.relayerEvents(network) ?? noRelayerEvents,
    log,
  })
  const tokenWatch = watchToken(rpc, shared.keccak256, token, log)
  const own = new Set<Address>(relayer.addresses)
  const { blocks, budgets, metrics, now } = shared
  const chainSeconds = () => feed.latest()?.timestamp
  const readRunway = createRunway({ network, budgets, now })
  const readBalances = createBalances(rpc, relayer.addresses, now)
  metrics?.watch({ network, relayer, chainSeconds, readBalances, readRunway })
  return {
    relayer,
    served: {
      terms: {
        token,
        minAmount: config.minAmount,
        isRelayer: (address) => own.has(address),
        isPayerBlocked: (payer) => blocks.isBlocked('payer', payer),
        isPayToBlocked: (payTo) => blocks.isBlocked('payTo', payTo),
      },
      rpc,
      readFacts,
      chainSeconds,
      relayer: relayer.addresses[0] as Address,
      tokenMismatch: tokenWatch.mismatch,
      guardGas: createGasGuard({
        network,
        budgets,
        dailyGasLimit: config.dailyGasLimit,
        failedGasBudget: config.failedGasBudget,
        maxFeePerGas: config.maxFeePerGasWei,
        baseFeePerGas: () => feed.latest()?.baseFeePerGas,
        now,
      }),
    },
    ready: {
      network,
      chainId,
      asset: place.asset,
      rpc,
      relayer,
      feePerGas: () => feed.latest()?.baseFeePerGas,
      readRunway,
    },
    async close() {
      tokenWatch.stop()
      await rpc.close()
    },
  }
}
