/** The advice for sellers about failures, by the first code that fits. */
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
