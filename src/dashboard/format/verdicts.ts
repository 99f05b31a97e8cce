/** Names of the verdicts of a probe. */
const verdicts: Record<string, string> = {
  live: 'Live',
  not_402: 'Does not answer 402',
  wrong_network: 'Quotes another network',
  wrong_asset: 'Quotes another asset',
  wrong_payto: 'Pays another address',
  redirect: 'Redirects',
  blocked_target: 'May not be called',
  unreachable: 'Not reachable',
  not_mcp: 'Does not speak MCP',
  tool_missing: 'No such tool',
  not_called: 'Never called',
  not_checked: 'Not checked yet',
}

const warnings: Record<string, string> = {
  price_drift:
    'The live 402 quotes another price than the listing, and buyers pay the live price. Save the listing with that price, or correct the endpoint.',
  amount_zero: 'The live 402 asks for an amount of zero, which is not settled. Ask for 1 or more.',
  schema_missing:
    'Neither the 402 nor the listing says how to call it. Add an input schema so that agents can use it as a tool.',
  wrong_domain:
    'The 402 names another EIP-712 domain than the token has, so that signatures of buyers do not work. On Arc the name is “USDC” or “EURC”, the version “2”.',
  scheme_not_settled:
    'The 402 asks for payment by a scheme that is not settled here. Offer “exact” as well.',
  foreign_pay_to:
    'The 402 also asks for payment to somebody else. Those requirements are not published.',
  header_missing:
    'The 402 carries its requirements in the body only. Send them in the PAYMENT-REQUIRED header too.',
  header_url_safe:
    'The PAYMENT-REQUIRED header is in URL-safe base64. Some clients read standard base64 only.',
  requirements_unusable:
    'Some of the quoted requirements cannot be used by a buyer on this network.',
}

export function verdictName(verdict: string): string {
  return verdicts[verdict] ?? verdict.replaceAll('_', ' ')
}

export function warningText(code: string): string {
  return warnings[code] ?? code.replaceAll('_', ' ')
}

export const statusNames = {
  live: 'Live',
  unverified: 'Unverified',
  failing: 'Failing',
} as const

/** Shortens `invalid_exact_evm_payload_authorization_value_mismatch` to `authorization value mismatch`. */
export function reasonName(code: string): string {
  return code
    .replace(/^invalid_(exact_evm_|batch_settlement_evm_)?(payload_)?/, '')
    .replaceAll('_', ' ')
}
