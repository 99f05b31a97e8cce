import '../http/route-config.js'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { ListingReader } from '../store/listings.js'
import { type createHistoryReader, parseHistoryQuery } from './history.js'
import { listingLimits } from './listing-limits.js'
import { missingFault, present } from './merchant-fault.js'
import type { ViewMerchant } from './merchant-view.js'
import { WriteFault } from './write-codes.js'
import type { Writes } from './writes.js'

export interface WriteRoutesOptions {
  writes: Writes
  listings: Pick<ListingReader, 'findMerchant'>
  view: ViewMerchant
  readHistory: ReturnType<typeof createHistoryReader>
  /** The answer of `GET /api/signing`. */
  signingTerms: () => Record<string, unknown>
}

type OfMerchant = { Params: { id: string } }
type WithQuery = { Querystring: Record<string, unknown> }

const { maxBytes } = listingLimits.request

/** `/api/signing` and `/api/merchants/{id}`: listings as their owners write and read them, and what was said about them. */
export async function writeRoutes(
  app: FastifyInstance,
  options: WriteRoutesOptions,
): Promise<void> {
  const { writes, listings, view, readHistory, signingTerms } = options
  const write = { bodyLimit: maxBytes, onRequest: refuseTooLarge }

  // Only what has more to tell than code and sentence; the house answers everything else.
  app.setErrorHandler((error, _request, reply) => {
    if (!(error instanceof WriteFault) || error.details === undefined) throw error
    const { statusCode, headers, code, message, details } = error
    return reply.code(statusCode).headers(headers).send({ error: code, message, details })
  })
  app.addHook('onSend', async (_request, reply) => {
    // An owner who saved must see it, and the clock is of this moment.
    if (!reply.hasHeader('cache-control')) reply.header('cache-control', 'no-store')
  })

  app.get('/api/signing', () => signingTerms())

  app.get<OfMerchant>('/api/merchants/:id', async ({ params }) =>
    view(present(await listings.findMerchant(params.id))),
  )

  app.get<OfMerchant & WithQuery>('/api/merchants/:id/history', async ({ params, query }) => {
    const page = parseHistoryQuery(query)
    if ((await listings.findMerchant(params.id)) === undefined) throw missingFault(undefined)
    return readHistory(params.id, page)
  })

  app.put<OfMerchant>('/api/merchants/:id', write, async ({ params, body }, reply) => {
    const { merchant, isNew } = await writes.save(params.id, body)
    return reply.code(isNew ? 201 : 200).send(await view(merchant))
  })

  app.delete<OfMerchant>('/api/merchants/:id', write, async ({ params, body }) =>
    view(await writes.delete(params.id, body)),
  )

  app.post<OfMerchant>('/api/merchants/:id/owner-offer', write, async ({ params, body }) =>
    view(await writes.offerOwner(params.id, body)),
  )

  app.post<OfMerchant>('/api/merchants/:id/owner-acceptance', write, async ({ params, body }) =>
    view(await writes.acceptOwner(params.id, body)),
  )

  app.post<OfMerchant>('/api/merchants/:id/payto-confirmation', write, async ({ params, body }) =>
    view(await writes.confirmPayTo(params.id, body)),
  )

  app.put<OfMerchant>('/api/merchants/:id/agent', write, async ({ params, body }) =>
    view(await writes.linkAgent(params.id, body)),
  )
}

/** Before the body is read, where its length is told; the server's own limit knows no number to name. */
async function refuseTooLarge(request: FastifyRequest): Promise<void> {
  const length = Number(request.headers['content-length'])
  if (length > maxBytes) {
    const text = `The request must be at most ${maxBytes} bytes; it has ${length}.`
    throw new WriteFault('bodyTooLarge', text)
  }
}
