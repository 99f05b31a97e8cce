import type { Address, Hex } from 'viem'
import type { Authorization } from './authorization-digest.js'
import { withoutQuery } from './parse-url.js'
import type { RefundedPayment } from './payment-identifier.js'
import type { Permit2Terms } from './permit2-digest.js'

/**
 * A parsed payment, with amounts and times as bigints, times in seconds. Addresses and the nonce are lower-case; the wire
 * form is made at the edge.
 */
export interface ParsedPayment extends PaidResource {
  scheme: 'exact' | 'upto'
  /** CAIP-2, as the requirement names it; it may be unknown or not served. */
  network: string
  asset: Address
  payTo: Address
  /** The amount that the requirement asks for, in 6-decimal units; `upto` may ask for less than was signed at settle. */
  amount: bigint
  maxTimeoutSeconds: number
  /** The EIP-712 domain the merchant quotes in `extra`; compared with the token's, never used to verify. */
  quotedDomain: { name?: string; version?: string }
  /** The rail for which the requirement wants the signature, if it is not for the asset or Permit2 (`otherRailOf`). */
  otherRail?: string
  acceptedScheme: string
  acceptedNetwork: string
  authorization: Authorization
  /** Set where the authorization is for Permit2; otherwise it is for the token itself (EIP-3009). */
  permit2?: Permit2Payment
  signature: Hex
}

/** The paid resource as the payload names it; the payer does not sign it. */
export interface PaidResource {
  /** Whole in the memory of a request, and without its query wherever it is kept. */
  resourceUrl?: string
  /** With a valid name in the bazaar extension: the tool of the MCP server at the URL. */
  toolName?: string
}

/** Returns the members that name the paid resource, those alone that are there. */
export function paidResourceOf({
  resourceUrl,
  toolName,
}: { [Name in keyof PaidResource]: string | undefined }): PaidResource {
  return {
    ...(resourceUrl === undefined ? {} : { resourceUrl }),
    ...(toolName === undefined ? {} : { toolName }),
  }
}

/** Returns the members that a row may keep: the query of the URL is the buyer's own. */
export function keptResourceOf({ resourceUrl, toolName }: PaidResource): PaidResource {
  const url = resourceUrl === undefined ? undefined : withoutQuery(resourceUrl)
  return paidResourceOf({ resourceUrl: url, toolName })
}

/** The members that a payment by Permit2 has in addition to its authorization. */
export interface Permit2Payment extends Permit2Terms {
  /** The permit of the extension `eip2612GasSponsoring`, which may be malformed. */
  permit?: TokenPermit | 'malformed'
}

/** A signed permit (EIP-2612) that lets `spender` take `amount`; the deadline is in seconds. */
export interface TokenPermit {
  from: Address
  asset: Address
  spender: Address
  amount: bigint
  nonce: bigint
  deadline: bigint
  signature: Hex
}

/** The payment an answer is about, of any scheme. Amounts in 6-decimal units. */
export type AnsweredPayment = Pick<ParsedPayment, 'network' | 'asset' | 'payTo' | 'amount'> &
  PaidResource & {
    payer: Address
    /** 32 bytes; a call that is paid through a channel has none. */
    nonce?: Hex
    /** The nonce with its signature, or the signature alone: the same each time the same payment is presented. */
    proof?: string
    /** The payment that it gives back, where its nonce proves that. */
    refunded?: RefundedPayment
  }

/** Makes the summary of an `exact` payment. */
export function toAnsweredPayment(payment: ParsedPayment): AnsweredPayment {
  const { network, asset, payTo, amount, authorization, signature } = payment
  const payer = authorization.from
  const { nonce } = authorization
  const proof = `${nonce}${signature}`
  return { network, asset, payTo, amount, payer, nonce, proof, ...paidResourceOf(payment) }
}

/** An answer about a payment, for metrics, activity and the catalog. */
export interface PaymentAnswer {
  kind: 'verify' | 'settle'
  /** Unix milliseconds. */
  at: number
  latencyMs: number
  payment: AnsweredPayment
  /**
   * `failed` is any final refusal of settle, of sound and unsound payments alike. `free` is a success that moved nothing,
   * because the seller charged nothing.
   */
  state: 'valid' | 'invalid' | 'settled' | 'free' | 'failed' | 'pending'
  /** The wire code of a refusal. */
  reason: string | null
  transaction: Hex | null
  /** The id of the row in the journal; the same for every answer about one payment. */
  settlementId: string | null
  /** This payment's share of the gas, 18-decimal units; `null` where it is not known. */
  gasCost: bigint | null
}
