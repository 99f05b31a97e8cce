import { computeDomainSeparator } from '@arcus/protocol/x402/authorization-digest'
import { createKeccak256 } from '@arcus/protocol/x402/keccak'
import type { PaymentFacts } from '../../../src/chain/payment-facts.js'
import type { Rpc } from '../../../src/chain/rpc.js'
import type { AcceptedToken, Terms } from '../../../src/facilitator/verify/checks.js'
import type { ServedNetwork } from '../../../src/facilitator/verify/payment-check.js'
import { asset, network, nowSeconds } from '../x402/a-payment.js'

export const keccak256 = await createKeccak256()

const domainSeparator = computeDomainSeparator(keccak256, {
  name: 'USDC',
  version: '2',
  chainId: 5042,
  verifyingContract: asset,
})

export function aToken(changes: Partial<AcceptedToken> = {}): AcceptedToken {
  return {
    network,
    chainId: 5042,
    address: asset,
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
export function aTerms(changes: Partial<Terms> = {}): Terms {
  return {
    network,
    chainId: 5042,
    tokens: new Map([[asset, aToken()]]),
    isRelayer: () => false,
    isFacilitator: () => false,
    isPayerBlocked: () => false,
    isPayToBlocked: () => false,
    ...changes,
  }
}

/** A network whose chain has nothing against anybody and is never asked anything else. */
export function aNetwork(facts: () => Partial<PaymentFacts> = () => ({})): ServedNetwork {
  return {
    terms: aTerms(),
    rpc: unreachable,
    readFacts: async () => ({
      blockNumber: 7,
      blockTimestamp: nowSeconds,
      payerHasCode: false,
      isNonceUsed: false,
      isPayerBlocklisted: false,
      isPayToBlocklisted: false,
      isPaused: false,
      balance: 10n ** 30n,
      allowance: 0n,
      ...facts(),
    }),
    findUse: unexpected,
    permit2: {
      readFacts: unexpected,
      findUse: unexpected,
      isOffered: () => false,
      multicall: () => undefined,
    },
    headBlock: () => 7,
    chainSeconds: () => nowSeconds,
    relayers: ['0x00000000000000000000000000000000000000f1'],
    isBatchOffered: () => false,
    guardGas: async () => undefined,
    readCoded: async () => new Set(),
    gasPrice: () => 0n,
    tokenMismatch: () => undefined,
  }
}

const unexpected = async () => {
  throw new Error('nothing here reads the chain directly')
}

const unreachable: Rpc = {
  request: unexpected,
  batch: unexpected,
  everywhere: unexpected,
  prefer: () => {},
  close: async () => {},
}
