import type { CatalogEntry, ListedEndpoint } from '../../store/listings.js'
import { type CallBudget, type HostPace, hostKey, inTurn } from './call-limits.js'
import type { GuardedFetch } from './guarded-fetch.js'
import { checkEndpoint } from './probe.js'
import type { Expected, Verdict } from './verdict.js'

/**
 * Calls a listed endpoint once without payment, with the given parameters or those of its example, and checks its 402
 * against the listing. The call counts for `caller`. Throws a 429 when the caller or the host must wait.
 */
export type LiveTerms = (
  caller: string,
  entry: CatalogEntry,
  example?: ListedEndpoint['example'],
) => Promise<Verdict>

interface LiveTermsOptions {
  fetch: GuardedFetch
  /** The budget that probes on request share. */
  budget: CallBudget
  /** The pace that the schedule shares. */
  pace: HostPace
  /** CAIP-2. */
  network: string
  /** All that are settled on it. */
  tokens: Expected['tokens']
}

export function createLiveTerms(options: LiveTermsOptions): LiveTerms {
  const { fetch, budget, pace, network } = options
  return (caller, { endpoint, merchant }, example = endpoint.example) => {
    const { url, method, price, asset } = endpoint
    const tokens = options.tokens.filter(({ address }) => address === asset)
    const hasSchema = endpoint.inputSchema !== null
    const expected = { network, tokens, payTo: merchant.payTo, price, hasSchema, method }
    return budget.spend(caller, hostKey(url), () =>
      inTurn(pace, url, () => checkEndpoint(fetch, { ...endpoint, example }, expected)),
    )
  }
}
