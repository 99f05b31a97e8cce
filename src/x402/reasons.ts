import { batchReasons } from './batch-reasons.js'
import type { Reason } from './reason.js'

/** Every code Arcus can answer, once. */
export const reasons = {
  invalidX402Version: {
    code: 'invalid_x402_version',
    status: 400,
    source: 'x402-spec',
    meaning: 'x402Version is not the number 2.',
  },
  invalidPayload: {
    code: 'invalid_payload',
    status: 400,
    source: 'x402-spec',
    meaning: 'The body or paymentPayload is malformed.',
  },
  invalidPaymentRequirements: {
    code: 'invalid_payment_requirements',
    status: 400,
    source: 'x402-spec',
    meaning:
      'paymentRequirements is malformed, or its payTo is spelled with a wrong EIP-55 checksum.',
  },
  unsupportedScheme: {
    code: 'unsupported_scheme',
    status: 200,
    source: 'x402-spec',
    meaning: 'The requirement asks for a scheme this facilitator does not settle.',
  },
  schemeMismatch: {
    code: 'invalid_exact_evm_scheme',
    status: 200,
    source: 'x402',
    meaning: 'The scheme the payer accepted is not `exact`.',
  },
  unsupportedPayloadType: {
    code: 'unsupported_payload_type',
    status: 200,
    source: 'x402',
    meaning: 'The payload is a Permit2 authorization; only EIP-3009 is settled here.',
  },
  invalidNetwork: {
    code: 'invalid_network',
    status: 200,
    source: 'x402-spec',
    meaning: 'The network is unknown, or known but not served by this facilitator.',
  },
  networkMismatch: {
    code: 'invalid_exact_evm_network_mismatch',
    status: 200,
    source: 'x402',
    meaning: 'The payer accepted another network than the requirement names.',
  },
  unsupportedAsset: {
    code: 'unsupported_asset',
    status: 200,
    source: 'arcus',
    meaning: 'The asset is not the stablecoin this facilitator settles on that network.',
  },
  missingEip712Domain: {
    code: 'invalid_exact_evm_missing_eip712_domain',
    status: 200,
    source: 'x402',
    meaning: 'extra.name or extra.version is missing or empty.',
  },
  tokenNameMismatch: {
    code: 'invalid_exact_evm_token_name_mismatch',
    status: 200,
    source: 'x402',
    meaning: "extra.name is not the token's EIP-712 name.",
  },
  tokenVersionMismatch: {
    code: 'invalid_exact_evm_token_version_mismatch',
    status: 200,
    source: 'x402',
    meaning: "extra.version is not the token's EIP-712 version.",
  },
  recipientMismatch: {
    code: 'invalid_exact_evm_recipient_mismatch',
    status: 200,
    source: 'x402',
    meaning: 'authorization.to is not payTo.',
  },
  validBefore: {
    code: 'invalid_exact_evm_payload_authorization_valid_before',
    status: 200,
    source: 'x402',
    meaning: 'The authorization has expired or expires too soon to land.',
  },
  validAfter: {
    code: 'invalid_exact_evm_payload_authorization_valid_after',
    status: 200,
    source: 'x402',
    meaning: 'The authorization is not valid yet.',
  },
  valueMismatch: {
    code: 'invalid_exact_evm_payload_authorization_value_mismatch',
    status: 200,
    source: 'x402',
    meaning: 'authorization.value is not exactly the required amount.',
  },
  amountBelowMinimum: {
    code: 'amount_below_minimum',
    status: 200,
    source: 'arcus',
    meaning:
      'The amount is zero, below the minimum this facilitator settles, or what it moves does not bear its gas.',
  },
  invalidPayTo: {
    code: 'invalid_pay_to',
    status: 200,
    source: 'arcus',
    meaning:
      'payTo is the zero address, the payer, the token contract or a contract of `batch-settlement`.',
  },
  payerNotAllowed: {
    code: 'payer_not_allowed',
    status: 200,
    source: 'arcus',
    meaning: 'The payer is a relayer of this facilitator or blocked by its operator.',
  },
  payToNotAllowed: {
    code: 'pay_to_not_allowed',
    status: 200,
    source: 'arcus',
    meaning: 'The recipient is blocked by the operator of this facilitator.',
  },
  factoryNotAllowed: {
    code: 'eip6492_factory_not_allowed',
    status: 200,
    source: 'x402',
    meaning: 'The signature deploys a wallet (ERC-6492); no factory is allowed here.',
  },
  signature: {
    code: 'invalid_exact_evm_signature',
    status: 200,
    source: 'x402',
    meaning: 'The signature is not the one the token would accept from the payer.',
  },
  nonceAlreadyUsed: {
    code: 'invalid_exact_evm_nonce_already_used',
    status: 200,
    source: 'x402',
    meaning: 'The authorization was used, cancelled, or already answered with success.',
  },
  payerBlocklisted: {
    code: 'payer_blocklisted',
    status: 200,
    source: 'arcus',
    meaning: 'The token blocks the payer.',
  },
  payToBlocklisted: {
    code: 'pay_to_blocklisted',
    status: 200,
    source: 'arcus',
    meaning: 'The token blocks the recipient.',
  },
  assetPaused: {
    code: 'asset_paused',
    status: 200,
    source: 'arcus',
    meaning: 'The token is paused.',
  },
  insufficientBalance: {
    code: 'invalid_exact_evm_insufficient_balance',
    status: 200,
    source: 'x402',
    meaning: "The payer's balance does not cover the amount.",
  },
  simulationFailed: {
    code: 'invalid_exact_evm_transaction_simulation_failed',
    status: 200,
    source: 'x402',
    meaning: 'The simulated transfer reverted for a reason without a code of its own.',
  },
  gasBudgetExceeded: {
    code: 'gas_budget_exceeded',
    status: 200,
    source: 'arcus',
    meaning:
      'A gas budget is spent: that of the payer or authorizer, that of accounts with code, or that of the day.',
  },
  gasPriceTooHigh: {
    code: 'gas_price_too_high',
    status: 200,
    source: 'arcus',
    meaning: "The chain's base fee is above the cap the operator set.",
  },
  idempotencyKeyConflict: {
    code: 'idempotency_key_conflict',
    status: 200,
    source: 'arcus',
    meaning: 'The Idempotency-Key was used with another payment.',
  },
  transactionFailed: {
    code: 'invalid_exact_evm_transaction_failed',
    status: 200,
    source: 'x402',
    meaning: 'The transaction reverted, or could not be sent, without a more specific cause.',
  },
  transferEventMismatch: {
    code: 'invalid_exact_evm_transfer_event_mismatch',
    status: 200,
    source: 'x402',
    meaning: 'The authorization was consumed on chain without the expected transfer.',
  },
  settlementPending: {
    code: 'settlement_pending',
    status: 200,
    source: 'x402',
    meaning:
      'The outcome is not known yet, and without a transaction no node has taken one; settle again to wait on.',
  },
  rateLimited: {
    code: 'rate_limited',
    status: 429,
    source: 'arcus',
    meaning: 'Too many requests from this address; Retry-After says when to come back.',
  },
  bodyTooLarge: {
    code: 'body_too_large',
    status: 413,
    source: 'arcus',
    meaning: 'The request body is larger than this facilitator reads.',
  },
  unexpectedVerifyError: {
    code: 'unexpected_verify_error',
    status: 500,
    source: 'x402-spec',
    meaning:
      'The chain could not be read, or no relayer can pay for gas; nothing is said of the payment.',
  },
  unexpectedSettleError: {
    code: 'unexpected_settle_error',
    status: 500,
    source: 'x402-spec',
    meaning:
      'The chain could not be reached, or no relayer can pay for gas; nothing was sent for this payment.',
  },
  ...batchReasons,
} as const satisfies Record<string, Reason>

export type ReasonKey = keyof typeof reasons

/** A payment that fails a check: a value, never thrown. */
export interface Rejection {
  reason: ReasonKey
  /** One sentence with the expected and the actual value, safe to show to anybody. */
  message: string
}
