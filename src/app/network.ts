import { permit2Contracts } from '@arcus/protocol/x402/address'
import type { Keccak256 } from '@arcus/protocol/x402/keccak'
import { networks } from '@arcus/protocol/x402/networks'
import type { Logger } from 'pino'
import type { Address } from 'viem'
import { multicall3Address } from '../chain/abi.js'
import { createCodedReader } from '../chain/accounts.js'
import { createAuthorizationUses } from '../chain/authorization-uses.js'
import { batchContracts } from '../chain/batch-settlement.js'
import { createBlockFeed } from '../chain/blocks.js'
import { type DeploymentWatch, watchContracts } from '../chain/contract-watch.js'
import { createPaymentFactsReader } from '../chain/payment-facts.js'
import { createPermit2Uses } from '../chain/permit2-uses.js'
import { relayerMulticallOf } from '../chain/relayer-multicall.js'
import { createRpc, type Rpc } from '../chain/rpc.js'
import {
  readHasMulticall3,
  readPlainTransferGas,
  readToken,
  type Token,
  watchToken,
} from '../chain/token.js'
import type { BudgetStore } from '../facilitator/journal/budgets.js'
import type { JobSharing, SettlementJournal } from '../facilitator/journal/settlement-journal.js'
import { createGasModel, type GasLimits, priceOf } from '../facilitator/relayer/gas.js'
import type { LeaseKeeper } from '../facilitator/relayer/leases.js'
import { noRelayerEvents } from '../facilitator/relayer/outcomes.js'
import { createRelayer, type Relayer } from '../facilitator/relayer/relayer.js'
import type { Signer } from '../facilitator/relayer/signer.js'
import { createBatchKinds } from '../facilitator/schemes/batch/kinds.js'
import {
  createExactKind,
  createOwnTransactions,
  EXACT,
  PERMIT2,
} from '../facilitator/schemes/exact-job.js'
import { createPermit2Kind, type OwnMulticall } from '../facilitator/schemes/permit2-job.js'
import type { Attestor } from '../facilitator/settle/attestor.js'
import type { AcceptedToken } from '../facilitator/verify/checks.js'
import { createGasGuard, type GasGuard, subsidisedLimit } from '../facilitator/verify/gas-guard.js'
import type { OperatorBlocks } from '../facilitator/verify/operator-blocks.js'
import type { ServedNetwork } from '../facilitator/verify/payment-check.js'
import type { ReadFees } from '../hosted/endpoints.js'
import type { Config, NetworkConfig } from './config/config.js'
import { ConfigError } from './config/env.js'
import type { MinAmount } from './config/setting-types.js'
import type { Teardown } from './lifecycle.js'
import { createBalances, createRunway } from './metrics/gas-money.js'
import type { Metrics } from './metrics/metrics.js'
import type { StatusNetwork } from './metrics/status.js'
import type { ReadyNetwork } from './readiness.js'
import type { Tracing } from './tracing/tracing.js'

/** Payments in one transaction: some two million gas of a block's thirty. Larger batches save hardly any more. */
const MAX_BATCH = 50
/** The contracts that each scheme or method needs; it is offered while they have code. */
const contractsOf = {
  'batch-settlement': [...Object.values(batchContracts), multicall3Address],
  'exact by Permit2': [permit2Contracts.permit2, permit2Contracts.exactProxy],
  upto: [permit2Contracts.permit2, permit2Contracts.uptoProxy],
} as const satisfies Record<string, readonly Address[]>
/** With the multicall of the relayers, payments of `upto` share transactions. */
const SHARED_UPTO = 'upto in shared transactions'

/** One network of the settings: its chain, its tokens, its relayers. */
export interface ComposedNetwork {
  relayer: Relayer
  /** As they were pinned at start; the first is the default one. */
  tokens: readonly [AcceptedToken, ...AcceptedToken[]]
  served: ServedNetwork
  batchWatch: DeploymentWatch
  uptoWatch: DeploymentWatch
  readFees: ReadFees
  ready: ReadyNetwork
  status: StatusNetwork
}

/** The values that all networks use. */
export interface Shared {
  journal: SettlementJournal
  sharing: JobSharing
  leases: LeaseKeeper
  budgets: BudgetStore
  blocks: OperatorBlocks
  keccak256: Keccak256
  signers: readonly Signer[]
  /** `undefined` where nothing is attested. */
  attestor: Attestor | undefined
  /** `undefined` if metrics are off. */
  metrics: Metrics | undefined
  /** `undefined` if traces are off. */
  tracing: Tracing | undefined
  teardown: Teardown
  log: Logger
  now: () => number
}

/**
 * Builds everything that serves one network. Rejects with `TokenMismatchError` or `RpcUnavailableError` if the chain is
 * not as the settings say.
 */
export async function composeNetwork(
  place: NetworkConfig,
  config: Config,
  shared: Shared,
): Promise<ComposedNetwork> {
  const { network, chainId } = place
  const { budgets, metrics, now } = shared
  const log = shared.log.child({ network })
  const rpc = createRpc(place.rpcUrls, metrics?.observeRpc(network))
  shared.teardown.add('chain connections', () => rpc.close())
  const tokens = await readTokens(rpc, shared.keccak256, place, config.minAmount)
  const multicall = ownMulticall(shared.signers, config.multicallWallets)
  const chain = openChain(rpc, tokens)
  const { feed, chainSeconds } = chain
  const settling = await composeSettling({ place, config, shared, tokens, multicall, chain, log })
  const { relayer } = settling
  const watches = await watchChain({ rpc, tokens, multicall, shared, log })
  const { tokenWatches, batchWatch, permit2Watches } = watches
  const readRunway = createRunway({ network, budgets, now })
  const readBalances = createBalances(rpc, relayer.addresses, now)
  const watched = { network, relayer, chainSeconds, readBalances, readRunway }
  metrics?.watch(watched)
  return {
    relayer,
    tokens,
    served: toServed({ place, shared, tokens, multicall, chain, watches, ...settling }),
    batchWatch,
    uptoWatch: permit2Watches.upto,
    readFees() {
      const block = feed.latest()
      return block && { baseFeePerGas: block.baseFeePerGas, blockTime: block.timestamp }
    },
    ready: {
      network,
      chainId,
      rpc,
      readTokens: [...tokenWatches.values()].map(({ read }) => read),
      relayer,
      feePerGas: () => feed.latest()?.baseFeePerGas,
      readRunway,
    },
    status: { ...watched, chainId, name: networks[network].name, latestBlock: feed.latest },
  }
}

type Chain = ReturnType<typeof openChain>

/** Makes the feed of blocks, and the reads of payments by both methods. */
function openChain(rpc: Rpc, tokens: readonly Token[]) {
  const feed = createBlockFeed(rpc)
  const headBlock = () => feed.latest()?.number ?? 0
  return {
    rpc,
    feed,
    headBlock,
    chainSeconds: () => feed.latest()?.timestamp,
    readCoded: createCodedReader(rpc),
    readFacts: createPaymentFactsReader(rpc, tokens, headBlock),
    findUse: createAuthorizationUses(rpc),
    permit2: {
      readFacts: createPaymentFactsReader(rpc, tokens, headBlock, 'permit2'),
      findUse: createPermit2Uses(rpc),
    },
  }
}

/** Builds the relayer and the guard of its gas. */
async function composeSettling({
  place: { network, chainId },
  config,
  shared,
  tokens,
  multicall,
  chain,
  log,
}: {
  place: NetworkConfig
  config: Config
  shared: Shared
  tokens: readonly Token[]
  multicall: OwnMulticall
  chain: Chain
  log: Logger
}) {
  const { rpc, feed, readCoded, readFacts, findUse, permit2 } = chain
  const { signers, attestor, journal, now } = shared
  const hasMulticall3 = await readHasMulticall3(rpc)
  log.info(
    {
      assets: tokens.map(({ address, name, version }) => ({ address, name, version })),
      hasMulticall3,
    },
    hasMulticall3
      ? 'network served'
      : 'network served; no Multicall3, payments are sent one by one',
  )
  const [firstSigner] = signers as [Signer, ...Signer[]]
  const gas = createGasModel(await readTransferGas(rpc, tokens, firstSigner.address))
  const { dailyGasLimit, maxFeePerGasWei: maxFeePerGas } = config
  const gasLimits: GasLimits = {
    perAccount: config.failedGasBudget,
    wasted: config.wastedGasLimit,
    subsidised: subsidisedLimit(dailyGasLimit),
  }
  const guardGas = createGasGuard({
    network,
    budgets: shared.budgets,
    dailyGasLimit,
    limits: gasLimits,
    maxFeePerGas,
    baseFeePerGas: () => feed.latest()?.baseFeePerGas,
    gas,
    now,
  })
  const isOurs = createOwnTransactions(journal)
  const counted = shared.metrics?.relayerEvents(network) ?? noRelayerEvents
  const relayer = createRelayer({
    ...{ network, chainId, rpc, feed, journal, signers, gas, gasLimits, readCoded },
    ...{ hasMulticall3, maxBatch: MAX_BATCH, maxFeePerGas, now, log },
    sharing: shared.sharing,
    leases: shared.leases,
    kinds: {
      [EXACT]: createExactKind({ findUse, readFacts, isOurs, attestor }),
      [PERMIT2]: createPermit2Kind({ ...permit2, isOurs, multicall, attestor }),
      ...createBatchKinds(rpc, findUse, readFacts),
    },
    keccak256: shared.keccak256,
    events: shared.tracing?.relayerEvents(network, counted) ?? counted,
  })
  shared.teardown.add('relayer', () => relayer.stop())
  return { relayer, guardGas }
}

/** Watches the contracts that the schemes need, and the tokens. Throws `RpcUnavailableError`. */
async function watchChain({
  rpc,
  tokens,
  multicall,
  shared: { keccak256, teardown },
  log,
}: {
  rpc: Rpc
  tokens: readonly Token[]
  multicall: OwnMulticall
  shared: Shared
  log: Logger
}) {
  const watched = { ...contractsOf, [SHARED_UPTO]: [multicall.address] }
  const contracts = await watchContracts(rpc, watched, log)
  teardown.add('watch of the contracts', () => contracts.stop())
  const tokenWatches = new Map(
    tokens.map((token) => [token.address, watchToken(rpc, keccak256, token, log)]),
  )
  teardown.add('token watches', () => {
    for (const watch of tokenWatches.values()) watch.stop()
  })
  return {
    tokenWatches,
    batchWatch: contracts.of('batch-settlement'),
    permit2Watches: { exact: contracts.of('exact by Permit2'), upto: contracts.of('upto') },
    multicallWatch: contracts.of(SHARED_UPTO),
  }
}

/** Returns the network as verify and settle see it. */
function toServed({
  place: { network, chainId },
  shared: { blocks },
  tokens,
  multicall,
  chain,
  watches: { tokenWatches, batchWatch, permit2Watches, multicallWatch },
  relayer,
  guardGas,
}: {
  place: NetworkConfig
  shared: Shared
  tokens: readonly AcceptedToken[]
  multicall: OwnMulticall
  chain: Chain
  watches: Awaited<ReturnType<typeof watchChain>>
  relayer: Relayer
  guardGas: GasGuard
}): ServedNetwork {
  const { feed, rpc, headBlock, chainSeconds, readFacts, findUse, readCoded } = chain
  const own = new Set<Address>(relayer.addresses)
  return {
    terms: {
      network,
      chainId,
      tokens: new Map(tokens.map((token) => [token.address, token])),
      isRelayer: (address) => own.has(address),
      isFacilitator: (address) =>
        own.has(address) || (address === multicall.address && multicallWatch.isDeployed()),
      isPayerBlocked: (payer) => blocks.isBlocked('payer', payer),
      isPayToBlocked: (payTo) => blocks.isBlocked('payTo', payTo),
    },
    ...{ rpc, readFacts, findUse, headBlock, chainSeconds, readCoded, guardGas },
    permit2: {
      ...chain.permit2,
      isOffered: (scheme) => permit2Watches[scheme].isDeployed(),
      multicall: () => (multicallWatch.isDeployed() ? multicall : undefined),
    },
    relayers: relayer.addresses as [Address, ...Address[]],
    isBatchOffered: batchWatch.isDeployed,
    tokenMismatch: (asset) => tokenWatches.get(asset)?.mismatch(),
    gasPrice: () => priceOf(feed.latest()?.baseFeePerGas ?? 0n),
  }
}

/** Returns the multicall of the relayers. Throws `ConfigError` when it is for other wallets only. */
function ownMulticall(
  signers: readonly Signer[],
  named: readonly Address[] | undefined,
): OwnMulticall {
  const relayers = signers.map(({ address }) => address)
  const callers = (named ?? relayers).map((it) => it.toLowerCase())
  const wallets = relayers.filter((it) => callers.includes(it))
  if (wallets.length === 0) {
    throw new ConfigError(['RELAYER_MULTICALL_WALLETS names none of the relayer wallets.'])
  }
  return { address: relayerMulticallOf(named ?? relayers).address, wallets }
}

/**
 * Reads and pins each token of a network, with its minimum. People could not distinguish two with one symbol. Throws
 * `ConfigError`, `TokenMismatchError`, `RpcUnavailableError`.
 */
async function readTokens(
  rpc: Rpc,
  keccak256: Keccak256,
  place: NetworkConfig,
  { least, bySymbol }: MinAmount,
): Promise<[AcceptedToken, ...AcceptedToken[]]> {
  const read = await Promise.all(
    place.assets.map((asset) => readToken(rpc, keccak256, { ...place, asset })),
  )
  const symbols = read.map(({ symbol }) => symbol)
  const twin = symbols.find((symbol, i) => symbols.indexOf(symbol) < i)
  if (twin !== undefined) {
    throw new ConfigError([`Two assets of ${place.network} have the symbol ${twin}: name one.`])
  }
  const tokens = read.map((token) => ({ ...token, minAmount: bySymbol[token.symbol] ?? least }))
  return tokens as [AcceptedToken, ...AcceptedToken[]]
}

/** Reads the gas of a plain transfer of the most expensive token; `undefined` where one cannot be simulated. */
async function readTransferGas(
  rpc: Rpc,
  tokens: readonly Token[],
  holder: Address,
): Promise<bigint | undefined> {
  let most = 0n
  for (const token of tokens) {
    const gas = await readPlainTransferGas(rpc, token, holder)
    if (gas === undefined) return undefined
    if (gas > most) most = gas
  }
  return most
}
