import { toFunctionSelector } from 'viem'

/** Errors of the settlement contract and of the usual libraries below it, which are told by selector only. */
const errors = [
  'ClaimExceedsBalance()',
  'ClaimExceedsCeiling()',
  'DepositCollectionFailed()',
  'DepositOverflow()',
  'ECDSAInvalidSignature()',
  'ECDSAInvalidSignatureLength(uint256)',
  'ECDSAInvalidSignatureS(bytes32)',
  'EmptyBatch()',
  'InvalidChannel()',
  'InvalidCollector()',
  'InvalidRefundNonce()',
  'InvalidSignature()',
  'NotReceiverAuthorizer()',
  'OnlyX402BatchSettlement()',
  'ReentrancyGuardReentrantCall()',
  'SafeERC20FailedOperation(address)',
  'WithdrawDelayOutOfRange()',
  'ZeroDeposit()',
  'ZeroRefund()',
] as const

const bySelector = new Map<string, string>(
  errors.map((error) => [toFunctionSelector(error), error.slice(0, error.indexOf('('))]),
)

/** A revert in words: the name of an error without text, and nothing that is an address on the network. */
export function wordsOf(revert: string): string {
  const selector = /^custom error (0x[0-9a-f]{8})/.exec(revert)?.[1]
  const name = selector === undefined ? undefined : bySelector.get(selector)
  return name ?? revert.replace(/https?:\/\/\S+/g, '…')
}
