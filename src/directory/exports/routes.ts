import { createHash } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Address } from 'viem'
import { isKnown } from '../../http/cached-reply.js'
import { cached, describedAs, type Operation } from '../../http/operation.js'
import { aboutMerchant, presentInPublic } from '../listings/refusals.js'
import type { Endpoint, ListingReader, Merchant } from '../store/listings.js'
import { shownEndpoints } from '../store/published.js'
import { writeLlmsText } from './llms-text.js'
import { writeOpenApi } from './openapi.js'

const merchantOpenApiOperation: Operation = {
  ...aboutMerchant,
  id: 'getMerchantOpenApi',
  summary: 'The endpoints of a merchant as an OpenAPI document',
  answers: cached('OpenAPI 3.1.'),
}

const merchantLlmsOperation: Operation = {
  ...aboutMerchant,
  id: 'getMerchantLlmsText',
  summary: 'The endpoints of a merchant as an llms.txt',
  answers: cached('Markdown: what there is, what it costs, where to read on.'),
}

interface ExportRoutesOptions {
  store: Pick<ListingReader, 'findMerchant' | 'endpointsOf'>
  /** `BASE_URL`. */
  facilitator: string
  checksum: (address: Address) => Address
}

type OfMerchant = { Params: { id: string } }

/** Serves a merchant as an OpenAPI document and as an `llms.txt`. */
export async function exportRoutes(
  app: FastifyInstance,
  { store, facilitator, checksum }: ExportRoutesOptions,
): Promise<void> {
  app.get<OfMerchant>(
    '/api/merchants/:id/openapi.json',
    describedAs(merchantOpenApiOperation),
    async (request, reply) => {
      const [merchant, endpoints] = await readMerchant(request.params.id)
      const document = await writeOpenApi(merchant, endpoints, { facilitator, checksum })
      return sendTagged(request, reply, document, json)
    },
  )

  app.get<OfMerchant>(
    '/api/merchants/:id/llms.txt',
    describedAs(merchantLlmsOperation),
    async (request, reply) => {
      const [merchant, endpoints] = await readMerchant(request.params.id)
      const text = writeLlmsText(merchant, endpoints, { facilitator, checksum })
      return sendTagged(request, reply, [text], 'text/markdown; charset=utf-8')
    },
  )

  async function readMerchant(id: string): Promise<[Merchant, Endpoint[]]> {
    const merchant = presentInPublic(await store.findMerchant(id))
    return [merchant, shownEndpoints(merchant, await store.endpointsOf(id))]
  }
}

const json = 'application/json; charset=utf-8'

async function sendTagged(
  request: FastifyRequest,
  reply: FastifyReply,
  parts: readonly string[],
  type: string,
): Promise<FastifyReply> {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  const etag = `W/"${hash.digest('base64url').slice(0, 22)}"`
  return isKnown(request, reply.type(type), etag) ? reply : reply.send(parts.join(''))
}
