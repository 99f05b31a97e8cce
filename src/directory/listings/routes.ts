import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Operation } from '../../http/openapi/operation.js'
import { readQuery } from '../../http/query.js'
import { describedAs } from '../../http/route-config.js'
import { listingLimits } from '../../listing-client/listing.js'
import type { ListingReader } from '../../store/listings.js'
import {
  historyOperation,
  merchantOperation,
  signingOperation,
} from '../openapi/read-operations.js'
import {
  acceptOperation,
  confirmOperation,
  deleteOperation,
  linkOperation,
  offerOperation,
  saveOperation,
} from '../openapi/write-operations.js'
import { answerWithDetails, missingFault, present, WriteFault } from './faults.js'
import { type createHistoryReader, historyQuery } from './history.js'
import type { ViewMerchant } from './merchant-view.js'
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
  const write = (operation: Operation) => ({
    bodyLimit: maxBytes,
    onRequest: refuseTooLarge,
    config: { operation },
  })

  answerWithDetails(app)
  app.addHook('onSend', async (_request, reply) => {
    // An owner who saved must see it, and the clock is of this moment.
    if (!reply.hasHeader('cache-control')) reply.header('cache-control', 'no-store')
  })

  app.get('/api/signing', describedAs(signingOperation), () => signingTerms())

  app.get<OfMerchant>('/api/merchants/:id', describedAs(merchantOperation), async ({ params }) =>
    view(present(await listings.findMerchant(params.id))),
  )

  app.get<OfMerchant & WithQuery>(
    '/api/merchants/:id/history',
    describedAs(historyOperation),
    async ({ params, query }) => {
      const page = readQuery(historyQuery, query)
      if ((await listings.findMerchant(params.id)) === undefined) throw missingFault(undefined)
      return readHistory(params.id, page)
    },
  )

  app.put<OfMerchant>(
    '/api/merchants/:id',
    write(saveOperation),
    async ({ params, body, ip }, reply) => {
      const { merchant, isNew } = await writes.save(params.id, body, ip)
      return reply.code(isNew ? 201 : 200).send(await view(merchant))
    },
  )

  app.delete<OfMerchant>('/api/merchants/:id', write(deleteOperation), async ({ params, body }) =>
    view(await writes.delete(params.id, body)),
  )

  app.post<OfMerchant>(
    '/api/merchants/:id/owner-offer',
    write(offerOperation),
    async ({ params, body, ip }) => view(await writes.offerOwner(params.id, body, ip)),
  )

  app.post<OfMerchant>(
    '/api/merchants/:id/owner-acceptance',
    write(acceptOperation),
    async ({ params, body, ip }) => view(await writes.acceptOwner(params.id, body, ip)),
  )

  app.post<OfMerchant>(
    '/api/merchants/:id/payto-confirmation',
    write(confirmOperation),
    async ({ params, body, ip }) => view(await writes.confirmPayTo(params.id, body, ip)),
  )

  app.put<OfMerchant>(
    '/api/merchants/:id/agent',
    write(linkOperation),
    async ({ params, body, ip }) => view(await writes.linkAgent(params.id, body, ip)),
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
