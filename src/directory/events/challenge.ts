import { randomBytes } from 'node:crypto'
import { type GuardedAnswer, headOf } from '../probe/guarded-fetch.js'

/** Longest answer to a challenge, in bytes. */
export const CHALLENGE_ANSWER_BYTES = 4 * 1024

/** A message that asks a receiver whether it wants what a webhook sends. */
interface Challenge {
  id: string
  type: 'challenge'
  /** ISO 8601. */
  timestamp: string
  /** The text to answer with. */
  challenge: string
}

/** Makes a challenge. `now` is in Unix milliseconds. */
export function createChallenge(now: number): Challenge {
  const random = () => randomBytes(24).toString('base64url')
  // The id stands before the challenge, so that whatever repeats the start of a request repeats the id too.
  return {
    id: `chal_${random()}`,
    type: 'challenge',
    timestamp: new Date(now).toISOString(),
    challenge: random(),
  }
}

/**
 * Returns why an answer is no consent; `undefined` if it is one: a status from 200 to 299, and a body with the text of the
 * challenge. A body with the id as well is the request itself, which a host that echoes anything sends back.
 */
export function whyNotAnswered(
  { id, challenge }: Pick<Challenge, 'id' | 'challenge'>,
  answer: GuardedAnswer,
): string | undefined {
  if (answer.kind !== 'answer') return answer.message
  const status = headOf(answer)?.status ?? 0
  if (status < 200 || status >= 300) return `The receiver answered the challenge with ${status}.`
  if (!answer.body.includes(challenge)) {
    return `The receiver answered the challenge with ${status}, and without its text.`
  }
  if (!answer.body.includes(id)) return undefined
  return 'The receiver sent the whole challenge back; the answer must have the text of `challenge` alone.'
}
