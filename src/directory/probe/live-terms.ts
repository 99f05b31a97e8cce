import type { CatalogEntry, ListedEndpoint } from '../../store/listings.js'
import { type CallBudget, tooMany } from './call-budget.js'
import type { GuardedFetch } from './guarded-fetch.js'
import { type HostPace, hostKey } from './host-pace.js'
import { toProbeRequest } from './probe-request.js'
import { type Expected, judgeAnswer, type Verdict } from './verdict.js'

/** How long a call waits for the turn of the host it names. */
const TURN_WAIT_MS = 5_000
const BUSY_SECONDS = 5

/**
 * Calls a listed endpoint once without payment, with the parameters given or those of its example, and judges its 402
 * against the listing. `caller` is who is counted; throws a 429 when he, or the host, must wait.
 */
export type LiveTerms = (
  caller: string,
  entry: CatalogEntry,
  example?: ListedEndpoint['example'],
) => Promise<Verdict>

export interface LiveTermsOptions {
  fetch: GuardedFetch
  /** The same as for probes by hand. */
  budget: CallBudget
  /** The same as for the schedule. */
  pace: HostPace
  /** CAIP-2. */
  network: string
  asset: Expected['asset']
}

export function createLiveTerms(options: LiveTermsOptions): LiveTerms {
  const { fetch, budget, pace, network, asset } = options
  return (caller, { endpoint, merchant }, example = endpoint.example) => {
    const { url, method, price } = endpoint
    const hasSchema = endpoint.inputSchema !== null
    const expected = { network, asset, payTo: merchant.payTo, price, hasSchema, method }
    return budget.spend(caller, hostKey(url), () =>
      inTurn(pace, url, async () =>
        judgeAnswer(await fetch(toProbeRequest({ url, method, example })), expected),
      ),
    )
  }
}

/** Does the work in the turn of the URL's host, or throws a 429 when that does not come soon. */
export async function inTurn<T>(pace: HostPace, url: string, work: () => Promise<T>): Promise<T> {
  const host = hostKey(url)
  if (!(await pace.enterWithin(host, TURN_WAIT_MS))) {
    throw tooMany('This host is being checked at this moment', BUSY_SECONDS)
  }
  try {
    return await work()
  } finally {
    pace.leave(host)
  }
}
