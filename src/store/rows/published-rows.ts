import type { PublishedEndpoint } from '../published.js'
import type { EndpointRow } from './listing-rows.js'

/** The columns that `toPublished` reads. */
export const itemColumns = `id, merchant_id, url, method, title, description, pricing, tags, example, input_schema, output,
  extras, is_hosted, accepts, status, last_updated`

export function toPublished(row: EndpointRow): PublishedEndpoint {
  return {
    id: row.id,
    merchantId: row.merchant_id,
    url: row.url,
    method: row.method,
    title: row.title,
    description: row.description,
    pricing: row.pricing,
    tags: row.tags,
    example: row.example,
    inputSchema: row.input_schema,
    output: row.output,
    extras: row.extras,
    isHosted: row.is_hosted === 1,
    accepts: row.accepts,
    status: row.status,
    lastUpdated: row.last_updated,
  }
}
