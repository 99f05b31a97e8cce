import {
  type FacilitatorClient,
  type FacilitatorConfig,
  FacilitatorResponseError,
  HTTPFacilitatorClient,
} from '@x402/core/server'
import {
  type Network,
  type PaymentPayload,
  type PaymentRequirements,
  SettleError,
  type SettleResponse,
  type SupportedResponse,
} from '@x402/core/types'

/** The same as the official client. */
export const FACILITATOR_TIMEOUT_MS = 90_000

/** Returns the client that was given, or makes one for a URL. */
export function toFacilitatorClient(
  facilitator: string | FacilitatorClient,
  timeoutMs = FACILITATOR_TIMEOUT_MS,
): FacilitatorClient {
  return typeof facilitator === 'string'
    ? new KeyedFacilitatorClient({ url: facilitator, timeoutMs })
    : facilitator
}

/** Milliseconds before a settlement whose answer was lost is asked again: at once, and later, when a process is back. */
const PAUSES_MS = [0, 1_000]
/** The code of Arcus where nothing is known of the outcome yet. */
const UNKNOWN = 'settlement_unknown'
const NOT_KNOWN =
  'It is not known whether the payment was settled. Present the same payment again, not a new one.'

export interface KeyedFacilitatorConfig extends FacilitatorConfig {
  url: string
  /**
   * Networks on which the facilitator is taken to settle `exact` while its `/supported` has no answer. A stock server that
   * sells on several networks otherwise ends at its start when one of its facilitators is away.
   */
  assumes?: readonly Network[]
}

/**
 * The official `HTTPFacilitatorClient` with one addition, for every server that takes that one: each settlement carries
 * an `Idempotency-Key`, for which Arcus repeats its success to the same caller. So a settlement whose answer was lost is
 * asked again, twice at most, instead of being taken for a failure. The key belongs to the payload object: two requests
 * that present one payment have two keys. Where no answer comes at all, `settle` rejects with the official
 * `FacilitatorResponseError`, which servers answer with 502: the buyer of a 402 would pay once more.
 */
export class KeyedFacilitatorClient extends HTTPFacilitatorClient {
  readonly #config: KeyedFacilitatorConfig
  readonly #keys = new WeakMap<PaymentPayload, string>()

  constructor(config: KeyedFacilitatorConfig) {
    super(config)
    this.#config = config
  }

  override async getSupported(): Promise<SupportedResponse> {
    const { assumes = [] } = this.#config
    try {
      return await super.getSupported()
    } catch (error) {
      if (assumes.length === 0) throw error
      const kinds = assumes.map((network) => ({ x402Version: 2, scheme: 'exact', network }))
      return { kinds, extensions: [], signers: {} }
    }
  }

  override async settle(
    payload: PaymentPayload,
    requirements: PaymentRequirements,
  ): Promise<SettleResponse> {
    const client = new OneSettlement(this.#config, this.#keyOf(payload))
    for (const pauseMs of PAUSES_MS) {
      try {
        return await client.settle(payload, requirements)
      } catch (error) {
        if (!isLost(error)) throw error
        await new Promise((resolve) => setTimeout(resolve, pauseMs))
      }
    }
    return client.settle(payload, requirements).catch((error) => {
      throw isLost(error)
        ? Object.assign(new FacilitatorResponseError(NOT_KNOWN), { cause: error })
        : error
    })
  }

  #keyOf(payload: PaymentPayload): string {
    const key = this.#keys.get(payload) ?? crypto.randomUUID()
    this.#keys.set(payload, key)
    return key
  }
}

const noHeaders = async () => ({ verify: {}, settle: {}, supported: {} })

/** The official client for one payment. */
class OneSettlement extends HTTPFacilitatorClient {
  readonly #key: string

  constructor(config: FacilitatorConfig, key: string) {
    // The official client asks for headers only where it was given a function that makes some.
    super({ ...config, createAuthHeaders: config.createAuthHeaders ?? noHeaders })
    this.#key = key
  }

  override async createAuthHeaders(path: string): Promise<{ headers: Record<string, string> }> {
    const { headers } = await super.createAuthHeaders(path)
    return { headers: { ...headers, 'Idempotency-Key': this.#key } }
  }
}

/**
 * Returns whether the outcome of a settlement is open. `fetch` throws a TypeError for a connection that failed or broke,
 * and the official client a bare Error for the page of a proxy. An answer that took too long has had its time.
 */
function isLost(error: unknown): boolean {
  if (error instanceof SettleError) return error.errorReason === UNKNOWN
  return (
    error instanceof TypeError ||
    /^Facilitator settle failed \(50[234]\)/.test(String((error as Error).message))
  )
}
