import { type Address, type Hex, keccak256, toFunctionSelector } from 'viem'
import { permit2Contracts } from '../x402/address.js'
import type { Payment, TokenPermit } from '../x402/payment.js'
import {
  addressOf,
  addressTopic,
  addressWord,
  bytesWords,
  selectors,
  topics,
  wordOf,
} from './abi.js'
import {
  createUseSearch,
  type ExpectedTransfer,
  type FindAuthorizationUse,
  type FoundUse,
  isExpectedTransfer,
  readPaidUse,
} from './authorization-uses.js'
import { type BlockRange, type Log, readLogs, readTransactions } from './receipts.js'
import type { Rpc } from './rpc.js'

const { permit2, exactProxy, uptoProxy } = permit2Contracts

/** A payment by Permit2 as its proxy is called and as its logs must show it. */
export interface Permit2Transfer extends ExpectedTransfer {
  /** The permitted amount; `value` is what moves, which may be less for `upto`. */
  permitted: bigint
  /** The last second in which it can move. */
  deadline: bigint
  validAfter: bigint
  /** The address that alone may settle, for `upto`: a relayer or their multicall. */
  facilitator: Address | undefined
}

/** Returns the transfer that settles a payment. */
export function transferOfPayment({
  asset,
  payTo,
  amount,
  authorization,
  permit2,
}: Pick<Payment, 'asset' | 'payTo' | 'amount' | 'authorization' | 'permit2'>): Permit2Transfer {
  const { from: payer, value: permitted, validAfter, validBefore, nonce } = authorization
  const deadline = validBefore - 1n
  const facilitator = permit2?.facilitator
  return { asset, payer, payTo, value: amount, nonce, permitted, deadline, validAfter, facilitator }
}

/** Returns the contract that settles a payment. */
export function proxyOf({ facilitator }: { facilitator?: Address | undefined }): Address {
  return facilitator === undefined ? exactProxy : uptoProxy
}

/** Encodes the call of the proxy, with the permit of the token where the payer sent one. */
export function encodePermit2Settle(
  transfer: Permit2Transfer,
  signature: Hex,
  permit?: TokenPermit,
): Hex {
  const words = settleWords(transfer)
  const isUpto = transfer.facilitator !== undefined
  const permitWords = permit === undefined ? '' : wordsOfPermit(permit)
  const selector =
    permit === undefined
      ? selectors[isUpto ? 'settleUpto' : 'settleExact']
      : selectors[isUpto ? 'settleUptoWithPermit' : 'settleExactWithPermit']
  // The words, and that of the offset itself.
  const offset = wordOf((permitWords.length + words.length) / 2 + 32)
  return `${selector}${permitWords}${words}${offset}${bytesWords(signature)}`
}

/** The arguments of a settlement before its signature. They hold everything that makes it this payment and no other. */
function settleWords(transfer: Permit2Transfer): string {
  const { asset, permitted, nonce, deadline, value, payer, payTo, facilitator, validAfter } =
    transfer
  const permit = `${addressWord(asset)}${wordOf(permitted)}${nonce.slice(2)}${wordOf(deadline)}`
  return facilitator === undefined
    ? `${permit}${addressWord(payer)}${addressWord(payTo)}${wordOf(validAfter)}`
    : `${permit}${wordOf(value)}${addressWord(payer)}${addressWord(payTo)}${addressWord(facilitator)}${wordOf(validAfter)}`
}

/** The words of a token's permit before those of the settlement. */
const PERMIT_WORDS = 5

function wordsOfPermit({ amount, deadline, signature }: TokenPermit): string {
  const v = signature.slice(130).padStart(64, '0')
  return `${wordOf(amount)}${wordOf(deadline)}${signature.slice(2, 130)}${v}`
}

/**
 * Returns the log index of the transfer by which this call settled the payment. The proxies log that they settled without
 * saying what, right after the asset has logged the transfer: so of the logs of asset and proxy, a transfer counts if the
 * next one is the proxy's. A multicall of the relayers logs the hash of each call that succeeded right after that, and then
 * only the transfer before the hash of this call counts. Elsewhere `place` chooses among transfers that look the same.
 */
export function findPermit2Transfer(
  logs: readonly Log[],
  expected: Permit2Transfer,
  calldata: Hex,
  place = 0,
): number | undefined {
  const { asset, facilitator } = expected
  const proxy = proxyOf(expected)
  const isSettled = ({ address, topics: [topic] }: Log) =>
    address === proxy && (topic === topics.settled || topic === topics.settledWithPermit)
  const isTransfer = ({ address, topics: [topic] }: Log) =>
    address === asset && topic === topics.transfer
  const isCalled = ({ address, topics: [topic] }: Log) =>
    address === facilitator && topic === topics.called
  const concerned = logs
    .filter((log) => isSettled(log) || isTransfer(log) || isCalled(log))
    .sort((a, b) => a.index - b.index)
  const found = concerned.flatMap((log, i) => {
    const next = concerned[i + 1]
    const isOwn = next !== undefined && isSettled(next) && isExpectedTransfer(log, expected)
    return isOwn ? [{ index: log.index, call: concerned[i + 2]?.topics[1] }] : []
  })
  if (!concerned.some(isCalled)) return found[Math.min(place, found.length - 1)]?.index
  const hash = keccak256(calldata)
  return found.find(({ call }) => call === hash)?.index
}

/** Makes the search for settlements and cancellations of Permit2 authorizations; `now` is monotonic, for tests. */
export function createPermit2Uses(
  rpc: Rpc,
  now?: () => number,
): FindAuthorizationUse<Permit2Transfer> {
  return createUseSearch(
    // The same authorization of `upto` may have been sent with several amounts.
    ({ payer, nonce, asset, value }) => `${payer}/${nonce}/${asset}/${value}`,
    (expected, blocks) => findInRange(rpc, expected, blocks),
    now,
  )
}

/** The transactions that are read in one round trip. */
const TRANSACTIONS_AT_ONCE = 50

/**
 * Finds the transaction that settled or cancelled this very payment. Permit2 logs a cancellation of a used nonce as well,
 * so a settlement goes before a cancellation, and one answer must show both: two queries may reach two nodes, of which one
 * is behind.
 */
async function findInRange(
  rpc: Rpc,
  expected: Permit2Transfer,
  blocks: BlockRange,
): Promise<FoundUse | undefined> {
  const { asset, payer, payTo, value } = expected
  const filter = {
    address: [asset, permit2],
    topics: [[topics.transfer, topics.nonceInvalidation], addressTopic(payer)],
  }
  const candidates = new Map<Hex, number>()
  let cancel: FoundUse | undefined
  for await (const { transactionHash, blockNumber, topics: named, data } of readLogs(
    rpc,
    filter,
    blocks,
  )) {
    const transaction = transactionHash.toLowerCase() as Hex
    const block = Number(blockNumber)
    if (named[0] === topics.nonceInvalidation) {
      if (!cancels(data, expected)) continue
      cancel = { blockNumber: block, use: { state: 'cancelled', transaction } }
    } else if (addressOf(named[2] ?? '') === payTo && data === `0x${wordOf(value)}`) {
      candidates.set(transaction, block)
    }
  }
  return (await findSettlement(rpc, expected, candidates)) ?? cancel
}

/** Tells whether the data of an invalidation, a word of the bitmap and its bits, cover the nonce. */
function cancels(data: Hex, { nonce }: Permit2Transfer): boolean {
  const word = BigInt(data.slice(0, 66))
  const mask = BigInt(`0x${data.slice(66, 130)}`)
  return word === BigInt(nonce) >> 8n && ((mask >> (BigInt(nonce) & 255n)) & 1n) === 1n
}

/**
 * Finds the settlement of this very payment among the transactions that move the same. No log names the nonce, and a payer
 * may pay the same amount twice: the call of the proxy, with all its arguments, must be in the transaction's input.
 */
async function findSettlement(
  rpc: Rpc,
  expected: Permit2Transfer,
  candidates: ReadonlyMap<Hex, number>,
): Promise<FoundUse | undefined> {
  const hashes = [...candidates.keys()]
  for (let i = 0; i < hashes.length; i += TRANSACTIONS_AT_ONCE) {
    const part = hashes.slice(i, i + TRANSACTIONS_AT_ONCE)
    for (const { hash, input } of await readTransactions(rpc, part)) {
      const place = placeAmongTwins(input, expected)
      if (place === undefined) continue
      const call = settleCallIn(input, expected)
      // Without a use the call failed, and the transfer belongs to something else in the transaction.
      const use = await readPaidUse(rpc, hash, {
        isOfUse: (log) => isExpectedTransfer(log, expected),
        findTransfer: (logs) => findPermit2Transfer(logs, expected, call, place),
      })
      if (use !== undefined) return { blockNumber: candidates.get(hash) as number, use }
    }
  }
  return undefined
}

/**
 * Returns how many settlements that move the same from the same payer to the same recipient come before this one in a
 * transaction's input; `undefined` when it does not have this one.
 */
function placeAmongTwins(input: string, expected: Permit2Transfer): number | undefined {
  const own = input.indexOf(settleWords(expected))
  if (own < 0) return undefined
  const { asset, payer, payTo, value, facilitator } = expected
  const any = '[0-9a-f]{64}'
  const amount =
    facilitator === undefined
      ? `${wordOf(value)}${any}${any}`
      : `${any}${any}${any}${wordOf(value)}`
  const twin = new RegExp(
    `${addressWord(asset)}${amount}${addressWord(payer)}${addressWord(payTo)}`,
    'g',
  )
  return [...input.slice(0, own).matchAll(twin)].length
}

/** Returns the call of the proxy in the input of a transaction that has the words of this settlement. */
function settleCallIn(input: string, expected: Permit2Transfer): Hex {
  const words = input.indexOf(settleWords(expected))
  const hasSelector = input.slice(words - 8, words) === selectors.settleUpto.slice(2)
  const start = hasSelector ? words - 8 : words - 8 - PERMIT_WORDS * 64
  // In a multicall the length of the call, in bytes, stands before it.
  const length = start > 64 ? Number(`0x${input.slice(start - 64, start)}`) : Number.MAX_VALUE
  return `0x${input.slice(start, start + length * 2)}`
}

/** The errors of Permit2 and the proxies, which nodes show as their selectors. */
const errorNames = new Map(
  [
    'SignatureExpired(uint256)',
    'InvalidNonce()',
    'InvalidSigner()',
    'InvalidSignature()',
    'InvalidSignatureLength()',
    'InvalidContractSignature()',
    'InvalidAmount(uint256)',
    'InvalidAmount()',
    'InvalidOwner()',
    'InvalidDestination()',
    'PaymentTooEarly()',
    'AmountExceedsPermitted()',
    'UnauthorizedFacilitator()',
    'Permit2612AmountMismatch()',
  ].map((error) => [toFunctionSelector(error), error.replace(/\(.*/, '')]),
)

/** Names the error of Permit2 or a proxy in the text of a revert; any other text stays as it is. */
export function namePermit2Revert(revert: string): string {
  return revert.replace(/custom error (0x[0-9a-f]{8})/, (text, selector) => {
    return errorNames.get(selector) ?? text
  })
}

/** The text of a settlement that is simulated before its time. */
export const PAYMENT_TOO_EARLY = `custom error ${toFunctionSelector('PaymentTooEarly()')}`
