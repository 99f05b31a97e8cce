import { createBatchDigests } from '@arcus/protocol/x402/batch-digest'
import type { Keccak256 } from '@arcus/protocol/x402/keccak'
import { networks } from '@arcus/protocol/x402/networks'
import type { FastifyBaseLogger } from 'fastify'
import type { Address } from 'viem'
import type { Teardown } from '../async/teardown.js'
import { createCodedReader } from '../chain/accounts.js'
import { createAuthorizationUses } from '../chain/authorization-uses.js'
import { BlockFeed } from '../chain/blocks.js'
import { relayerMulticallOf, watchContracts } from '../chain/deployments.js'
import { HeadPush } from '../chain/head-push.js'
import { createPaymentFactsReader } from '../chain/payment-facts.js'
import { createPermit2Uses } from '../chain/permit2-uses.js'
import { createRpc, type Rpc } from '../chain/rpc.js'
import { readHasMulticall3, readPlainTransferGas, type Token, watchToken } from '../chain/token.js'
import type { LeaseKeeper } from '../sql/lease-keeper.js'
import { createBatchKinds } from './batch/kinds.js'
import type { OperatorBlocks } from './journal/blocks.js'
import type { FacilitatorStores } from './journal/stores.js'
import type { Attestor } from './methods/attestor.js'
import { schemeContracts } from './methods/contracts.js'
import { createExactKind, createOwnTransactions, EXACT, PERMIT2 } from './methods/exact-job.js'
import type { Network, OwnMulticall } from './methods/network.js'
import { createPermit2Kind } from './methods/permit2-job.js'
import type { FacilitatorObserver } from './observer.js'
import { MAX_BATCH } from './relayer/batch-size.js'
import { createGasModel, priceOf } from './relayer/gas.js'
import { createGasGuard } from './relayer/gas-guard.js'
import { createRecipients } from './relayer/recipients.js'
import { createRelayer, type Relayer } from './relayer/relayer.js'
import type { Signer } from './relayer/signer.js'
import type { Screening } from './screening/screening.js'
import {
  type FacilitatorSettings,
  FacilitatorSettingsError,
  type NetworkSettings,
} from './settings.js'
import { readTokens } from './tokens.js'

/** With the multicall of the relayers, payments of `upto` share transactions. */
const SHARED_UPTO = 'upto in shared transactions'

/** The values that all networks use. */
interface NetworkPorts {
  settings: FacilitatorSettings
  stores: Pick<FacilitatorStores, 'journal' | 'sharing' | 'budgets' | 'customers'>
  leases: LeaseKeeper
  blocks: OperatorBlocks
  screening: Screening | undefined
  keccak256: Keccak256
  signers: readonly Signer[]
  /** `undefined` where nothing is attested. */
  attestor: Attestor | undefined
  /** Accounts of the operator. */
  own: readonly Address[]
  isListed: (payTo: Address) => boolean | Promise<boolean>
  observer: FacilitatorObserver
  teardown: Teardown
  log: FastifyBaseLogger
  now: () => number
}

/**
 * Opens everything that serves one network. Rejects with `TokenMismatchError` or `RpcUnavailableError` if the chain is
 * not as the settings say.
 */
export async function openNetwork(
  settings: NetworkSettings,
  ports: NetworkPorts,
): Promise<Network> {
  const { network, chainId } = settings
  const { blocks, screening, keccak256, teardown } = ports
  const log = ports.log.child({ network })
  const rpc = createRpc(settings.rpcUrls, ports.observer.rpc(network))
  teardown.add('chain connections', () => rpc.close())
  const tokens = await readTokens(rpc, keccak256, settings, ports.settings.minAmount)
  const multicall = ownMulticall(ports.signers, ports.settings.multicallWallets)
  const chain = openChain(rpc, tokens)
  const push = new HeadPush(settings.pushUrls ?? [], (number) => chain.feed.tell(number))
  push.start()
  teardown.add('news of blocks', () => push.stop())
  const watches = await watchChain({ rpc, tokens, multicall, ports, log })
  const { tokenWatches, batchWatch, permit2Watches, multicallWatch } = watches
  const mayGuard = multicall.wallets.length === ports.signers.length
  const guard = () => (mayGuard && multicallWatch.isDeployed() ? multicall.address : undefined)
  if (guard() === undefined) offerGuard(log, network, multicall.address, mayGuard)
  const { relayer, guardGas, recipients, kinds } = await openRelayer({
    settings,
    ports,
    tokens,
    multicall,
    guard,
    chain,
    log,
  })
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
    name: networks[network].name,
    rpc,
    relayer,
    latestBlock: () => chain.feed.latest(),
    headBlock: chain.headBlock,
    chainSeconds: chain.chainSeconds,
    gasPrice: () => priceOf(chain.feed.latest()?.baseFeePerGas ?? 0n),
    readFacts: chain.readFacts,
    findUse: chain.findUse,
    permit2: {
      ...chain.permit2,
      isOffered: (scheme) => permit2Watches[scheme].isDeployed(),
      multicall: () => (multicallWatch.isDeployed() ? multicall : undefined),
    },
    readCoded: chain.readCoded,
    guardGas,
    recipients,
    screening,
    isBatchOffered: batchWatch.isDeployed,
    channelDigests: createBatchDigests(keccak256, chainId),
    tokenMismatch: (asset) => tokenWatches.get(asset)?.mismatch(),
    readTokens: [...tokenWatches.values()].map(({ read }) => read),
    kinds,
  }
}

type Chain = ReturnType<typeof openChain>

/** Makes the feed of blocks, and the reads of payments by both methods. */
function openChain(rpc: Rpc, tokens: readonly Token[]) {
  const feed = new BlockFeed(rpc)
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
async function openRelayer({
  settings: { network, chainId },
  ports,
  tokens,
  multicall,
  guard,
  chain,
  log,
}: {
  settings: NetworkSettings
  ports: NetworkPorts
  tokens: readonly Token[]
  multicall: OwnMulticall
  guard: () => Address | undefined
  chain: Chain
  log: FastifyBaseLogger
}) {
  const { rpc, feed, readCoded, readFacts, findUse, permit2 } = chain
  const { settings, stores, signers, attestor, now } = ports
  const { journal } = stores
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
  const { dailyGasLimit, maxFeePerGasWei: maxFeePerGas } = settings
  const wasteLimits = { perAccount: settings.failedGasBudget, wasted: settings.wastedGasLimit }
  const guardGas = createGasGuard({
    network,
    budgets: stores.budgets,
    dailyGasLimit,
    limits: wasteLimits,
    expectedGas: () => relayer.expectedGas(),
    maxFeePerGas,
    baseFeePerGas: () => feed.latest()?.baseFeePerGas,
    gas,
    now,
  })
  const isOurs = createOwnTransactions(journal)
  const kinds = {
    [EXACT]: createExactKind({ findUse, readFacts, isOurs, attestor }),
    [PERMIT2]: createPermit2Kind({ ...permit2, isOurs, multicall, attestor }),
  }
  const relayer: Relayer = createRelayer({
    network,
    chainId,
    rpc,
    feed,
    journal,
    signers,
    gas,
    wasteLimits,
    readCoded,
    hasMulticall3,
    guard,
    maxBatch: MAX_BATCH,
    maxFeePerGas,
    now,
    log,
    books: stores.budgets,
    sharing: stores.sharing,
    leases: ports.leases,
    kinds: { ...kinds, ...createBatchKinds(rpc, findUse, readFacts) },
    keccak256: ports.keccak256,
    events: ports.observer.relayer(network),
  })
  ports.teardown.add('relayer', () => relayer.stop())
  const recipients = createRecipients({
    network,
    allowed: settings.payToAllowed,
    own: ports.own,
    isListed: ports.isListed,
    customers: stores.customers,
    now,
  })
  return { relayer, guardGas, recipients, kinds }
}

/** Watches the contracts that the schemes need, and the tokens. Throws `RpcUnavailableError`. */
async function watchChain({
  rpc,
  tokens,
  multicall,
  ports: { keccak256, teardown },
  log,
}: {
  rpc: Rpc
  tokens: readonly Token[]
  multicall: OwnMulticall
  ports: NetworkPorts
  log: FastifyBaseLogger
}) {
  const watched = { ...schemeContracts, [SHARED_UPTO]: [multicall.address] }
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

/** Says how failed payments become cheap. */
function offerGuard(
  log: FastifyBaseLogger,
  network: string,
  multicall: Address,
  mayGuard: boolean,
): void {
  const verb = `arcus deploy-contracts --network ${network === 'eip155:5042' ? 'mainnet' : 'testnet'}`
  log.info(
    { multicall },
    mayGuard
      ? `the multicall of the relayers is not deployed on ${network}: with it a payment that fails burns a fifth of the gas; deploy it with "${verb}"`
      : `RELAYER_MULTICALL_WALLETS leaves out a relayer wallet, so payments on ${network} share the public Multicall3, in which one that fails burns five times the gas`,
  )
}

/** Returns the multicall of the relayers. Throws `FacilitatorSettingsError` when it is for other wallets only. */
function ownMulticall(
  signers: readonly Signer[],
  named: readonly Address[] | undefined,
): OwnMulticall {
  const relayers = signers.map(({ address }) => address)
  const callers = (named ?? relayers).map((it) => it.toLowerCase())
  const wallets = relayers.filter((it) => callers.includes(it))
  if (wallets.length === 0) {
    throw new FacilitatorSettingsError(
      'RELAYER_MULTICALL_WALLETS names none of the relayer wallets.',
    )
  }
  return { address: relayerMulticallOf(named ?? relayers).address, wallets }
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
