import type { SupportedAnswer } from '@arcus/protocol/answers/payments'
import { FACILITATOR_ATTESTATION } from '@arcus/protocol/x402/attestation'
import { BATCH_SETTLEMENT, isBatchBody } from '@arcus/protocol/x402/batch-request'
import type { Keccak256 } from '@arcus/protocol/x402/keccak'
import { PAYMENT_IDENTIFIER } from '@arcus/protocol/x402/payment-identifier'
import { GAS_SPONSORING } from '@arcus/protocol/x402/request-schemas'
import type { Logger } from 'pino'
import type { Address } from 'viem'
import type { SignerRecovery } from '../chain/signer-recovery.js'
import { createPaymentFinder, type PaymentFinder } from '../facilitator/lookup/payments.js'
import type { Relayer } from '../facilitator/relayer/relayer.js'
import {
  describeAssets,
  type FacilitatorRoutesOptions,
  type SupportedKind,
} from '../facilitator/routes.js'
import { createBatchSettler } from '../facilitator/schemes/batch/settler.js'
import {
  createBatchVerifier,
  createVerifiedDepositCheck,
} from '../facilitator/schemes/batch/verifier.js'
import { createPaymentDigest } from '../facilitator/schemes/payment-method.js'
import type { Attestor } from '../facilitator/settle/attestor.js'
import { createDeliveries } from '../facilitator/settle/deliveries.js'
import {
  createVerifiedCheck,
  createVerifiedPayments,
  type TakeVerified,
} from '../facilitator/settle/settle-limit.js'
import { createSettler, type Settle } from '../facilitator/settle/settler.js'
import { createPaymentCheck } from '../facilitator/verify/payment-check.js'
import { createVerifier, type Verify } from '../facilitator/verify/verifier.js'
import type { Config } from './config/config.js'
import type { ComposedNetwork } from './network.js'
import type { Stores } from './stores/stores.js'

/** Verify, settle and the look-up of payments, over all networks. */
export interface ComposedFacilitator {
  verify: Verify
  settle: Settle
  takeVerified: TakeVerified
  payments: PaymentFinder
  /** Returns what is settled now: schemes and extensions come and go with their contracts. */
  supported(): SupportedAnswer
}

interface FacilitatorWorld {
  config: Config
  networks: readonly ComposedNetwork[]
  stores: Pick<Stores, 'journal' | 'deliveries'>
  /** Whether other processes may use the same database. */
  isShared: boolean
  keccak256: Keccak256
  recovery: SignerRecovery
  attestor: Attestor | undefined
  checksum: (address: Address) => Address
  /** Unix milliseconds. */
  now: () => number
  log: Logger
}

/** Interval at which one replica checks whether another has delivered a success. */
const DELIVERY_POLL_MS = 100

/**
 * Builds verify and settle of both schemes. A request goes to the scheme that its requirement names; `exact` explains what
 * is wrong with a body that names none.
 */
export function composeFacilitator(world: FacilitatorWorld): ComposedFacilitator {
  const { config, keccak256, recovery, attestor, checksum, now, log } = world
  const { journal, deliveries: deliveryStore } = world.stores
  const { settleWaitSeconds } = config
  const networks = new Map(world.networks.map(({ served }) => [served.terms.network, served]))
  const relayers = new Map(world.networks.map(({ relayer }) => [relayer.network, relayer]))
  const terms = new Map([...networks].map(([name, network]) => [name, network.terms]))
  const explorerUrls = new Map(config.networks.map((it) => [it.network as string, it.explorerUrl]))
  const computeDigest = createPaymentDigest(keccak256)
  const checkPayment = createPaymentCheck({
    served: networks,
    journal,
    computeDigest,
    recovery,
    now,
  })
  const deliveries = createDeliveries({
    store: deliveryStore,
    now,
    pollMs: world.isShared ? DELIVERY_POLL_MS : undefined,
    log,
  })
  const { isDelivering } = deliveries
  const verified = createVerifiedPayments()
  const paymentUrl = (network: string, payer: Address, nonce: string) =>
    `${config.baseUrl}/payments/${network}/${payer}/${nonce}`
  const statusUrl = (settlementId: string) => `${config.baseUrl}/payments/status/${settlementId}`
  const canSettle = (network: string, facilitator?: Address) => {
    const multicall = networks.get(network)?.permit2.multicall()
    const isShared = facilitator === multicall?.address
    const senders = isShared ? multicall?.wallets : facilitator && [facilitator]
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
    settle: createSettler({ ...settling, checkPayment, paymentUrl, deliveryStore, attestor }),
    takeVerified: createVerifiedCheck(verified, terms, computeDigest),
  }
  const batch = {
    verify: createBatchVerifier({ ...verifying, networks, journal }),
    settle: createBatchSettler({ ...settling, networks, statusUrl }),
    takeVerified: createVerifiedDepositCheck(verified, networks),
  }
  const schemeOf = (body: unknown) => (isBatchBody(body) ? batch : exact)
  return {
    verify: (body) => schemeOf(body).verify(body),
    settle: (request) => schemeOf(request.body).settle(request),
    takeVerified: (body) => schemeOf(body).takeVerified(body),
    payments: createPaymentFinder({ journal, terms, explorerUrls, checksum }),
    supported: createSupported(world),
  }
}

/** Makes the answer of `/supported`: schemes and extensions come and go with their contracts. */
function createSupported({
  networks,
  attestor,
  checksum,
}: Pick<FacilitatorWorld, 'networks' | 'attestor' | 'checksum'>): () => SupportedAnswer {
  const nextWallet = createWalletTurns(checksum)

  function kindsOf({ relayer, served }: ComposedNetwork): SupportedKind[] {
    const { network } = relayer
    const { isOffered, multicall } = served.permit2
    const extra = { assets: describeAssets(served.terms, checksum) }
    const assetTransferMethods: ('eip3009' | 'permit2')[] = ['eip3009']
    if (isOffered('exact')) assetTransferMethods.push('permit2')
    const kinds: SupportedKind[] = [
      { scheme: 'exact', network, extra: { ...extra, assetTransferMethods } },
    ]
    if (isOffered('upto')) {
      const shared = multicall()
      const facilitatorAddress = shared ? checksum(shared.address) : nextWallet(relayer)
      kinds.push({ scheme: 'upto', network, extra: { ...extra, facilitatorAddress } })
    }
    if (served.isBatchOffered()) {
      const byDeposit = { ...extra, assetTransferMethods: ['eip3009'] as const }
      kinds.push({ scheme: BATCH_SETTLEMENT, network, extra: byDeposit })
    }
    return kinds
  }

  return () => {
    const wallets = new Set(networks.flatMap(({ relayer }) => relayer.addresses))
    return {
      kinds: networks.flatMap(kindsOf).map((kind) => ({ x402Version: 2, ...kind })),
      extensions: [
        'bazaar',
        PAYMENT_IDENTIFIER,
        ...(attestor === undefined ? [] : [FACILITATOR_ATTESTATION]),
        ...(networks.some(isPermit2Offered) ? [GAS_SPONSORING] : []),
      ],
      signers: { 'eip155:*': [...wallets].map(checksum) },
    }
  }
}

/**
 * Makes the choice of the wallet that the payers of `upto` name. The wallets that can send take turns, so that merchants,
 * who ask once at their start, spread over them.
 */
function createWalletTurns(checksum: (address: Address) => Address) {
  let turn = 0
  return ({ addresses, canSend }: Pick<Relayer, 'addresses' | 'canSend'>): Address => {
    const able = addresses.filter((address) => canSend([address]))
    const choices = able.length > 0 ? able : addresses
    return checksum(choices[turn++ % choices.length] as Address)
  }
}

/** Returns what `/.well-known/x402` says about the settings of this deployment. */
export function describeFacilitator(
  { baseUrl, directoryUrl, networks: places }: Config,
  composed: readonly ComposedNetwork[],
  attestationAddress: Address | undefined,
  checksum: (address: Address) => Address,
): FacilitatorRoutesOptions['about'] {
  return {
    facilitator: baseUrl,
    networks: composed.map(({ served, relayer, status: { name } }) => {
      const { network, chainId } = served.terms
      const place = places.find((it) => it.network === network)
      return {
        network,
        chainId,
        name,
        explorerUrl: place?.explorerUrl ?? null,
        assets: describeAssets(served.terms, checksum),
        relayers: relayer.addresses.map(checksum),
      }
    }),
    attestation:
      attestationAddress === undefined
        ? null
        : { format: 'eip712', facilitator: attestationAddress },
    resources: {
      supported: `${baseUrl}/supported`,
      discovery: `${directoryUrl}/discovery/resources`,
      search: `${directoryUrl}/discovery/search`,
      mcp: `${directoryUrl}/mcp`,
      openapi: `${baseUrl}/openapi.json`,
    },
  }
}

/** Returns whether payments by Permit2 are settled on a network, for which a buyer may sign a permit instead of approving. */
function isPermit2Offered({ served: { permit2 } }: ComposedNetwork): boolean {
  return permit2.isOffered('exact') || permit2.isOffered('upto')
}
