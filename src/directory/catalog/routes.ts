import { createHash, randomBytes } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { readQuery } from '../../http/query.js'
import { describedAs } from '../../http/route-config.js'
import type { Endpoint, ListingReader, Merchant } from '../../store/listings.js'
import { presentInPublic } from '../listings/faults.js'
import {
  catalogOperation,
  merchantLlmsOperation,
  merchantOpenApiOperation,
  merchantToolsOperation,
  toolsQuery,
} from '../openapi/read-operations.js'
import type { Catalog } from './catalog.js'
import { writeLlmsText } from './llms-text.js'
import { writeOpenApi } from './openapi.js'
import { type OwnerRoutesOptions, ownerRoutes } from './owner-routes.js'
import { shownEndpoints } from './published.js'
import { createPause } from './slices.js'
import { catalogBytes, streamCatalog } from './stream.js'
import { toTools } from './tools.js'

export interface CatalogRoutesOptions extends OwnerRoutesOptions {
  catalog: Catalog
  store: Pick<ListingReader, 'findMerchant' | 'endpointsOf'> & OwnerRoutesOptions['store']
  /** `BASE_URL`. */
  facilitator: string
}

type OfMerchant = { Params: { id: string } }

/** `GET /api/merchants`, the directory catalog, what a wallet owns, and per merchant an OpenAPI document, a list of tools and an `llms.txt`. */
export async function catalogRoutes(
  app: FastifyInstance,
  { catalog, store, facilitator, checksum, now }: CatalogRoutesOptions,
): Promise<void> {
  // Sequences of another database begin again at 1: what a reader remembers of it must not match.
  const boot = randomBytes(6).toString('base64url')
  ownerRoutes(app, { store, checksum, now })

  app.get('/api/merchants', describedAs(catalogOperation), async (request, reply) => {
    const snapshot = await catalog.read()
    if (isKnown(request, reply, `${boot}-${snapshot.sequence}`, json)) return reply
    const bytes = catalogBytes(snapshot, facilitator)
    if (bytes !== undefined) reply.header('content-length', bytes)
    return reply.send(streamCatalog(snapshot, facilitator))
  })

  app.get<OfMerchant>(
    '/api/merchants/:id/openapi.json',
    describedAs(merchantOpenApiOperation),
    async (request, reply) => {
      const [merchant, endpoints] = await readMerchant(request.params.id)
      const document = await writeOpenApi(merchant, endpoints, { facilitator, checksum })
      return sendCached(request, reply, document, json)
    },
  )

  app.get<OfMerchant & { Querystring: Record<string, unknown> }>(
    '/api/merchants/:id/tools.json',
    describedAs(merchantToolsOperation),
    async (request, reply) => {
      const { format } = readQuery(toolsQuery, request.query)
      const [merchant, endpoints] = await readMerchant(request.params.id)
      const tools = toTools(merchant, endpoints, format, checksum)
      return sendCached(request, reply, [JSON.stringify(tools)], json)
    },
  )

  app.get<OfMerchant>(
    '/api/merchants/:id/llms.txt',
    describedAs(merchantLlmsOperation),
    async (request, reply) => {
      const [merchant, endpoints] = await readMerchant(request.params.id)
      const text = writeLlmsText(merchant, endpoints, { facilitator, checksum })
      return sendCached(request, reply, [text], 'text/markdown; charset=utf-8')
    },
  )

  async function readMerchant(id: string): Promise<[Merchant, Endpoint[]]> {
    const merchant = presentInPublic(await store.findMerchant(id))
    return [merchant, shownEndpoints(merchant, await store.endpointsOf(id))]
  }
}

const json = 'application/json; charset=utf-8'

async function sendCached(
  request: FastifyRequest,
  reply: FastifyReply,
  parts: readonly string[],
  type: string,
): Promise<FastifyReply> {
  const pause = createPause()
  const hash = createHash('sha256')
  for (const part of parts) {
    hash.update(part)
    await pause()
  }
  const tag = hash.digest('base64url').slice(0, 22)
  return isKnown(request, reply, tag, type) ? reply : reply.send(parts.join(''))
}

/** Sets what all these answers carry, and ends with 304 for a reader who has this one. */
function isKnown(request: FastifyRequest, reply: FastifyReply, tag: string, type: string): boolean {
  // Weak: compressed or not, it is the same catalog.
  const etag = `W/"${tag}"`
  reply.headers({
    'content-type': type,
    'cache-control': 'public, max-age=60',
    etag,
  })
  if (!matches(request.headers['if-none-match'], tag)) return false
  reply.code(304).removeHeader('content-type').send()
  return true
}

/** RFC 9110 §13.1.2: weak comparison, and `*` is anything. */
function matches(header: string | undefined, tag: string): boolean {
  if (header === undefined) return false
  const tags = header.split(',').map((part) => part.trim().replace(/^W\//, ''))
  return tags.includes('*') || tags.includes(`"${tag}"`)
}
