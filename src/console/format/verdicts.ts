/** Names of what a check of an endpoint found. */
const verdicts: Record<string, string> = {
  live: 'Live',
  not_402: 'Does not ask for payment',
  wrong_network: 'Asks for payment on another network',
  wrong_asset: 'Asks for payment in another token',
  other_rail: 'Takes payment through another system only',
  other_template: 'Describes another path',
  wrong_payto: 'Asks to pay another address',
  redirect: 'Sends callers to another address',
  blocked_target: 'Arcus may not call it',
  unreachable: 'Not reachable',
  not_mcp: 'Is not an MCP server',
  tool_missing: 'Has no such tool',
  not_called: 'Never called',
  not_checked: 'Not checked yet',
}

const warnings: Record<string, string> = {
  price_drift:
    'The endpoint asks for another price than the listing shows, and buyers pay what it asks for. Save the listing with that price, or correct the endpoint.',
  amount_zero:
    'The API asks for an amount of zero, which is not settled. Ask for 1 atomic unit or more.',
  schema_missing:
    'Neither the API nor the listing says how to call it. Add an input schema so that agents can use it as a tool.',
  wrong_domain:
    'The 402 answer describes the token wrongly, so the signatures of buyers do not work. Its “extra” needs the name “USDC” or “EURC” on Arc, and the version “2”.',
  scheme_not_settled:
    'The API asks for a kind of payment that is not settled here. Offer the scheme “exact” as well.',
  foreign_pay_to: 'The API also asks to pay somebody else. That way to pay is not published.',
  other_rail:
    'One of its ways to pay goes through another system, such as Circle Gateway, and is not settled here. It is shown, and nobody is led to it.',
  header_missing:
    'The 402 answer says how to pay in its body only. Send that in the PAYMENT-REQUIRED header too.',
  header_url_safe:
    'The PAYMENT-REQUIRED header is in URL-safe base64. Some clients read standard base64 only.',
  requirements_unusable: 'Some of the ways to pay that the API names do not work on this network.',
}

/** The same warnings for somebody who may pay. Those that are of no use to them are absent. */
const buyersWarnings: Record<string, string> = {
  price_drift: 'It asks for another price than the listing says. You pay what it asks for.',
  amount_zero: 'It asks for an amount of zero, which cannot be paid here.',
  wrong_domain: 'Payments to it fail, because it describes the token wrongly.',
  scheme_not_settled: 'It asks for a kind of payment that is not settled here.',
  foreign_pay_to: 'It also asks to pay somebody else. That way to pay is not shown here.',
  other_rail:
    'One of its ways to pay goes through another system, such as Circle Gateway, and is not settled here.',
  header_missing: 'Many buying programs cannot read how it asks for payment.',
  requirements_unusable: 'Some of the ways to pay that it names do not work on this network.',
}

/** The meaning of a verdict for somebody who may pay. */
const buyersVerdicts: Record<string, string> = {
  not_402: 'It did not ask for a payment at the last check, so the price may be wrong.',
  unreachable: 'It did not answer the last check. A payment may buy nothing.',
  other_rail:
    'At the last check it took payments through another system only, which are not settled here.',
  not_checked: 'Arcus has not checked yet what it asks for.',
  not_called: 'Arcus never calls endpoints of this method, so nothing about it is checked.',
}
const BUYERS_VERDICT = 'At the last check it did not ask for payment as listed. Do not pay it now.'

/** Says what a verdict other than `live` means for a buyer. */
export function verdictForBuyers(verdict: string): string {
  return buyersVerdicts[verdict] ?? BUYERS_VERDICT
}

/** Says what a warning means for a buyer; nothing where it does not concern them. */
export function warningForBuyers(code: string): string | undefined {
  return buyersWarnings[code]
}

export function verdictName(verdict: string): string {
  return verdicts[verdict] ?? verdict.replaceAll('_', ' ')
}

export function warningText(code: string): string {
  return warnings[code] ?? code.replaceAll('_', ' ')
}

/** How much a finding matters: a problem, worth knowing, or neutral. */
export type Level = 'bad' | 'warn' | 'info'

/** With these nobody can pay as listed. */
const problems = ['price_drift', 'amount_zero', 'wrong_domain', 'scheme_not_settled']
/** With these everything works. */
const neutral = ['schema_missing', 'header_url_safe', 'other_rail']

/** Says how much a warning about an API matters to its owner. */
export function warningLevel(code: string): Level {
  if (problems.includes(code)) return 'bad'
  return neutral.includes(code) ? 'info' : 'warn'
}
