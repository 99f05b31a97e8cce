import { canonicalJson } from '../listing-client/canonical-json.js'
import type { Endpoint, ListedEndpoint } from '../store/listings.js'
import { listingFault } from './listing-body.js'
import type { SchemaCheck, SchemaVerdict } from './schema-check.js'
import { WriteFault } from './write-codes.js'

/**
 * Sees that each input schema compiles and that the example satisfies it. `accepted` are endpoints whose pair passed
 * before. Throws a `WriteFault`.
 */
export async function checkSchemas(
  endpoints: readonly ListedEndpoint[],
  accepted: readonly Endpoint[],
  { check }: Pick<SchemaCheck, 'check'>,
): Promise<void> {
  const known = new Set(accepted.map(pairOf))
  for (const [index, endpoint] of endpoints.entries()) {
    const { inputSchema } = endpoint
    if (inputSchema === null || known.has(pairOf(endpoint))) continue
    const verdict = await check(inputSchema, exampleOf(endpoint))
    if (!verdict.ok) throw schemaFault(index, endpoint, verdict)
  }
}

function schemaFault(
  index: number,
  endpoint: ListedEndpoint,
  { fault, message }: Extract<SchemaVerdict, { ok: false }>,
): WriteFault {
  if (fault === 'busy') {
    const text = 'Too many schemas wait to be judged; try again.'
    return new WriteFault('busy', text, undefined, { 'retry-after': '2' })
  }
  const member = 'queryParams' in endpoint.example ? 'queryParams' : 'body'
  const issue =
    fault === 'value'
      ? { path: `example.${member}`, message: `must satisfy inputSchema: ${message}` }
      : { path: 'inputSchema', message: `must be JSON Schema 2020-12 that can be used: ${message}` }
  return listingFault([{ ...issue, path: `endpoints[${index}].${issue.path}` }])
}

function exampleOf({ example }: ListedEndpoint): unknown {
  return 'queryParams' in example ? example.queryParams : example.body
}

function pairOf({ inputSchema, example }: ListedEndpoint): string {
  return inputSchema === null ? '' : canonicalJson([inputSchema, example])
}
