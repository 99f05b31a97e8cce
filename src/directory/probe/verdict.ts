import { hasWrongChecksum, isSameAddress, zeroAddress } from '@arcus/protocol/x402/address'
import { formatAtomic } from '@arcus/protocol/x402/amounts'
import { findToken, moneyOf, nameTokens, type Stablecoin } from '@arcus/protocol/x402/currencies'
import { otherRailOf, paidThrough } from '@arcus/protocol/x402/rails'
import { type Address, getAddress, isAddress } from 'viem'
import { dearestAsked, settledSchemes } from '../store/published.js'
import { type GuardedAnswer, headOf } from './guarded-fetch.js'
import {
  inputHintsOf,
  type PaymentRequiredAnswer,
  parsePaymentRequired,
  type QuotedPayment,
  type QuotedTerms,
} from './payment-required.js'

type VerdictState =
  | 'live'
  | 'not_402'
  | 'wrong_network'
  | 'wrong_asset'
  | 'other_rail'
  | 'wrong_payto'
  | 'redirect'
  | 'blocked_target'
  | 'not_mcp'
  | 'tool_missing'
  /** Arcus never calls such an endpoint. */
  | 'not_called'
  | 'unreachable'

/** Oddities of an endpoint that is live all the same. */
type VerdictWarning =
  | 'price_drift'
  | 'amount_zero'
  | 'schema_missing'
  | 'wrong_domain'
  | 'scheme_not_settled'
  | 'header_missing'
  | 'header_url_safe'
  | 'requirements_unusable'
  | 'foreign_pay_to'
  | 'other_rail'

export interface Verdict {
  state: VerdictState
  /** A sentence or two about the answer, and how to correct it. */
  message: string
  warnings: VerdictWarning[]
  seen: Record<string, string | number | null>
  /** The requirement a buyer on the served network would choose; only with `live`. */
  chosen?: QuotedTerms
  /** The requirements that may be published: all but those that pay somebody else; only with `live`. */
  accepts?: QuotedTerms[]
  /** The content of the 402, if it could be read. */
  quoted?: QuotedPayment
}

/** The terms that an endpoint should ask for. Without `payTo` or `price`, any is right. */
export interface Expected {
  network: string
  /** The pinned stablecoins of which one must be asked for: the token of the listing, or all if none is listed. */
  tokens: readonly Stablecoin[]
  payTo?: Address
  /** Atomic units. */
  price?: bigint
  /** True if the listing itself says how to call the endpoint. */
  hasSchema: boolean
  method: string
}

/** Returns whether a server that answers so is busy or broken: a later call may succeed. */
export function isPassing(status: number): boolean {
  return status >= 500 || [408, 425, 429].includes(status)
}

/** Checks the answer of an endpoint to a call without payment. */
export function checkAnswer(answer: GuardedAnswer, expected: Expected): Verdict {
  const head = headOf(answer)
  if (head === undefined || answer.kind === 'redirect') {
    return checkFailure(answer as Unanswered)
  }
  if (head.status !== 402) return checkStatus(head.status, expected.method)
  const required = parsePaymentRequired(head.headers, answer.kind === 'answer' ? answer.body : '')
  return required.kind === 'quoted'
    ? checkRequirements(required, expected)
    : describeUnreadable(required, answer)
}

type Unanswered = Exclude<GuardedAnswer, { kind: 'answer' }>

/** Returns the verdict on a call without a whole answer of the endpoint itself. */
export function checkFailure(answer: Unanswered): Verdict {
  if (answer.kind === 'blocked') return verdict('blocked_target', answer.message)
  if (answer.kind === 'redirect') {
    const { head, location, message } = answer
    const seen = { status: head.status, location }
    return verdict('redirect', `${message} List the address it leads to instead.`, seen)
  }
  const seen: Verdict['seen'] = { failure: answer.kind }
  if (answer.kind === 'unreachable') seen.code = answer.code
  return verdict('unreachable', `${answer.message} It is tried again later.`, seen)
}

/** Returns whether the endpoint is wrong; otherwise it is live, or could not be checked now. */
export function isDefinite(state: VerdictState): boolean {
  return state !== 'live' && state !== 'unreachable' && state !== 'not_called'
}

function checkStatus(status: number, method: string): Verdict {
  const seen = { status }
  if (isPassing(status)) {
    const message = `The endpoint answered ${status} instead of 402; it is tried again later.`
    return verdict('unreachable', message, seen)
  }
  const advice = adviceFor(status, method)
  return verdict('not_402', `The endpoint answered ${status} instead of 402: ${advice}.`, seen)
}

function adviceFor(status: number, method: string): string {
  if (status < 300) return `ask for payment of ${method} requests before serving them`
  if (status === 401 || status === 403) return 'ask for payment before any other permission'
  if (status === 404) return `check the URL, and that it serves ${method}`
  if (status === 405) return `it does not serve ${method}; list the method it is paid with`
  return 'make the example one the endpoint takes, or ask for payment before looking at parameters'
}

function describeUnreadable(
  required: Exclude<PaymentRequiredAnswer, QuotedPayment>,
  answer: GuardedAnswer,
): Verdict {
  if (required.kind === 'version1') {
    const message =
      'The endpoint answered 402 in x402 version 1 only; upgrade it to version 2, with the header PAYMENT-REQUIRED.'
    return verdict('not_402', message, { status: 402, x402Version: 1 })
  }
  const what = required.hasHeader
    ? 'a PAYMENT-REQUIRED header that cannot be read'
    : 'no PAYMENT-REQUIRED header'
  const body = answer.kind === 'answer' ? '' : ', and its body could not be read'
  const message = `The endpoint answered 402 with ${what}${body}; send base64 of the x402 version 2 JSON in that header.`
  return verdict('not_402', message, { status: 402, x402Version: null })
}

export function verdict(state: VerdictState, message: string, seen: Verdict['seen'] = {}): Verdict {
  return { state, message, warnings: [], seen }
}

/** Values that a message repeats. */
const MAX_NAMED = 3

/** Checks the requirements of a 402 against the expected terms. */
export function checkRequirements(quoted: QuotedPayment, expected: Expected): Verdict {
  const { accepts } = quoted
  const base = { status: 402, x402Version: 2, source: quoted.source, requirements: accepts.length }
  const wrong = (state: VerdictState, message: string, seen: Verdict['seen']): Verdict => ({
    ...verdict(state, message, { ...base, ...seen }),
    quoted,
  })
  if (accepts.length === 0) {
    const found = quoted.unusable === 0 ? 'accepts is empty' : `${quoted.unusable} cannot be read`
    const message = `The 402 holds no requirement that a buyer could use (${found}); each needs scheme, network, amount, asset, payTo and maxTimeoutSeconds.`
    return wrong('not_402', message, {})
  }
  const onNetwork = accepts.filter(({ network }) => network === expected.network)
  if (onNetwork.length === 0) {
    const network = named(accepts.map((terms) => terms.network))
    const known = named(accepts.map((terms) => withName(terms.network)))
    const message = `The 402 asks for payment on ${known}; add a requirement on ${withName(expected.network)}.`
    return wrong('wrong_network', message, { network })
  }
  const inAsset = onNetwork.filter(({ asset }) => findToken(expected.tokens, asset) !== undefined)
  if (inAsset.length === 0) {
    const asset = named(onNetwork.map((terms) => terms.asset))
    const wanted =
      nameTokens(expected.tokens) || 'a token that is settled, and the listed one is not'
    const message = `The 402 asks for payment in ${asset}; on ${expected.network} it must be ${wanted}.`
    return wrong('wrong_asset', message, { network: expected.network, asset })
  }
  const plain = inAsset.filter((terms) => railOf(terms) === undefined)
  if (plain.length === 0) return wrongRail(inAsset, wrong)
  const toPayee = plain.filter(({ payTo }) => isPayee(payTo, expected.payTo))
  const sound = toPayee.filter(({ payTo }) => !hasWrongChecksum(payTo))
  if (sound.length === 0) {
    const payTo = named(plain.map((terms) => terms.payTo))
    if (toPayee.length > 0) {
      const message = `The 402 pays to ${payTo}, which looks mistyped: its EIP-55 checksum is wrong, and no payment to it is settled here.`
      return wrong('wrong_payto', message, { network: expected.network, payTo })
    }
    const message =
      expected.payTo === undefined
        ? `The 402 pays to ${payTo}, which is no address that can be paid on ${expected.network}.`
        : `The 402 pays to ${payTo}, but the payout address of the listing is ${getAddress(expected.payTo)}; make the two one.`
    return wrong('wrong_payto', message, { network: expected.network, payTo })
  }
  const chosen = choose(sound, expected.price)
  return toLive(quoted, { chosen, dearest: dearestOf(sound, chosen) }, expected, base)
}

/** Names the rail of a requirement that is signed for another contract than its asset. */
function railOf({ asset, extra }: QuotedTerms): string | undefined {
  return otherRailOf(asset, extra)
}

function wrongRail(
  offered: readonly QuotedTerms[],
  wrong: (state: VerdictState, message: string, seen: Verdict['seen']) => Verdict,
): Verdict {
  const { network, asset, extra } = offered[0] as QuotedTerms
  const rails = named(offered.map((terms) => railOf(terms) ?? ''))
  const contract = extra.verifyingContract
  const message = `What the 402 asks for on ${network} is ${paidThrough(rails)}: offer the same without extra.verifyingContract as well, with the name and version of the token.`
  const seen = { network, asset, verifyingContract: typeof contract === 'string' ? contract : null }
  return wrong('other_rail', message, seen)
}

/** Returns whether a payTo is the expected one; if none is expected, whether it can be paid at all. */
function isPayee(payTo: string, wanted: Address | undefined): boolean {
  if (wanted !== undefined) return isSameAddress(payTo, wanted)
  return isAddress(payTo, { strict: false }) && !isSameAddress(payTo, zeroAddress)
}

/** Chooses a requirement: one that can be settled first, and among those of one scheme the one at the listed price. */
function choose(terms: readonly QuotedTerms[], price: bigint | undefined): QuotedTerms {
  const byScheme = settledSchemes.map((wanted) => terms.filter(({ scheme }) => scheme === wanted))
  const candidates = byScheme.find((offered) => offered.length > 0) ?? terms
  const atPrice = candidates.find(({ amount }) => BigInt(amount) === price)
  return atPrice ?? (candidates[0] as QuotedTerms)
}

/** Returns the highest amount asked for: the client of a buyer may take any of the requirements. */
function dearestOf(terms: readonly QuotedTerms[], { network, asset, amount }: QuotedTerms): bigint {
  const asked = terms.map((each) => ({ ...each }))
  return dearestAsked(asked, { network, asset: asset as Address }) ?? BigInt(amount)
}

const answered402 = 'The endpoint answered 402 as it should.'
const asItShould = {
  header: answered402,
  body: answered402,
  tool: 'The tool asked for payment as it should.',
}

interface AskedTerms {
  /** The requirement of a buyer who means to pay the listed price. */
  chosen: QuotedTerms
  dearest: bigint
  /** Requirements that pay somebody else. */
  foreign: readonly QuotedTerms[]
  /** The rails of the requirements that are settled elsewhere. */
  rails: readonly string[]
}

function toLive(
  quoted: QuotedPayment,
  { chosen, dearest }: Pick<AskedTerms, 'chosen' | 'dearest'>,
  expected: Expected,
  base: Verdict['seen'],
): Verdict {
  const { scheme, network, amount, asset, payTo } = chosen
  const foreign = quoted.accepts.filter((terms) => isForeign(terms, chosen))
  const rails = quoted.accepts.flatMap((terms) =>
    terms.network === network && !foreign.includes(terms) ? (railOf(terms) ?? []) : [],
  )
  const oddities = findOddities(quoted, { chosen, dearest, foreign, rails }, expected)
  return {
    state: 'live',
    message: [asItShould[quoted.source], ...oddities.map(({ sentence }) => sentence)].join(' '),
    warnings: oddities.map(({ warning }) => warning),
    seen: { ...base, scheme, network, amount, asset, payTo },
    chosen,
    accepts: quoted.accepts.filter(
      (terms) => !foreign.includes(terms) && !hasWrongChecksum(terms.payTo),
    ),
    quoted,
  }
}

/** Returns whether a requirement pays somebody else on the same network: no buyer who was sent here means that. */
function isForeign({ network, payTo }: QuotedTerms, chosen: QuotedTerms): boolean {
  return network === chosen.network && payTo.toLowerCase() !== chosen.payTo.toLowerCase()
}

/** Returns the oddities of a live endpoint, each with a sentence for its owner. */
function findOddities(
  quoted: QuotedPayment,
  { chosen: { scheme, network, amount, asset, payTo, extra }, dearest, foreign, rails }: AskedTerms,
  { price, tokens, hasSchema }: Expected,
): { warning: VerdictWarning; sentence: string }[] {
  const token = findToken(tokens, asset) as Stablecoin
  const shownMoney = (atomic: bigint) =>
    `${atomic} (${formatAtomic(atomic)} ${moneyOf(token.symbol)})`
  const isDrifted = dearest > 0n && price !== undefined && dearest !== price
  const isOtherDomain = extra.name !== token.name || extra.version !== token.version
  const hints = quoted.bazaar === null ? undefined : inputHintsOf(quoted.bazaar)
  const sentences: Record<VerdictWarning, string | false> = {
    amount_zero:
      BigInt(amount) === 0n &&
      'It asks for an amount of 0, which is not settled here: ask for 1 or more.',
    price_drift:
      isDrifted &&
      `It asks for ${shownMoney(dearest)}, the listing says ${shownMoney(price)}: list the price it asks for.`,
    wrong_domain:
      isOtherDomain &&
      `Its extra.name and extra.version are ${shown(extra.name)} and ${shown(extra.version)}, so signatures will fail: they must be "${token.name}" and "${token.version}".`,
    scheme_not_settled:
      !settledSchemes.includes(scheme) &&
      `It asks for payment by ${scheme}, which is not settled here: offer exact as well.`,
    schema_missing:
      !hasSchema &&
      hints?.inputSchema === undefined &&
      'Nothing says which parameters it takes: add an input schema.',
    header_missing:
      quoted.source === 'body' &&
      'Its requirements stand in the body only: send them in the header PAYMENT-REQUIRED, the only place where official buyers look.',
    header_url_safe:
      quoted.isUrlSafe &&
      'Its PAYMENT-REQUIRED header is in the URL alphabet of base64, which official buyers refuse: use the standard one.',
    requirements_unusable:
      quoted.unusable > 0 && `${quoted.unusable} of its requirements cannot be read.`,
    foreign_pay_to:
      foreign.length > 0 &&
      `It also asks for payment on ${network} to ${named(foreign.map((terms) => terms.payTo))}: such requirements are not published, only those that pay ${payTo}.`,
    other_rail: rails.length > 0 && `Another of its offers is ${paidThrough(named(rails))}.`,
  }
  return Object.entries(sentences).flatMap(([warning, sentence]) =>
    sentence === false ? [] : [{ warning: warning as VerdictWarning, sentence }],
  )
}

function shown(value: unknown): string {
  return value === undefined ? 'missing' : `"${value}"`
}

/** The networks on which sellers mostly ask for payment, as people call them. */
const networkNames: Partial<Record<string, string>> = {
  'eip155:5042': 'Arc',
  'eip155:5042002': 'Arc testnet',
  'eip155:8453': 'Base',
  'eip155:84532': 'Base Sepolia',
  'eip155:137': 'Polygon',
  'eip155:43114': 'Avalanche',
}

/** Writes a network as `Base (eip155:8453)`, or as it is where it has no known name. */
function withName(network: string): string {
  const name = networkNames[network]
  return name === undefined ? network : `${name} (${network})`
}

function named(values: readonly string[]): string {
  const unique = [...new Set(values)]
  const rest = unique.length - MAX_NAMED
  return unique.slice(0, MAX_NAMED).join(', ') + (rest > 0 ? ` and ${rest} more` : '')
}
