import type { FastifyInstance } from 'fastify'
import { describedAs } from '../../http/operation.js'
import { callerOf } from '../../http/rate-limit.js'
import { validateOperation } from '../openapi/probe-operations.js'
import type { CallBudget } from './call-budget.js'
import { type HostPace, hostKey } from './host-pace.js'
import { inTurn } from './live-terms.js'
import { parseValidateBody } from './validate-body.js'
import type { Validator } from './validator.js'

export interface ValidateRoutesOptions {
  validator: Validator
  /** The same as for probes by hand. */
  budget: CallBudget
  /** The same as for the schedule. */
  pace: HostPace
}

/** `POST /discovery/validate`: the verdict of a probe for anybody, and a listing drafted from the live 402. */
export async function validateRoutes(
  app: FastifyInstance,
  { validator, budget, pace }: ValidateRoutesOptions,
): Promise<void> {
  app.post('/discovery/validate', describedAs(validateOperation), async (request, reply) => {
    const wanted = parseValidateBody(request.body)
    reply.header('cache-control', 'no-store')
    // What is refused for its text costs nobody a call, so it is not counted.
    const refused = validator.refuse(wanted)
    if (refused !== undefined) return refused
    const { url } = wanted
    return budget.spend(callerOf(request.ip), hostKey(url), () =>
      inTurn(pace, url, () => validator.validate(wanted)),
    )
  })
}
