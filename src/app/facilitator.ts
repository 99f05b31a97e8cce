import type { Logger } from 'pino'
import type { Address } from 'viem'
import type { Config } from '../config/config.js'
import { createBatchSettler } from '../facilitator/batch/settler.js'
import { createBatchVerifier, createVerifiedDepositCheck } from '../facilitator/batch/verifier.js'
import { createDeliveries } from '../facilitator/deliveries.js'
import { createJudge } from '../facilitator/judge.js'
import { createPaymentFinder, type PaymentFinder } from '../facilitator/payment-status.js'
import type { SupportedKind } from '../facilitator/routes.js'
import {
  settleByRequirement,
  supportedKinds,
  verifiedByRequirement,
  verifyByRequirement,
} from '../facilitator/schemes.js'
import { createSettler, type Settle } from '../facilitator/settler.js'
import {
  createVerifiedCheck,
  createVerifiedPayments,
  type TakeVerified,
} from '../facilitator/verified.js'
import { createVerifier, type Verify } from '../facilitator/verifier.js'
import type { Stores } from '../store/stores.js'
import { createAuthorizationDigest } from '../x402/authorization-digest.js'
import type { Keccak256 } from '../x402/keccak.js'
import type { SignerRecovery } from '../x402/signer-recovery.js'
import type { ComposedNetwork } from './network.js'

/** Verify, settle and the look-up of payments, over all networks. */
export interface ComposedFacilitator {
  verify: Verify
  settle: Settle
  takeVerified: TakeVerified
  payments: PaymentFinder
  /** The schemes and networks that are settled at present. */
  kinds(): readonly SupportedKind[]
}

interface FacilitatorWorld {
  config: Config
  networks: readonly ComposedNetwork[]
  stores: Pick<Stores, 'journal' | 'deliveries'>
  /** Whether other processes may use the same database. */
  isShared: boolean
  keccak256: Keccak256
  recovery: SignerRecovery
  checksum: (address: Address) => Address
  /** Unix milliseconds. */
  now: () => number
  log: Logger
}

/** Interval at which one replica checks whether another has delivered a success. */
const DELIVERY_POLL_MS = 100

/** Builds verify and settle for every scheme. */
export function composeFacilitator(world: FacilitatorWorld): ComposedFacilitator {
  const { config, networks, keccak256, recovery, checksum, now, log } = world
  const { journal, deliveries: deliveryStore } = world.stores
  const { settleWaitSeconds } = config
  const served = new Map(networks.map((network) => [network.relayer.network, network.served]))
  const relayers = new Map(networks.map(({ relayer }) => [relayer.network, relayer]))
  const terms = new Map([...served].map(([name, network]) => [name, network.terms]))
  const batchNetworks = new Map(networks.map(({ relayer, batch }) => [relayer.network, batch]))
  const explorerUrls = new Map(config.networks.map((it) => [it.network as string, it.explorerUrl]))
  const computeDigest = createAuthorizationDigest(keccak256)
  const judge = createJudge({ served, journal, computeDigest, recovery, now })
  const deliveries = createDeliveries({
    store: deliveryStore,
    now,
    pollMs: world.isShared ? DELIVERY_POLL_MS : undefined,
    log,
  })
  const verified = createVerifiedPayments()
  const paymentUrl = (network: string, payer: Address, nonce: string) =>
    `${config.baseUrl}/payments/${network}/${payer}/${nonce}`
  const canSettle = (network: string) => relayers.get(network)?.canSend() ?? false
  const { isOut } = deliveries
  const settling = { judge, journal, deliveryStore, deliveries, relayers, settleWaitSeconds }
  const batching = { networks: batchNetworks, journal, checksum }
  return {
    verify: verifyByRequirement(
      createVerifier({ judge, verified, checksum, paymentUrl, canSettle, now, isOut }),
      createBatchVerifier({ ...batching, verified, canSettle }),
    ),
    settle: settleByRequirement(
      createSettler({ ...settling, checksum, paymentUrl, now, log }),
      createBatchSettler({ ...batching, deliveries, relayers, settleWaitSeconds, now, log }),
    ),
    takeVerified: verifiedByRequirement(
      createVerifiedCheck(verified, terms, computeDigest),
      createVerifiedDepositCheck(verified, batchNetworks),
    ),
    payments: createPaymentFinder({ journal, terms, explorerUrls, checksum }),
    kinds: () => supportedKinds(batchNetworks),
  }
}
