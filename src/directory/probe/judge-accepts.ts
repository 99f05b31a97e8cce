import { type Address, getAddress, isAddress } from 'viem'
import { dearestAsked, settledSchemes } from '../../store/live-price.js'
import { hasWrongChecksum, zeroAddress } from '../../x402/address.js'
import { formatAtomic } from '../../x402/amounts.js'
import type { QuotedPayment } from './payment-required.js'
import { inputHintsOf } from './quoted-bazaar.js'
import { isSameAddress, type QuotedTerms } from './quoted-terms.js'
import type { Expected, Verdict, VerdictState, VerdictWarning } from './verdict.js'

/** Values repeated in a message. */
const MAX_NAMED = 3

/** Judges the requirements of a 402 against what the endpoint should ask for. */
export function judgeAccepts(quoted: QuotedPayment, expected: Expected): Verdict {
  const { accepts } = quoted
  const base = { status: 402, x402Version: 2, source: quoted.source, requirements: accepts.length }
  const wrong = (state: VerdictState, message: string, seen: Verdict['seen']): Verdict => ({
    state,
    message,
    warnings: [],
    seen: { ...base, ...seen },
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
    const message = `The 402 asks for payment on ${network}; add a requirement on ${expected.network}.`
    return wrong('wrong_network', message, { network })
  }
  const inAsset = onNetwork.filter(({ asset }) => isSameAddress(asset, expected.asset.address))
  if (inAsset.length === 0) {
    const asset = named(onNetwork.map((terms) => terms.asset))
    const message = `The 402 asks for payment in ${asset}; the stablecoin of ${expected.network} is ${expected.asset.address}.`
    return wrong('wrong_asset', message, { network: expected.network, asset })
  }
  const toPayee = inAsset.filter(({ payTo }) => isPayee(payTo, expected.payTo))
  const sound = toPayee.filter(({ payTo }) => !hasWrongChecksum(payTo))
  if (sound.length === 0) {
    const payTo = named(inAsset.map((terms) => terms.payTo))
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

/** Whom nobody expects must at least be somebody who can be paid. */
function isPayee(payTo: string, wanted: Address | undefined): boolean {
  if (wanted !== undefined) return isSameAddress(payTo, wanted)
  return isAddress(payTo, { strict: false }) && !isSameAddress(payTo, zeroAddress)
}

/** What can be settled before what cannot, and of one scheme the one at the listed price. */
function choose(terms: readonly QuotedTerms[], price: bigint | undefined): QuotedTerms {
  const byScheme = settledSchemes.map((wanted) => terms.filter(({ scheme }) => scheme === wanted))
  const candidates = byScheme.find((offered) => offered.length > 0) ?? terms
  const atPrice = candidates.find(({ amount }) => BigInt(amount) === price)
  return atPrice ?? (candidates[0] as QuotedTerms)
}

/** Which of several a buyer takes is up to his client, so the dearest is what the endpoint may cost. */
function dearestOf(terms: readonly QuotedTerms[], { network, asset, amount }: QuotedTerms): bigint {
  const asked = terms.map((each) => ({ ...each }))
  return dearestAsked(asked, { network, asset: asset as Address }) ?? BigInt(amount)
}

interface Asked {
  /** What a buyer would choose who means to pay what is listed. */
  chosen: QuotedTerms
  dearest: bigint
}

function toLive(
  quoted: QuotedPayment,
  { chosen, dearest }: Asked,
  expected: Expected,
  base: Verdict['seen'],
): Verdict {
  const { scheme, network, amount, asset, payTo } = chosen
  const foreign = quoted.accepts.filter((terms) => isForeign(terms, chosen))
  const oddities = findOddities(quoted, { chosen, dearest }, expected)
  if (foreign.length > 0) oddities.set('foreign_pay_to', tellForeign(foreign, chosen))
  return {
    state: 'live',
    message: ['The endpoint answered 402 as it should.', ...oddities.values()].join(' '),
    warnings: [...oddities.keys()],
    seen: { ...base, scheme, network, amount, asset, payTo },
    chosen,
    accepts: quoted.accepts.filter(
      (terms) => !foreign.includes(terms) && !hasWrongChecksum(terms.payTo),
    ),
    quoted,
  }
}

/** Paid on the same network to somebody else: no buyer who was sent here means to pay him. */
function isForeign({ network, payTo }: QuotedTerms, chosen: QuotedTerms): boolean {
  return network === chosen.network && payTo.toLowerCase() !== chosen.payTo.toLowerCase()
}

function tellForeign(foreign: readonly QuotedTerms[], { network, payTo }: QuotedTerms): string {
  const others = named(foreign.map((terms) => terms.payTo))
  return `It also asks for payment on ${network} to ${others}: such requirements are not published, only those that pay ${payTo}.`
}

function findOddities(
  quoted: QuotedPayment,
  { chosen: { scheme, amount, extra }, dearest }: Asked,
  { price, asset, hasSchema }: Expected,
): Map<VerdictWarning, string> {
  const odd = new Map<VerdictWarning, string>()
  if (BigInt(amount) === 0n) {
    odd.set(
      'amount_zero',
      'It asks for an amount of 0, which is not settled here: ask for 1 or more.',
    )
  }
  if (dearest > 0n && price !== undefined && dearest !== price) {
    odd.set(
      'price_drift',
      `It asks for ${dollars(dearest)}, the listing says ${dollars(price)}: list the price it asks for.`,
    )
  }
  if (extra.name !== asset.name || extra.version !== asset.version) {
    const quotedDomain = `${shown(extra.name)} and ${shown(extra.version)}`
    odd.set(
      'wrong_domain',
      `Its extra.name and extra.version are ${quotedDomain}, so signatures will fail: they must be "${asset.name}" and "${asset.version}".`,
    )
  }
  if (!settledSchemes.includes(scheme)) {
    odd.set(
      'scheme_not_settled',
      `It asks for payment by ${scheme}, which is not settled here: offer exact as well.`,
    )
  }
  const hints = quoted.bazaar === null ? undefined : inputHintsOf(quoted.bazaar)
  if (!hasSchema && hints?.inputSchema === undefined) {
    odd.set('schema_missing', 'Nothing says which parameters it takes: add an input schema.')
  }
  if (quoted.source === 'body') {
    odd.set(
      'header_missing',
      'Its requirements stand in the body only: send them in the header PAYMENT-REQUIRED, the only place where official buyers look.',
    )
  }
  if (quoted.isUrlSafe) {
    odd.set(
      'header_url_safe',
      'Its PAYMENT-REQUIRED header is in the URL alphabet of base64, which official buyers refuse: use the standard one.',
    )
  }
  if (quoted.unusable > 0) {
    odd.set('requirements_unusable', `${quoted.unusable} of its requirements cannot be read.`)
  }
  return odd
}

function dollars(amount: bigint): string {
  return `${amount} (${formatAtomic(amount)} USD)`
}

function shown(value: string | number | undefined): string {
  return value === undefined ? 'missing' : `"${value}"`
}

function named(values: readonly string[]): string {
  const unique = [...new Set(values)]
  const rest = unique.length - MAX_NAMED
  return unique.slice(0, MAX_NAMED).join(', ') + (rest > 0 ? ` and ${rest} more` : '')
}
