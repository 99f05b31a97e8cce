import type { PublishedEndpoint } from '../published.js'
import { type EndpointRow, toHead } from './listing-rows.js'

/** The columns that `toPublished` reads. */
export const itemColumns = `id, merchant_id, url, method, title, description, pricing, tags, example, input_schema, output,
  extras, is_hosted, accepts, status, last_updated`

export function toPublished(row: EndpointRow): PublishedEndpoint {
  return {
    ...toHead(row),
    tags: row.tags,
    example: row.example,
    inputSchema: row.input_schema,
    output: row.output,
    extras: row.extras,
    isHosted: row.is_hosted === 1,
    accepts: row.accepts,
    lastUpdated: row.last_updated,
  }
}
