import type { Reason } from './reason.js'

const prefix = 'invalid_batch_settlement_evm'

/** Codes of the scheme `batch-settlement`, those of the current reference. */
export const batchReasons = {
  batchScheme: {
    code: `${prefix}_scheme`,
    status: 200,
    source: 'x402',
    meaning: 'The scheme the payer accepted is not `batch-settlement`.',
  },
  batchNetworkMismatch: {
    code: `${prefix}_network_mismatch`,
    status: 200,
    source: 'x402',
    meaning:
      'For `batch-settlement`, the payer accepted another network than the requirement names.',
  },
  batchPayloadType: {
    code: `${prefix}_payload_type`,
    status: 200,
    source: 'x402',
    meaning:
      'The type of the payload is unknown, or not one of verify (deposit, voucher, refund) or settle (deposit, claim, settle, enriched refund).',
  },
  batchChannelIdMismatch: {
    code: `${prefix}_channel_id_mismatch`,
    status: 200,
    source: 'x402',
    meaning: 'The channel id is not the EIP-712 digest of the channel configuration on this chain.',
  },
  batchReceiverMismatch: {
    code: `${prefix}_receiver_mismatch`,
    status: 200,
    source: 'x402',
    meaning: "The channel's receiver is not payTo.",
  },
  batchReceiverAuthorizerMismatch: {
    code: `${prefix}_receiver_authorizer_mismatch`,
    status: 200,
    source: 'x402',
    meaning: 'extra.receiverAuthorizer is missing, zero, or not that of the channel.',
  },
  batchTokenMismatch: {
    code: `${prefix}_token_mismatch`,
    status: 200,
    source: 'x402',
    meaning: "The channel's token is not the asset.",
  },
  batchWithdrawDelayMismatch: {
    code: `${prefix}_withdraw_delay_mismatch`,
    status: 200,
    source: 'x402',
    meaning: "The channel's withdrawDelay is not extra.withdrawDelay.",
  },
  batchWithdrawDelayOutOfRange: {
    code: `${prefix}_withdraw_delay_out_of_range`,
    status: 200,
    source: 'x402',
    meaning: 'withdrawDelay is not between 900 and 2592000 seconds.',
  },
  batchVoucherSignature: {
    code: `${prefix}_voucher_signature`,
    status: 200,
    source: 'x402',
    meaning:
      "The voucher is not signed by the channel's payerAuthorizer, or by the payer if there is none.",
  },
  batchChannelNotFound: {
    code: `${prefix}_channel_not_found`,
    status: 200,
    source: 'x402',
    meaning: 'The channel holds nothing: no deposit has landed.',
  },
  batchCumulativeExceedsBalance: {
    code: `${prefix}_cumulative_exceeds_balance`,
    status: 200,
    source: 'x402',
    meaning: 'maxClaimableAmount is more than the channel holds, with the deposit if there is one.',
  },
  batchCumulativeBelowClaimed: {
    code: `${prefix}_cumulative_below_claimed`,
    status: 200,
    source: 'x402',
    meaning: 'maxClaimableAmount is not above what was claimed already; for a refund, below it.',
  },
  batchInsufficientBalance: {
    code: `${prefix}_insufficient_balance`,
    status: 200,
    source: 'x402',
    meaning: "The payer's balance does not cover the deposit.",
  },
  batchMissingEip712Domain: {
    code: `${prefix}_missing_eip712_domain`,
    status: 200,
    source: 'x402',
    meaning: 'A deposit came without extra.name or extra.version.',
  },
  batchValidBefore: {
    code: `${prefix}_payload_authorization_valid_before`,
    status: 200,
    source: 'x402',
    meaning: "The deposit's authorization has expired or expires too soon to land.",
  },
  batchValidAfter: {
    code: `${prefix}_payload_authorization_valid_after`,
    status: 200,
    source: 'x402',
    meaning: "The deposit's authorization is not valid yet.",
  },
  batchReceiveAuthorizationSignature: {
    code: `${prefix}_receive_authorization_signature`,
    status: 200,
    source: 'x402',
    meaning: "The deposit's authorization is not signed by the payer.",
  },
  batchFactoryNotAllowed: {
    code: `${prefix}_eip6492_factory_not_allowed`,
    status: 200,
    source: 'x402',
    meaning: "The deposit's signature deploys a wallet (ERC-6492); no factory is allowed here.",
  },
  batchDepositSimulationFailed: {
    code: `${prefix}_deposit_simulation_failed`,
    status: 200,
    source: 'x402',
    meaning: 'The simulated deposit reverted.',
  },
  batchDepositTransactionFailed: {
    code: `${prefix}_deposit_transaction_failed`,
    status: 200,
    source: 'x402',
    meaning: 'The deposit reverted on chain without a more specific cause.',
  },
  batchClaimSimulationFailed: {
    code: `${prefix}_claim_simulation_failed`,
    status: 200,
    source: 'x402',
    meaning: 'The simulated claim reverted.',
  },
  batchClaimTransactionFailed: {
    code: `${prefix}_claim_transaction_failed`,
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
    code: `${prefix}_settle_simulation_failed`,
    status: 200,
    source: 'x402',
    meaning: 'The simulated payout to the receiver reverted.',
  },
  batchSettleTransactionFailed: {
    code: `${prefix}_settle_transaction_failed`,
    status: 200,
    source: 'x402',
    meaning: 'The payout to the receiver reverted on chain without a more specific cause.',
  },
  batchNothingToSettle: {
    code: `${prefix}_nothing_to_settle`,
    status: 200,
    source: 'x402',
    meaning: 'Everything claimed for this receiver and token was paid out before.',
  },
  batchRefundSimulationFailed: {
    code: `${prefix}_refund_simulation_failed`,
    status: 200,
    source: 'x402',
    meaning: 'The simulated refund reverted, often because its nonce was used.',
  },
  batchRefundTransactionFailed: {
    code: `${prefix}_refund_transaction_failed`,
    status: 200,
    source: 'x402',
    meaning: 'The refund reverted on chain without a more specific cause.',
  },
  batchRefundNoBalance: {
    code: `${prefix}_refund_no_balance`,
    status: 200,
    source: 'x402',
    meaning: 'Nothing that is not claimed is left in the channel.',
  },
  batchAuthorizerNotConfigured: {
    code: `${prefix}_authorizer_not_configured`,
    status: 200,
    source: 'x402',
    meaning:
      "A claim or refund came without the receiverAuthorizer's signature; this facilitator signs none for others.",
  },
} as const satisfies Record<string, Reason>
