import type { PaymentSigner } from '@arcus/client/pay'
import { choose, type PaymentRequired, readOffer, type SettleResponse } from '@arcus/client/terms'
import { parseJson } from '@arcus/protocol/x402/calls'
import type { Address, Hex } from 'viem'
import { atomicToUsd, exactAmount } from '../../../format/amounts.js'

/** The answer of an endpoint, or the reason why there is none. */
export type EndpointReply =
  | {
      ok: true
      status: number
      /** By lower-case name; only those that can be read. */
      headers: Partial<Record<string, string>>
      bytes: Uint8Array<ArrayBuffer>
      /** A sentence that says why the body is not whole; `null` for a whole one. */
      missing: string | null
    }
  | { ok: false; message: string; wasSent: boolean }

/**
 * Milliseconds. The service ends each call within a minute, and to give up before it would make the end of a paid call
 * unknown.
 */
export const ANSWER_MS = 75_000

/** Signs the message of a payment, as the official client asks for it. A viem account fits. */
export type Payer = PaymentSigner

/**
 * The key of the devnet's payer, who has play money. It is one of the public test mnemonic that every local chain prints
 * at its start, so it guards nothing.
 */
const PLAY_KEY = '0x7c852118294e51e653712a81e05800f419141751be58f605c371e15141b007a6'

/** Returns the wallet with play money. Throws where the service does not say that its chain is a local one. */
export async function playWallet(devnet: boolean): Promise<Payer> {
  if (devnet !== true) throw new Error('There is no play money on a real network.')
  const { privateKeyToAccount } = await import('viem/accounts')
  return privateKeyToAccount(PLAY_KEY)
}

/** The terms on the screen, which a 402 has to keep before anything is signed. */
export interface ShownTerms {
  network: string
  payTo: string
  /** The token, as this service knows it. */
  asset: { address: string; symbol: string; name: string; version: string }
  /** The most that is signed, in atomic units. */
  maxAmount: string
}

/** A payment that was signed once. It can be taken once. */
export interface SignedPayment {
  network: string
  payer: Address
  nonce: Hex
  asset: string
  /** Atomic units. */
  amount: string
  /** Unix seconds, by the clock of the chain. From then on nobody can take it. */
  validBefore: number
}

/** The terms are sent back to the seller in one header, and servers take 16 KiB of headers in all. */
const MAX_ECHO_BYTES = 9_000

/**
 * Has the payer sign for what a 402 asks, once it keeps the terms on the screen. Returns the payment, and the value of the
 * header that carries it. Throws `ArcusError` before anything is signed, and what the wallet throws.
 */
export async function signPayment(
  required: PaymentRequired | undefined,
  payer: Payer,
  shown: ShownTerms,
  onAsked: () => void,
): Promise<{ signed: SignedPayment; header: string }> {
  const { network, payTo, asset, maxAmount } = shown
  const accepted = choose(required, {
    network,
    asset: asset.address,
    maxAmount: BigInt(maxAmount),
    listed: [{ network, payTo, asset: asset.address }],
    plain: asset,
    shown: {
      asset: asset.symbol,
      amount: (atomic) => exactAmount(atomicToUsd(atomic), asset.symbol),
    },
  })
  const { resource, extensions } = required ?? {}
  const echo = { accepted, ...(resource && { resource }), ...(extensions && { extensions }) }
  if (new TextEncoder().encode(JSON.stringify(echo)).length > MAX_ECHO_BYTES) {
    throw new Error('The terms of the API are too long to be sent back with a payment.')
  }
  // The code that signs is loaded when it is needed, because it is larger than the rest of the panel.
  const { ExactEvmScheme } = await import('@x402/evm/exact/client')
  onAsked()
  const signed = await new ExactEvmScheme(payer).createPaymentPayload(2, accepted)
  const { nonce, validBefore } = signed.payload.authorization as { nonce: Hex; validBefore: string }
  return {
    signed: {
      network,
      payer: payer.address,
      nonce,
      asset: asset.address,
      amount: accepted.amount,
      validBefore: Number(validBefore),
    },
    header: toBase64(JSON.stringify({ ...echo, ...signed })),
  }
}

/** Reads what a 402 asks for: the header of version 2, else its body. */
export function termsOf(reply: EndpointReply & { ok: true }): PaymentRequired | undefined {
  const asked =
    headerOf(reply, 'payment-required') ?? parseJson(new TextDecoder().decode(reply.bytes))
  return readOffer(asked, undefined).required
}

/** Reads what the seller says of the payment. */
export function settlementOf(reply: EndpointReply & { ok: true }): SettleResponse | undefined {
  return readOffer(undefined, headerOf(reply, 'payment-response')).settlement
}

function headerOf({ headers }: EndpointReply & { ok: true }, name: string): unknown {
  try {
    const base64 = (headers[name] ?? '').replaceAll('-', '+').replaceAll('_', '/')
    return JSON.parse(new TextDecoder().decode(bytesOf(base64)))
  } catch {
    return undefined
  }
}

function toBase64(text: string): string {
  const bytes = new TextEncoder().encode(text)
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))
}

/** Reads base64. Throws when it is none. */
export function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(base64), (char) => char.charCodeAt(0))
}
