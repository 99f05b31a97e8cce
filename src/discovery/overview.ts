import type { CatalogList } from './catalog-list.js'
import type { Pace } from './pace.js'

/** The figures that the home page shows about the whole catalog. */
export interface CatalogOverview {
  /** The tags that most merchants use, with their number. One merchant counts once, whatever it lists. */
  categories: { tag: string; merchants: number }[]
  /** Ids of the merchants whose endpoints have the most payers in 30 days, each endpoint counted for itself. */
  mostPaid: string[]
}

const CATEGORIES = 16
const MOST_PAID = 12
/** Endpoints that are counted before other work gets its turn. */
const AT_ONCE = 2_000

export async function readOverview(
  { endpoints }: Pick<CatalogList, 'endpoints'>,
  pace: Pick<Pace, 'share'>,
): Promise<CatalogOverview> {
  const merchantsOf = new Map<string, Set<string>>()
  const payers = new Map<string, number>()
  for (let from = 0; from < endpoints.length; from += AT_ONCE) {
    await pace.share(async () => {
      for (const endpoint of endpoints.slice(from, from + AT_ONCE)) {
        if (!endpoint.isListed) continue
        const { id } = endpoint.merchant
        const sum = (payers.get(id) ?? 0) + endpoint.evidence.payers
        if (sum > 0) payers.set(id, sum)
        for (const tag of endpoint.tags) {
          const known = merchantsOf.get(tag)
          if (known === undefined) merchantsOf.set(tag, new Set([id]))
          else known.add(id)
        }
      }
    })
  }
  return {
    categories: [...merchantsOf]
      .map(([tag, { size }]) => ({ tag, merchants: size }))
      .sort((a, b) => b.merchants - a.merchants || (a.tag < b.tag ? -1 : 1))
      .slice(0, CATEGORIES),
    mostPaid: [...payers]
      .sort(([, a], [, b]) => b - a)
      .slice(0, MOST_PAID)
      .map(([id]) => id),
  }
}
