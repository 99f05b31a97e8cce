import { formatAtomic } from '../x402/amounts.js'

const MAX_DESCRIPTION_CHARS = 300

/** The members of a discovery item that a choice is made by. */
interface Item {
  resource: string
  accepts: readonly { scheme?: unknown; network?: unknown; asset?: unknown; amount?: unknown }[]
  tags?: readonly string[]
  metadata: {
    title: string
    description: string
    merchant: { id: string; name: string; official: boolean }
    pricing: string
    hostedByArcus: boolean
    input: { method: string }
  }
}

/** A discovery item in a few lines: a list of whole ones, with their schemas, would fill a model's context. */
export function summarize({ resource, accepts, tags, metadata }: Item): Record<string, unknown> {
  const { title, description, merchant, pricing, hostedByArcus, input } = metadata
  const { id, name, official } = merchant
  return {
    resource,
    method: input.method,
    title,
    description: description.slice(0, MAX_DESCRIPTION_CHARS),
    merchant: { id, name, official },
    pricing,
    hostedByArcus,
    accepts: accepts.map(({ scheme, network, asset, amount }) => ({
      scheme,
      network,
      asset,
      amount,
      ...priceOf(amount),
    })),
    ...(tags === undefined ? {} : { tags }),
  }
}

/** Every asset of the catalog is the stablecoin. */
function priceOf(amount: unknown): { usd?: string } {
  if (typeof amount !== 'string' || !/^\d{1,78}$/.test(amount)) return {}
  return { usd: formatAtomic(BigInt(amount)) }
}
