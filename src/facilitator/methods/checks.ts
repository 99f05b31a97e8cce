import { isChannelContract, zeroAddress } from '@arcus/protocol/x402/address'
import { formatAtomic } from '@arcus/protocol/x402/amounts'
import { quote } from '@arcus/protocol/x402/json'
import { isNetwork } from '@arcus/protocol/x402/networks'
import type { ParsedPayment } from '@arcus/protocol/x402/payment'
import { paidThrough } from '@arcus/protocol/x402/rails'
import { isRejection, type ReasonKey, type Rejection, reject } from '@arcus/protocol/x402/reasons'
import type { Address } from 'viem'
import type { ExpectedTransfer } from '../../chain/authorization-uses.js'
import type { PaymentFacts } from '../../chain/payment-facts.js'
import type { AcceptedToken, NetworkTerms } from './network.js'

/** The time in Unix seconds, and for how many more seconds an authorization must be valid. */
export interface Clock {
  nowSeconds: number
  marginSeconds: number
  /** Whether the payment is to be settled, where `upto` may ask for less than was signed. */
  isSettle?: boolean
}

export type Check = (
  payment: ParsedPayment,
  terms: NetworkTerms,
  clock: Clock,
) => Rejection | undefined

/** The merchant has not begun to work, so a payment that is about to expire is refused. */
export const VERIFY_MARGIN_SECONDS = 6
/** The merchant has done the work, so settle still accepts a payment that lasts for a few more blocks. */
export const SETTLE_MARGIN_SECONDS = 2

/** Finds the terms of the network that the requirement names. */
export function findTerms(
  payment: ParsedPayment,
  served: ReadonlyMap<string, NetworkTerms>,
): NetworkTerms | Rejection {
  if (payment.acceptedScheme !== payment.scheme) {
    return reject(
      'schemeMismatch',
      `The payer accepted scheme ${quote(payment.acceptedScheme)}, expected "${payment.scheme}".`,
    )
  }
  const terms = served.get(payment.network)
  if (terms !== undefined) return terms
  const names = [...served.keys()].join(' and ')
  return isNetwork(payment.network)
    ? reject(
        'invalidNetwork',
        `Network ${payment.network} is known but not served here; served: ${names}.`,
      )
    : reject(
        'invalidNetwork',
        `Network ${quote(payment.network)} is not supported; served: ${names}.`,
      )
}

/** The checks that need neither signature nor chain, in the order that helps the caller most. */
const checks: readonly Check[] = [
  acceptedNetwork,
  rail,
  assetAndDomain,
  recipient,
  validityEnd,
  validityStart,
  amount,
  minimumAmount,
  parties,
]

/** Runs the checks of a payment by EIP-3009 that need neither signature nor chain, and returns the first rejection. */
export function checkTerms(
  payment: ParsedPayment,
  terms: NetworkTerms,
  clock: Clock,
): Rejection | undefined {
  return runChecks(checks, payment, terms, clock)
}

/** Runs checks in their order, and returns the first rejection. */
export function runChecks(
  checks: readonly Check[],
  payment: ParsedPayment,
  terms: NetworkTerms,
  clock: Clock,
): Rejection | undefined {
  for (const check of checks) {
    const rejection = check(payment, terms, clock)
    if (rejection !== undefined) return rejection
  }
  return undefined
}

/**
 * Checks the chain's facts about the transfer of a payment whose signature is good. The balance covers it together with what
 * other payments take that wait here.
 */
export function checkFacts(
  { asset, payer, payTo, value, nonce }: ExpectedTransfer,
  facts: PaymentFacts,
  waiting = 0n,
): Rejection | undefined {
  if (facts.isNonceUsed) {
    return reject(
      'nonceAlreadyUsed',
      `The authorization ${nonce} of ${payer} was used or cancelled on chain.`,
    )
  }
  if (facts.isPayerBlocklisted)
    return reject('payerBlocklisted', `The token blocks the payer ${payer}.`)
  if (facts.isPayToBlocklisted) {
    return reject('payToBlocklisted', `The token blocks the recipient ${payTo}.`)
  }
  if (facts.isPaused) return reject('assetPaused', `The token ${asset} is paused.`)
  if (facts.balance < value) {
    return reject(
      'insufficientBalance',
      `The payer ${payer} holds ${facts.balance} (${formatAtomic(facts.balance)}) of ${asset}, the payment needs ${value} (${formatAtomic(value)}).`,
    )
  }
  if (facts.balance < value + waiting) {
    return reject(
      'insufficientBalance',
      `The payer ${payer} holds ${facts.balance} (${formatAtomic(facts.balance)}) of ${asset}, and other payments that wait to be sent take ${waiting} (${formatAtomic(waiting)}) of it; the payment needs ${value} (${formatAtomic(value)}).`,
    )
  }
  return undefined
}

export function parties(
  { authorization, payTo }: ParsedPayment,
  terms: NetworkTerms,
): Rejection | undefined {
  return checkParties(authorization.from, payTo, terms)
}

/** Checks payer and recipient, the recipient first. */
export function checkParties(
  payer: Address,
  payTo: Address,
  terms: NetworkTerms,
): Rejection | undefined {
  return checkPayTo(payer, payTo, terms) ?? checkPayer(payer, terms)
}

/** Checks that an amount reaches the minimum of its token. */
export function checkMinimum(
  amount: bigint,
  { minAmount, symbol }: AcceptedToken,
): Rejection | undefined {
  const least = minAmount > 1n ? minAmount : 1n
  if (amount >= least) return undefined
  return reject(
    'amountBelowMinimum',
    `The amount ${amount} is below the minimum of ${least} (${formatAtomic(least)} ${symbol}) settled here.`,
  )
}

export function acceptedNetwork(payment: ParsedPayment): Rejection | undefined {
  if (payment.acceptedNetwork === payment.network) return undefined
  return reject(
    'networkMismatch',
    `The payer accepted network ${quote(payment.acceptedNetwork)}, the requirement names ${payment.network}.`,
  )
}

/** Refuses what was signed for another contract, before its signature and its domain look wrong. */
export function rail({ otherRail, asset }: ParsedPayment): Rejection | undefined {
  if (otherRail === undefined) return undefined
  return reject(
    'unsupportedRail',
    `The requirement is ${paidThrough(otherRail)}: extra.verifyingContract must be absent or the asset ${asset}.`,
  )
}

function assetAndDomain(payment: ParsedPayment, terms: NetworkTerms): Rejection | undefined {
  const token = findToken(payment.asset, terms)
  if (isRejection(token)) return token
  return checkDomain(payment.quotedDomain, token, 'missingEip712Domain')
}

/** Finds the token that a requirement names by its lower-case address, or refuses it with the ones that are taken. */
export function findToken(
  asset: Address,
  { tokens, network }: NetworkTerms,
): AcceptedToken | Rejection {
  const token = tokens.get(asset)
  if (token !== undefined) return token
  const taken = [...tokens.values()].map(({ address, symbol }) => `${address} (${symbol})`)
  return reject(
    'unsupportedAsset',
    `Asset ${asset} is not settled on ${network}; expected ${taken.join(' or ')}.`,
  )
}

/** Checks the EIP-712 domain that a merchant quotes against the pinned one of the asset. */
export function checkDomain(
  { name, version }: { name?: string | undefined; version?: string | undefined },
  token: AcceptedToken,
  missing: ReasonKey,
): Rejection | undefined {
  const right = `the EIP-712 domain of asset ${token.address} has name "${token.name}" and version "${token.version}"`
  if (!name || !version) {
    return reject(missing, `${name ? 'extra.version' : 'extra.name'} is missing; ${right}.`)
  }
  if (name !== token.name) {
    return reject('tokenNameMismatch', `extra.name is ${quote(name)}; ${right}.`)
  }
  if (version !== token.version) {
    return reject('tokenVersionMismatch', `extra.version is ${quote(version)}; ${right}.`)
  }
  return undefined
}

export function recipient({ authorization, payTo }: ParsedPayment): Rejection | undefined {
  if (authorization.to === payTo) return undefined
  return reject(
    'recipientMismatch',
    `The authorization pays ${authorization.to}, the requirement names payTo ${payTo}.`,
  )
}

function validityEnd(
  payment: ParsedPayment,
  _terms: NetworkTerms,
  clock: Clock,
): Rejection | undefined {
  const { validBefore } = payment.authorization
  const needed = BigInt(clock.nowSeconds + clock.marginSeconds)
  if (validBefore >= needed) return undefined
  return reject(
    'validBefore',
    `The authorization is valid before ${validBefore}; at ${clock.nowSeconds} it needs at least ${clock.marginSeconds} more seconds.`,
  )
}

export function validityStart(
  payment: ParsedPayment,
  _terms: NetworkTerms,
  clock: Clock,
): Rejection | undefined {
  const { validAfter } = payment.authorization
  if (validAfter <= BigInt(clock.nowSeconds)) return undefined
  return reject(
    'validAfter',
    `The authorization is valid after ${validAfter}; it is ${clock.nowSeconds} now.`,
  )
}

function amount({ authorization, amount: required }: ParsedPayment): Rejection | undefined {
  if (authorization.value === required) return undefined
  return reject(
    'valueMismatch',
    `The authorization value ${authorization.value} does not match the required amount ${required}.`,
  )
}

export function minimumAmount(
  { amount: required, asset }: ParsedPayment,
  terms: NetworkTerms,
): Rejection | undefined {
  const token = findToken(asset, terms)
  return isRejection(token) ? token : checkMinimum(required, token)
}

function checkPayTo(payer: Address, payTo: Address, terms: NetworkTerms): Rejection | undefined {
  if (payTo === zeroAddress) return reject('invalidPayTo', 'payTo is the zero address.')
  if (payTo === payer) {
    return reject('invalidPayTo', `payTo ${payTo} is the payer itself.`)
  }
  if (terms.tokens.has(payTo)) {
    return reject('invalidPayTo', `payTo ${payTo} is a token contract.`)
  }
  if (isChannelContract(payTo)) {
    return reject(
      'invalidPayTo',
      `payTo ${payTo} is a contract of x402: what it is paid would be lost.`,
    )
  }
  if (!terms.isPayToBlocked(payTo)) return undefined
  return reject(
    'payToNotAllowed',
    `The operator of this facilitator blocks the recipient ${payTo}.`,
  )
}

function checkPayer(payer: Address, terms: NetworkTerms): Rejection | undefined {
  if (terms.isRelayer(payer)) {
    return reject('payerNotAllowed', `The payer ${payer} is a relayer of this facilitator.`)
  }
  if (!terms.isPayerBlocked(payer)) return undefined
  return reject('payerNotAllowed', `The operator of this facilitator blocks the payer ${payer}.`)
}
