import type { Address, Hex } from 'viem'
import { exactKey } from '../facilitator/exact-job.js'

/** What metrics look at in a body of `/verify` or `/settle`, parsed or not. */
interface Body {
  paymentPayload?: { payload?: { authorization?: { from?: unknown; nonce?: unknown } } }
  paymentRequirements?: { network?: unknown; asset?: unknown }
}

/** The network a body asks for; anything at all may come back. */
export function networkOf(body: unknown): unknown {
  return (body as Body | undefined)?.paymentRequirements?.network
}

/** The key of the job this body would make; `undefined` when it has no shape of a payment. */
export function paymentKey(body: unknown): string | undefined {
  const { paymentPayload, paymentRequirements } = (body ?? {}) as Body
  const { from, nonce } = paymentPayload?.payload?.authorization ?? {}
  const asset = paymentRequirements?.asset
  if (!isHex(asset, 42) || !isHex(from, 42) || !isHex(nonce, 66)) return undefined
  return exactKey(lower(asset), lower(from), lower(nonce))
}

function isHex(value: unknown, length: number): value is Address & Hex {
  return typeof value === 'string' && value.length === length
}

function lower<Text extends string>(text: Text): Text {
  return text.toLowerCase() as Text
}
