import type { Address } from 'viem'
import type { Relayer } from '../relayer/relayer.js'
import type { DeliveryStore } from '../store/deliveries.js'
import type { SettlementJournal } from '../store/settlement-journal.js'
import type { AuthorizationDigest } from '../x402/authorization-digest.js'
import { BATCH_SETTLEMENT, isBatchBody } from '../x402/batch-request.js'
import type { SignerRecovery } from '../x402/signer-recovery.js'
import { createBatchSettler } from './batch/settler.js'
import { createBatchVerifier, createVerifiedDepositCheck } from './batch/verifier.js'
import { createDeliveries } from './deliveries.js'
import { createPaymentCheck, type ServedNetwork } from './payment-check.js'
import { createPaymentFinder, type PaymentFinder } from './payments.js'
import type { SupportedKind } from './routes.js'
import { createVerifiedCheck, createVerifiedPayments, type TakeVerified } from './settle-pace.js'
import { createSettler, type Settle } from './settler.js'
import { createVerifier, type Verify } from './verifier.js'

interface FacilitatorOptions {
  /** The networks by CAIP-2 name; relayers and explorers have the same keys. */
  networks: ReadonlyMap<string, ServedNetwork>
  relayers: ReadonlyMap<string, Relayer>
  /** The explorer of each network; `undefined` where there is none. */
  explorerUrls: ReadonlyMap<string, string | undefined>
  journal: SettlementJournal
  deliveryStore: DeliveryStore
  /** The interval for reading a delivery that another process holds, milliseconds; `undefined` without other processes. */
  deliveryPollMs: number | undefined
  settleWaitSeconds: number
  /** The public address of the service, without trailing slash. */
  baseUrl: string
  computeDigest: AuthorizationDigest
  recovery: SignerRecovery
  checksum: (address: Address) => Address
  /** Unix milliseconds. */
  now: () => number
  log: {
    error(details: object, message: string): void
    warn(details: object, message: string): void
  }
}

interface Facilitator {
  verify: Verify
  settle: Settle
  takeVerified: TakeVerified
  /** Lists the schemes of each network: `exact`, and `batch-settlement` where its contracts are deployed. */
  kinds(): SupportedKind[]
  payments: PaymentFinder
}

/**
 * Puts the facilitator together from its two schemes. A request goes to the scheme that its requirement names; `exact`
 * explains what is wrong with a body that names none.
 */
export function createFacilitator(options: FacilitatorOptions): Facilitator {
  const { networks, relayers, journal, deliveryStore, checksum, now, log } = options
  const { computeDigest, recovery, settleWaitSeconds } = options
  const terms = new Map([...networks].map(([name, network]) => [name, network.terms]))
  const checkPayment = createPaymentCheck({
    served: networks,
    journal,
    computeDigest,
    recovery,
    now,
  })
  const paymentUrl = (network: string, payer: Address, nonce: string) =>
    `${options.baseUrl}/payments/${network}/${payer}/${nonce}`
  const deliveries = createDeliveries({
    store: deliveryStore,
    now,
    pollMs: options.deliveryPollMs,
    log,
  })
  const { isDelivering } = deliveries
  const verified = createVerifiedPayments()
  const canSettle = (network: string) => relayers.get(network)?.canSend() ?? false
  const exact = {
    verify: createVerifier({
      checkPayment,
      verified,
      checksum,
      paymentUrl,
      canSettle,
      now,
      isDelivering,
    }),
    settle: createSettler({
      checkPayment,
      journal,
      deliveryStore,
      deliveries,
      relayers,
      settleWaitSeconds,
      checksum,
      paymentUrl,
      now,
      log,
    }),
    takeVerified: createVerifiedCheck(verified, terms, computeDigest),
  }
  const batch = {
    verify: createBatchVerifier({ networks, journal, checksum, verified, canSettle }),
    settle: createBatchSettler({
      networks,
      journal,
      checksum,
      deliveries,
      relayers,
      settleWaitSeconds,
      now,
      log,
    }),
    takeVerified: createVerifiedDepositCheck(verified, networks),
  }
  const schemeOf = (body: unknown) => (isBatchBody(body) ? batch : exact)
  return {
    verify: (body) => schemeOf(body).verify(body),
    settle: (request) => schemeOf(request.body).settle(request),
    takeVerified: (body) => schemeOf(body).takeVerified(body),
    kinds: () =>
      [...networks].flatMap(([network, { isBatchOffered }]): SupportedKind[] => [
        { scheme: 'exact', network },
        ...(isBatchOffered() ? [{ scheme: BATCH_SETTLEMENT, network } as const] : []),
      ]),
    payments: createPaymentFinder({
      journal,
      terms,
      explorerUrls: options.explorerUrls,
      checksum,
    }),
  }
}
