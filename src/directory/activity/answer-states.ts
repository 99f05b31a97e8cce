import { createHash } from 'node:crypto'
import type { ActivityState } from '../../store/activity.js'
import type { PaymentAnswer } from '../../x402/payment.js'
import { reasons } from '../../x402/reasons.js'

/** Some 3 MB for each of two memories. Whoever fills them makes fewer failures count, never more. */
const MAX_REMEMBERED = 10_000
/** A proof longer than a plain account's is remembered by its hash. */
const MAX_PROOF_CHARS = 200
const DAY_MS = 86_400_000

/** A payment that was used, or came with the key of another, was refused as what it is. */
const neverFailures = new Set<string | null>([
  reasons.nonceAlreadyUsed.code,
  reasons.idempotencyKeyConflict.code,
])

/** Failures that no payer can bring about. Of all others a payer could make as many as they like, at no cost. */
const notPayers = new Set<string | null>([
  reasons.unexpectedSettleError.code,
  reasons.gasPriceTooHigh.code,
  reasons.assetPaused.code,
  reasons.payToBlocklisted.code,
])

/**
 * Decides what an answer counts as. A settle has failed only where its payment was once found sound here, signature and
 * funds: at verify, or at a settle that went on to the chain. It fails once, and by a payer's own doing once a day, so
 * that nobody makes a merchant's figures; every other no is a refusal. Answers are judged in their order.
 */
export function createStateJudge(): (answer: PaymentAnswer) => ActivityState {
  const sound = createMemory()
  const failed = createMemory()

  return (answer) => {
    const { kind, state, reason, settlementId, at } = answer
    const key = keyOf(answer)
    if (state === 'valid' || state === 'pending') sound.add(key)
    else if (state === 'settled') sound.delete(key)
    if (kind !== 'settle' || state !== 'failed') return state
    const wasSound = settlementId !== null || sound.has(key)
    if (!wasSound || neverFailures.has(reason) || failed.has(key)) return 'refused'
    failed.add(key)
    if (notPayers.has(reason)) return 'failed'
    const day = `${answer.payment.payer}/${Math.floor(at / DAY_MS)}`
    if (failed.has(day)) return 'refused'
    failed.add(day)
    return 'failed'
  }
}

/** The payment as it was asked for; `undefined` where nothing identifies it. */
function keyOf({ settlementId, payment }: PaymentAnswer): string | undefined {
  const { payTo, payer, amount, proof = settlementId } = payment
  if (proof === null) return undefined
  const short =
    proof.length > MAX_PROOF_CHARS ? createHash('sha256').update(proof).digest('hex') : proof
  return [payTo, payer, amount, short].join('/')
}

/** Remembers texts; the oldest is forgotten first. */
function createMemory() {
  const known = new Set<string>()
  return {
    delete: (text: string | undefined) => text !== undefined && known.delete(text),
    has: (text: string | undefined) => text !== undefined && known.has(text),
    add(text: string | undefined): void {
      if (text === undefined) return
      known.add(text)
      if (known.size > MAX_REMEMBERED) known.delete(known.values().next().value as string)
    },
  }
}
