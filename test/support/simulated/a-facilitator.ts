import { computeDomainSeparator } from '@arcus/protocol/x402/authorization-digest'
import { createBatchDigests } from '@arcus/protocol/x402/batch-digest'
import type { ParsedPayment } from '@arcus/protocol/x402/payment'
import { loadSignerRecovery } from '../../../src/chain/signer-recovery.js'
import { createDeliveryStore } from '../../../src/facilitator/journal/deliveries.js'
import type {
  AcceptedToken,
  Network,
  NetworkTerms,
} from '../../../src/facilitator/methods/network.js'
import { createPaymentDigest } from '../../../src/facilitator/methods/payment-method.js'
import { createDeliveries } from '../../../src/facilitator/settle/deliveries.js'
import { createSettler } from '../../../src/facilitator/settle/settler.js'
import { createPaymentCheck } from '../../../src/facilitator/verify/payment-check.js'
import { createSql } from '../../../src/sql/sqlite/sql.js'
import { unexpected } from '../unexpected.js'
import { keccak256, network, type Process, pass, usdc, type World, writesOf } from './a-relayer.js'

const recovery = await loadSignerRecovery(keccak256)
export const computeDigest = createPaymentDigest(keccak256)

const domainSeparator = computeDomainSeparator(keccak256, {
  name: 'USDC',
  version: '2',
  chainId: 5042,
  verifyingContract: usdc,
})

export function aToken(changes: Partial<AcceptedToken> = {}): AcceptedToken {
  return {
    network,
    chainId: 5042,
    address: usdc,
    name: 'USDC',
    version: '2',
    symbol: 'USDC',
    currency: 'USD',
    domainSeparator,
    hasBlocklist: true,
    hasPause: true,
    minAmount: 1n,
    ...changes,
  }
}

/** Terms that refuse nobody. */
export function aTerms(changes: Partial<NetworkTerms> = {}): NetworkTerms {
  return {
    network,
    chainId: 5042,
    tokens: new Map([[usdc, aToken()]]),
    isRelayer: () => false,
    isFacilitator: () => false,
    isPayerBlocked: () => false,
    isPayToBlocked: () => false,
    ...changes,
  }
}

/** The network of a process, as the schemes see it. */
export function aNetwork({ relayer, reads }: Process): Network {
  const { feed } = reads
  return {
    ...reads,
    terms: aTerms(),
    permit2: {
      readFacts: unexpected,
      findUse: unexpected,
      isOffered: () => false,
      multicall: () => undefined,
    },
    name: 'Arc',
    relayer,
    latestBlock: () => feed.latest(),
    headBlock: () => feed.latest()?.number ?? 0,
    chainSeconds: () => feed.latest()?.timestamp,
    readTokens: [],
    kinds: {},
    isBatchOffered: () => false,
    channelDigests: createBatchDigests(keccak256, 5042),
    guardGas: async () => undefined,
    recipients: { check: async () => 'none' },
    gasPrice: () => 0n,
    screening: undefined,
    tokenMismatch: () => undefined,
  }
}

/** The check of payments and the settler, over a relayer and the chain that it sends to. */
export function aFacilitator(
  { database }: World,
  process: Process,
  changes: (served: Network) => Partial<Network> = () => ({}),
) {
  const { relayer, journal } = process
  const served = aNetwork(process)
  const checkPayment = createPaymentCheck({
    served: new Map([[network, { ...served, ...changes(served) }]]),
    journal,
    computeDigest,
    recovery,
    now: Date.now,
  })
  const deliveryStore = createDeliveryStore(createSql(database, writesOf(database)))
  const log = { error() {} }
  const settle = createSettler({
    checkPayment,
    journal,
    deliveryStore,
    log,
    now: Date.now,
    deliveries: createDeliveries({ store: deliveryStore, now: Date.now, log }),
    relayers: new Map([[network, relayer]]),
    settleWaitSeconds: 30,
    checksum: (address) => address,
    paymentUrl: (...name) => `http://arcus/payments/${name.join('/')}`,
  })
  return {
    checkPayment,
    settle,
    /** Checks a payment, and lets the clock go on until that is done. */
    async verify(payment: ParsedPayment) {
      let isDone = false
      const result = checkPayment(payment, verifying).finally(() => {
        isDone = true
      })
      result.catch(() => {})
      for (let i = 0; i < 100 && !isDone; i++) await pass(1)
      return result
    },
  }
}

const verifying = { isSettle: false, marginSeconds: 6, maxAgeMs: 0 }
