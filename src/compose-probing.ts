import type { Logger } from 'pino'
import type { Config } from './config/config.js'
import { createInfoCheck } from './directory/auto-catalog/info-schema.js'
import { createLookJudge } from './directory/auto-catalog/own-words.js'
import { createCallBudget } from './directory/probe/call-budget.js'
import { createGuardedFetch } from './directory/probe/guarded-fetch.js'
import { createHostPace } from './directory/probe/host-pace.js'
import { createLiveTerms } from './directory/probe/live-terms.js'
import type { OwnCalls } from './directory/probe/own-calls.js'
import { createProbe } from './directory/probe/probe.js'
import { createProbeSchedule } from './directory/probe/probe-schedule.js'
import { createValidator } from './directory/probe/validator.js'
import type { Expected } from './directory/probe/verdict.js'
import { createSchemaCheck } from './directory/schema-check.js'
import type { ListingStore } from './store/listings.js'

export interface ProbingWorld {
  config: Pick<Config, 'baseUrl' | 'directoryUrl' | 'probeAllowPrivateHosts'>
  ownCalls: OwnCalls
  store: ListingStore
  /** CAIP-2. */
  network: string
  asset: Expected['asset']
  /** Unix milliseconds. */
  now: () => number
  log: Logger
}

/** Builds everything that calls addresses strangers gave us: one guard, one pace and one budget for all of it. */
export function composeProbing(world: ProbingWorld) {
  const { config, ownCalls, store, network, asset, now, log } = world
  const { baseUrl, directoryUrl, probeAllowPrivateHosts: allowPrivateHosts } = config
  const stopping = new AbortController()
  const rules = { allowPrivateHosts, ownOrigins: [baseUrl, directoryUrl] }
  const guarded = createGuardedFetch({ ...rules, baseUrl, signal: stopping.signal })
  const fetch = ownCalls.around(guarded)
  const probe = createProbe({ fetch, network, asset, now })
  const pace = createHostPace(now)
  const budget = createCallBudget({ now })
  // Strangers' schemas must not keep owners waiting.
  const schemas = createSchemaCheck()
  const infoCheck = createInfoCheck(schemas, now)
  const judge = createLookJudge({ infoCheck })
  return {
    rules,
    fetch,
    probe,
    pace,
    budget,
    infoCheck,
    schedule: createProbeSchedule({ store, probe, judge, now, pace, log }),
    validator: createValidator({ fetch, rules, network, asset, now }),
    liveTerms: createLiveTerms({ fetch, budget, pace, network, asset }),
    /** Gives up every call under way. */
    stop: () => stopping.abort(),
    /** After the last look. */
    close: () => schemas.close(),
  }
}
