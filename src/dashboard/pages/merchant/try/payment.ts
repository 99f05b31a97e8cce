import { type Address, type Hex, toHex } from 'viem'
import { authorizationTypes } from '../../../../x402/authorization-types.js'
import type { Offer, ShownTerms } from './terms.js'

/** Signs the message of one payment. */
export interface Payer {
  address: Address
  sign(typedData: AuthorizationTypedData): Promise<Hex>
}

/** The message of EIP-3009 in the domain of the token. */
export interface AuthorizationTypedData {
  domain: { name: string; version: string; chainId: number; verifyingContract: Address }
  types: typeof authorizationTypes
  primaryType: 'TransferWithAuthorization'
  message: {
    from: Address
    to: Address
    value: bigint
    validAfter: bigint
    validBefore: bigint
    nonce: Hex
  }
}

/** A payment that was signed once. It can be sent again, and taken once. */
export interface SignedPayment {
  network: string
  payer: Address
  nonce: Hex
  asset: string
  /** Atomic units. */
  amount: string
  /** Unix seconds by the visitor's clock, which may be wrong. From then on nobody can take it. */
  validBefore: number
  /** The value of the header that carries it. */
  header: string
}

/**
 * Milliseconds. A seller works and settles before it answers a payment. The service ends each call within a minute, and to
 * give up before it would make the end of a paid call unknown.
 */
export const waits = { unpaid: 30_000, paid: 60_000, service: 75_000 }

/** Clocks are wrong by minutes; the authorization begins earlier by this much. */
const EARLIER_SECONDS = 600

/**
 * Signs the offer: to the shown address, in the shown token, and no other amount than that of the offer. It ends by
 * `serviceNow` (Unix seconds): by a visitor's clock that is fast it could still be taken when the page calls it over.
 */
export async function signPayment(
  payer: Payer,
  { required, offer }: { required: Record<string, unknown>; offer: Offer },
  shown: ShownTerms,
  serviceNow?: number,
): Promise<SignedPayment> {
  const visitorNow = Math.floor(Date.now() / 1000)
  const now = serviceNow ?? visitorNow
  const { network, asset, payTo } = shown
  const message = {
    from: payer.address,
    to: payTo as Address,
    value: BigInt(offer.amount),
    validAfter: BigInt(now - EARLIER_SECONDS),
    validBefore: BigInt(now + offer.maxTimeoutSeconds),
    nonce: toHex(crypto.getRandomValues(new Uint8Array(32))),
  }
  const { name, version, address } = asset
  const chainId = Number(network.split(':')[1])
  const signature = await payer.sign({
    domain: { name, version, chainId, verifyingContract: address as Address },
    types: authorizationTypes,
    primaryType: 'TransferWithAuthorization',
    message,
  })
  const authorization = {
    ...message,
    value: `${message.value}`,
    validAfter: `${message.validAfter}`,
    validBefore: `${message.validBefore}`,
  }
  const { resource, extensions } = required
  const payload = {
    x402Version: 2,
    ...(resource === undefined ? {} : { resource }),
    accepted: offer,
    payload: { signature, authorization },
    ...(extensions === undefined ? {} : { extensions }),
  }
  return {
    network,
    payer: payer.address,
    nonce: message.nonce,
    asset: address,
    amount: offer.amount,
    validBefore: visitorNow + offer.maxTimeoutSeconds,
    header: toBase64(JSON.stringify(payload)),
  }
}

function toBase64(text: string): string {
  const bytes = new TextEncoder().encode(text)
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))
}
