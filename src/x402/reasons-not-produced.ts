/** Codes of the protocol that this service never gives, and why. */
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
  'invalid_batch_settlement_evm_permit2_*, _eip2612_*, _erc20_approval_unavailable':
    'Permit2 deposits are refused as unsupported_payload_type',
  invalid_batch_settlement_evm_erc3009_authorization_required:
    'a deposit without an authorization is malformed: invalid_payload',
  invalid_batch_settlement_evm_smart_wallet_deployment_failed:
    'ERC-6492 deployments are refused before',
  invalid_batch_settlement_evm_rpc_read_failed:
    'a chain that cannot be read is a 500: unexpected_verify_error or unexpected_settle_error',
  invalid_batch_settlement_evm_authorizer_address_mismatch:
    'there is no authorizer of ours whose address could differ',
  'invalid_batch_settlement_evm_cumulative_amount_mismatch, _channel_busy, _missing_channel and the like':
    "the merchant's own package gives them",
} as const
