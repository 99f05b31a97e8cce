import { type Address, type Hex, toHex } from 'viem'
import { authorizationTypes } from '../../../../x402/authorization-types.js'
import {
  type Payer,
  type Permit2Message,
  type Plan,
  permit2Message,
  signPermit,
  tokenDomain,
} from './permit2.js'
import type { ShownTerms } from './terms.js'

/** A payment that was signed once. It can be taken once. */
export interface SignedPayment {
  network: string
  payer: Address
  nonce: Hex
  asset: string
  /** Atomic units. */
  amount: string
  /** Whether the seller may take less than the amount (`upto`). */
  isCeiling: boolean
  /** Unix seconds by the visitor's clock, which may be wrong. From then on nobody can take it. */
  validBefore: number
  /** The value of the header that carries it; absent once the page was loaded again, so that it cannot be sent. */
  header?: string
}

/**
 * Milliseconds. A seller works and settles before it answers a payment. The service ends each call within a minute, and to
 * give up before it would make the end of a paid call unknown.
 */
export const waits = { unpaid: 30_000, paid: 60_000, service: 75_000 }

/** Clocks are wrong by minutes; the authorization begins earlier by this much. */
const EARLIER_SECONDS = 600

/**
 * Signs as planned: to the shown address, in the shown token, and no other amount than that of the offer. It ends by
 * `serviceNow` (Unix seconds): by a visitor's clock that is fast it could still be taken when the page calls it over.
 */
export async function signPayment(
  payer: Payer,
  { required, plan }: { required: Record<string, unknown>; plan: Plan },
  shown: ShownTerms,
  serviceNow?: number,
): Promise<SignedPayment> {
  const { way, first } = plan
  const { offer } = way
  const visitorNow = Math.floor(Date.now() / 1000)
  const now = serviceNow ?? visitorNow
  const nonce = toHex(crypto.getRandomValues(new Uint8Array(32)))
  const end = BigInt(now + offer.maxTimeoutSeconds)
  const times = { validAfter: BigInt(now - EARLIER_SECONDS), validBefore: end }
  // Permit2 and permits name the last second in which they can be taken.
  const deadline = end - 1n
  const permitted =
    first?.kind === 'permit'
      ? await signPermit(
          payer,
          shown,
          { amount: offer.amount, nonce: first.nonce, deadline },
          required.extensions,
        )
      : required.extensions
  const payload =
    way.by === 'eip3009'
      ? await signAuthorization(payer, shown, { ...times, nonce, amount: offer.amount })
      : await signForPermit2(payer, {
          ...{ way, payer: payer.address, shown, nonce, deadline },
          validAfter: times.validAfter,
        })
  const { resource } = required
  const whole = {
    x402Version: 2,
    ...(resource === undefined ? {} : { resource }),
    accepted: offer,
    payload,
    ...(permitted === undefined ? {} : { extensions: permitted }),
  }
  return {
    network: shown.network,
    payer: payer.address,
    nonce,
    asset: shown.asset.address,
    amount: offer.amount,
    isCeiling: way.by === 'upto',
    validBefore: visitorNow + offer.maxTimeoutSeconds,
    header: toBase64(JSON.stringify(whole)),
  }
}

interface Times {
  nonce: Hex
  validAfter: bigint
  validBefore: bigint
}

/** Signs over the token's own message (EIP-3009). */
async function signAuthorization(
  payer: Payer,
  shown: ShownTerms,
  { nonce, validAfter, validBefore, amount }: Times & { amount: string },
) {
  const parties = { from: payer.address, to: shown.payTo as Address }
  const signature = await payer.sign({
    domain: tokenDomain(shown),
    types: authorizationTypes,
    primaryType: 'TransferWithAuthorization',
    message: { ...parties, value: BigInt(amount), validAfter, validBefore, nonce },
  })
  const authorization = {
    ...parties,
    value: amount,
    validAfter: `${validAfter}`,
    validBefore: `${validBefore}`,
    nonce,
  }
  return { signature, authorization }
}

/** Signs for Permit2. */
async function signForPermit2(payer: Payer, message: Permit2Message) {
  const { typedData, permit2Authorization } = permit2Message(message)
  return { signature: await payer.sign(typedData), permit2Authorization }
}

function toBase64(text: string): string {
  const bytes = new TextEncoder().encode(text)
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))
}
