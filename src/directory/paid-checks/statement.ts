import { type CheckView, checkReasons } from '@arcus/protocol/answers/paid-checks'
import type { CheckStatement } from '@arcus/protocol/x402/check-statement'
import { type Address, getAddress, zeroHash } from 'viem'
import { type PaidCheck, verdictOf } from '../store/paid-checks.js'

/** Makes the statement about a closed check, each time the same. */
export function statementOf(check: PaidCheck, checker: Address): CheckStatement {
  const { at, delivered, reason, transaction } = verdictOf(check)
  return {
    network: check.network,
    resource: check.url,
    method: check.method,
    toolName: check.toolName,
    payTo: getAddress(check.payTo),
    // Money that was signed away and never taken was not paid.
    amount: transaction === null ? '0' : String(check.amount),
    transaction: transaction ?? zeroHash,
    delivered,
    reason,
    ms: check.ms ?? 0,
    bytes: check.bytes ?? 0,
    sha256: check.sha256 ?? zeroHash,
    checkedAt: at,
    checker: getAddress(checker),
  }
}

/** Returns a closed check as everybody may see it. */
export function toView(check: PaidCheck): CheckView {
  const { bytes, sha256, checker, signature } = check
  const verdict = verdictOf(check)
  return {
    ...verdict,
    message: checkReasons[verdict.reason],
    amount: verdict.transaction === null ? '0' : String(check.amount),
    bytes,
    sha256,
    statement:
      checker === null || signature === null
        ? null
        : { payload: { ...statementOf(check, checker), reason: verdict.reason }, signature },
  }
}
