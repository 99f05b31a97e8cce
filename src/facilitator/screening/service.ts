import { LRUCache } from 'lru-cache'
import type { Address } from 'viem'

/** Who pays whom, as the screening service of the operator is asked. It learns neither the amount nor what is bought. */
export interface Parties {
  /** CAIP-2. */
  network: string
  payer: Address
  payTo: Address
}

/** What the service said; `failed` where it said nothing in time. */
export type ScreeningVerdict = 'allowed' | 'refused' | 'failed'

/** A payment waits no longer for a verdict. */
const TIMEOUT_MS = 300
/** A verdict is asked for again after this. A refusal may be a mistake, which is mended soon. */
const ALLOWED_MS = 24 * 3_600_000
const REFUSED_MS = 3_600_000
const MAX_VERDICTS = 50_000
/** More than these would make a slow service slower. */
const MAX_UNDER_WAY = 64
/** `{"allow":false}` with room for what others add. */
const MAX_ANSWER_CHARACTERS = 10_000

/** Asks the operator's own service about the two sides of a payment, and keeps its verdicts. */
export class ScreeningService {
  readonly #url: string
  readonly #onAsked: (verdict: ScreeningVerdict, seconds: number) => void
  readonly #verdicts: LRUCache<string, boolean>
  readonly #underWay = new Map<string, Promise<boolean>>()

  /** `onAsked` is given each verdict and the seconds that it took. `now` counts milliseconds. */
  constructor(
    url: string,
    onAsked: (verdict: ScreeningVerdict, seconds: number) => void,
    now: () => number = performance.now.bind(performance),
  ) {
    this.#url = url
    this.#onAsked = onAsked
    this.#verdicts = new LRUCache({ max: MAX_VERDICTS, perf: { now }, ttlResolution: 0 })
  }

  /** Resolves with whether the payment may be settled. Rejects where there is no verdict within 300 ms. */
  async allows(parties: Parties): Promise<boolean> {
    const name = `${parties.network}/${parties.payer}/${parties.payTo}`
    const kept = this.#verdicts.get(name)
    if (kept !== undefined) return kept
    const underWay = this.#underWay.get(name)
    if (underWay !== undefined) return underWay
    const asked = this.#ask(parties)
    this.#underWay.set(name, asked)
    try {
      const allow = await asked
      this.#verdicts.set(name, allow, { ttl: allow ? ALLOWED_MS : REFUSED_MS })
      return allow
    } finally {
      this.#underWay.delete(name)
    }
  }

  async #ask(parties: Parties): Promise<boolean> {
    const startedAt = performance.now()
    let verdict: ScreeningVerdict = 'failed'
    try {
      if (this.#underWay.size >= MAX_UNDER_WAY) {
        throw new Error(`${MAX_UNDER_WAY} questions to the screening service are under way`)
      }
      const allow = await this.#request(parties)
      verdict = allow ? 'allowed' : 'refused'
      return allow
    } finally {
      this.#onAsked(verdict, (performance.now() - startedAt) / 1_000)
    }
  }

  async #request(parties: Parties): Promise<boolean> {
    const response = await fetch(this.#url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(parties),
      redirect: 'error',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    const text = await response.text()
    const answer: unknown =
      response.ok && text.length <= MAX_ANSWER_CHARACTERS ? JSON.parse(text) : undefined
    const allow = (answer as { allow?: unknown } | null | undefined)?.allow
    if (typeof allow === 'boolean') return allow
    throw new Error(`the screening service answered ${response.status} without a verdict`)
  }
}
