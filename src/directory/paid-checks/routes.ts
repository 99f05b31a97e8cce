import { httpCodes } from '@arcus/protocol/answers/errors'
import type { ChecksAnswer } from '@arcus/protocol/answers/paid-checks'
import { checkBody, SMALL_WRITE_BYTES } from '@arcus/protocol/answers/writes'
import type { FastifyInstance } from 'fastify'
import { describedAs, type Operation } from '../../http/operation.js'
import { requireProof } from '../listings/merchant-view.js'
import { describeWrite } from '../listings/routes.js'
import { replayFault, type WriteCheck, type WriteQuota } from '../listings/signed-write.js'
import {
  aboutEndpoint,
  findEndpoint,
  missingEndpoint,
  type OfEndpoint,
} from '../probe/endpoint-history.js'
import { type OfMerchant, refusals, WriteFault, writeCodes } from '../refusals.js'
import type { CatalogEntry, ListingReader } from '../store/listings.js'
import type { CheckStore } from '../store/paid-checks.js'
import { toView } from './verdicts.js'

const listOperation: Operation = {
  ...aboutEndpoint,
  id: 'listChecks',
  summary: 'What this service found when it bought from an endpoint, newest first',
  description:
    'Each verdict may carry an EIP-712 statement of the operator, which anybody can verify without this service.',
  answers: { 200: 'The last 50 paid checks.' },
}

const requestOperation = {
  ...describeWrite('requestCheck', 'Ask for a paid check of an endpoint'),
  answers: { 200: 'It comes before all others, as soon as the budget of the day allows.' },
  codes: [
    ...Object.values(writeCodes),
    httpCodes.endpoint_not_found,
    ...refusals('checks_off', 'not_checkable', 'too_many_checks'),
  ],
}

interface CheckRoutesOptions {
  store: CheckStore
  listings: Pick<ListingReader, 'findMerchant' | 'entriesById'>
  check: WriteCheck
  quota: WriteQuota
  /** Says why an endpoint is not bought from; `undefined` where the operator buys from none. */
  obstacleOf: ((entry: CatalogEntry) => string | undefined) | undefined
  /** Unix milliseconds. */
  now: () => number
}

/** Serves the paid checks of an endpoint, and takes the wishes of owners for one. */
export async function checkRoutes(
  app: FastifyInstance,
  { store, listings, check, quota, obstacleOf, now }: CheckRoutesOptions,
): Promise<void> {
  app.get<OfEndpoint>(
    '/api/merchants/:id/endpoints/:endpoint/checks',
    describedAs(listOperation),
    async ({ params }, reply) => {
      const { endpoint, merchant } = await findEndpoint(listings, params)
      const answer: ChecksAnswer = {
        merchant: merchant.id,
        endpoint: endpoint.id,
        delivery: endpoint.delivery,
        checks: (await store.closedOf(endpoint.id)).map(toView),
      }
      return reply.header('cache-control', 'public, max-age=60').send(answer)
    },
  )

  app.post<OfMerchant>(
    '/api/merchants/:id/check-request',
    { bodyLimit: SMALL_WRITE_BYTES, ...describedAs(requestOperation) },
    async ({ params, body: request, ip }, reply) => {
      const merchantId = params.id
      const actions = { standing: 'check.request' } as const
      const expected = { merchantId, actions, schema: checkBody }
      const { body, merchant, write } = await check(request, expected)
      requireProof(merchant)
      if (obstacleOf === undefined) {
        throw new WriteFault('checks_off', 'This directory buys from no endpoint.')
      }
      const [entry] = await listings.entriesById([body.endpoint])
      if (entry?.merchant.id !== merchantId) throw missingEndpoint()
      const obstacle = obstacleOf(entry)
      if (obstacle !== undefined) {
        throw new WriteFault('not_checkable', `The endpoint cannot be bought from. ${obstacle}`)
      }
      const { owner, nonce, message } = write
      const size = { owner, bytes: message.length, ip, isSave: true }
      const left = await quota(size, async () => {
        const wish = { owner, nonce, merchantId, endpointId: body.endpoint }
        const kept = await store.request({ ...wish, now: Math.floor(now() / 1000) })
        if (kept.state === 'replayed') throw replayFault()
        if (kept.state === 'done') return kept.left
        const text =
          'The owner asked for three checks within a day, which is the limit; ask again tomorrow.'
        throw new WriteFault('too_many_checks', text, undefined, 3_600)
      })
      return reply.header('cache-control', 'no-store').send({ endpoint: body.endpoint, left })
    },
  )
}
