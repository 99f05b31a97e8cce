import { permit2Contracts } from '@arcus/protocol/x402/address'
import type { ParsedPayment, TokenPermit } from '@arcus/protocol/x402/payment'
import { type Address, type Hex, keccak256, toFunctionSelector } from 'viem'
import { addressWord, bytesWords, selectors, topics, wordOf } from './abi.js'
import { type ExpectedTransfer, isExpectedTransfer } from './authorization-uses.js'
import type { Log } from './receipts.js'

const { exactProxy, uptoProxy } = permit2Contracts

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

export function transferOfPayment({
  asset,
  payTo,
  amount,
  authorization,
  permit2,
}: Pick<
  ParsedPayment,
  'asset' | 'payTo' | 'amount' | 'authorization' | 'permit2'
>): Permit2Transfer {
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

const settleSelectors: readonly string[] = [
  selectors.settleExact,
  selectors.settleExactWithPermit,
  selectors.settleUpto,
  selectors.settleUptoWithPermit,
]

/** Returns whether the data of a call of a proxy settles something. */
export function isSettleCall(data: Hex): boolean {
  return settleSelectors.includes(data.slice(0, selectors.settleExact.length))
}

/** What the call of a proxy has to do with a payment. */
type CallRelation = 'settles' | 'usesNonce' | 'other'

/**
 * Compares the data of a call of the payment's proxy with the payment. All arguments but the signature stand at fixed
 * places, so a call whose words are these is this payment and no other, whatever else its data holds. A call of other
 * words may still use the same nonce of the same payer.
 */
export function relationOf(data: Hex, expected: Permit2Transfer): CallRelation {
  const isUpto = expected.facilitator !== undefined
  const [plain, withPermit] = isUpto
    ? [selectors.settleUpto, selectors.settleUptoWithPermit]
    : [selectors.settleExact, selectors.settleExactWithPermit]
  const selector = data.slice(0, plain.length)
  if (selector !== plain && selector !== withPermit) return 'other'
  const start = plain.length + (selector === withPermit ? PERMIT_WORDS * 64 : 0)
  if (data.startsWith(settleWords(expected), start)) return 'settles'
  const wordAt = (place: number) => data.slice(start + place * 64, start + (place + 1) * 64)
  const owner = wordAt(isUpto ? 5 : 4)
  const isSameNonce = wordAt(2) === expected.nonce.slice(2)
  return isSameNonce && owner === addressWord(expected.payer) ? 'usesNonce' : 'other'
}

interface LoggedSettlement {
  /** The index of the expected transfer, if the asset logged it directly before; another payment moved something else. */
  transferLog: number | undefined
  /** The hash of the call, where a multicall of the relayers made it and logged it directly afterwards. */
  call: Hex | undefined
}

/**
 * Returns what the payment's proxy settled, in the order of the logs. The proxies log that they settled without saying
 * what, right after the asset has logged the transfer: of the logs of asset and proxy, a transfer counts if the next one
 * is the proxy's.
 */
export function readSettlements(
  logs: readonly Log[],
  expected: Permit2Transfer,
): LoggedSettlement[] {
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
  return concerned.flatMap((log, i) => {
    if (!isSettled(log)) return []
    const [before, after] = [concerned[i - 1], concerned[i + 1]]
    const isOwn = before !== undefined && isExpectedTransfer(before, expected)
    const call = after !== undefined && isCalled(after) ? after.topics[1] : undefined
    return [{ transferLog: isOwn ? before.index : undefined, call }]
  })
}

/**
 * Returns what this call settled in the transaction of which these are the logs: the only settlement of a transaction that
 * calls the proxy itself, or that with the hash of the call in one of the relayers' multicall.
 */
export function findSettlement(
  logs: readonly Log[],
  expected: Permit2Transfer,
  calldata: Hex,
): LoggedSettlement | undefined {
  const { facilitator } = expected
  const settlements = readSettlements(logs, expected)
  const isMulticall = logs.some(
    ({ address, topics: [topic] }) => address === facilitator && topic === topics.called,
  )
  if (!isMulticall) return settlements.length === 1 ? settlements[0] : undefined
  const hash = keccak256(calldata)
  return settlements.find(({ call }) => call === hash)
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
