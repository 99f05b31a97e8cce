/** A sentence for each code with which a payment is refused or fails, for people who do not know the protocol. */
const sentences: Record<string, string> = {
  invalid_x402_version: 'The request names a version of x402 that Arcus does not speak',
  invalid_payload: 'The payment is malformed',
  invalid_payment_requirements: 'The price the API asked for is malformed',
  unsupported_scheme: 'The API asks for a kind of payment that is not settled here',
  unsupported_payload_type: 'The payment was made in a way that is not settled here',
  invalid_network: 'The payment is for a network that is not served here',
  unsupported_asset: 'The payment is in a token that is not taken here',
  unsupported_rail: 'The payment goes through another system, which does not settle here',
  amount_below_minimum: 'The amount is too small to settle',
  invalid_pay_to: 'The recipient cannot be paid',
  payer_not_allowed: 'The buyer is refused by the operator',
  pay_to_not_allowed: 'The recipient is refused by the operator',
  payer_blocklisted: 'The token blocks the buyer',
  pay_to_blocklisted: 'The token blocks the recipient',
  asset_paused: 'The token is paused',
  eip6492_factory_not_allowed: 'The buyer’s wallet does not exist on the chain yet',
  gas_budget_exceeded: 'Failed payments of this account used up its gas for today',
  gas_price_too_high: 'Gas was too expensive at that moment',
  not_sent_in_time: 'It waited too long for its turn, and nothing was sent',
  idempotency_key_conflict: 'The same request key came with another payment',
  payment_identifier_required: 'The payment carries no id, and the API asks for one',
  payment_identifier_conflict: 'The same payment id came with another payment',
  settlement_pending: 'The outcome was not known yet',
  settlement_unknown: 'Nothing was known of the outcome yet',
  screening_unavailable: 'The operator’s check of the two sides gave no verdict',
  rate_limited: 'Too many requests came at once',
  body_too_large: 'The request was too large',
  unexpected_verify_error: 'The chain could not be read',
  unexpected_settle_error: 'The chain could not be reached, and nothing was sent',
  nothing_to_claim: 'Everything in the claim was claimed before',
  repeated_channel: 'The claim names a channel twice',

  invalid_exact_evm_scheme: 'The buyer signed for another kind of payment',
  invalid_exact_evm_network_mismatch: 'The buyer signed for another network',
  invalid_exact_evm_missing_eip712_domain: 'The price does not say how the token is signed for',
  invalid_exact_evm_token_name_mismatch: 'The price names the token wrongly',
  invalid_exact_evm_token_version_mismatch: 'The price names another version of the token',
  invalid_exact_evm_recipient_mismatch: 'The buyer signed for another recipient',
  invalid_exact_evm_payload_authorization_valid_before:
    'The payment expired before it could be settled',
  invalid_exact_evm_payload_authorization_valid_after: 'The payment is not valid yet',
  invalid_exact_evm_payload_authorization_value_mismatch: 'The buyer signed for another amount',
  invalid_exact_evm_signature: 'The signature is not the buyer’s',
  invalid_exact_evm_nonce_already_used: 'The signature was used or cancelled before',
  invalid_exact_evm_insufficient_balance: 'The buyer does not have enough money',
  invalid_exact_evm_transaction_simulation_failed: 'The payment would fail on the chain',
  invalid_exact_evm_transaction_failed: 'The payment failed on the chain',
  invalid_exact_evm_transfer_event_mismatch:
    'The signature was used on the chain without paying the recipient',

  invalid_permit2_spender: 'The buyer permitted somebody else to move the money',
  invalid_permit2_recipient_mismatch: 'The buyer signed for another recipient',
  permit2_deadline_expired: 'The payment expired before it could be settled',
  permit2_not_yet_valid: 'The payment is not valid yet',
  permit2_amount_mismatch: 'The buyer signed for another amount',
  permit2_token_mismatch: 'The buyer signed for another token',
  invalid_permit2_signature: 'The signature is not the buyer’s',
  permit2_invalid_nonce: 'The signature was used or cancelled before',
  permit2_insufficient_balance: 'The buyer does not have enough money',
  permit2_allowance_required: 'The buyer has not approved Permit2 for this token',
  permit2_simulation_failed: 'The payment would fail on the chain',
  invalid_upto_evm_scheme: 'The buyer signed for another kind of payment',
  invalid_upto_evm_network_mismatch: 'The buyer signed for another network',
  upto_facilitator_mismatch: 'The buyer signed for another facilitator',
  invalid_upto_evm_payload_settlement_exceeds_amount:
    'The API asked for more than the buyer permitted',
  invalid_upto_evm_transaction_failed: 'The payment failed on the chain',
  invalid_eip2612_extension_format: 'The approval that came with the payment is malformed',
  eip2612_from_mismatch: 'The approval that came with the payment is not the buyer’s',
  eip2612_asset_mismatch: 'The approval that came with the payment is for another token',
  eip2612_spender_not_permit2: 'The approval that came with the payment is not for Permit2',
  eip2612_deadline_expired: 'The approval that came with the payment expired',
  permit2_2612_amount_mismatch: 'The approval that came with the payment is for another amount',
}

const CHANNEL = 'invalid_batch_settlement_evm_'

/** The same for the codes of payment channels, without the beginning that they share. */
const ofChannels: Record<string, string> = {
  scheme: 'The buyer signed for another kind of payment',
  network_mismatch: 'The buyer signed for another network',
  payload_type: 'The request to the channel is of an unknown kind',
  channel_id_mismatch: 'The id of the channel is wrong',
  receiver_mismatch: 'The channel pays another recipient',
  receiver_authorizer_mismatch: 'The channel belongs to another merchant key',
  token_mismatch: 'The channel holds another token',
  withdraw_delay_mismatch: 'The channel has another waiting time than the API asks for',
  withdraw_delay_out_of_range: 'The waiting time of the channel is too short or too long',
  voucher_signature: 'The signature is not the buyer’s',
  channel_not_found: 'The channel holds no money yet',
  cumulative_exceeds_balance: 'The channel does not hold enough money',
  cumulative_below_claimed: 'The voucher is older than what was claimed already',
  insufficient_balance: 'The buyer does not have enough money',
  missing_eip712_domain: 'The price does not say how the token is signed for',
  payload_authorization_valid_before: 'The deposit expired before it could be settled',
  payload_authorization_valid_after: 'The deposit is not valid yet',
  receive_authorization_signature: 'The deposit is not signed by the buyer',
  eip6492_factory_not_allowed: 'The buyer’s wallet does not exist on the chain yet',
  deposit_simulation_failed: 'The deposit would fail on the chain',
  deposit_transaction_failed: 'The deposit failed on the chain',
  claim_simulation_failed: 'The claim would fail on the chain',
  claim_transaction_failed: 'The claim failed on the chain',
  settle_simulation_failed: 'The payout would fail on the chain',
  settle_transaction_failed: 'The payout failed on the chain',
  nothing_to_settle: 'Everything that was claimed was paid out before',
  refund_simulation_failed: 'The refund would fail on the chain',
  refund_transaction_failed: 'The refund failed on the chain',
  refund_no_balance: 'Nothing is left in the channel to give back',
  authorizer_not_configured: 'The request lacks the signature of the merchant key',
}

/** Says in one sentence without a full stop why a payment was refused or failed. */
export function failureText(code: string): string {
  const known = code.startsWith(CHANNEL) ? ofChannels[code.slice(CHANNEL.length)] : sentences[code]
  return known ?? code.replaceAll('_', ' ')
}

/** What a seller can do about failures, by the first code that fits. */
const advice: readonly (readonly [RegExp, string])[] = [
  [
    /insufficient|balance|allowance|blocklisted|payer_not_allowed|no_balance/,
    'You need not do anything: the buyer has to see to their wallet, and may then pay again.',
  ],
  [
    /valid_before|expired|not_sent_in_time/,
    'Settle sooner after you verified, or give buyers more time with a longer maxTimeoutSeconds in your 402.',
  ],
  [
    /already_used|invalid_nonce|nothing_to|already_claimed|conflict|repeated/,
    'Settle each payment once. If you did, the buyer sent the same one again: they have to sign a new one.',
  ],
  [
    /mismatch|signature|scheme|payload|domain|spender|missing|eip2612|valid_after|format/,
    'Check that price, address, token and network of your 402 are what you pass on to settle. If they are, the buyer’s software signed something else, and has to sign again.',
  ],
  [
    /rate_limited|gas_budget|too_large/,
    'Send fewer requests at once, verify before you settle, and try again later.',
  ],
  [
    /unexpected|unknown|pending|unavailable|gas_price|simulation|transaction_failed|factory/,
    'Settle the same payment again in a minute. It is never charged twice.',
  ],
  [
    /network|asset|pay_to|rail|below_minimum|not_allowed|unsupported/,
    'Change the terms of your 402 to what is served here. “Check” at your API names what does not fit.',
  ],
]

/** Says in a sentence what the seller can do about a failure. */
export function adviceFor(code: string): string {
  const found = advice.find(([codes]) => codes.test(code))
  return found?.[1] ?? `Give the operator this code: ${code}.`
}
