import type { Address, Hex } from 'viem'
import { createCoalescer } from '../async/coalescer.js'
import { toQuantity } from './abi.js'
import { paymentFactsCode } from './creation-code.js'
import type { Rpc } from './rpc.js'
import { RpcUnavailableError } from './rpc-errors.js'
import type { Token } from './token.js'

/** The facts about one payment, all read in the same block. */
export interface PaymentFacts {
  blockNumber: number
  /** Unix seconds of that block. */
  blockTimestamp: number
  payerHasCode: boolean
  isNonceUsed: boolean
  isPayerBlocklisted: boolean
  isPayToBlocklisted: boolean
  isPaused: boolean
  /** 6-decimal units. */
  balance: bigint
  /** The allowance of Permit2 over the payer's tokens, 31 bytes at most; 0 where it was not asked. */
  allowance: bigint
}

interface PaymentParties {
  /** In lower case. */
  asset: Address
  payer: Address
  payTo: Address
  nonce: Hex
}

/** These decide which facts of a token are read. */
type TokenAbilities = Pick<Token, 'address' | 'hasBlocklist' | 'hasPause'>

export type ReadPaymentFacts = (parties: PaymentParties) => Promise<PaymentFacts>

/** Four token calls a member, each far below this on a FiatToken behind a proxy. */
const GAS_PER_MEMBER = 120_000
/** Arc's nodes cap `eth_call` at 30 M gas; the init-code and return limits alone would allow 383. */
const MAX_MEMBERS = 200
/** Two reads in flight measured best: one is answered while the next forms. */
const MAX_READS_IN_FLIGHT = 2
/** A read that hangs takes two seconds: with the read under way and its own, a caller waits six at most. */
const PATIENCE_MS = 3_000

const HAS_BLOCKLIST = 1
const HAS_PAUSE = 2
const BY_PERMIT2 = 4
const CALLS_ANSWERED = 1
const NONCE_USED = 2
const PAYER_BLOCKLISTED = 4
const PAY_TO_BLOCKLISTED = 8
const PAYER_HAS_CODE = 16

/**
 * Reads the facts of all payments in a token that wait at the same moment in one `eth_call` of creation code that
 * returns them (`contracts/PaymentFacts.yul`): nothing is deployed and no payer's code runs. The facts are at most one
 * block older than the newest block seen. The promise rejects with `RpcUnavailableError` when no node could answer.
 */
export function createPaymentFactsReader(
  rpc: Rpc,
  tokens: readonly TokenAbilities[],
  /** Returns the newest block seen, 0 before the first: a node more than one block behind it is not believed. */
  headBlock: () => number,
  /** The contract that keeps the nonces. */
  method: 'eip3009' | 'permit2' = 'eip3009',
): ReadPaymentFacts {
  const readers = new Map<Address, ReadPaymentFacts>()
  const addReader = (token: TokenAbilities) => {
    const read = createReader(rpc, token, headBlock, method)
    readers.set(token.address, read)
    return read
  }
  for (const token of tokens) addReader(token)

  return (parties) => {
    const { asset } = parties
    // A stored payment whose token has left the settings: the simulation shows what is not asked here.
    const unknown = () => addReader({ address: asset, hasBlocklist: false, hasPause: false })
    return (readers.get(asset) ?? unknown())(parties)
  }
}

/** Reads the facts of payments in one token. */
function createReader(
  rpc: Rpc,
  token: TokenAbilities,
  headBlock: () => number,
  method: 'eip3009' | 'permit2',
): ReadPaymentFacts {
  const flags =
    (token.hasBlocklist ? HAS_BLOCKLIST : 0) |
    (token.hasPause ? HAS_PAUSE : 0) |
    (method === 'permit2' ? BY_PERMIT2 : 0)
  const head = `${paymentFactsCode}${token.address.slice(2)}${flags.toString(16).padStart(2, '0')}`

  return createCoalescer<PaymentParties, PaymentFacts>({
    maxInFlight: MAX_READS_IN_FLIGHT,
    maxMembers: MAX_MEMBERS,
    patienceMs: PATIENCE_MS,
    async run(members) {
      const body = members.map(
        ({ payer, payTo, nonce }) => payer.slice(2) + payTo.slice(2) + nonce.slice(2),
      )
      const gas = `0x${(1_000_000 + members.length * GAS_PER_MEMBER).toString(16)}`
      const call = { data: head + body.join(''), gas }
      const oldest = headBlock() - 1
      const facts = decodeFacts(await rpc.request('eth_call', [call, 'latest']), members.length)
      const isStale = facts.some(({ blockNumber }) => blockNumber < oldest)
      if (!isStale) return facts
      // A node that does not have the block refuses the call, and the next one is asked.
      return decodeFacts(await rpc.request('eth_call', [call, toQuantity(oldest)]), members.length)
    },
  })
}

function decodeFacts(answer: unknown, count: number): PaymentFacts[] {
  if (typeof answer !== 'string' || answer.length !== 2 + 64 + count * 128) {
    throw new RpcUnavailableError('the chain node answered the payment read in another shape')
  }
  const isPaused = answer.slice(4, 6) === '01'
  const blockTimestamp = Number(`0x${answer.slice(6, 22)}`)
  const blockNumber = Number(`0x${answer.slice(22, 38)}`)
  return Array.from({ length: count }, (_, i) => {
    const at = 66 + i * 128
    const flags = Number.parseInt(answer.slice(at + 126, at + 128), 16)
    if ((flags & CALLS_ANSWERED) === 0) {
      throw new RpcUnavailableError('the token did not answer the payment read')
    }
    return {
      blockNumber,
      blockTimestamp,
      isPaused,
      balance: BigInt(`0x${answer.slice(at, at + 64)}`),
      allowance: BigInt(`0x${answer.slice(at + 64, at + 126)}`),
      isNonceUsed: (flags & NONCE_USED) !== 0,
      isPayerBlocklisted: (flags & PAYER_BLOCKLISTED) !== 0,
      isPayToBlocklisted: (flags & PAY_TO_BLOCKLISTED) !== 0,
      payerHasCode: (flags & PAYER_HAS_CODE) !== 0,
    }
  })
}
