import { type HistoryAnswer, historyQuery } from '@arcus/protocol/answers/listings'
import { SMALL_WRITE_BYTES } from '@arcus/protocol/answers/writes'
import { listingLimits } from '@arcus/protocol/listing/listing'
import { type ListingAction, listingDomain } from '@arcus/protocol/listing/listing-write'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { getAddress } from 'viem'
import { describedAs, type Operation } from '../../http/operation.js'
import { readQuery } from '../../http/query.js'
import {
  missingFault,
  type OfMerchant,
  present,
  refusals,
  WriteFault,
  writeCodes,
} from '../refusals.js'
import type { ListingReader, Merchant, SignedWrite } from '../store/listings.js'
import type { KeptAnswers } from './kept-answers.js'
import type { ViewMerchant } from './merchant-view.js'
import { writeActions } from './signing-terms.js'
import type { Writes } from './writes.js'

const tag = 'Directory'

const signingOperation: Operation = {
  id: 'getSigningTerms',
  tag,
  summary: 'The terms for signing a write',
  answers: {
    200: 'Domain, types, audience, clock, routes and limits.',
  },
}

const merchantOperation: Operation = {
  id: 'getMerchant',
  tag,
  summary: 'One listing as its owner sees it, with the health of each endpoint',
  answers: { 200: 'The listing.' },
  codes: refusals('merchant_not_found', 'merchant_deleted'),
}

/** Bytes of bodies after which a page of the history ends, with at least one entry: they may be large. */
const HISTORY_BYTES = 1_048_576
const historyOperation: Operation = {
  id: 'getMerchantHistory',
  tag,
  summary: 'Every accepted signed message, to verify again',
  answers: { 200: 'A page, oldest first.' },
  codes: refusals('merchant_not_found'),
}

/** Describes a signed write: every code of the table is possible. */
export function describeWrite(id: string, summary: string): Operation {
  return {
    id,
    tag,
    summary,
    description:
      'An EIP-712 message signed by the wallet of the owner. `GET /api/signing` says how; the deadline is minutes ahead, so the example is too old for a success.',
    answers: { 200: 'The listing as it is now.' },
    codes: Object.values(writeCodes),
  }
}

const saveOperation: Operation = {
  ...describeWrite('saveMerchant', 'Create or replace a listing'),
  answers: {
    200: 'Replaced.',
    201: 'Created.',
  },
}

interface WriteRoutesOptions {
  writes: Writes
  listings: Pick<ListingReader, 'findMerchant' | 'historyOf' | 'viewVersion'>
  view: ViewMerchant
  kept: KeptAnswers
  chainId: number
  /** Unix milliseconds. */
  now: () => number
  /** The answer of `GET /api/signing`. */
  signingTerms: () => Record<string, unknown>
}

type WithQuery = { Querystring: Record<string, unknown> }

const { maxBytes } = listingLimits.request
const json = 'application/json; charset=utf-8'
const NOT_STORED = 'no-store'

/** Serves `/api/signing` and `/api/merchants/{id}`: listings as their owners write and read them, and their history. */
export async function writeRoutes(
  app: FastifyInstance,
  options: WriteRoutesOptions,
): Promise<void> {
  const { writes, listings, view, kept, chainId, now, signingTerms } = options
  const limits = { bodyLimit: SMALL_WRITE_BYTES, onRequest: refuseTooLarge }

  app.addHook('onSend', async (_request, reply) => {
    // Owners must see what they saved, and the clock must be current.
    if (!reply.hasHeader('cache-control')) reply.header('cache-control', NOT_STORED)
  })

  app.get('/api/signing', describedAs(signingOperation), () => signingTerms())

  app.get<OfMerchant>(
    '/api/merchants/:id',
    { compress: false, ...describedAs(merchantOperation) },
    async (request, reply) => {
      const { id } = request.params
      const merchant = present(await listings.findMerchant(id))
      const isOffered = merchant.offer !== null && merchant.offer.until > now() / 1_000
      return kept.send(request, reply, {
        key: `listing ${id}`,
        version: `${await listings.viewVersion(id)}-${isOffered ? 'offered' : 'kept'}`,
        type: json,
        cacheControl: NOT_STORED,
        write: async () => JSON.stringify(await view(merchant)),
      })
    },
  )

  app.get<OfMerchant & WithQuery>(
    '/api/merchants/:id/history',
    { compress: false, ...describedAs(historyOperation) },
    async (request, reply) => {
      const { id: merchantId } = request.params
      const { after, limit } = readQuery(historyQuery, request.query)
      const merchant = await listings.findMerchant(merchantId)
      if (merchant === undefined) throw missingFault(undefined)
      const page = { merchantId, after, limit, chainId }
      return kept.send(request, reply, {
        key: `history ${merchantId} ${after} ${limit}`,
        version: String(merchant.revision),
        type: json,
        cacheControl: NOT_STORED,
        write: async () => JSON.stringify(await readHistory(listings, page)),
      })
    },
  )

  app.put<OfMerchant>(
    '/api/merchants/:id',
    { ...limits, bodyLimit: maxBytes, ...describedAs(saveOperation) },
    async ({ params, body, ip }, reply) => {
      const { merchant, isNew } = await writes.save(params.id, body, ip)
      return reply.code(isNew ? 201 : 200).send(await view(merchant))
    },
  )

  /** Adds the route of an action whose answer is the listing as it is now. */
  function addWrite(
    action: ListingAction,
    write: (merchantId: string, request: unknown, ip: string) => Promise<Merchant>,
    ...description: [id: string, summary: string]
  ): void {
    const { method, path } = writeActions[action]
    app.route<OfMerchant>({
      method,
      url: path.replace('{id}', ':id'),
      ...limits,
      ...describedAs(describeWrite(...description)),
      handler: async ({ params, body, ip }) => view(await write(params.id, body, ip)),
    })
  }

  addWrite('listing.delete', writes.delete, 'deleteMerchant', 'Delete a listing')
  addWrite('owner.offer', writes.offerOwner, 'offerMerchant', 'Offer a listing to another owner')
  addWrite('owner.accept', writes.acceptOwner, 'acceptMerchant', 'Accept an offered listing')
  addWrite(
    'payto.confirm',
    writes.confirmPayTo,
    'confirmPayTo',
    'Confirm the owner of a listing with the key that is paid',
  )
  addWrite('agent.link', writes.linkAgent, 'linkAgent', 'Link the merchant to an ERC-8004 agent')
}

/** Refuses a large body by its declared length before it is read, with the limit in the message. */
async function refuseTooLarge(request: FastifyRequest): Promise<void> {
  const { bodyLimit } = request.routeOptions
  const length = Number(request.headers['content-length'])
  if (length > bodyLimit) {
    const text = `The request must be at most ${bodyLimit} bytes; it has ${length}.`
    throw new WriteFault('body_too_large', text)
  }
}

/** Reads a page of the accepted writes of a merchant, oldest first. */
async function readHistory(
  listings: Pick<ListingReader, 'historyOf'>,
  page: { merchantId: string; after: number; limit: number; chainId: number },
): Promise<HistoryAnswer> {
  const { merchantId, limit, chainId } = page
  const entries: HistoryAnswer['entries'][number][] = []
  let bytes = 0
  let last = page.after
  for (;;) {
    const [write] = await listings.historyOf(merchantId, last, 1)
    if (write === undefined || entries.length === limit || bytes >= HISTORY_BYTES) {
      const next = write === undefined ? null : last
      return { merchantId, domain: listingDomain(chainId), entries, next }
    }
    entries.push(toEntry(write))
    bytes += write.body.length
    last = write.revision
  }
}

function toEntry(write: SignedWrite): HistoryAnswer['entries'][number] {
  const { revision, action, owner, message, body, signature, acceptedAt } = write
  return {
    revision,
    action: action as ListingAction,
    owner: getAddress(owner),
    message: JSON.parse(message),
    body: JSON.parse(body),
    signature,
    acceptedAt,
  }
}
