import { type RatingJson, ratingTypedData } from '@arcus/protocol/listing/rating-message'
import type { Address, Hex } from 'viem'
import { type Answer, ArcusError, createCall } from './calls.js'
import type { PaymentName } from './pay.js'

/** A viem account of the payer fits as it is. */
export interface RatingSigner {
  address: Address
  signTypedData(typedData: ReturnType<typeof ratingTypedData>): Promise<Hex>
}

export interface RateOptions {
  /** The payer. */
  signer: RatingSigner
  /** The payment, as `pay` names it. The token is looked up unless it is given. */
  payment: Pick<PaymentName, 'network' | 'nonce'> & Partial<PaymentName>
  /** The `resource` of the item that was paid for, and its `toolName` if it is a tool. */
  resource: string
  toolName?: string
  /** 0 to 100. */
  score: number
  tag?: string
  link?: string
  /** The origin that the signature is for; that of `directoryUrl` by default. */
  audience?: string
}

export type KeptRating = Answer<'POST /api/ratings'>

/**
 * Rates what a payment bought: signs one message and sends it. A payment is rated once. Rejects with `ArcusError`; errors
 * of the signer pass through.
 */
export async function rate(
  directoryUrl: string,
  { signer, payment, audience = new URL(directoryUrl).origin, ...rating }: RateOptions,
  fetch?: typeof globalThis.fetch,
): Promise<KeptRating> {
  const call = createCall(directoryUrl, fetch)
  const { network, nonce, method } = payment
  const payer = signer.address
  const signing = await call('GET /api/signing')
  if (signing.audience !== audience) {
    const message = `The directory signs for ${signing.audience}, not for ${audience}.`
    throw new ArcusError('wrong_audience', message)
  }
  const asset =
    payment.asset ??
    (await call('GET /payments/{network}/{payer}/{nonce}', { path: { network, payer, nonce } }))
      .asset
  const { now, maxDeadlineSeconds } = signing.time
  const message: RatingJson = {
    audience,
    ...{ network, asset, payer, nonce, toolName: '', tag: '', link: '' },
    ...rating,
    ...{ issuedAt: now, deadline: now + maxDeadlineSeconds },
  }
  const signature = await signer.signTypedData(ratingTypedData(signing.domain.chainId, message))
  const body = { message, signature, ...(method && { method }) }
  return call('POST /api/ratings', { body })
}
