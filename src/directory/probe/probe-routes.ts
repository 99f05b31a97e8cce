import { httpCodes } from '@arcus/protocol/answers/errors'
import { type ProbeAnswer, probeBody } from '@arcus/protocol/answers/listings'
import { defined } from '@arcus/protocol/x402/json'
import type { FastifyInstance } from 'fastify'
import { RequestFault } from '../../http/errors.js'
import { describedAs, type Operation } from '../../http/operation.js'
import { callerOf } from '../../http/rate-limit.js'
import { present, readBody, refusals } from '../refusals.js'
import type { EndpointHealth, ListingReader, StoredEndpoint } from '../store/listings.js'
import type { CallBudget } from './call-limits.js'
import { missingEndpoint } from './endpoint-history.js'
import type { ProbeSchedule } from './probe-schedule.js'
import { hostKey } from './target-rules.js'

interface ProbeRoutesOptions {
  store: Pick<ListingReader, 'findMerchant' | 'endpointsOf'>
  schedule: Pick<ProbeSchedule, 'probeNow'>
  /** The budget that validation shares. */
  budget: CallBudget
}

/** Endpoints probed for a request that names none; those with the oldest probe come first. */
const MAX_AT_ONCE = 5

const probeOperation: Operation = {
  id: 'probeMerchant',
  tag: 'Directory',
  summary: 'Probe endpoints now instead of at their time',
  answers: { 200: 'The results.' },
  codes: [...refusals('merchant_not_found', 'merchant_deleted'), httpCodes.endpoint_not_found],
}

/** Serves `POST /api/merchants/:id/probe {endpointId?}`, which probes endpoints now instead of at their time. */
export async function probeRoutes(
  app: FastifyInstance,
  { store, schedule, budget }: ProbeRoutesOptions,
): Promise<void> {
  app.post<{ Params: { id: string } }>(
    '/api/merchants/:id/probe',
    describedAs(probeOperation),
    async (request, reply) => {
      const { endpointId } = readBody(probeBody, request.body ?? {})
      const { id } = request.params
      present(await store.findMerchant(id))
      const wanted = pick(await store.endpointsOf(id), endpointId)
      const answers: ProbeAnswer['endpoints'][number][] = []
      for (const endpoint of wanted) {
        const probe = () => schedule.probeNow(id, endpoint.id)
        const spent = budget.spend(callerOf(request.ip), hostKey(endpoint.url), probe)
        // The first refusal is the answer; later ones only end the round.
        const result = await spent.catch((error) => {
          if (answers.length === 0 || !(error instanceof RequestFault)) throw error
          return undefined
        })
        if (result === undefined) break
        const health = result.state === 'probed' ? result.health : endpoint
        answers.push(toAnswer(endpoint, health, result.state))
      }
      reply.header('cache-control', 'no-store')
      return { endpoints: answers }
    },
  )
}

function toAnswer(
  { id, url, method, toolName }: StoredEndpoint,
  health: EndpointHealth,
  state: string,
): ProbeAnswer['endpoints'][number] {
  const { status, probe, failures, nextProbeAt } = health
  const tool = defined({ toolName })
  return { id, url, method, ...tool, state, status, probe, failures, nextProbeAt }
}

function pick(endpoints: StoredEndpoint[], endpointId: number | undefined): StoredEndpoint[] {
  if (endpointId === undefined) {
    const checkedAt = ({ probe }: StoredEndpoint) => probe?.checkedAt ?? 0
    return endpoints.toSorted((a, b) => checkedAt(a) - checkedAt(b)).slice(0, MAX_AT_ONCE)
  }
  const endpoint = endpoints.find(({ id }) => id === endpointId)
  if (endpoint === undefined) throw missingEndpoint()
  return [endpoint]
}
