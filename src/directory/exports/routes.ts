import type { FastifyInstance } from 'fastify'
import type { Address } from 'viem'
import { cached, describedAs, type Operation } from '../../http/operation.js'
import type { KeptAnswers } from '../listings/kept-answers.js'
import { aboutMerchant, type OfMerchant, presentInPublic } from '../refusals.js'
import type { ListingReader } from '../store/listings.js'
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
  store: Pick<ListingReader, 'findMerchant' | 'endpointsOf' | 'changeOf'>
  kept: KeptAnswers
  /** `BASE_URL`. */
  facilitator: string
  checksum: (address: Address) => Address
}

/** Serves a merchant as an OpenAPI document and as an `llms.txt`. */
export async function exportRoutes(
  app: FastifyInstance,
  { store, kept, facilitator, checksum }: ExportRoutesOptions,
): Promise<void> {
  app.get<OfMerchant>(
    '/api/merchants/:id/openapi.json',
    { compress: false, ...describedAs(merchantOpenApiOperation) },
    async (request, reply) => {
      const { id } = request.params
      const merchant = presentInPublic(await store.findMerchant(id))
      return kept.send(request, reply, {
        key: `openapi ${id}`,
        version: String(await store.changeOf(id)),
        type: 'application/json; charset=utf-8',
        async write() {
          const endpoints = shownEndpoints(merchant, await store.endpointsOf(id))
          return (await writeOpenApi(merchant, endpoints, { facilitator, checksum })).join('')
        },
      })
    },
  )

  app.get<OfMerchant>(
    '/api/merchants/:id/llms.txt',
    { compress: false, ...describedAs(merchantLlmsOperation) },
    async (request, reply) => {
      const { id } = request.params
      const merchant = presentInPublic(await store.findMerchant(id))
      return kept.send(request, reply, {
        key: `llms ${id}`,
        version: String(await store.changeOf(id)),
        type: 'text/markdown; charset=utf-8',
        async write() {
          const endpoints = shownEndpoints(merchant, await store.endpointsOf(id))
          return writeLlmsText(merchant, endpoints, { facilitator, checksum })
        },
      })
    },
  )
}
