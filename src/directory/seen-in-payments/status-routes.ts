import { type ListingStatus, statusQuery } from '@arcus/protocol/answers/discovery'
import { canonicalUrl } from '@arcus/protocol/x402/bazaar'
import type { CallTarget } from '@arcus/protocol/x402/calls'
import type { FastifyInstance } from 'fastify'
import type { Address } from 'viem'
import { describedAs, type Operation } from '../../http/operation.js'
import { readQuery } from '../../http/query.js'
import type { CatalogEntry, ListingReader } from '../store/listings.js'
import { waitsForProbe } from '../store/ownership.js'
import { standingOf } from '../store/published.js'
import type { AutoCatalog } from './auto-catalog.js'

/** Entries of one URL that an answer shows. */
const MAX_ENTRIES = 20

const NOTHING_KNOWN =
  "Nothing is listed at this URL, and no payment for it was seen since this process started. Save a listing, or have it paid for through this facilitator, with its public https URL and the bazaar extension in its 402: it is listed then even if the buyer's client drops the extension. Payments whose client drops the URL as well are on the owner's page."

const statusOperation: Operation = {
  id: 'getListingStatus',
  tag: 'Discovery',
  summary: 'Why a resource is listed, or is not',
  description:
    'Everything that is known about a URL: state, last probe, reason, time of the next probe, and how to correct it. The refusals are those of payments that this process saw last; each names the side that left something out, and what happens next.',
  answers: { 200: 'What is known.' },
  codes: [],
}

interface StatusRoutesOptions {
  store: Pick<ListingReader, 'findAtUrl' | 'findTemplates'>
  findRefusals: AutoCatalog['findRefusals']
  checksum: (address: Address) => Address
}

/** Serves `GET /discovery/status`, which says why a resource is listed or is not. */
export async function statusRoutes(
  app: FastifyInstance,
  { store, findRefusals, checksum }: StatusRoutesOptions,
): Promise<void> {
  app.get('/discovery/status', describedAs(statusOperation), async (request, reply) => {
    const { resource, method, toolName } = readQuery(statusQuery, request.query)
    const { href } = new URL(resource)
    const bare = canonicalUrl(resource) ?? href
    // A caller may have added the query, which only some entries have in their URL.
    const spellings = [...new Set([href, bare])]
    const find = async (wanted: Partial<Pick<CallTarget, 'method' | 'toolName'>>) => {
      const at = spellings.map((url) => store.findAtUrl({ url, ...wanted }, MAX_ENTRIES))
      const { method, toolName } = wanted
      // A path that was bought is listed under the template of its route.
      const forms =
        toolName === undefined ? [store.findTemplates({ url: bare, method }, MAX_ENTRIES)] : []
      const found = (await Promise.all([...at, ...forms])).flat()
      return [...new Map(found.map((entry) => [entry.endpoint.id, entry])).values()].slice(
        0,
        MAX_ENTRIES,
      )
    }
    const entries = (await find({ ...(method && { method }), ...(toolName && { toolName }) })).map(
      toStatus,
    )
    const others = entries.length === 0 ? (await find({})).length : 0
    const refused = findRefusals(bare).map((it) => ({ ...it, payTo: checksum(it.payTo) }))
    reply.header('cache-control', 'no-store')
    return { resource, message: sumUp(entries, refused, others), entries, refusals: refused }
  })
}

function sumUp(
  entries: readonly ListingStatus['entries'][number][],
  refused: readonly { reason: string }[],
  others: number,
): string {
  const listed = entries.filter(({ isListed }) => isListed).length
  if (listed > 0) return `${listed} of ${entries.length} entries at this URL are in the list.`
  const [first] = entries
  if (first !== undefined) return `It is not in the list: ${first.reason}`
  if (others > 0) {
    return `Nothing with this method and this tool is listed here; ask without them for the other entries at this URL: ${others}.`
  }
  const [last] = refused
  return last === undefined ? NOTHING_KNOWN : `It was paid for and not listed: ${last.reason}`
}

function toStatus(entry: CatalogEntry): ListingStatus['entries'][number] {
  const { endpoint, merchant } = entry
  const { method, toolName, url, status, probe, failures, nextProbeAt } = endpoint
  const isHidden = merchant.hiddenReason !== null
  const isPending = status === 'unverified' && !waitsForProbe(merchant)
  return {
    type: method === 'MCP' ? 'mcp' : 'http',
    url,
    method,
    ...(toolName === undefined ? {} : { toolName }),
    merchant: merchant.id,
    ...standingOf(merchant),
    status: isHidden ? 'hidden' : status,
    isListed: !isHidden && (status === 'live' || isPending),
    reason: reasonOf(entry),
    mend: mendOf(entry),
    probe:
      probe === null
        ? null
        : { verdict: probe.verdict, message: probe.message, checkedAt: probe.checkedAt },
    failures,
    nextProbeAt,
  }
}

function reasonOf({ endpoint: { probe }, merchant: { hiddenReason } }: CatalogEntry): string {
  if (hiddenReason !== null) return `The operator hides this merchant: ${hiddenReason}`
  return probe?.message ?? 'No probe has seen it yet.'
}

/** Says how to get the entry into the list, or to keep it there. */
function mendOf({
  endpoint: { status, probe, nextProbeAt },
  merchant,
}: CatalogEntry): string | null {
  if (merchant.hiddenReason !== null) return 'Write to the operator of this service.'
  if (status === 'live') return null
  const byHand = `POST /api/merchants/${merchant.id}/probe`
  if (probe === null) return `Wait for the first probe, or ask for it: ${byHand}.`
  if (probe.verdict === 'not_called') {
    return 'It is found with merchant and payTo, and by its URL. Only what Arcus may call (GET, HEAD, POST, and tools over streamable HTTP) gets into the default list by itself.'
  }
  if (nextProbeAt === null) return 'List an address that may be called.'
  return `Correct what the probe found, then ask for another: ${byHand}.`
}
