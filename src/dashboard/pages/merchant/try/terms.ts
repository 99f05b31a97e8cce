import { parseJson } from '../../../../x402/calls.js'
import { isObject } from '../../../../x402/json.js'
import { atomicToUsd, exactAmount } from '../../../format/amounts.js'
import { sameAddress } from '../../../format/untrusted-text.js'
import { words } from './words.js'

/** The terms on the screen, which a 402 has to keep before anything is signed. */
export interface ShownTerms {
  network: string
  payTo: string
  /** The token, as this service knows it. */
  asset: { address: string; symbol: string; name: string; version: string }
  /** The most that is signed, in atomic units. */
  maxAmount: string
}

/** One way to pay of a 402. Members that are not named here are sent back as they came. */
export interface Offer extends Record<string, unknown> {
  amount: string
  maxTimeoutSeconds: number
}

export type Choice =
  | { ok: true; required: Record<string, unknown>; offer: Offer }
  /** Why nothing is signed, in a sentence. */
  | { ok: false; why: string }

/** A seller could use an authorization until it ends, so one that is valid for longer is not signed. */
const MAX_TIMEOUT_SECONDS = 3_600
const MAX_OFFERS = 16
/** The terms are sent back to the seller in one header, and servers take 16 KiB of headers in all. */
const MAX_ECHO_CHARS = 9_000

/** Reads what a 402 asks for: the header of version 2, else its body. */
export function readTerms(header: string | undefined, body: string): unknown {
  return (header === undefined ? undefined : parseJson(fromBase64(header))) ?? parseJson(body)
}

/** Chooses the cheapest way to pay that keeps the terms on the screen; otherwise says which of them is not kept. */
export function choose(required: unknown, shown: ShownTerms): Choice {
  if (!isObject(required)) return refuse(words.noTerms)
  if (required.x402Version === 1) return refuse(words.version1)
  if (required.x402Version !== 2 || !Array.isArray(required.accepts)) return refuse(words.noTerms)
  const offers = required.accepts.slice(0, MAX_OFFERS).filter(isObject)
  const here = offers.filter(
    ({ network, asset }) => network === shown.network && isSame(asset, shown.asset.address),
  )
  if (here.length === 0) return refuse(words.otherMoney(shown.asset.symbol, shown.network))
  const payable = here.filter((offer): offer is Offer => isPayable(offer, shown))
  if (payable.length === 0) return refuse(words.needsAgent)
  const owed = payable.filter(({ payTo }) => isSame(payTo, shown.payTo))
  if (owed.length === 0) return refuse(words.otherPayTo)
  const offer = owed.reduce((a, b) => (BigInt(b.amount) < BigInt(a.amount) ? b : a))
  if (BigInt(offer.amount) > BigInt(shown.maxAmount)) {
    const asked = exactAmount(atomicToUsd(offer.amount), shown.asset.symbol)
    const cap = exactAmount(atomicToUsd(shown.maxAmount), shown.asset.symbol)
    return refuse(words.tooDear(asked, cap))
  }
  const { resource, extensions } = required
  if (JSON.stringify([offer, resource, extensions]).length > MAX_ECHO_CHARS) {
    return refuse(words.tooLong)
  }
  return { ok: true, required, offer }
}

/** Tells whether a wallet can pay an offer with one signature over the token's own message (EIP-3009). */
function isPayable(offer: Record<string, unknown>, { asset }: ShownTerms): offer is Offer {
  const { scheme, amount, maxTimeoutSeconds, extra = {} } = offer
  if (!isObject(extra)) return false
  const { assetTransferMethod = 'eip3009', name = asset.name, version = asset.version } = extra
  return (
    scheme === 'exact' &&
    typeof amount === 'string' &&
    /^(0|[1-9]\d{0,77})$/.test(amount) &&
    Number.isInteger(maxTimeoutSeconds) &&
    Number(maxTimeoutSeconds) > 0 &&
    Number(maxTimeoutSeconds) <= MAX_TIMEOUT_SECONDS &&
    assetTransferMethod === 'eip3009' &&
    name === asset.name &&
    version === asset.version
  )
}

function isSame(a: unknown, b: string): boolean {
  return typeof a === 'string' && sameAddress(a, b)
}

function refuse(why: string): Choice {
  return { ok: false, why }
}

/** Reads base64 of either alphabet as UTF-8; an empty text when it is none. */
export function fromBase64(text: string): string {
  try {
    return new TextDecoder().decode(bytesOf(text.replaceAll('-', '+').replaceAll('_', '/')))
  } catch {
    return ''
  }
}

/** Reads base64. Throws when it is none. */
export function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(base64), (char) => char.charCodeAt(0))
}
