import type { Address } from 'viem'
import type { Endpoint, Merchant } from '../../store/listings.js'
import { parseUrl } from '../../x402/parse-url.js'
import { needsComponent, toOperation } from './openapi-operation.js'
import { publishedIdentity } from './published.js'
import { rebaseSchema } from './rebase-schema.js'
import { createPause } from './slices.js'
import { nameTools } from './tool-names.js'

export interface OpenApiOptions {
  facilitator: string
  checksum: (address: Address) => Address
}

/**
 * Describes a merchant's endpoints as OpenAPI 3.1, from what is stored of them and nothing else. Gives the document
 * as pieces of JSON text, made in slices: a hundred endpoints with large schemas are megabytes.
 */
export async function writeOpenApi(
  merchant: Merchant,
  endpoints: readonly Endpoint[],
  options: OpenApiOptions,
): Promise<string[]> {
  const pause = createPause()
  const described = endpoints.filter(({ url }) => parseUrl(url) !== undefined)
  const server = described[0] === undefined ? undefined : new URL(described[0].url).origin
  const names = nameTools(described)
  /** Members of each path item, and of the schemas, as text. */
  const paths = new Map<string, Map<string, string>>()
  const schemas: string[] = []
  for (const [i, endpoint] of described.entries()) {
    const name = names[i] as string
    const base = `#/components/schemas/${name}`
    const { origin, pathname } = new URL(endpoint.url)
    const method = endpoint.method.toLowerCase()
    // Two endpoints may differ in host or query alone; a fragment, which is never sent, tells them apart.
    const path = paths.get(pathname)?.has(method) ? `${pathname}#${name}` : pathname
    const operation = toOperation(endpoint, merchant, name, base)
    const servers = origin === server ? {} : { servers: [{ url: origin }] }
    const item = paths.get(path) ?? new Map<string, string>()
    paths.set(path, item.set(method, member(method, { ...operation, ...servers })))
    if (needsComponent(endpoint)) {
      schemas.push(member(name, rebaseSchema(endpoint.inputSchema, base)))
    }
    await pause()
  }
  const items = [...paths].map(
    ([path, item]) => `${JSON.stringify(path)}:{${[...item.values()].join()}}`,
  )
  return [
    JSON.stringify(headOf(merchant, server, options)).slice(0, -1),
    ',"paths":{',
    ...separated(items),
    '},"components":{"schemas":{',
    ...separated(schemas),
    `},${member('responses', { PaymentRequired: paymentRequired })}}}\n`,
  ]
}

function headOf(
  merchant: Merchant,
  server: string | undefined,
  { facilitator, checksum }: OpenApiOptions,
) {
  const { description } = merchant
  return {
    openapi: '3.1.0',
    info: {
      title: merchant.name,
      version: String(merchant.revision),
      ...(description === '' ? {} : { description }),
    },
    ...(server === undefined ? {} : { servers: [{ url: server }] }),
    'x-x402': {
      facilitator,
      merchant: merchant.id,
      network: merchant.network,
      asset: checksum(merchant.asset),
      payTo: checksum(merchant.payTo),
      identity: publishedIdentity(merchant),
    },
  }
}

function member(name: string, value: unknown): string {
  return `${JSON.stringify(name)}:${JSON.stringify(value)}`
}

function separated(members: readonly string[]): string[] {
  return members.map((text, i) => (i === 0 ? text : `,${text}`))
}

const paymentRequired = {
  description:
    'Payment is asked for. Sign one of `accepts` and send the same request again with PAYMENT-SIGNATURE (x402 version 2).',
  headers: {
    'PAYMENT-REQUIRED': {
      description: 'Base64 of JSON with `accepts`, the requirements of which one must be met.',
      required: true,
      schema: { type: 'string', contentEncoding: 'base64', contentMediaType: 'application/json' },
    },
  },
}
