import type { BatchDigests } from '@arcus/protocol/x402/batch-digest'
import type { NetworkId } from '@arcus/protocol/x402/networks'
import type { ParsedPayment } from '@arcus/protocol/x402/payment'
import type { Address } from 'viem'
import type { ReadCoded } from '../../chain/accounts.js'
import type { FindAuthorizationUse } from '../../chain/authorization-uses.js'
import type { Block } from '../../chain/blocks.js'
import type { ReadPaymentFacts } from '../../chain/payment-facts.js'
import type { Permit2Transfer } from '../../chain/permit2.js'
import type { Rpc } from '../../chain/rpc.js'
import type { Token } from '../../chain/token.js'
import type { GasGuard } from '../relayer/gas-guard.js'
import type { JobKind } from '../relayer/jobs.js'
import type { Recipients } from '../relayer/recipients.js'
import type { Relayer } from '../relayer/relayer.js'
import type { Screening } from '../screening/screening.js'

/** A token in which payments are settled. */
export interface AcceptedToken extends Token {
  /** The least amount of a payment, 6-decimal units of this token. */
  minAmount: bigint
}

/** The rules for payments on a network that need no chain: the tokens, their minimums, the operator's blocks. */
export interface NetworkTerms {
  /** CAIP-2. */
  network: NetworkId
  chainId: number
  /** By lower-case address; the first is the default one. */
  tokens: ReadonlyMap<Address, AcceptedToken>
  isRelayer(address: Address): boolean
  /** Returns whether payers of `upto` may name the address: a relayer, or their multicall while it is deployed. */
  isFacilitator(address: Address): boolean
  isPayerBlocked(payer: Address): boolean
  isPayToBlocked(payTo: Address): boolean
}

/** The multicall of the relayers on a network. */
export interface OwnMulticall {
  address: Address
  /** The relayers that may call it. */
  wallets: readonly Address[]
}

/** The parts of a network that payments by Permit2 need. */
interface Permit2Access {
  readFacts: ReadPaymentFacts
  findUse: FindAuthorizationUse<Permit2Transfer>
  /** Returns whether the contracts of a scheme's payments by Permit2 are deployed on the network. */
  isOffered(scheme: ParsedPayment['scheme']): boolean
  /** Returns the multicall of the relayers, which payers of `upto` should name; `undefined` while it is not deployed. */
  multicall(): OwnMulticall | undefined
}

/** A network that is served: its rules, its chain and its relayer. */
export interface Network {
  terms: NetworkTerms
  name: string
  rpc: Rpc
  relayer: Relayer
  /** Undefined before the first block is seen. */
  latestBlock(): Block | undefined
  /** The number of the newest block seen; 0 before the first. */
  headBlock(): number
  /** The time of the newest block seen, Unix seconds; undefined before the first. */
  chainSeconds(): number | undefined
  /** Returns the price of one gas now, 18-decimal units. */
  gasPrice(): bigint
  readFacts: ReadPaymentFacts
  findUse: FindAuthorizationUse
  permit2: Permit2Access
  readCoded: ReadCoded
  guardGas: GasGuard
  recipients: Recipients
  /** `undefined` where nobody is screened. */
  screening: Screening | undefined
  /** Returns whether the contracts of `batch-settlement` are deployed on the network. */
  isBatchOffered(): boolean
  channelDigests: BatchDigests
  /** Returns an error if the token at this lower-case address is no longer the one pinned at start. */
  tokenMismatch(asset: Address): Error | undefined
  /** One for each token; it throws `TokenMismatchError` when the token is not the one pinned at start. */
  readTokens: readonly (() => Promise<Token>)[]
  /** How payments are examined on chain, by the kind of their jobs. */
  kinds: Readonly<Record<string, Pick<JobKind, 'examine'> | undefined>>
}
