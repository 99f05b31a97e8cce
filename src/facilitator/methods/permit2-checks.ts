import { permit2Contracts } from '@arcus/protocol/x402/address'
import type { ParsedPayment, TokenPermit } from '@arcus/protocol/x402/payment'
import { isRejection, type ReasonKey, type Rejection, reject } from '@arcus/protocol/x402/reasons'
import { proxyOf } from '../../chain/permit2.js'
import {
  acceptedNetwork,
  type Check,
  type Clock,
  checkDomain,
  findToken,
  minimumAmount,
  parties,
  rail,
  recipient,
  runChecks,
  validityStart,
} from './checks.js'
import type { NetworkTerms } from './network.js'

/** A permit of the token must outlast this: it lands with the payment. */
const PERMIT_MARGIN_SECONDS = 6

/** The checks of a payment by Permit2 that need neither signature nor chain, in the order of the reference. */
const checks: readonly Check[] = [
  acceptedNetwork,
  rail,
  asset,
  spender,
  recipient,
  facilitator,
  deadline,
  validityStart,
  amount,
  token,
  minimum,
  parties,
]

/** Runs the checks of a payment by Permit2 that need neither signature nor chain, and returns the first rejection. */
export function checkPermit2Terms(
  payment: ParsedPayment,
  terms: NetworkTerms,
  clock: Clock,
): Rejection | undefined {
  return runChecks(checks, payment, terms, clock)
}

/** Checks the permit that must let Permit2 take the amount. Its nonce and signature are left to a simulation. */
export function checkTokenPermit(
  payment: ParsedPayment,
  nowSeconds: number,
): Rejection | undefined {
  const { from, value } = payment.authorization
  const permit = payment.permit2?.permit as TokenPermit | 'malformed'
  if (permit === 'malformed') {
    return reject('eip2612Format', 'extensions.eip2612GasSponsoring.info is malformed.')
  }
  if (permit.from !== from) {
    return reject('eip2612FromMismatch', `The permit is from ${permit.from}, the payer is ${from}.`)
  }
  if (permit.asset !== payment.asset) {
    return reject(
      'eip2612AssetMismatch',
      `The permit is for ${permit.asset}, the payment is in ${payment.asset}.`,
    )
  }
  if (permit.spender !== permit2Contracts.permit2) {
    return reject(
      'eip2612SpenderNotPermit2',
      `The permit approves ${permit.spender}, expected Permit2 at ${permit2Contracts.permit2}.`,
    )
  }
  if (permit.deadline < BigInt(nowSeconds + PERMIT_MARGIN_SECONDS)) {
    return reject(
      'eip2612DeadlineExpired',
      `The permit ends at ${permit.deadline}; at ${nowSeconds} it needs at least ${PERMIT_MARGIN_SECONDS} more seconds.`,
    )
  }
  if (permit.amount === value) return undefined
  return reject(
    'permit2612AmountMismatch',
    `The permit approves ${permit.amount}, the permitted amount is ${value}.`,
  )
}

/** A domain need not be quoted, because Permit2 has its own. A wrong one would spoil the buyer's permit of the token. */
function asset({ asset, quotedDomain }: ParsedPayment, terms: NetworkTerms): Rejection | undefined {
  const token = findToken(asset, terms)
  if (isRejection(token)) return token
  const { name, version } = quotedDomain
  const domain = { name: name || token.name, version: version || token.version }
  return checkDomain(domain, token, 'missingEip712Domain')
}

function spender({ permit2 }: ParsedPayment): Rejection | undefined {
  const expected = proxyOf(permit2 ?? {})
  if (permit2?.spender === expected) return undefined
  return reject(
    'permit2Spender',
    `The spender is ${permit2?.spender}, expected x402's proxy at ${expected}.`,
  )
}

function facilitator({ permit2 }: ParsedPayment, terms: NetworkTerms): Rejection | undefined {
  const named = permit2?.facilitator
  if (named === undefined || terms.isFacilitator(named)) return undefined
  return reject(
    'uptoFacilitatorMismatch',
    `The witness names ${named}, which is no relayer of this facilitator; take extra.facilitatorAddress from /supported.`,
  )
}

function deadline(
  payment: ParsedPayment,
  _terms: NetworkTerms,
  clock: Clock,
): Rejection | undefined {
  const last = payment.authorization.validBefore - 1n
  if (last >= BigInt(clock.nowSeconds + clock.marginSeconds)) return undefined
  return reject(
    'validBefore',
    `The deadline is ${last}; at ${clock.nowSeconds} it must be at least ${clock.marginSeconds} seconds away.`,
  )
}

/** `upto` settles any part of what was signed; everything else moves exactly that. */
function amount(
  payment: ParsedPayment,
  _terms: NetworkTerms,
  { isSettle }: Clock,
): Rejection | undefined {
  const { amount: required, authorization } = payment
  const { value: permitted } = authorization
  if (payment.scheme === 'upto' && isSettle) {
    if (required <= permitted) return undefined
    return reject(
      'uptoSettlementExceedsAmount',
      `The amount ${required} exceeds the ${permitted} that the payer permitted.`,
    )
  }
  if (permitted === required) return undefined
  return reject(
    'valueMismatch',
    `The permitted amount ${permitted} does not match the required amount ${required}.`,
  )
}

function token({ permit2, asset: required }: ParsedPayment): Rejection | undefined {
  if (permit2?.token === required) return undefined
  return reject(
    'permit2TokenMismatch',
    `The permitted token is ${permit2?.token}, the requirement names ${required}.`,
  )
}

/** Nothing is sent for a charge of nothing, so no amount must be worth its gas. */
function minimum(payment: ParsedPayment, terms: NetworkTerms, clock: Clock): Rejection | undefined {
  return isFreeOfCharge(payment, clock) ? undefined : minimumAmount(payment, terms)
}

/** Returns whether a settle of `upto` charges nothing. */
export function isFreeOfCharge(
  { scheme, amount: charged }: Pick<ParsedPayment, 'scheme' | 'amount'>,
  { isSettle }: Pick<Clock, 'isSettle'>,
): boolean {
  return scheme === 'upto' && isSettle === true && charged === 0n
}

/** The reasons that have a code of their own for payments by Permit2, as the reference has them. */
const ofPermit2: Partial<Record<ReasonKey, ReasonKey>> = {
  schemeMismatch: 'unsupportedPayloadType',
  recipientMismatch: 'permit2RecipientMismatch',
  validBefore: 'permit2DeadlineExpired',
  validAfter: 'permit2NotYetValid',
  valueMismatch: 'permit2AmountMismatch',
  signature: 'permit2Signature',
  nonceAlreadyUsed: 'permit2InvalidNonce',
  insufficientBalance: 'permit2InsufficientBalance',
  simulationFailed: 'permit2SimulationFailed',
}
const ofUpto: Partial<Record<ReasonKey, ReasonKey>> = {
  ...ofPermit2,
  schemeMismatch: 'uptoScheme',
  networkMismatch: 'uptoNetworkMismatch',
  transactionFailed: 'uptoTransactionFailed',
}

/** Translates a reason into the one whose code the scheme and the method of the payment have for it. */
export function reasonFor(
  reason: ReasonKey,
  { isUpto, isByPermit2 }: { isUpto: boolean; isByPermit2: boolean },
): ReasonKey {
  const own = isUpto ? ofUpto : isByPermit2 ? ofPermit2 : {}
  return own[reason] ?? reason
}

/** Writes a rejection in the codes of the payment's scheme and method. */
export function inCodesOf({ scheme, permit2 }: ParsedPayment, rejection: Rejection): Rejection {
  const isByPermit2 = permit2 !== undefined
  if (!isByPermit2) return rejection
  const reason = reasonFor(rejection.reason, { isUpto: scheme === 'upto', isByPermit2 })
  return { ...rejection, reason }
}
