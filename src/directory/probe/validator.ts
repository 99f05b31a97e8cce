import type { Validation } from '../../api/discovery.js'
import type { GuardedAnswer } from './guarded-answer.js'
import type { GuardedFetch } from './guarded-fetch.js'
import { prefillListing } from './prefill.js'
import { toProbeRequest } from './probe-request.js'
import { judgeTarget, type TargetRules } from './target-rules.js'
import type { ValidateRequest } from './validate-body.js'
import { type Expected, judgeAnswer } from './verdict.js'

/** Says of an endpoint that need not be listed what a listing of it would be told. */
export interface Validator {
  /** The verdict that the text of the URL alone gives, without a call; `undefined` when it may be called. */
  refuse(request: ValidateRequest): Validation | undefined
  /** Calls the endpoint without payment. Never rejects. */
  validate(request: ValidateRequest): Promise<Validation>
}

export function createValidator(options: {
  fetch: GuardedFetch
  rules: TargetRules
  /** CAIP-2. */
  network: string
  asset: Expected['asset']
  /** Unix milliseconds. */
  now: () => number
}): Validator {
  const { fetch, rules, network, asset, now } = options
  function judge(request: ValidateRequest, answer: GuardedAnswer): Validation {
    const { method } = request
    const verdict = judgeAnswer(answer, { network, asset, hasSchema: false, method })
    const { state, message, warnings, seen } = verdict
    const checkedAt = Math.floor(now() / 1000)
    const listing = prefillListing(request, verdict)
    return { verdict: state, message, warnings, seen, checkedAt, listing }
  }
  return {
    refuse(request) {
      const target = judgeTarget(request.url, rules)
      if (target.isAllowed) return undefined
      return judge(request, { kind: 'blocked', message: target.message })
    },
    validate: async (request) => judge(request, await fetch(toProbeRequest(request))),
  }
}
