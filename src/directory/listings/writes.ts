import { confirmationBody, emptyBody, linkBody, offerBody } from '@arcus/protocol/answers/writes'
import {
  type ListingBody,
  listingBody,
  listingLimits,
  merchantIdKind,
} from '@arcus/protocol/listing/listing'
import { canonicalJson, type ListingAction } from '@arcus/protocol/listing/listing-write'
import { quote } from '@arcus/protocol/listing/text'
import { parametersIn } from '@arcus/protocol/x402/calls'
import { type Stablecoin, tokenOfPrice } from '@arcus/protocol/x402/currencies'
import type { Address } from 'viem'
import type { z } from 'zod'
import { checkSchema, type SchemaVerdict } from '../json-schema/schema-check.js'
import { listingFault, missingFault, WriteFault } from '../refusals.js'
import type {
  EndpointDraft,
  ListingChange,
  ListingStore,
  Merchant,
  StoredEndpoint,
  WrittenEndpoint,
} from '../store/listings.js'
import { findReserved } from '../store/name-rules.js'
import type { SaveAllowances } from './save-probes.js'
import { createSaveTurns } from './save-turns.js'
import {
  type CheckedWrite,
  offerFault,
  ownerFault,
  payToFault,
  replayFault,
  staleFault,
  type WriteCheck,
  type WriteQuota,
} from './signed-write.js'

export type Writes = ReturnType<typeof createWrites>

interface WritesOptions {
  listings: Pick<ListingStore, 'findMerchant' | 'endpointsOf' | 'applyWrite'>
  check: WriteCheck
  /** Probes the endpoints of a save; `known` are those listed before. */
  probe: (
    endpoints: readonly WrittenEndpoint[],
    payTo: Address,
    known: readonly StoredEndpoint[],
  ) => Promise<EndpointDraft[]>
  allowances: SaveAllowances
  quota: WriteQuota
  /** CAIP-2. */
  network: string
  /** All that are settled on it; the first is the default one. */
  tokens: readonly Stablecoin[]
  /** Unix milliseconds. */
  now: () => number
}

/**
 * Creates every write that an owner can make. Each takes the request as it was sent and the IP it came from, and throws a
 * `WriteFault`.
 */
export function createWrites(options: WritesOptions) {
  const { listings, check, probe, allowances, quota, network, tokens } = options
  const nowSeconds = () => Math.floor(options.now() / 1000)
  const inTurn = createSaveTurns()

  /** Applies a change. The store checks owner, revision and nonce again, in the transaction of the change. */
  async function apply({ write }: CheckedWrite<unknown>, change: ListingChange): Promise<Merchant> {
    const result = await listings.applyWrite({ ...write, acceptedAt: nowSeconds() }, change)
    if (result.state === 'applied') return result.merchant
    if (result.state === 'replayed') throw replayFault()
    if (result.state === 'stale') throw staleFault(result.revision)
    if (result.state === 'notOwner') throw ownerFault(false)
    if (result.state === 'notOffered') throw offerFault()
    if (result.state === 'notPayTo') throw payToFault()
    throw missingFault(await listings.findMerchant(write.merchantId))
  }

  /** Applies a change within the quota of what is kept. */
  function keep(checked: CheckedWrite<unknown>, ip: string, make: () => Promise<Merchant>) {
    const { owner, action, message, body, signature } = checked.write
    const bytes = message.length + Buffer.byteLength(body) + signature.length
    const isSave = action === 'listing.create' || action === 'listing.update'
    return quota({ owner, bytes, ip, isSave }, make)
  }

  /** Creates a write whose change follows from its checked body. */
  function writeOf<Body>(
    action: ListingAction,
    schema: z.ZodType<Body>,
    toChange: (checked: CheckedWrite<Body>) => ListingChange,
  ) {
    return async (merchantId: string, request: unknown, ip: string): Promise<Merchant> => {
      const checked = await check(request, { merchantId, actions: { standing: action }, schema })
      const change = toChange(checked)
      // A deletion counts against no quota, because owners may delete a listing at any time.
      if (change.kind === 'delete') return apply(checked, change)
      return keep(checked, ip, () => apply(checked, change))
    }
  }

  /** Refuses an id that nobody may choose, unless it exists: found in payments, or entered by the operator. */
  async function checkId(merchantId: string): Promise<void> {
    const kind = merchantIdKind(merchantId)
    if (kind === 'chosen') return
    if (kind !== 'malformed' && (await listings.findMerchant(merchantId)) !== undefined) return
    const { minChars, maxChars } = listingLimits.merchantId
    const text =
      kind === 'malformed'
        ? `The merchant id must be ${minChars} to ${maxChars} of a-z, 0-9 and inner hyphens.`
        : 'The merchant id is reserved; choose another.'
    throw new WriteFault('invalid_merchant_id', text)
  }

  return {
    async save(merchantId: string, request: unknown, ip: string) {
      await checkId(merchantId)
      const checked = await check(request, {
        merchantId,
        actions: { fresh: 'listing.create', standing: 'listing.update' },
        schema: listingBody,
        payToOf: ({ payTo }) => payTo,
        inTurn: (work) => inTurn(ip, work),
      })
      const { endpoints: written, ...described } = checked.body
      checkName(described, checked.merchant)
      const endpoints = inTokens(written, tokens)
      const [{ asset }] = endpoints as [WrittenEndpoint]
      const known = checked.merchant === undefined ? [] : await listings.endpointsOf(merchantId)
      const isOwned = checked.merchant?.owner != null
      // Whatever a save costs is taken before it is spent, also for one that is refused.
      const waitSeconds = allowances.take({ owner: checked.write.owner, ip }, endpoints.length)
      if (waitSeconds > 0) throw paceFault(waitSeconds)
      const merchant = await keep(checked, ip, async () => {
        await checkSchemas(endpoints, isOwned ? known : [], (work) => inTurn(ip, work))
        const probed = await probe(endpoints, described.payTo, known)
        return apply(checked, {
          kind: 'save',
          merchant: { ...described, network, asset },
          endpoints: probed,
        })
      })
      return { merchant, isNew: checked.write.action === 'listing.create' }
    },

    delete: writeOf('listing.delete', emptyBody, () => ({ kind: 'delete' })),

    offerOwner: writeOf('owner.offer', offerBody, ({ body: { to }, write: { owner } }) => {
      const now = nowSeconds()
      // The store takes an offer back by an offer to the owner that is over at once.
      if (to === null) return { kind: 'offer', to: owner, until: now }
      if (to === owner) {
        const text = 'body.to is the owner already; offer to somebody else, or null to take back.'
        throw new WriteFault('offer_to_self', text)
      }
      return { kind: 'offer', to, until: now + listingLimits.offer.openSeconds }
    }),

    acceptOwner: writeOf('owner.accept', emptyBody, () => ({ kind: 'accept' })),

    linkAgent: writeOf('agent.link', linkBody, ({ body }) => ({ kind: 'link', ...body })),

    confirmPayTo: writeOf('payto.confirm', confirmationBody, ({ body: { owner }, merchant }) => {
      if (merchant?.owner == null) throw ownerFault(true)
      // The revision is signed too, so the owner cannot change before the store applies this.
      if (owner !== null && owner !== merchant.owner) {
        throw listingFault([{ path: 'owner', message: 'must be the owner that the merchant has' }])
      }
      return { kind: 'confirm', owner }
    }),
  }
}

/**
 * Refuses a name with a word or a sign by which readers know the operator's own merchants. An official merchant that is
 * still paid at the same address may have it. Throws a `WriteFault`.
 */
function checkName({ name, payTo }: Pick<Merchant, 'name' | 'payTo'>, before?: Merchant): void {
  const found = findReserved(name)
  if (found === undefined || (before?.isOfficial === true && before.payTo === payTo)) return
  const message = `must not show ${quote(found)}, which is reserved for merchants run by the operator of this directory`
  throw listingFault([{ path: 'name', message }])
}

/** Returns the endpoints with the tokens of their prices. Throws a `WriteFault` for a token that is not settled. */
function inTokens(
  endpoints: ListingBody['endpoints'],
  tokens: readonly Stablecoin[],
): WrittenEndpoint[] {
  return endpoints.map(({ currency, ...endpoint }, index) => {
    const found = tokenOfPrice({ asset: endpoint.asset, currency }, tokens)
    if ('problem' in found) {
      throw listingFault([{ path: `endpoints[${index}].${found.member}`, message: found.problem }])
    }
    const { address, symbol } = found.token
    return { ...endpoint, asset: address, symbol }
  })
}

function paceFault(waitSeconds: number): WriteFault {
  const text = `This owner, or owners at addresses near yours, had many endpoints checked just now; try again in ${waitSeconds} seconds.`
  return new WriteFault('too_many_saves', text, undefined, waitSeconds)
}

/** The part of an endpoint that says how it is called. */
type Called = Pick<WrittenEndpoint, 'method' | 'inputSchema' | 'example'>

/**
 * Checks that each input schema can be used and that the example satisfies it, each in a turn. `accepted` are endpoints
 * whose pair passed before. Throws a `WriteFault`.
 */
export async function checkSchemas(
  endpoints: readonly Called[],
  accepted: readonly Called[],
  inTurn: (check: () => SchemaVerdict) => Promise<SchemaVerdict>,
): Promise<void> {
  const known = new Set(accepted.map(pairOf))
  for (const [index, endpoint] of endpoints.entries()) {
    const { inputSchema } = endpoint
    if (inputSchema === null || known.has(pairOf(endpoint))) continue
    const example = endpoint.example[parametersIn(endpoint.method)]
    const verdict = await inTurn(() => checkSchema(inputSchema, example))
    if (!verdict.ok) throw schemaFault(index, endpoint, verdict)
  }
}

function schemaFault(
  index: number,
  endpoint: Called,
  { fault, message }: Extract<SchemaVerdict, { ok: false }>,
): WriteFault {
  const member = parametersIn(endpoint.method)
  const issue =
    fault === 'value'
      ? { path: `example.${member}`, message: `must satisfy inputSchema: ${message}` }
      : { path: 'inputSchema', message: `must be JSON Schema 2020-12 that can be used: ${message}` }
  return listingFault([{ ...issue, path: `endpoints[${index}].${issue.path}` }])
}

function pairOf({ inputSchema, example }: Called): string {
  return inputSchema === null ? '' : canonicalJson([inputSchema, example])
}
