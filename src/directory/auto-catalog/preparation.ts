import { parseBazaar } from '../../x402/bazaar.js'
import type { InfoCheck } from './info-schema.js'

/** Nothing was paid yet for what is judged ahead, so there is little of it. */
const MAX_UNDER_WAY = 8
const PAUSE_AFTER_SLOW_MS = 60_000

/**
 * Judges the extensions of payments that may settle soon. A schema made to be slow stops it for a minute: what is not
 * judged ahead is judged later, once somebody has paid for it. `now` in Unix milliseconds; never throws.
 */
export function createPreparation(
  infoCheck: Pick<InfoCheck, 'judge'>,
  now: () => number,
): (payload: unknown) => void {
  let underWay = 0
  let pausedUntil = 0

  async function judge(payload: unknown): Promise<void> {
    const parsed = parseBazaar(payload)
    if (parsed?.ok !== true) return
    const verdict = await infoCheck.judge(parsed.resource)
    if (!verdict.ok && verdict.isSlow === true) pausedUntil = now() + PAUSE_AFTER_SLOW_MS
  }

  return (payload) => {
    if (underWay >= MAX_UNDER_WAY || now() < pausedUntil) return
    underWay++
    judge(payload)
      // Whoever settles is told then.
      .catch(() => {})
      .finally(() => underWay--)
  }
}
