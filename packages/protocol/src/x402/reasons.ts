/** A code of the wire, with the HTTP status it is answered with. */
interface Reason {
  code: string
  status: 200 | 400 | 409 | 413 | 429 | 500 | 503
  /** `x402` is the current TypeScript reference, `x402-spec` section 9 of the protocol, `arcus` our choice. */
  source: 'x402' | 'x402-spec' | 'arcus'
  /** One sentence that says when the code is given; rendered into the documentation. */
  meaning: string
}

const batch = 'invalid_batch_settlement_evm'

/** The table of every code that Arcus can answer. */
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
    meaning:
      'The payload is of a kind that the scheme does not have, or that has no contracts on the network.',
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
  unsupportedRail: {
    code: 'unsupported_rail',
    status: 200,
    source: 'arcus',
    meaning:
      'extra.verifyingContract is another contract than the asset: the requirement is paid through another rail, such as Circle Gateway, and not settled here.',
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
    meaning:
      "extra.name is not the token's EIP-712 name, which on Arc is `USDC` (not `USD Coin`, as on other chains) or `EURC`.",
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
      'The amount is zero, below the minimum this facilitator settles, or too small to cover its gas.',
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
    meaning: 'The payer is a relayer of this facilitator or refused by its operator.',
  },
  payToNotAllowed: {
    code: 'pay_to_not_allowed',
    status: 200,
    source: 'arcus',
    meaning:
      'The recipient is refused by the operator of this facilitator, or not among those for which it pays gas.',
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
  permit2Spender: {
    code: 'invalid_permit2_spender',
    status: 200,
    source: 'x402',
    meaning: "The spender of the Permit2 authorization is not x402's proxy for the scheme.",
  },
  permit2RecipientMismatch: {
    code: 'invalid_permit2_recipient_mismatch',
    status: 200,
    source: 'x402',
    meaning: 'The witness of the Permit2 authorization does not pay payTo.',
  },
  permit2DeadlineExpired: {
    code: 'permit2_deadline_expired',
    status: 200,
    source: 'x402',
    meaning: 'The deadline of the Permit2 authorization has passed or is too near to land.',
  },
  permit2NotYetValid: {
    code: 'permit2_not_yet_valid',
    status: 200,
    source: 'x402',
    meaning: 'The witness of the Permit2 authorization is not valid yet.',
  },
  permit2AmountMismatch: {
    code: 'permit2_amount_mismatch',
    status: 200,
    source: 'x402',
    meaning: 'The permitted amount is not the required amount.',
  },
  permit2TokenMismatch: {
    code: 'permit2_token_mismatch',
    status: 200,
    source: 'x402',
    meaning: 'The permitted token is not the asset of the requirement.',
  },
  permit2Signature: {
    code: 'invalid_permit2_signature',
    status: 200,
    source: 'x402',
    meaning: 'The Permit2 authorization is not signed by the payer, as Permit2 itself checks.',
  },
  permit2InvalidNonce: {
    code: 'permit2_invalid_nonce',
    status: 200,
    source: 'x402',
    meaning:
      'The nonce of the Permit2 authorization was used or cancelled, was settled with another amount, or was already answered with success.',
  },
  permit2InsufficientBalance: {
    code: 'permit2_insufficient_balance',
    status: 200,
    source: 'x402',
    meaning: "The payer's balance does not cover the amount of a Permit2 authorization.",
  },
  permit2AllowanceRequired: {
    code: 'permit2_allowance_required',
    status: 200,
    source: 'x402',
    meaning:
      'The payer has not approved Permit2 for the amount, and sent no permit (`eip2612GasSponsoring`).',
  },
  permit2SimulationFailed: {
    code: 'permit2_simulation_failed',
    status: 200,
    source: 'x402',
    meaning: 'The simulated settlement by Permit2 reverted for a reason without a code of its own.',
  },
  uptoScheme: {
    code: 'invalid_upto_evm_scheme',
    status: 200,
    source: 'x402',
    meaning: 'The scheme the payer accepted is not `upto`.',
  },
  uptoNetworkMismatch: {
    code: 'invalid_upto_evm_network_mismatch',
    status: 200,
    source: 'x402',
    meaning: 'The payer of an `upto` payment accepted another network than the requirement names.',
  },
  uptoFacilitatorMismatch: {
    code: 'upto_facilitator_mismatch',
    status: 200,
    source: 'x402',
    meaning: 'The witness names a wallet that is no relayer of this facilitator.',
  },
  uptoSettlementExceedsAmount: {
    code: 'invalid_upto_evm_payload_settlement_exceeds_amount',
    status: 200,
    source: 'x402',
    meaning: 'Settle asks for more than the payer permitted.',
  },
  uptoTransactionFailed: {
    code: 'invalid_upto_evm_transaction_failed',
    status: 200,
    source: 'x402',
    meaning: 'The `upto` payment did not land, without a more specific cause.',
  },
  eip2612Format: {
    code: 'invalid_eip2612_extension_format',
    status: 200,
    source: 'x402',
    meaning: 'The permit in `eip2612GasSponsoring` is malformed.',
  },
  eip2612FromMismatch: {
    code: 'eip2612_from_mismatch',
    status: 200,
    source: 'x402',
    meaning: 'The permit in `eip2612GasSponsoring` is not from the payer.',
  },
  eip2612AssetMismatch: {
    code: 'eip2612_asset_mismatch',
    status: 200,
    source: 'x402',
    meaning: 'The permit in `eip2612GasSponsoring` is for another token.',
  },
  eip2612SpenderNotPermit2: {
    code: 'eip2612_spender_not_permit2',
    status: 200,
    source: 'x402',
    meaning: 'The permit in `eip2612GasSponsoring` does not approve Permit2.',
  },
  eip2612DeadlineExpired: {
    code: 'eip2612_deadline_expired',
    status: 200,
    source: 'x402',
    meaning: 'The permit in `eip2612GasSponsoring` has expired or expires too soon to land.',
  },
  permit2612AmountMismatch: {
    code: 'permit2_2612_amount_mismatch',
    status: 200,
    source: 'x402',
    meaning: 'The permit in `eip2612GasSponsoring` approves another amount than the permitted one.',
  },
  gasBudgetExceeded: {
    code: 'gas_budget_exceeded',
    status: 200,
    source: 'arcus',
    meaning:
      'No gas is left today for this account, for all accounts with code, or for everybody; try again after midnight UTC.',
  },
  gasPriceTooHigh: {
    code: 'gas_price_too_high',
    status: 200,
    source: 'arcus',
    meaning: "The chain's base fee is above the cap the operator set.",
  },
  notSentInTime: {
    code: 'not_sent_in_time',
    status: 200,
    source: 'arcus',
    meaning:
      'The payment waited for its turn behind others, most often of its own payer, until nobody waited for it any more; nothing was sent, and it can be settled again.',
  },
  idempotencyKeyConflict: {
    code: 'idempotency_key_conflict',
    status: 200,
    source: 'arcus',
    meaning: 'The Idempotency-Key was used with another payment.',
  },
  paymentIdentifierRequired: {
    code: 'payment_identifier_required',
    status: 400,
    source: 'arcus',
    meaning:
      'The extension `payment-identifier` says that an id is required, and there is none of the right form.',
  },
  paymentIdentifierConflict: {
    code: 'payment_identifier_conflict',
    status: 409,
    source: 'arcus',
    meaning:
      'The id of the extension `payment-identifier` was used by this payer with another payment.',
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
      'The outcome is not known yet; `transaction` names the one that was signed for the payment or that may have settled it, so settle again to wait on.',
  },
  settlementUnknown: {
    code: 'settlement_unknown',
    status: 503,
    source: 'arcus',
    meaning:
      'Nothing is known of the outcome yet, not even a transaction; settle the same payment again.',
  },
  screeningUnavailable: {
    code: 'screening_unavailable',
    status: 503,
    source: 'arcus',
    meaning:
      'The operator screens payments, and no verdict came in time; this says nothing about the payment.',
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
      'The chain could not be read, or no relayer can sign and pay for gas; this says nothing about the payment.',
  },
  unexpectedSettleError: {
    code: 'unexpected_settle_error',
    status: 500,
    source: 'x402-spec',
    meaning:
      'The chain could not be reached, or no relayer can sign and pay for gas; nothing was sent for this payment.',
  },
  // The scheme `batch-settlement`, as in the current reference.
  batchScheme: {
    code: `${batch}_scheme`,
    status: 200,
    source: 'x402',
    meaning: 'The scheme the payer accepted is not `batch-settlement`.',
  },
  batchNetworkMismatch: {
    code: `${batch}_network_mismatch`,
    status: 200,
    source: 'x402',
    meaning:
      'For `batch-settlement`, the payer accepted another network than the requirement names.',
  },
  batchPayloadType: {
    code: `${batch}_payload_type`,
    status: 200,
    source: 'x402',
    meaning:
      'The type of the payload is unknown, or not one of verify (deposit, voucher, refund) or settle (deposit, claim, settle, enriched refund).',
  },
  batchChannelIdMismatch: {
    code: `${batch}_channel_id_mismatch`,
    status: 200,
    source: 'x402',
    meaning: 'The channel id is not the EIP-712 digest of the channel configuration on this chain.',
  },
  batchReceiverMismatch: {
    code: `${batch}_receiver_mismatch`,
    status: 200,
    source: 'x402',
    meaning: "The channel's receiver is not payTo.",
  },
  batchReceiverAuthorizerMismatch: {
    code: `${batch}_receiver_authorizer_mismatch`,
    status: 200,
    source: 'x402',
    meaning: 'extra.receiverAuthorizer is missing, zero, or not that of the channel.',
  },
  batchTokenMismatch: {
    code: `${batch}_token_mismatch`,
    status: 200,
    source: 'x402',
    meaning: "The channel's token is not the asset.",
  },
  batchWithdrawDelayMismatch: {
    code: `${batch}_withdraw_delay_mismatch`,
    status: 200,
    source: 'x402',
    meaning: "The channel's withdrawDelay is not extra.withdrawDelay.",
  },
  batchWithdrawDelayOutOfRange: {
    code: `${batch}_withdraw_delay_out_of_range`,
    status: 200,
    source: 'x402',
    meaning: 'withdrawDelay is not between 900 and 2592000 seconds.',
  },
  batchVoucherSignature: {
    code: `${batch}_voucher_signature`,
    status: 200,
    source: 'x402',
    meaning:
      "The voucher is not signed by the channel's payerAuthorizer, or by the payer if there is none.",
  },
  batchChannelNotFound: {
    code: `${batch}_channel_not_found`,
    status: 200,
    source: 'x402',
    meaning: 'The channel holds nothing: no deposit has landed.',
  },
  batchCumulativeExceedsBalance: {
    code: `${batch}_cumulative_exceeds_balance`,
    status: 200,
    source: 'x402',
    meaning: 'maxClaimableAmount is more than the channel holds, with the deposit if there is one.',
  },
  batchCumulativeBelowClaimed: {
    code: `${batch}_cumulative_below_claimed`,
    status: 200,
    source: 'x402',
    meaning: 'maxClaimableAmount is not above what was claimed already; for a refund, below it.',
  },
  batchInsufficientBalance: {
    code: `${batch}_insufficient_balance`,
    status: 200,
    source: 'x402',
    meaning: "The payer's balance does not cover the deposit.",
  },
  batchMissingEip712Domain: {
    code: `${batch}_missing_eip712_domain`,
    status: 200,
    source: 'x402',
    meaning: 'A deposit came without extra.name or extra.version.',
  },
  batchValidBefore: {
    code: `${batch}_payload_authorization_valid_before`,
    status: 200,
    source: 'x402',
    meaning: "The deposit's authorization has expired or expires too soon to land.",
  },
  batchValidAfter: {
    code: `${batch}_payload_authorization_valid_after`,
    status: 200,
    source: 'x402',
    meaning: "The deposit's authorization is not valid yet.",
  },
  batchReceiveAuthorizationSignature: {
    code: `${batch}_receive_authorization_signature`,
    status: 200,
    source: 'x402',
    meaning: "The deposit's authorization is not signed by the payer.",
  },
  batchFactoryNotAllowed: {
    code: `${batch}_eip6492_factory_not_allowed`,
    status: 200,
    source: 'x402',
    meaning: "The deposit's signature deploys a wallet (ERC-6492); no factory is allowed here.",
  },
  batchDepositSimulationFailed: {
    code: `${batch}_deposit_simulation_failed`,
    status: 200,
    source: 'x402',
    meaning: 'The simulated deposit reverted.',
  },
  batchDepositTransactionFailed: {
    code: `${batch}_deposit_transaction_failed`,
    status: 200,
    source: 'x402',
    meaning: 'The deposit reverted on chain without a more specific cause.',
  },
  batchClaimSimulationFailed: {
    code: `${batch}_claim_simulation_failed`,
    status: 200,
    source: 'x402',
    meaning: 'The simulated claim reverted.',
  },
  batchClaimTransactionFailed: {
    code: `${batch}_claim_transaction_failed`,
    status: 200,
    source: 'x402',
    meaning: 'The claim reverted on chain without a more specific cause.',
  },
  nothingToClaim: {
    code: 'nothing_to_claim',
    status: 200,
    source: 'arcus',
    meaning: 'Every total of the claim was claimed before; a transaction would change nothing.',
  },
  batchRepeatedChannel: {
    code: 'repeated_channel',
    status: 200,
    source: 'arcus',
    meaning:
      'Several rows of the claim are of the same channel; send one row for each channel, with its highest total.',
  },
  batchSettleSimulationFailed: {
    code: `${batch}_settle_simulation_failed`,
    status: 200,
    source: 'x402',
    meaning: 'The simulated payout to the receiver reverted.',
  },
  batchSettleTransactionFailed: {
    code: `${batch}_settle_transaction_failed`,
    status: 200,
    source: 'x402',
    meaning: 'The payout to the receiver reverted on chain without a more specific cause.',
  },
  batchNothingToSettle: {
    code: `${batch}_nothing_to_settle`,
    status: 200,
    source: 'x402',
    meaning: 'Everything claimed for this receiver and token was paid out before.',
  },
  batchRefundSimulationFailed: {
    code: `${batch}_refund_simulation_failed`,
    status: 200,
    source: 'x402',
    meaning: 'The simulated refund reverted, often because its nonce was used.',
  },
  batchRefundTransactionFailed: {
    code: `${batch}_refund_transaction_failed`,
    status: 200,
    source: 'x402',
    meaning: 'The refund reverted on chain without a more specific cause.',
  },
  batchRefundNoBalance: {
    code: `${batch}_refund_no_balance`,
    status: 200,
    source: 'x402',
    meaning: 'Nothing that is not claimed is left in the channel.',
  },
  batchAuthorizerNotConfigured: {
    code: `${batch}_authorizer_not_configured`,
    status: 200,
    source: 'x402',
    meaning:
      "A claim or refund came without the receiverAuthorizer's signature; this facilitator signs none for others.",
  },
} as const satisfies Record<string, Reason>

export type ReasonKey = keyof typeof reasons

/** A payment that fails a check: a value, never thrown. */
export interface Rejection {
  reason: ReasonKey
  /** One sentence with the expected and the actual value, safe to show to anybody. */
  message: string
}

export function reject(reason: ReasonKey, message: string): Rejection {
  return { reason, message }
}

export function isRejection(value: object): value is Rejection {
  return 'reason' in value
}

/** The codes of the protocol that this service never gives, each with the reason. */
export const reasonsNotProduced = {
  asset_not_deployed_contract: 'one asset is pinned per network and checked at start',
  invalid_exact_evm_eip3009_not_supported: 'the pinned asset is checked for EIP-3009 at start',
  smart_wallet_deployment_failed: 'ERC-6492 deployments are refused before',
  invalid_exact_evm_failed_to_parse_signature: 'a signature is checked as bytes, never parsed late',
  invalid_exact_evm_payload_undeployed_smart_wallet: 'not given by the reference either',
  invalid_transaction_state: 'every failure of `exact` has a code of its own',
  invalid_scheme: 'unsupported_scheme and invalid_exact_evm_scheme are more specific',
  insufficient_funds: 'invalid_exact_evm_insufficient_balance is more specific',
  invalid_exact_evm_payload_signature: 'the current reference says invalid_exact_evm_signature',
  invalid_exact_evm_payload_recipient_mismatch:
    'the current reference says invalid_exact_evm_recipient_mismatch',
  permit2_proxy_not_deployed:
    'unsupported_scheme and unsupported_payload_type say so before anything is simulated',
  'permit2_invalid_amount, permit2_invalid_destination, permit2_invalid_owner, permit2_payment_too_early':
    'the amount, the parties and the time are checked before, with codes of their own',
  'upto_amount_exceeds_permitted, upto_unauthorized_facilitator':
    'amount and wallet are checked before, with codes of their own',
  'invalid_erc20_approval_extension_format, erc20_approval_*':
    '`erc20ApprovalGasSponsoring` is not offered, and its transaction is never sent',
  'invalid_batch_settlement_evm_permit2_*, _eip2612_*, _erc20_approval_unavailable':
    'Permit2 deposits are refused as unsupported_payload_type',
  invalid_batch_settlement_evm_erc3009_authorization_required:
    'a deposit without an authorization is malformed: invalid_payload',
  invalid_batch_settlement_evm_smart_wallet_deployment_failed:
    'ERC-6492 deployments are refused before',
  invalid_batch_settlement_evm_rpc_read_failed:
    'a chain that cannot be read is a 500: unexpected_verify_error or unexpected_settle_error',
  invalid_batch_settlement_evm_authorizer_address_mismatch:
    'this facilitator has no authorizer of its own whose address could differ',
  'invalid_batch_settlement_evm_cumulative_amount_mismatch, _channel_busy, _missing_channel and the like':
    "the merchant's own package gives them",
} as const
