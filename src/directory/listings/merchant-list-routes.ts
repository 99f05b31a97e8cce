import { randomBytes } from 'node:crypto'
import { pipeline as pipe, Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { constants, createGunzip, createGzip } from 'node:zlib'
import { httpCodes } from '@arcus/protocol/answers/errors'
import type { OwnedMerchant } from '@arcus/protocol/answers/listings'
import { catalogQuery, USUAL_FIRST } from '@arcus/protocol/answers/merchants'
import { merchantIdKind } from '@arcus/protocol/listing/listing'
import type { FastifyInstance } from 'fastify'
import type { Address } from 'viem'
import { singleFlight } from '../../async/single-flight.js'
import { isKnown, pack, sendPacked, shareReads, takesGzip } from '../../http/cached-reply.js'
import { httpFault } from '../../http/errors.js'
import { cached, describedAs, type Operation } from '../../http/operation.js'
import { readQuery } from '../../http/query.js'
import { MADE_BYTES } from '../../http/rate-limit.js'
import type { DiscoveryBodies } from '../discovery/discovery.js'
import type { ListingReader, Merchant, PublishedMerchant } from '../store/listings.js'
import { findPayee } from '../store/published.js'
import { openOffer } from './merchant-view.js'

const tag = 'Directory'

const listOperation: Operation = {
  id: 'listMerchants',
  tag,
  summary: 'The directory: every merchant with its endpoints, prices and payments',
  description:
    'All of it needs no parameter. The first merchants in an order come from the catalog of discovery: while that is read after a start, they answer 503 with `Retry-After`.',
  answers: cached('All of it, as a stream.'),
  codes: [httpCodes.unavailable, httpCodes.busy],
}

const ownerOperation: Operation = {
  id: 'listMerchantsOfOwner',
  tag,
  summary: 'The merchants that a wallet owns, is offered, and may claim',
  answers: { 200: 'Listings by role.' },
}

const payeeOperation: Operation = {
  id: 'getPayee',
  tag,
  summary: 'The merchant whose listing speaks for an address',
  answers: { 200: 'The merchant, if there is one.' },
}

interface MerchantListOptions {
  discovery: Pick<DiscoveryBodies, 'merchants'>
  store: Pick<
    ListingReader,
    | 'merchantsOwnedBy'
    | 'merchantsOfferedTo'
    | 'merchantsPaidTo'
    | 'endpointStates'
    | 'lastChange'
    | 'merchantUsageVersion'
    | 'publishedAfter'
  >
  /** `BASE_URL`. */
  facilitator: string
  checksum: (address: Address) => Address
  /** Unix milliseconds. */
  now: () => number
}

type ListingRole = OwnedMerchant['role']

/** Listings of one wallet in an answer. */
const MAX_OWNED = 500
/** New figures change the tag of the list this often, because each changes all of it for callers who poll it. */
const USAGE_MS = 60_000

/**
 * Serves `GET /api/merchants`, the list of all merchants, `GET /api/owners/{address}/merchants`: the merchants that a
 * wallet owns, is offered, and may claim, and `GET /api/payees/{address}`: whose address it is. Nothing is secret.
 */
export async function merchantListRoutes(
  app: FastifyInstance,
  { discovery, store, facilitator, checksum, now }: MerchantListOptions,
): Promise<void> {
  // Change numbers of another database begin at 1 again, so the tag differs with each start.
  const boot = randomBytes(6).toString('base64url')
  const usageVersion = shareReads(USAGE_MS, now, store.merchantUsageVersion)
  const readTag = async () => [boot, await store.lastChange(), await usageVersion()].join('-')
  const write = () => writeList(store, facilitator)
  const readList = createListReader(readTag, write)

  async function rolesOf(address: Address): Promise<[ListingRole, Merchant][]> {
    const [owned, offered, paid] = await Promise.all([
      store.merchantsOwnedBy(address, MAX_OWNED),
      store.merchantsOfferedTo(address, Math.floor(now() / 1000)),
      store.merchantsPaidTo(address),
    ])
    const as = (role: ListingRole) => (merchant: Merchant) =>
      [role, merchant] as [ListingRole, Merchant]
    // The service's own entries cannot be claimed.
    const unclaimed = paid.filter(
      ({ id, owner }) => owner === null && merchantIdKind(id) !== 'reserved',
    )
    return [...owned.map(as('owner')), ...offered.map(as('offered')), ...unclaimed.map(as('payTo'))]
  }

  async function toAnswer(role: ListingRole, merchant: Merchant): Promise<OwnedMerchant> {
    const { id, name, revision, payTo, hiddenReason, offer, updatedAt } = merchant
    return {
      id,
      name,
      role,
      revision,
      payTo: checksum(payTo),
      hidden: hiddenReason !== null,
      endpoints: await store.endpointStates(id),
      offer: openOffer(offer, { checksum, now }),
      updatedAt,
    }
  }

  const inFull = { compress: false, ...describedAs(listOperation) } as const
  app.get('/api/merchants', inFull, async (request, reply) => {
    const { sort, limit } = readQuery(catalogQuery, request.query)
    if (sort !== undefined || limit !== undefined) {
      const wanted = { sort, limit: limit ?? USUAL_FIRST, facilitator }
      return sendPacked(request, reply, pack(await discovery.merchants(wanted, request.ip)))
    }
    reply.type('application/json; charset=utf-8').header('vary', 'accept-encoding')
    if (isKnown(request, reply, tagged(await readTag()))) return reply
    const { tag, bytes, packed } = await readList()
    reply.header('etag', tagged(tag))
    if (packed === undefined) return reply.send(inTurns(write()))
    if (takesGzip(request)) {
      const { pieces, bytes } = packed
      reply.header('content-encoding', 'gzip').header('content-length', bytes)
      return reply.send(inTurns(pieces))
    }
    // Unpacking it is work for this caller alone.
    reply.header(MADE_BYTES, bytes).header('content-length', bytes)
    return reply.send(unpacked(packed.pieces))
  })

  app.get<{ Params: { address: string } }>(
    '/api/owners/:address/merchants',
    describedAs(ownerOperation),
    async (request, reply) => {
      const address = readAddress(request.params)
      const merchants = []
      for (const [role, merchant] of await rolesOf(address)) {
        merchants.push(await toAnswer(role, merchant))
      }
      // An owner who saved must see it.
      return reply.header('cache-control', 'no-store').send({ owner: checksum(address), merchants })
    },
  )

  app.get<{ Params: { address: string } }>(
    '/api/payees/:address',
    describedAs(payeeOperation),
    async (request, reply) => {
      const address = readAddress(request.params)
      const merchant = await findPayee(store, address)
      return reply.header('cache-control', 'no-store').send({ payTo: checksum(address), merchant })
    },
  )
}

/** Reads the address of a path, in lower case. Throws a 400 for anything else. */
function readAddress({ address }: { address: string }): Address {
  const lower = address.toLowerCase()
  if (/^0x[0-9a-f]{40}$/.test(lower)) return lower as Address
  throw httpFault('invalid_request', 'address must be a 20-byte hex address with 0x prefix.')
}

const tagged = (tag: string) => `W/"${tag}"`

/** The list as it was when its tag was read, or later. */
interface KeptList {
  tag: string
  /** Of the list itself. */
  bytes: number
  /** The list as gzip; `undefined` for one that is too long to be kept: it is read anew for each answer. */
  packed: { pieces: readonly Buffer[]; bytes: number } | undefined
}

/** The largest list that is kept, in bytes, so that many callers cost the database and zlib nothing. Compressed it has a tenth of them. */
const MAX_KEPT_BYTES = 16 * 1024 * 1024

/** Creates the read of the list, which many who ask at once share. It has every change that was committed before. */
function createListReader(readTag: () => Promise<string>, write: () => AsyncIterable<Buffer>) {
  const refresh = singleFlight(async (): Promise<KeptList> => {
    const tag = await readTag()
    return { tag, ...(await packList(write())) }
  })
  let kept: KeptList | undefined

  return async (): Promise<KeptList> => {
    if (kept?.tag === (await readTag())) return kept
    kept = await refresh()
    // The refresh may have begun before this call; the next one has not.
    if (kept.tag !== (await readTag())) kept = await refresh()
    return kept
  }
}

/** Packs a list a piece at a time, and drops what was packed of one that is too long. */
async function packList(list: AsyncIterable<Buffer>): Promise<Omit<KeptList, 'tag'>> {
  let bytes = 0
  let packedBytes = 0
  let pieces: Buffer[] = []
  async function* counted(): AsyncGenerator<Buffer> {
    for await (const piece of list) {
      bytes += piece.length
      yield piece
    }
  }
  await pipeline(counted, createGzip({ level: constants.Z_BEST_SPEED }), async (compressed) => {
    for await (const piece of compressed) {
      packedBytes += piece.length
      if (packedBytes > MAX_KEPT_BYTES) pieces = []
      else pieces.push(piece)
    }
  })
  const isKept = packedBytes <= MAX_KEPT_BYTES
  return { bytes, packed: isKept ? { pieces, bytes: packedBytes } : undefined }
}

function unpacked(pieces: readonly Buffer[]): Readable {
  const list = createGunzip()
  // A reader who leaves ends both streams.
  pipe(Readable.from(pieces), list, () => {})
  return list
}

/** Without this bound a fast reader would get the whole list in one tick of the event loop. */
const BYTES_A_TURN = 256 * 1024

function inTurns(pieces: Iterable<Buffer> | AsyncIterable<Buffer>): Readable {
  return Readable.from(turnsOf(pieces), { objectMode: false })
}

async function* turnsOf(pieces: Iterable<Buffer> | AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let bytes = 0
  for await (const piece of pieces) {
    yield piece
    bytes += piece.length
    if (bytes < BYTES_A_TURN) continue
    bytes = 0
    await nextTurn()
  }
}

/** Merchants of one read; each may have a hundred endpoints. */
const MERCHANTS_AT_ONCE = 20
/** Characters of one piece of the answer, which waits until the one before has left. */
const PIECE_CHARS = 65_536

/** Writes the list of all merchants, a few at a time, each as it is when it is read. */
async function* writeList(
  { publishedAfter }: Pick<ListingReader, 'publishedAfter'>,
  facilitator: string,
): AsyncGenerator<Buffer> {
  let piece = `{"facilitator":${JSON.stringify(facilitator)},"merchants":[`
  let last: PublishedMerchant | undefined
  for (;;) {
    const page = await publishedAfter(last, MERCHANTS_AT_ONCE)
    for (const merchant of page) {
      piece += last === undefined ? merchant.json : `,${merchant.json}`
      last = merchant
      if (piece.length < PIECE_CHARS) continue
      yield Buffer.from(piece)
      piece = ''
    }
    if (page.length < MERCHANTS_AT_ONCE) break
  }
  yield Buffer.from(`${piece}]}\n`)
}
